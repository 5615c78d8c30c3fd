import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { delimiter, join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { selfSignedCertificate } from '../support/http/certificate.ts'
import { layoutWithImage } from '../support/registry/image-layout.ts'
import { cleanups, program, runBerth, serveBerth, temporaryDirectory } from '../support/server/process.ts'
import { SUBJECT, startIssuer, type TestIssuer } from '../support/tokens/issuer.ts'

/**
 * Container tools as they are, against a server that speaks TLS: each pushes, pulls by tag and by digest, lists, copies and deletes, and
 * signs and attaches where it can. They are looked for in the folders of BERTH_TEST_CLIENTS, then of PATH; those that are not there are
 * skipped by their names.
 */

const folders = [process.env['BERTH_TEST_CLIENTS'] ?? '', process.env['PATH'] ?? '']
  .flatMap((list) => list.split(delimiter))
  .filter((folder) => folder !== '')

function findClient(name: string): string | undefined {
  return folders
    .map((folder) => join(folder, name))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK)
        return existsSync(path)
      } catch {
        return false
      }
    })
}

const versionArgs: Readonly<Record<string, readonly string[]>> = {
  buildah: ['--version'],
  docker: ['--version'],
  helm: ['version', '--short'],
  podman: ['--version'],
  regctl: ['version', '--format', '{{.VCSTag}}'],
  skopeo: ['--version'],
}

describe('container tools', () => {
  const cleanup = cleanups()
  let host = ''
  let organization = ''
  let token = ''
  let certificate = ''
  let api = ''
  let issuer: TestIssuer

  before(async () => {
    const directory = temporaryDirectory(cleanup)
    const { cert, key } = selfSignedCertificate()
    certificate = join(directory, 'cert.pem')
    writeFileSync(certificate, cert)
    writeFileSync(join(directory, 'key.pem'), key, { mode: 0o600 })
    const own = { BERTH_DATA_DIR: join(directory, 'data') }
    const tls = { BERTH_TLS_CERT_FILE: certificate, BERTH_TLS_KEY_FILE: join(directory, 'key.pem') }
    issuer = await startIssuer(cleanup)
    const server = await serveBerth(cleanup, {
      ...own,
      ...tls,
      BERTH_ISSUER_PRIVATE_NETWORKS: '127.0.0.0/8',
    })
    api = server.url
    host = new URL(api).host
    const say = async (...args: string[]) => {
      const { code, stdout, stderr } = await runBerth(cleanup, args, { ...own, BERTH_BASE_URL: api })
      assert.equal(code, 0, stderr)
      return stdout.trim()
    }
    organization = JSON.parse(await say('admin', 'bootstrap', '--name', 'acme', '--json')).organization.uid
    token = await say('admin', 'token')
  })
  after(() => cleanup.run())

  interface Client {
    /** Runs it; what it printed. */
    run(...args: string[]): Promise<string>
    /** Runs it with something on its standard input. */
    tell(input: string, ...args: string[]): Promise<string>
    readonly home: string
    /** `localhost:1234/acme/<client>`. */
    readonly root: string
    /** What a command of ours prints. */
    berth(...args: string[]): Promise<string>
  }

  const client = async (t: TestContext, name: string, work: (client: Client) => Promise<void>) => {
    const path = findClient(name)
    if (path === undefined) return t.skip(`${name} is not here`)
    const home = temporaryDirectory(t)
    mkdirSync(join(home, 'bin'))
    symlinkSync(program, join(home, 'bin', 'docker-credential-berth'))
    const env = {
      ...{ HOME: home, DOCKER_CONFIG: join(home, '.docker') },
      ...{
        SSL_CERT_FILE: certificate,
        NODE_EXTRA_CA_CERTS: certificate,
        COSIGN_PASSWORD: '',
        COSIGN_EXPERIMENTAL: '1',
      },
      ...{ BERTH_API: api, BERTH_TOKEN: token, XDG_RUNTIME_DIR: home, BUILDAH_ISOLATION: 'chroot' },
      PATH: `${join(home, 'bin')}:${process.env['PATH']}`,
    }
    const execute = async (input: string, file: string, args: readonly string[]) => {
      const child = spawn(file, args, { cwd: home, env, stdio: ['pipe', 'pipe', 'pipe'] })
      const [stdout, stderr]: [string[], string[]] = [[], []]
      child.stdout.setEncoding('utf8').on('data', (text) => stdout.push(text))
      child.stderr.setEncoding('utf8').on('data', (text) => stderr.push(text))
      child.stdin.on('error', () => undefined).end(input)
      const [code] = await once(child, 'close')
      assert.equal(code, 0, `${name} ${args.join(' ')}: ${stderr.join('')}`)
      return stdout.join('').trim()
    }
    const version = await execute('', path, versionArgs[name] ?? ['version'])
    t.diagnostic(`${name}: ${version.split('\n').find((line) => /\d/.test(line))}`)
    await work({
      run: (...args) => execute('', path, args),
      tell: (input, ...args) => execute(input, path, args),
      home,
      root: `${host}/acme/${name}`,
      berth: (...args) => execute('', process.execPath, [program, ...args]),
    })
  }

  test('crane', (t) =>
    client(t, 'crane', async ({ run, root, home, berth }) => {
      // Its credentials come from the credential helper of the command line.
      await berth('auth', 'configure-docker')
      const image = await layoutWithImage(join(home, 'layout'), '1')
      await run('push', image.directory, `${root}/app:1`)
      assert.equal(await run('digest', `${root}/app:1`), image.digest)
      await run('pull', '--format=oci', `${root}/app@${image.digest}`, join(home, 'pulled'))
      await run('pull', `${root}/app:1`, join(home, 'pulled.tar'))
      await run('copy', `${root}/app:1`, `${root}/copy:1`)
      await run('tag', `${root}/app:1`, 'two')
      await run('mutate', `${root}/app:1`, '--label', 'a=b', '-t', `${root}/app:three`)
      assert.deepEqual((await run('ls', `${root}/app`)).split('\n'), ['1', 'three', 'two'])
      assert.match(await run('catalog', host), new RegExp(`${organization}|acme/crane/app`))
      assert.equal((await run('export', `${root}/app:1`, '-')).includes('hello.txt'), true)
      assert.equal(await run('validate', '--remote', `${root}/app:1`), `PASS: ${root}/app:1`)
      await run('delete', `${root}/app:two`)
      assert.deepEqual((await run('ls', `${root}/app`)).split('\n'), ['1', 'three'])
      await run('delete', `${root}/copy@${image.digest}`)
    }))

  test('skopeo', (t) =>
    client(t, 'skopeo', async ({ run, tell, root, home }) => {
      await tell(token, 'login', '--username', '_token', '--password-stdin', host)
      const { directory, digest } = await layoutWithImage(join(home, 'layout'), '1')
      const policy = ['--insecure-policy']
      await run(...policy, 'copy', `oci:${directory}:1`, `docker://${root}/app:1`)
      assert.equal(JSON.parse(await run('inspect', `docker://${root}/app:1`)).Digest, digest)
      await run(...policy, 'copy', `docker://${root}/app@${digest}`, `oci:${join(home, 'pulled')}:1`)
      await run(...policy, 'copy', '--all', `docker://${root}/app:1`, `docker://${root}/copy:1`)
      await run(...policy, 'copy', '-f', 'v2s2', `docker://${root}/app:1`, `docker://${root}/app:docker`)
      const dir = join(home, 'synced')
      mkdirSync(dir)
      await run(...policy, 'sync', '--src', 'docker', '--dest', 'dir', `${root}/app`, dir)
      assert.equal(readdirSync(dir).length > 0, true)
      const { Tags } = JSON.parse(await run('list-tags', `docker://${root}/app`))
      assert.deepEqual(Tags, ['1', 'docker'])
      await run('delete', `docker://${root}/copy:1`)
      await run('logout', host)
    }))

  /** An identity that pushes as `workload`, and a token of its own for the registry. */
  const workload = async (berth: (...args: string[]) => Promise<string>) => {
    const created = JSON.parse(
      await berth(
        ...['iam', 'identities', 'create', 'token', 'workload', '--identity-issuer', issuer.name],
        ...['--subject', SUBJECT, '--parent', organization, '--role', 'registry.push', '-o', 'json'],
      ),
    )
    return { identity: created.uid as string, password: await issuer.sign({ sub: SUBJECT, aud: host }) }
  }

  test('crane, with the token of a workload', (t) =>
    client(t, 'crane', async ({ run, tell, root, home, berth }) => {
      const { identity, password } = await workload(berth)
      await tell(password, 'auth', 'login', host, '-u', identity, '--password-stdin')
      const image = await layoutWithImage(join(home, 'layout'), '1')
      await run('push', image.directory, `${root}/workload:1`)
      assert.equal(await run('digest', `${root}/workload:1`), image.digest)
    }))

  test('skopeo, with the token of a workload', (t) =>
    client(t, 'skopeo', async ({ run, tell, root, home, berth }) => {
      const { identity, password } = await workload(berth)
      await tell(password, 'login', '--username', identity, '--password-stdin', host)
      const { directory, digest } = await layoutWithImage(join(home, 'layout'), '1')
      await run('--insecure-policy', 'copy', `oci:${directory}:1`, `docker://${root}/workload:1`)
      assert.equal(JSON.parse(await run('inspect', `docker://${root}/workload:1`)).Digest, digest)
    }))

  test('podman', (t) =>
    client(t, 'podman', async ({ run, tell, root, home, berth }) => {
      const storage = [
        '--root',
        join(home, 'root'),
        '--runroot',
        join(home, 'run'),
        '--storage-driver',
        'vfs',
      ]
      const podman = (...args: string[]) => run(...storage, ...args)
      await tell(token, ...storage, 'login', '--username', '_token', '--password-stdin', host)
      writeFileSync(join(home, 'file'), 'hello\n')
      writeFileSync(join(home, 'Containerfile'), 'FROM scratch\nCOPY file /file\nCMD ["/file"]\n')
      await podman('build', '--isolation', 'chroot', '-t', `${root}/app:1`, home)
      await podman('push', '--digestfile', join(home, 'digest'), `${root}/app:1`)
      const pushed = readFileSync(join(home, 'digest'), 'utf8')
      assert.equal(await berth('images', 'digest', `${root}/app:1`), pushed)
      await podman('push', '--format', 'v2s2', `${root}/app:1`, `${root}/app:docker`)
      await podman('rmi', '--all', '--force')
      await podman('pull', `${root}/app@${pushed}`)
      await podman('pull', `${root}/app:docker`)
      const listed = await podman('search', '--list-tags', `${root}/app`)
      assert.match(listed, / 1\n.* docker$/)
      await podman('manifest', 'create', 'list', `docker://${root}/app:1`)
      await podman('manifest', 'push', '--all', 'list', `docker://${root}/app:list`)
      assert.match(await podman('manifest', 'inspect', `${root}/app:list`), new RegExp(pushed))
      // A pull token: it pulls, and does not push.
      const made = JSON.parse(await berth('auth', 'pull-token', '--parent', organization, '-o', 'json'))
      await tell(made.token, ...storage, 'login', '-u', made.identity, '--password-stdin', host)
      await podman('rmi', '--all', '--force')
      await podman('pull', `${root}/app:1`)
      await assert.rejects(podman('push', `${root}/app:1`, `${root}/app:2`))
    }))

  test('buildah', (t) =>
    client(t, 'buildah', async ({ run, tell, root, home }) => {
      const storage = [
        '--root',
        join(home, 'root'),
        '--runroot',
        join(home, 'run'),
        '--storage-driver',
        'vfs',
      ]
      const buildah = (...args: string[]) => run(...storage, ...args)
      await tell(token, ...storage, 'login', '--username', '_token', '--password-stdin', host)
      writeFileSync(join(home, 'file'), 'hello\n')
      const container = await buildah('from', 'scratch')
      await buildah('copy', container, join(home, 'file'), '/file')
      await buildah('config', '--label', 'a=b', container)
      await buildah('commit', container, `${root}/app:1`)
      await buildah('push', '--digestfile', join(home, 'digest'), `${root}/app:1`, `docker://${root}/app:1`)
      await buildah('push', '--format', 'v2s2', `${root}/app:1`, `docker://${root}/app:docker`)
      await buildah('rm', '--all')
      await buildah('rmi', '--all', '--force')
      await buildah('pull', `${root}/app@${readFileSync(join(home, 'digest'), 'utf8')}`)
      await buildah('pull', `docker://${root}/app:docker`)
      await buildah('from', `${root}/app:1`)
    }))

  test('regctl', (t) =>
    client(t, 'regctl', async ({ run, tell, root, home }) => {
      await tell(token, 'registry', 'login', host, '--user', '_token', '--pass-stdin')
      const { directory, digest } = await layoutWithImage(join(home, 'layout'), '1')
      await run('image', 'copy', `ocidir://${directory}:1`, `${root}/app:1`)
      assert.equal(await run('image', 'digest', `${root}/app:1`), digest)
      await run('image', 'copy', `${root}/app@${digest}`, `ocidir://${join(home, 'pulled')}:1`)
      await tell(
        'a bill',
        'artifact',
        'put',
        '--artifact-type',
        'application/x.bill',
        '--subject',
        `${root}/app:1`,
      )
      await run('image', 'copy', '--referrers', '--digest-tags', `${root}/app:1`, `${root}/copy:1`)
      assert.match(await run('artifact', 'list', `${root}/copy:1`), /application\/x\.bill/)
      await run('image', 'export', `${root}/app:1`, join(home, 'app.tar'))
      await run('image', 'import', `${root}/imported:1`, join(home, 'app.tar'))
      await run('index', 'create', `${root}/app:list`, '--ref', `${root}/app:1`, '--platform', 'linux/amd64')
      assert.deepEqual((await run('tag', 'ls', `${root}/app`)).split('\n'), ['1', 'list'])
      assert.match(await run('repo', 'ls', host), /app/)
      await run('tag', 'delete', `${root}/app:list`)
      assert.deepEqual((await run('tag', 'ls', `${root}/app`)).split('\n'), ['1'])
      await run('manifest', 'delete', `${root}/copy@${digest}`)
    }))

  test('oras', (t) =>
    client(t, 'oras', async ({ run, tell, root, home }) => {
      await tell(token, 'login', '--username', '_token', '--password-stdin', host)
      const { directory, digest } = await layoutWithImage(join(home, 'layout'), '1')
      await run('cp', '--from-oci-layout', `${directory}:1`, `${root}/app:1`)
      assert.equal(await run('resolve', `${root}/app:1`), digest)
      await run('cp', `${root}/app@${digest}`, '--to-oci-layout', `${join(home, 'pulled')}:1`)
      writeFileSync(join(home, 'bill.json'), '{"bill":true}')
      await run(
        'push',
        `${root}/files:1`,
        '--artifact-type',
        'application/x.files',
        'bill.json:application/json',
      )
      await run('pull', `${root}/files:1`, '-o', join(home, 'files'))
      assert.equal(readFileSync(join(home, 'files', 'bill.json'), 'utf8'), '{"bill":true}')
      await run(
        'attach',
        `${root}/app:1`,
        '--artifact-type',
        'application/x.bill',
        'bill.json:application/json',
      )
      await run('cp', '-r', `${root}/app:1`, `${root}/copy:1`)
      assert.match(await run('discover', `${root}/copy:1`), /application\/x\.bill/)
      await run('tag', `${root}/app:1`, 'two')
      assert.deepEqual((await run('repo', 'tags', `${root}/app`)).split('\n'), ['1', 'two'])
      assert.match(await run('repo', 'ls', host), /app/)
      await run(
        'blob',
        'fetch',
        '--descriptor',
        `${root}/app@${JSON.parse(await run('manifest', 'fetch', `${root}/app:1`)).config.digest}`,
      )
      await run('manifest', 'delete', '--force', `${root}/copy@${digest}`)
    }))

  test('helm', (t) =>
    client(t, 'helm', async ({ run, tell, root, home }) => {
      await tell(token, 'registry', 'login', host, '--username', '_token', '--password-stdin')
      mkdirSync(join(home, 'shop', 'templates'), { recursive: true })
      writeFileSync(join(home, 'shop', 'Chart.yaml'), 'apiVersion: v2\nname: shop\nversion: 1.2.3\n')
      writeFileSync(join(home, 'shop', 'templates', 'x.yaml'), 'kind: ConfigMap\napiVersion: v1\n')
      await run('package', 'shop')
      await run('push', 'shop-1.2.3.tgz', `oci://${root}`)
      await run('pull', `oci://${root}/shop`, '--version', '1.2.3', '-d', join(home))
      assert.match(await run('show', 'chart', `oci://${root}/shop`), /version: 1\.2\.3/)
      assert.match(await run('template', `oci://${root}/shop`), /ConfigMap/)
      await run('registry', 'logout', host)
    }))

  test('cosign', (t) =>
    client(t, 'cosign', async ({ run, tell, root, home, berth }) => {
      await tell('', 'login', host, '-u', '_token', '-p', token)
      const { directory, digest } = await layoutWithImage(join(home, 'layout'), '1')
      await berth('images', 'push', `${directory}:1`, `${root}/app:1`)
      const image = `${root}/app@${digest}`
      await run('generate-key-pair')
      writeFileSync(join(home, 'bill.json'), '{"spdxVersion":"SPDX-2.3"}')
      const [key, publicKey] = [join(home, 'cosign.key'), join(home, 'cosign.pub')]
      const offline = ['--key', key, '--tlog-upload=false', '--yes']
      const verify = ['--key', publicKey, '--insecure-ignore-tlog=true', '--private-infrastructure']
      await run('sign', ...offline, image)
      assert.match(await run('verify', ...verify, image), new RegExp(digest))
      await run('sign', ...offline, '--registry-referrers-mode=oci-1-1', image)
      await run('verify', ...verify, '--experimental-oci11', image)
      await run('attest', ...offline, '--predicate', 'bill.json', '--type', 'spdxjson', image)
      await run('verify-attestation', ...verify, '--type', 'spdxjson', image)
      await run('attach', 'sbom', '--sbom', 'bill.json', image)
      assert.match(await run('tree', image), /Signatures|sig/)
      assert.match(await berth('images', 'referrers', image), /sha256-\w+\.sig/)
      await berth('images', 'copy', `${root}/app:1`, `${root}/copy:1`, '--referrers')
      await run('verify', ...verify, `${root}/copy@${digest}`)
      await run('copy', '--force', `${root}/app:1`, `${root}/copied:1`)
      await run('clean', '--force', image)
    }))

  test('docker', (t) =>
    client(t, 'docker', async ({ run, tell, root, home, berth }) => {
      // Without its engine: signing in, and what the command line does by itself.
      const made = JSON.parse(await berth('auth', 'pull-token', '--parent', organization, '-o', 'json'))
      await tell(made.token, 'login', host, '-u', made.identity, '--password-stdin')
      const { directory, digest } = await layoutWithImage(join(home, 'layout'), '1')
      await berth('images', 'push', `${directory}:1`, `${root}/app:1`)
      assert.match(await run('manifest', 'inspect', '--verbose', `${root}/app:1`), new RegExp(digest))
      await run('logout', host)
    }))
})
