import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Cleanup, temporaryDirectory } from '../server/process.ts'

/** Runs an image as a container engine does with `--read-only --cap-drop ALL`: its root, user, environment and command, without an engine. */

const commands = ['buildah', 'apt-get', 'dpkg-deb', 'unshare', 'nsenter', 'setpriv']
const missing = commands.filter((name) => spawnSync(name, ['--version']).error !== undefined)

/** Why tests that build and run images are skipped; false where they are not. */
export const withoutContainers: string | false =
  process.getuid?.() !== 0
    ? 'building images requires root'
    : missing.length > 0 && `not installed: ${missing}`

export interface ImageConfig {
  readonly User: string
  readonly Env: readonly string[]
  readonly Entrypoint: readonly string[]
  readonly Cmd: readonly string[]
  readonly ExposedPorts: Readonly<Record<string, object>>
  readonly Volumes: Readonly<Record<string, object>>
  readonly Labels: Readonly<Record<string, string>>
  readonly StopSignal: string
  readonly Healthcheck: { readonly Test: readonly string[] }
}

export interface LayoutImage {
  readonly digest: string
  readonly config: ImageConfig
  readonly layers: readonly string[]
  readonly size: number
}

export function readLayout(layout: string): LayoutImage {
  const path = (digest: string) => join(layout, 'blobs', digest.replace(':', '/'))
  const json = (file: string) => JSON.parse(readFileSync(file, 'utf8'))
  const [{ digest }] = json(join(layout, 'index.json')).manifests
  const { config, layers } = json(path(digest))
  return {
    digest,
    config: json(path(config.digest)).config,
    layers: layers.map((layer: { digest: string }) => path(layer.digest)),
    size: [config, ...layers].reduce((sum: number, { size }: { size: number }) => sum + size, 0),
  }
}

export interface Container {
  readonly child: ChildProcess
  readonly finished: Promise<number | null>
  output(): string
  /** Runs a command in the container, with its environment. */
  execute(...command: string[]): {
    readonly status: number | null
    readonly stdout: string
    readonly stderr: string
  }
}

/** Starts the image with more variables. Its file system is read-only, except /tmp and the volume /data. */
export function startContainer(
  t: Cleanup,
  image: LayoutImage,
  variables: Readonly<Record<string, string>>,
): Container {
  const directory = temporaryDirectory(t)
  const [root, data] = [join(directory, 'root'), join(directory, 'data')]
  for (const path of [root, data]) mkdirSync(path)
  chmodSync(directory, 0o755)
  for (const layer of image.layers) {
    const { status, stderr } = spawnSync('tar', ['-xzf', layer, '-C', root], { encoding: 'utf8' })
    if (status !== 0) throw new Error(stderr)
  }
  const [uid = '', gid = ''] = image.config.User.split(':')
  chownSync(data, Number(uid), Number(gid))
  const env = {
    ...Object.fromEntries(
      image.config.Env.map((text) => [text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)]),
    ),
    ...variables,
  }
  const script = `set -e
    mount --make-rprivate /
    mount --bind "$0" "$0"
    mount -t tmpfs tmpfs "$0/tmp"
    mount --bind "$1" "$0/data"
    mount --rbind /dev "$0/dev"
    mount -t proc proc "$0/proc"
    mount -o remount,bind,ro "$0"
    shift
    exec /usr/bin/setpriv --no-new-privs --bounding-set=-all,+sys_chroot,+setuid,+setgid /usr/sbin/chroot --userspec=${uid}:${gid} --groups= "$0" "$@"`
  const { Entrypoint, Cmd } = image.config
  const child = spawn(
    '/usr/bin/unshare',
    ['--mount', '/bin/sh', '-c', script, root, data, ...Entrypoint, ...Cmd],
    {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  let printed = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      printed += text
    })
  const finished = once(child, 'close').then(([code]) => code as number | null)
  t.after(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
    await finished
  })
  return {
    child,
    finished,
    output: () => printed,
    execute: (...command) =>
      spawnSync(
        '/usr/bin/nsenter',
        [
          '--target',
          String(child.pid),
          '--mount',
          '--root',
          '--setuid',
          uid,
          '--setgid',
          gid,
          '--',
          ...command,
        ],
        { encoding: 'utf8', env },
      ),
  }
}
