import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmodSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { decodeJwt } from 'jose'
import { bindRole, createIdentity } from './support/api/tenant.ts'
import { type CommandLine, commandLine } from './support/cli/command-line.ts'
import { anyDatabase } from './support/database/databases.ts'
import { cleanups } from './support/server/process.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'
import { awsKeys, startAwsSts } from './support/tokens/aws-sts.ts'
import { SUBJECT, startIssuer, type TestIssuer } from './support/tokens/issuer.ts'

/** Workloads sign in with tokens of their own, wherever these come from. */

for (const database of anyDatabase)
  describe(`workloads sign in from a terminal on ${database.name}`, () => {
    const cleanup = cleanups()
    let berth: TestBerth
    let issuer: TestIssuer
    let identity: string
    let aws: Awaited<ReturnType<typeof startAwsSts>>
    before(async () => {
      aws = await startAwsSts(cleanup)
      berth = await startTestBerth(database, { env: { BERTH_AWS_STS_ENDPOINT: aws.url } })
      issuer = await startIssuer(cleanup)
      identity = await createIdentity(berth, berth.organization, {
        claimMatch: { issuer: issuer.name, subject: SUBJECT },
      })
      await bindRole(berth, berth.organization, identity, 'viewer')
    })
    after(async () => {
      await cleanup.run()
      await berth.stop()
    })
    const job = (more: Record<string, string> = {}) => commandLine(cleanup, berth.url, more)
    const tokenFor = (claims = {}) => issuer.sign({ sub: SUBJECT, aud: berth.url, ...claims })
    const assertSignedIn = async (cli: CommandLine, uid = identity) =>
      assert.equal(decodeJwt(await cli.ok(['auth', 'token'])).sub, uid)

    test('a token is given as it is, in a file, on standard input, or in the environment', async () => {
      const token = await tokenFor()
      const file = join(job().home, 'token')
      writeFileSync(file, `${token}\n`)
      const ways: [args: string[], options: object][] = [
        [['--identity-token', token], {}],
        [['--identity-token', file], {}],
        [['--identity-token', '-'], { input: `${token}\n` }],
        [[], { env: { BERTH_IDENTITY_TOKEN: token } }],
        [[], { env: { BERTH_IDENTITY_TOKEN: file } }],
      ]
      for (const [args, options] of ways) {
        const cli = job()
        const { code, stdout, stderr } = await cli.run(
          ['auth', 'login', '--identity', identity, ...args],
          options,
        )
        assert.deepEqual([code, stdout, stderr], [0, '', `Signed in as ${identity}.\n`])
        await assertSignedIn(cli)
      }
      assert.match(
        await job().ok(['auth', 'login', '--identity', identity, '--identity-token', file, '-o', 'id']),
        new RegExp(`^${identity}\n$`),
      )
    })

    test('each audience gets a token of its own', async () => {
      const cli = job({ BERTH_IDENTITY_TOKEN: await tokenFor() })
      const registry = new URL(berth.url).host
      await cli.ok([
        ...['auth', 'login', '--identity', identity, '--audience', berth.url, '--audience', registry],
      ])
      const forRegistry = decodeJwt(await cli.ok(['auth', 'token', '--audience', registry]))
      assert.deepEqual([[forRegistry.aud].flat(), forRegistry.sub], [[registry], identity])
      await assertSignedIn(cli)
    })

    test('what is wrong with the words is said before anybody is asked', async () => {
      const cli = job()
      const mistakes: [args: string[], says: RegExp][] = [
        [['--identity', identity], /^berth: --identity-token is required: found no credentials .*\n$/],
        [['--identity-token', 'x'], /^berth: --identity-token needs --identity\n$/],
        [
          ['--identity', identity, '--identity-token', '/no/such/file'],
          /^berth: file \/no\/such\/file not found\n$/,
        ],
        [['--identity-provider', 'x', '--org-name', 'y'], /cannot be used with/],
      ]
      for (const [args, says] of mistakes) {
        const { code, stderr } = await cli.run(['auth', 'login', ...args])
        assert.equal(code, 2, stderr)
        assert.match(stderr, says)
      }
    })

    test('a token that is refused says how to find out why, and explain does', async () => {
      const cli = job({ BERTH_TOKEN: '' })
      const wrong = await tokenFor({ sub: 'repo:acme/other' })
      const { code, stderr } = await cli.run([
        ...['auth', 'login', '--identity', identity, '--identity-token', wrong],
      ])
      assert.equal(code, 1, stderr)
      assert.match(stderr, /berth auth explain --identity/)
      assert.doesNotMatch(stderr, /eyJ/)

      const file = join(cli.home, 'token')
      writeFileSync(file, wrong)
      const explain = ['auth', 'explain', '--identity', identity, '--identity-token', file]
      const owner = { env: { BERTH_TOKEN: berth.token } }
      const why = await cli.run(explain, owner)
      assert.equal(why.code, 1, why.stderr)
      assert.match(why.stdout, /✘.*subject/i)
      assert.match(why.stdout, /repo:acme\/other/)
      assert.match(why.stdout, /✔/)
      assert.match(why.stderr, /the token is not accepted\n$/)
      const json = JSON.parse((await cli.run([...explain, '-o', 'json'], owner)).stdout)
      assert.equal(json.accepted, false)
      writeFileSync(file, await tokenFor())
      const right = await cli.run(explain, owner)
      assert.deepEqual([right.code, /the token is accepted\n$/.test(right.stderr)], [0, true], right.stderr)
      assert.equal((await cli.run(['auth', 'explain', '--identity', identity], owner)).code, 2)
      assert.equal((await cli.run(explain)).code, 4)
    })

    test('a warning about a created identity is printed, and the identity is the output', async () => {
      const owner = job({ BERTH_TOKEN: berth.token })
      const keys = join(owner.home, 'keys.json')
      writeFileSync(keys, 'no keys')
      const { code, stdout, stderr } = await owner.run([
        ...['iam', 'identities', 'create', 'token', 'robot', '--identity-issuer', 'https://robots.example'],
        ...['--subject', 'r1', '--issuer-keys', keys, '--parent', berth.organization, '-o', 'id'],
      ])
      assert.equal(code, 0, stderr)
      assert.match(stdout, /^[0-9a-f]{40}\/[0-9a-f]{16}\n$/)
      assert.match(stderr, /^warning: no token can match the identity yet: .* it is not JSON\n$/)
    })

    test('a job of GitHub Actions asks for its token', async () => {
      const asked: string[] = []
      let status = 200
      const github = createServer(async (request, response) => {
        asked.push(`${request.headers.authorization} ${request.url}`)
        response.writeHead(status).end(JSON.stringify({ value: await tokenFor(), message: 'no' }))
      }).listen(0, '127.0.0.1')
      await once(github, 'listening')
      cleanup.after(() => void github.close())
      const url = `http://127.0.0.1:${(github.address() as AddressInfo).port}/token?api-version=2.0`
      const env = { ACTIONS_ID_TOKEN_REQUEST_URL: url, ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'runner' }
      const cli = job(env)
      await cli.ok(['auth', 'login', '--identity', identity])
      await assertSignedIn(cli)
      assert.deepEqual(asked, [
        `Bearer runner /token?api-version=2.0&audience=${encodeURIComponent(berth.url)}`,
      ])
      const preferred = job(env)
      const login = ['auth', 'login', '--identity', identity, '--identity-token', 'x']
      assert.equal((await preferred.run(login)).code, 1, 'what was given counts')
      await preferred.ok([...login, '--prefer-ambient-credentials'])
      status = 403
      const refused = await job(env).run(['auth', 'login', '--identity', identity])
      assert.deepEqual(
        [refused.code, refused.stderr],
        [1, 'berth: GitHub returned no token (HTTP status 403): no\n'],
      )
      const forbidden = await job({ GITHUB_ACTIONS: 'true' }).run(['auth', 'login', '--identity', identity])
      assert.equal(forbidden.code, 2)
      assert.match(forbidden.stderr, /permissions: id-token: write/)
    })

    test('a job of GitLab has it in a variable, one of Buildkite asks the agent', async () => {
      const gitlab = job({ BERTH_ID_TOKEN: await tokenFor() })
      await gitlab.ok(['auth', 'login', '--identity', identity])
      await assertSignedIn(gitlab)

      const buildkite = job({ BUILDKITE_AGENT_ACCESS_TOKEN: 'x' })
      const agent = join(buildkite.home, 'buildkite-agent')
      const token = await tokenFor()
      writeFileSync(
        agent,
        `#!/bin/sh\n[ "$*" = "oidc request-token --audience ${berth.url}" ] && echo ${token}\n`,
      )
      chmodSync(agent, 0o755)
      const path = { PATH: `${buildkite.home}:${process.env['PATH']}` }
      await buildkite.ok(['auth', 'login', '--identity', identity], { env: path })
      await assertSignedIn(buildkite)
      writeFileSync(agent, '#!/bin/sh\necho no agent here >&2; exit 1\n')
      const refused = await buildkite.run(['auth', 'login', '--identity', identity], { env: path })
      assert.deepEqual(
        [refused.code, refused.stderr],
        [1, 'berth: buildkite-agent returned no token: no agent here\n'],
      )
    })

    test('AWS credentials of the environment sign who they are', async () => {
      const { role, user } = awsKeys
      for (const key of [role, user]) {
        const uid = await createIdentity(berth, berth.organization, {
          awsIdentity: { awsAccount: key.account, arn: key.arn, userId: key.userId },
        })
        const cli = job({
          AWS_ENDPOINT_URL_STS: aws.url,
          AWS_REGION: 'eu-central-1',
          AWS_ACCESS_KEY_ID: key.accessKeyId,
          AWS_SECRET_ACCESS_KEY: key.secretAccessKey,
          ...('sessionToken' in key ? { AWS_SESSION_TOKEN: key.sessionToken } : {}),
        })
        await cli.ok(['auth', 'login', '--identity', uid])
        await assertSignedIn(cli, uid)
        const forged = await cli.run(['auth', 'login', '--identity', uid], {
          env: { AWS_SECRET_ACCESS_KEY: 'wrong' },
        })
        assert.equal(forged.code, 1, forged.stderr)
      }
    })

    test('a server that is not there is exit code 3', async () => {
      const cli = job({ BERTH_API: 'http://127.0.0.1:1', BERTH_IDENTITY_TOKEN: await tokenFor() })
      assert.equal((await cli.run(['auth', 'login', '--identity', identity])).code, 3)
    })
  })
