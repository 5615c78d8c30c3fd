import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { delimiter, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { parse } from 'yaml'
import { bindRole, createIdentity } from './support/api/tenant.ts'
import { type CommandLine, commandLine } from './support/cli/command-line.ts'
import { anyDatabase } from './support/database/databases.ts'
import { cleanups, temporaryDirectory } from './support/server/process.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'
import { SUBJECT, startIssuer } from './support/tokens/issuer.ts'

/** Workflows for the identities of CI systems: the commands that sign in run as they are printed. */

for (const database of anyDatabase)
  describe(`workflows on ${database.name}`, () => {
    const cleanup = cleanups()
    let berth: TestBerth
    let cli: CommandLine
    let identity: string
    let tokenUrl: string
    let jobToken: string
    before(async () => {
      berth = await startTestBerth(database)
      cli = commandLine(cleanup, berth.url, { BERTH_TOKEN: berth.token })
      const issuer = await startIssuer(cleanup)
      identity = await createIdentity(
        berth,
        berth.organization,
        { claimMatch: { issuer: issuer.name, subject: SUBJECT } },
        'job',
      )
      await bindRole(berth, berth.organization, identity, 'registry.push')
      jobToken = await issuer.sign({ sub: SUBJECT, aud: berth.url })
      // As GitHub: returns a token for the audience in the query.
      const server = createServer(async (request, response) => {
        const audience = new URL(request.url ?? '', 'http://github').searchParams.get('audience')
        const isJob = request.headers.authorization === 'Bearer request-token'
        const value = isJob ? await issuer.sign({ sub: SUBJECT, aud: audience ?? '' }) : ''
        response.end(JSON.stringify({ value }))
      }).listen(0, '127.0.0.1')
      await once(server, 'listening')
      cleanup.after(() => void server.close())
      tokenUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/token?version=2`
    })
    after(async () => {
      await cleanup.run()
      await berth.stop()
    })

    /** Runs the lines as a job would, with a Docker that notes how it is called. */
    const signIn = async (lines: string, shell: string, env: Record<string, string>) => {
      const directory = temporaryDirectory(cleanup)
      const docker = `#!/bin/sh\necho "$@" > ${directory}/arguments; cat > ${directory}/password\n`
      writeFileSync(join(directory, 'docker'), docker, { mode: 0o755 })
      const agent = `#!/bin/sh\necho "$@" > ${directory}/agent; printf %s "$JOB_TOKEN"\n`
      writeFileSync(join(directory, 'buildkite-agent'), agent, { mode: 0o755 })
      const PATH = `${directory}${delimiter}${process.env['PATH']}`
      const child = spawn(shell, ['-c', lines], { env: { PATH, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
      let printed = ''
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (text) => {
          printed += text
        })
      const [code] = await once(child, 'close')
      assert.equal(code, 0, printed)
      const password = readFileSync(join(directory, 'password'), 'utf8')
      assert.ok(!printed.includes(password), 'the token is not printed')
      const { host } = new URL(berth.url)
      assert.equal(
        readFileSync(join(directory, 'arguments'), 'utf8'),
        `login ${host} --username _token --password-stdin\n`,
      )
      const authorization = `Basic ${Buffer.from(`_token:${password}`).toString('base64')}`
      const scope = encodeURIComponent(`repository:${berth.organization}/app:push,pull`)
      const token = await fetch(`${berth.url}/token?service=${host}&scope=${scope}`, {
        headers: { authorization },
      })
      assert.equal(token.status, 200)
    }
    const snippetOf = async (system: string) => {
      const text = await cli.ok(['iam', 'identities', 'describe', identity, '--snippet', system])
      assert.match(text, /^# \S+: /)
      return parse(text)
    }

    test('GitHub: the job may request tokens, signs in and pushes', async () => {
      const { permissions, jobs } = await snippetOf('github')
      assert.deepEqual(permissions, { contents: 'read', 'id-token': 'write' })
      const [, login, push] = jobs.publish.steps
      await signIn(login.run, 'bash', {
        ACTIONS_ID_TOKEN_REQUEST_URL: tokenUrl,
        ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'request-token',
      })
      assert.match(
        push.run,
        /^docker build --tag "\S+:\$GITHUB_SHA" \.\ndocker push "\S+\/app:\$GITHUB_SHA"\n$/,
      )
    })

    test('GitLab: the job has a token for the audience', async () => {
      const { publish } = await snippetOf('gitlab')
      assert.deepEqual(publish.id_tokens, { BERTH_ID_TOKEN: { aud: berth.url } })
      const [install, login] = publish.before_script
      assert.equal(install, 'apk add --no-cache curl jq')
      await signIn(login, 'bash', { BERTH_ID_TOKEN: jobToken })
    })

    test('Buildkite: the agent leaves the variables to the shell', async () => {
      const { steps } = await snippetOf('buildkite')
      const lines: string = steps[0].command
      assert.doesNotMatch(lines.replaceAll('$$', ''), /\$/)
      const login = lines.replaceAll('$$', '$').split('docker build')[0] ?? ''
      await signIn(login, 'bash', { JOB_TOKEN: jobToken })
    })

    test('Kubernetes: the pod has a token of the service account for the audience', async () => {
      const account = ['--service-account', 'prod/web', '--cluster-issuer', 'https://oidc.example.com/x']
      const create = ['iam', 'identities', 'create', 'kubernetes', 'pods', ...account]
      const pod = parse(await cli.ok([...create, '--parent', berth.organization, '--snippet']))
      assert.deepEqual(
        [pod.kind, pod.metadata.namespace, pod.spec.serviceAccountName],
        ['Pod', 'prod', 'web'],
      )
      const [{ serviceAccountToken }] = pod.spec.volumes[0].projected.sources
      assert.deepEqual([serviceAccountToken.path, serviceAccountToken.audience], ['berth', berth.url])
    })

    test('a new identity whose roles do not permit the push gets the command that grants it', async () => {
      const create = (name: string, role: string) =>
        cli.run([
          ...['iam', 'identities', 'create', 'gitlab', name, '--project-path', 'acme/app', '--role', role],
          ...['--parent', berth.organization],
        ])
      const viewer = await create('looks', 'viewer')
      assert.equal(viewer.code, 0, viewer.stderr)
      assert.match(
        viewer.stderr,
        /No role of looks permits this push\. .*\n\n {2}berth iam role-bindings create --identity \S+ --role registry\.push --parent "default"\n/,
      )
      assert.doesNotMatch((await create('pushes', 'registry.push')).stderr, /No role/)
    })

    test('a new identity comes with its workflow, and a failed exchange fails the job', async () => {
      const create = ['iam', 'identities', 'create', 'buildkite', 'builds', '--pipeline', 'acme/app']
      const { code, stdout, stderr } = await cli.run([...create, '--parent', berth.organization])
      assert.equal(code, 0, stderr)
      assert.match(stdout, /SUBJECT +organization:acme:pipeline:app:ref:refs\/heads\/\.\+:commit:/)
      const [, yaml = ''] = stderr.split('Use it like this:\n\n')
      const lines: string = parse(yaml).steps[0].command.replaceAll('$$', '$')
      // The identity does not accept this token.
      await assert.rejects(signIn(lines, 'bash', { JOB_TOKEN: jobToken }), /40[0-9]/)
      for (const wrong of [['--pipeline', 'app'], []]) {
        const failed = await cli.run([...create.slice(0, 5), ...wrong, '--parent', berth.organization])
        assert.equal(failed.code, 2)
      }
    })
  })
