import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../../scripts/free-port.ts'
import { PATIENCE_MS } from '../eventually.ts'
import { type Cleanup, temporaryDirectory } from '../server/process.ts'
import { selfSignedCertificate } from './certificate.ts'

/** Real proxies with the configurations that deploy/ documents: TLS with HTTP/2 to clients, and Berth behind them. */

export interface ProxyTarget {
  /** Port of the proxy. */
  readonly port: number
  /** `host:port` of Berth. */
  readonly berth: string
  /** Paths of the certificate and its key. */
  readonly certificate: string
  readonly key: string
  /** For temporary files of the proxy. */
  readonly directory: string
}

interface ProxyKind {
  /** Absolute, because /usr/sbin is not in every PATH. */
  readonly programs: readonly string[]
  readonly source: string
  /** Replaces names and addresses; throws if the source has no such text. */
  configure(text: string, target: ProxyTarget): string
  validate(file: string, target: ProxyTarget): readonly string[]
  run(file: string, target: ProxyTarget): readonly string[]
}

const kinds = {
  nginx: {
    programs: ['nginx', '/usr/sbin/nginx'],
    source: 'deploy/nginx/berth.conf',
    configure: (text, { port, berth, certificate, key, directory }) => {
      const server = replaceAll(text, [
        [/listen 443 /g, `listen 127.0.0.1:${port} `],
        [/server 127\.0\.0\.1:8080;/g, `server ${berth};`],
        [/\/etc\/nginx\/certs\/berth\.crt/g, certificate],
        [/\/etc\/nginx\/certs\/berth\.key/g, key],
      ])
      const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
        (name) => `${name}_temp_path ${directory}/${name};`,
      )
      return [
        process.getuid?.() === 0 ? 'user root;' : '',
        `pid ${directory}/nginx.pid; daemon off; worker_processes 1; error_log stderr warn;`,
        `events {} http { access_log off; ${temporary.join(' ')}`,
        server,
        '}',
      ].join('\n')
    },
    validate: (file, { directory }) => ['-t', '-e', 'stderr', '-p', directory, '-c', file],
    run: (file, { directory }) => ['-e', 'stderr', '-p', directory, '-c', file],
  },
  caddy: {
    programs: ['caddy'],
    source: 'deploy/caddy/Caddyfile',
    configure: (text, { port, berth, certificate, key }) =>
      `{\n\tadmin off\n\tauto_https disable_redirects\n}\n${replaceAll(text, [
        [/\{\$BERTH_HOST:.*?\} \{/g, `https://127.0.0.1:${port} {\n\ttls ${certificate} ${key}`],
        [/\{\$BERTH_ADDRESS:.*?\}/g, berth],
      ])}`,
    validate: (file) => ['validate', '--adapter', 'caddyfile', '--config', file],
    run: (file) => ['run', '--adapter', 'caddyfile', '--config', file],
  },
} as const satisfies Record<string, ProxyKind>

export type ProxyName = keyof typeof kinds

export const proxyNames = Object.keys(kinds) as ProxyName[]

/** Why tests that need this proxy are skipped; false where they are not. */
export function withoutProxy(name: ProxyName): string | false {
  return programOf(name) === undefined && `${name} is not installed (Debian's package ${name})`
}

export interface Proxy {
  readonly url: string
  /** PEM of the certificate that clients must trust, and its path. */
  readonly certificate: string
  readonly certificateFile: string
  /** Validates the configuration with the proxy's own command and starts it in front of Berth at `host:port`. */
  start(address: string): Promise<void>
}

/** A proxy on a free port. Berth must know its URL before it starts. */
export async function createProxy(t: Cleanup, name: ProxyName): Promise<Proxy> {
  const program = programOf(name)
  if (program === undefined) throw new Error(`no ${name}`)
  const kind: ProxyKind = kinds[name]
  const directory = temporaryDirectory(t)
  const { cert, key } = selfSignedCertificate()
  const files = { certificate: join(directory, 'tls.crt'), key: join(directory, 'tls.key') }
  writeFileSync(files.certificate, cert)
  writeFileSync(files.key, key, { mode: 0o600 })
  const port = await freePort()
  return {
    url: `https://127.0.0.1:${port}`,
    certificate: cert,
    certificateFile: files.certificate,
    async start(berth) {
      const target = { ...files, directory, port, berth: berth }
      const file = join(directory, 'proxy.conf')
      const source = fileURLToPath(new URL(`../../../${kind.source}`, import.meta.url))
      writeFileSync(file, kind.configure(readFileSync(source, 'utf8'), target))
      const env = { PATH: process.env['PATH'], HOME: directory }
      const { status, stderr } = spawnSync(program, kind.validate(file, target), { encoding: 'utf8', env })
      if (status !== 0) throw new Error(`${kind.source}: ${stderr}`)
      const child = spawn(program, kind.run(file, target), { env, stdio: ['ignore', 'ignore', 'pipe'] })
      let printed = ''
      child.stderr.setEncoding('utf8').on('data', (text) => {
        printed += text
      })
      const ended = once(child, 'close')
      t.after(async () => {
        if (child.exitCode === null) child.kill('SIGTERM')
        await ended
      })
      const deadline = Date.now() + PATIENCE_MS
      while (!(await accepts(port))) {
        if (child.exitCode !== null || Date.now() > deadline)
          throw new Error(`${name} does not start: ${printed}`)
        await pause(20)
      }
    },
  }
}

function programOf(name: ProxyName): string | undefined {
  return kinds[name].programs.find((path) => spawnSync(path, ['-v']).error === undefined)
}

function replaceAll(text: string, replacements: readonly (readonly [RegExp, string])[]): string {
  return replacements.reduce((result, [from, to]) => {
    if (!result.match(from)) throw new Error(`the configuration has no ${from}`)
    return result.replace(from, to)
  }, text)
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}
