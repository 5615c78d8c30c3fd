import assert from 'node:assert/strict'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { bindRole, createIdentity } from './support/api/tenant.ts'
import { type CommandLine, commandLine, signedInCommandLine } from './support/cli/command-line.ts'
import { anyDatabase } from './support/database/databases.ts'
import { cleanups, program } from './support/server/process.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'
import { exchange } from './support/tokens/exchange.ts'
import { SUBJECT, startIssuer } from './support/tokens/issuer.ts'

/** What container tools get from the command line: a credential helper, pull tokens, and a provider for the kubelet. */

const NOT_FOUND = 'credentials not found in native keychain\n'

for (const database of anyDatabase)
  describe(`container tools and the command line on ${database.name}`, () => {
    const cleanup = cleanups()
    let berth: TestBerth
    let registry: string
    before(async () => {
      berth = await startTestBerth(database)
      registry = new URL(berth.url).host
    })
    after(async () => {
      await cleanup.run()
      await berth.stop()
    })
    const signedIn = () => signedInCommandLine(cleanup, berth)
    /** Calls the program as Docker does. */
    const helper = (cli: CommandLine, action: string, input: string, env = {}) => {
      const as = join(cli.home, 'docker-credential-berth')
      if (!existsSync(as)) symlinkSync(program, as)
      return cli.run([action], { as, input, env })
    }
    const dockerConfig = (cli: CommandLine) => join(cli.home, '.docker', 'config.json')
    const readDocker = (cli: CommandLine) => JSON.parse(readFileSync(dockerConfig(cli), 'utf8'))

    test('Docker gets a token for the registry from the sign-in, and its protocol is kept to', async () => {
      const cli = await signedIn()
      assert.deepEqual(JSON.parse((await helper(cli, 'list', '')).stdout), {})
      const got = await helper(cli, 'get', `${registry}\n`)
      assert.equal(got.code, 0, got.stderr)
      const { ServerURL, Username, Secret } = JSON.parse(got.stdout)
      assert.deepEqual([ServerURL, Username], [registry, '_token'])
      assert.deepEqual([decodeJwt(Secret).aud].flat(), [registry])
      assert.equal(decodeJwt(Secret).sub, berth.owner)
      assert.deepEqual(JSON.parse((await helper(cli, 'list', '')).stdout), { [registry]: '_token' })

      for (const address of [`http://${registry}`, `https://${registry}/v1/`, `${registry}/my-org/image`]) {
        const same = JSON.parse((await helper(cli, 'get', address)).stdout)
        assert.deepEqual([same.ServerURL, same.Secret], [address, Secret])
      }
      assert.deepEqual((await helper(cli, 'erase', registry)).code, 0)
      assert.notEqual(JSON.parse((await helper(cli, 'get', registry)).stdout).Secret, Secret)
      const store = await helper(
        cli,
        'store',
        JSON.stringify({ ServerURL: registry, Username: 'a', Secret: 'b' }),
      )
      assert.equal(store.code, 1)
      assert.match(store.stderr, /berth auth login/)
      assert.equal((await helper(cli, 'version', '')).code, 0)
      assert.equal((await helper(cli, 'fly', '')).code, 2)
    })

    test('R34: the helper answers for the configured registry and for no other host', async () => {
      const cli = await signedIn()
      await helper(cli, 'get', registry)
      const strangers = [
        'registry.example.com',
        `${registry}.evil.example`,
        `evil.example/${registry}`,
        `https://${registry}@evil.example/`,
        `https://evil.example/?${registry}`,
        `https://evil.example#${registry}`,
        registry.replace(/:\d+$/, ':1'),
        'https://index.docker.io/v1/',
        '',
      ]
      for (const stranger of strangers) {
        const { code, stdout } = await helper(cli, 'get', stranger)
        assert.deepEqual([code, stdout], [1, NOT_FOUND], stranger)
      }
    })

    test('signed out is reported to Docker as missing credentials, with what to do', async () => {
      const cli = commandLine(cleanup, berth.url)
      const { code, stdout, stderr } = await helper(cli, 'get', registry)
      assert.deepEqual([code, stdout], [1, NOT_FOUND])
      assert.match(stderr, /run berth auth login\n$/)
      const broken = await helper(cli, 'get', registry, { BERTH_API: 'nowhere' })
      assert.deepEqual([broken.code, broken.stdout], [1, ''])
      assert.match(broken.stderr, /^berth: api: "nowhere" must be a URL/)
    })

    test('a workload that signed in with its token gets credentials for the registry, also after its first token expired', async () => {
      const issuer = await startIssuer(cleanup)
      const identity = await createIdentity(berth, berth.organization, {
        claimMatch: { issuer: issuer.name, subject: SUBJECT },
      })
      await bindRole(berth, berth.organization, identity, 'registry.pull')
      const cli = commandLine(cleanup, berth.url)
      const file = join(cli.home, 'workload-token')
      const workloadToken = () => issuer.sign({ sub: SUBJECT, aud: berth.url })
      writeFileSync(file, await workloadToken())
      await cli.ok(['auth', 'login', '--identity', identity, '--identity-token', file])
      const secretOf = async () => JSON.parse((await helper(cli, 'get', registry)).stdout).Secret
      const first = decodeJwt(await secretOf())
      assert.deepEqual([first.sub, [first.aud].flat()], [identity, [registry]])
      assert.equal(first.exp, decodeJwt(await cli.ok(['auth', 'token'])).exp)

      const cache = join(cli.home, '.cache', 'berth')
      assert.doesNotMatch(
        readFileSync(join(cache, berth.url.replaceAll('/', '-'), 'workload-login'), 'utf8'),
        /eyJ/,
      )
      // As after an hour.
      for (const audience of [berth.url, registry])
        rmSync(join(cache, audience.replaceAll('/', '-'), 'oidc-token'))
      const next = decodeJwt(await secretOf())
      assert.deepEqual([next.sub, [next.aud].flat()], [identity, [registry]])
      assert.equal(decodeJwt(await cli.ok(['auth', 'token'])).sub, identity)

      rmSync(join(cache, registry, 'oidc-token'))
      rmSync(join(cache, berth.url.replaceAll('/', '-'), 'oidc-token'))
      rmSync(file)
      const late = await helper(cli, 'get', registry)
      assert.deepEqual([late.code, late.stdout], [1, NOT_FOUND])
      assert.match(
        late.stderr,
        new RegExp(`run berth auth login --identity ${identity} --identity-token FILE`),
      )
      await cli.ok(['auth', 'logout'])
      assert.match((await helper(cli, 'get', registry)).stderr, /you are not signed in/)
    })

    test('a workload that gave its token as text gets registry credentials until the token of the API expires', async () => {
      const issuer = await startIssuer(cleanup)
      const identity = await createIdentity(berth, berth.organization, {
        claimMatch: { issuer: issuer.name, subject: SUBJECT },
      })
      const cli = commandLine(cleanup, berth.url)
      const token = await issuer.sign({ sub: SUBJECT, aud: berth.url })
      await cli.ok(['auth', 'login', '--identity', identity, '--identity-token', token])
      const { Secret } = JSON.parse((await helper(cli, 'get', registry)).stdout)
      assert.equal(decodeJwt(Secret).sub, identity)
      const cache = join(cli.home, '.cache', 'berth')
      for (const audience of [berth.url, registry])
        rmSync(join(cache, audience.replaceAll('/', '-'), 'oidc-token'))
      const late = await helper(cli, 'get', registry)
      assert.deepEqual([late.code, late.stdout], [1, NOT_FOUND])
      assert.match(late.stderr, new RegExp(`the sign-in as ${identity} has expired: run berth auth login`))
    })

    test('Docker is configured without losing what others wrote', async () => {
      const cli = commandLine(cleanup, berth.url)
      const real = join(cli.home, 'dotfiles.json')
      const before = {
        auths: { 'ghcr.io': { auth: 'eA==' }, [registry]: { auth: 'b2xk' } },
        credsStore: 'desktop',
        credHelpers: { 'gcr.io': 'gcloud' },
        HttpHeaders: { 'X-Mine': '1' },
      }
      writeFileSync(real, JSON.stringify(before), { mode: 0o640 })
      mkdirSync(join(cli.home, '.docker'))
      symlinkSync(real, dockerConfig(cli))
      const { code, stderr } = await cli.run(['auth', 'configure-docker'])
      assert.equal(code, 0, stderr)
      assert.match(stderr, new RegExp(`updated the Docker configuration for ${registry}\n$`))
      const local = join(cli.home, '.local', 'bin')
      assert.match(stderr, new RegExp(`add ${local} to your PATH`))
      assert.deepEqual(readDocker(cli), {
        auths: { 'ghcr.io': { auth: 'eA==' } },
        credsStore: 'desktop',
        credHelpers: { 'gcr.io': 'gcloud', [registry]: 'berth' },
        HttpHeaders: { 'X-Mine': '1' },
      })
      assert.ok(lstatSync(dockerConfig(cli)).isSymbolicLink())
      assert.equal(statSync(real).mode & 0o777, 0o640)
      assert.equal(readlinkSync(join(local, 'docker-credential-berth')), program)
      // npx adds its own directory to the PATH of the program, which Docker does not have.
      const npx = join(cli.home, 'node_modules', '.bin')
      mkdirSync(npx, { recursive: true })
      symlinkSync(program, join(npx, 'docker-credential-berth'))
      const byNpx = await cli.run(['auth', 'configure-docker'], {
        env: { PATH: `${npx}:${process.env['PATH']}` },
      })
      assert.match(byNpx.stderr, new RegExp(`add ${local} to your PATH`))
      // The link works, and once it is on the PATH there is nothing more to say.
      const env = { PATH: `${local}:${process.env['PATH']}` }
      assert.equal(
        (await cli.run(['auth', 'configure-docker'], { env })).stderr,
        `updated the Docker configuration for ${registry}\n`,
      )
      const sudo = await cli.run(['auth', 'configure-docker'], {
        env: { SUDO_USER: 'ada', USER: 'root', ...env },
      })
      assert.match(sudo.stderr, /configures Docker for root; to configure it for ada/)
    })

    test('a configuration of Docker that is not JSON is left alone', async () => {
      const cli = commandLine(cleanup, berth.url)
      mkdirSync(join(cli.home, '.docker'))
      for (const text of ['{ not json', '[]', '"x"']) {
        writeFileSync(dockerConfig(cli), text)
        const { code, stderr } = await cli.run(['auth', 'configure-docker'])
        assert.equal(code, 2)
        assert.match(stderr, /is not JSON; it was not changed/)
        assert.equal(readFileSync(dockerConfig(cli), 'utf8'), text)
      }
    })

    test('a pull token pulls until its identity is deleted; its key never leaves this machine', async () => {
      const owner = { env: { BERTH_TOKEN: berth.token } }
      const cli = commandLine(cleanup, berth.url)
      const made = JSON.parse(
        await cli.ok(
          [...['auth', 'pull-token', 'create', '--parent', berth.organization, '--name', 'ci'], '-o', 'json'],
          owner,
        ),
      )
      assert.equal(decodeProtectedHeader(made.token).alg, 'ES256')
      const identity = await fetch(`${berth.url}/iam/v2beta1/identities/${made.identity}`, {
        headers: { authorization: `Bearer ${berth.token}` },
      })
      const { staticKeys } = (await identity.json()) as { staticKeys: { issuerKeys: string } }
      assert.deepEqual(Object.keys(JSON.parse(staticKeys.issuerKeys).keys[0]).sort(), [
        ...['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'],
      ])
      const parameters = { aud: registry, identity: made.identity }
      assert.equal((await exchange(berth.url, made.token, parameters)).status, 200)

      const listed = JSON.parse(
        await cli.ok(['auth', 'pull-token', 'list', '--parent', berth.organization, '-o', 'json'], owner),
      )
      assert.deepEqual(
        listed.items.map(({ uid }: { uid: string }) => uid),
        [made.identity],
      )
      const expiring = async (within: string) => {
        const list = [
          'auth',
          'pull-token',
          'list',
          '--parent',
          berth.organization,
          '--expires-within',
          within,
        ]
        return JSON.parse(await cli.ok([...list, '-o', 'json'], owner)).items.length
      }
      assert.deepEqual([await expiring('31d'), await expiring('29d')], [1, 0])
      const table = await cli.ok(['auth', 'pull-token', 'ls', '--parent', berth.organization], owner)
      assert.match(table.split('\n')[0] ?? '', /^NAME +GROUP +ROLES +EXPIRES +LAST SEEN$/)
      assert.match(table, /default: registry\.pull/)
      await cli.ok(['iam', 'identities', 'delete', made.identity, '--yes'], owner)
      assert.notEqual((await exchange(berth.url, made.token, parameters)).status, 200)
    })

    test('a pull token is printed for a person or a shell, or saved for Docker', async () => {
      const owner = { env: { BERTH_TOKEN: berth.token } }
      const cli = commandLine(cleanup, berth.url)
      const args = ['auth', 'pull-token', '--parent', berth.organization, '--ttl', '1h']
      const shown = await cli.ok(args, owner)
      const [, identity, token] = /^USERNAME {2}([0-9a-f/]+)\nPASSWORD {2}(eyJ\S+)\n$/.exec(shown) ?? []
      assert.ok(identity && token, shown)
      const { stderr: hint } = await cli.run(args, owner)
      assert.match(hint, /^ {2}docker login \S+ --username [0-9a-f/]+ --password-stdin$/m)
      assert.doesNotMatch(hint, /eyJ/, 'the password is in no command')
      const lines = await cli.ok([...args, '-o', 'env'], owner)
      assert.match(lines, /^export BERTH_IDENTITY_ID=[0-9a-f/]+\nexport BERTH_IDENTITY_TOKEN=eyJ\S+\n$/)
      await cli.ok([...args, '--save'], owner)
      await cli.ok(
        ['auth', 'configure-docker', '--pull-token', '--parent', berth.organization, '--ttl', '1h'],
        owner,
      )
      const { auth } = readDocker(cli).auths[registry]
      const [user = '', password = ''] = Buffer.from(auth, 'base64').toString().split(':')
      const reply = await exchange(berth.url, password, { aud: registry, identity: user })
      assert.equal(reply.status, 200, reply.text)
      assert.equal(statSync(dockerConfig(cli)).mode & 0o777, 0o600)

      for (const [ttl, says] of [
        ['8761h', /--ttl must be greater than 0 and at most 8760h/],
        ['0h', /--ttl must be/],
        ['soon', /--ttl: "soon" must be a duration/],
      ] as const) {
        const { code, stderr } = await cli.run([...args.slice(0, -1), ttl], owner)
        assert.equal(code, 2, stderr)
        assert.match(stderr, says)
      }
      const missing = await cli.run(['auth', 'pull-token'], owner)
      assert.deepEqual([missing.code, missing.stderr], [2, 'berth: --parent is required\n'])
    })

    test('the kubelet gets what the service account of the pod may pull with', async () => {
      const issuer = await startIssuer(cleanup)
      const identity = await createIdentity(berth, berth.organization, {
        claimMatch: { issuer: issuer.name, subject: SUBJECT },
      })
      await bindRole(berth, berth.organization, identity, 'registry.pull')
      const cli = commandLine(cleanup, berth.url)
      const request = async (more = {}) =>
        JSON.stringify({
          apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
          kind: 'CredentialProviderRequest',
          image: `${registry}/my-org/app:1`,
          serviceAccountToken: await issuer.sign({ sub: SUBJECT, aud: berth.url }),
          ...more,
        })
      const ask = async (args: readonly string[], more = {}) =>
        JSON.parse(await cli.ok(['kubelet-credential-provider', ...args], { input: await request(more) }))
      const answer = await ask(['--identity', identity])
      assert.equal(answer.apiVersion, 'credentialprovider.kubelet.k8s.io/v1')
      assert.equal(answer.kind, 'CredentialProviderResponse')
      assert.equal(answer.cacheKeyType, 'Image')
      assert.match(answer.cacheDuration, /^3[45]\d\ds$/)
      assert.deepEqual(Object.keys(answer.auth), [registry])
      const { username, password } = answer.auth[registry]
      assert.equal(username, '_token')
      assert.deepEqual([decodeJwt(password).sub, [decodeJwt(password).aud].flat()], [identity, [registry]])

      const annotated = await ask([], { serviceAccountAnnotations: { 'berth.dev/identity': identity } })
      assert.equal(decodeJwt(annotated.auth[registry].password).sub, identity)
      assert.deepEqual((await ask([], { image: 'docker.io/library/nginx' })).auth, {})
      assert.equal(existsSync(join(cli.home, '.cache')), false, 'nothing is kept on the node')

      const refusals: [args: string[], more: object, code: number][] = [
        [[], {}, 2],
        [['--identity', identity], { serviceAccountToken: 'x' }, 1],
        [['--identity', identity], { kind: 'Pod' }, 2],
        [['--identity', identity], { image: undefined }, 2],
        [['--identity', identity], { serviceAccountToken: undefined }, 4],
      ]
      for (const [args, more, code] of refusals) {
        const input = await request(more)
        const refused = await cli.run(['kubelet-credential-provider', ...args], { input })
        assert.deepEqual([refused.code, refused.stdout], [code, ''], refused.stderr)
      }
      assert.equal((await cli.run(['kubelet-credential-provider'], { input: 'x' })).code, 2)
    })
  })
