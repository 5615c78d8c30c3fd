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

/** A real HAProxy with the configuration that deploy/haproxy documents. */

const configuration = fileURLToPath(new URL('../../../deploy/haproxy/haproxy.cfg', import.meta.url))
const program = ['haproxy', '/usr/sbin/haproxy'].find((path) => spawnSync(path, ['-v']).status === 0)

/** Why tests that need HAProxy are skipped; false where they are not. */
export const withoutHaproxy: string | false = program === undefined ? 'no HAProxy on this machine' : false

export interface Haproxy {
  /** Serves HTTP/1.1 and HTTP/2 with prior knowledge. */
  readonly url: string
  /** What it printed: when a node went up or down, and why. */
  output(): string
  /** State of a node's server lines as the health check sees them, such as `UP` or `DOWN`, by backend. */
  states(node: number): Promise<readonly string[]>
  /** Waits until both backends see a node as `UP` or `DOWN`. */
  until(node: number, state: 'UP' | 'DOWN'): Promise<void>
  /** Sends nothing more to a node and waits until it has answered what it has. */
  drain(node: number): Promise<void>
  /** Ends `drain`. */
  use(node: number): Promise<void>
}

export interface HaproxyOptions {
  /** `host:port` of three nodes. */
  readonly nodes: readonly string[]
  /** Time between two health checks; default 500ms. */
  readonly inter?: string
}

/**
 * Starts HAProxy on a free port, without TLS. Nothing is ever sent twice (`retries 0`), so that every request that a restart breaks
 * is seen to fail.
 */
export async function startHaproxy(t: Cleanup, { nodes, inter = '500ms' }: HaproxyOptions): Promise<Haproxy> {
  if (program === undefined) throw new Error('no HAProxy')
  const directory = temporaryDirectory(t)
  const port = await freePort()
  const file = join(directory, 'haproxy.cfg')
  const socket = join(directory, 'admin.sock')
  writeFileSync(file, forTest(readFileSync(configuration, 'utf8'), { nodes, inter, port, socket }))
  const child = spawn(program, ['-db', '-f', file], { stdio: ['ignore', 'ignore', 'pipe'] })
  let printed = ''
  child.stderr.setEncoding('utf8').on('data', (text) => {
    printed += `${new Date().toISOString()} ${text}`
  })
  const ended = once(child, 'close')
  t.after(async () => {
    if (child.exitCode === null) child.kill('SIGKILL')
    await ended
  })
  const column = async (node: number, name: string) => {
    const lines = (await ask(socket, 'show stat')).split('\n').map((line) => line.split(','))
    const at = lines[0]?.indexOf(name) ?? -1
    return lines.filter(([, server]) => server === `node${node + 1}`).map((line) => line[at] ?? '')
  }
  const states = (node: number) => column(node, 'status')
  const set = async (node: number, state: 'drain' | 'ready') => {
    for (const backend of ['berth-http', 'berth-grpc']) {
      const output = await ask(socket, `set server ${backend}/node${node + 1} state ${state}`)
      if (output.trim() !== '') throw new Error(`HAProxy: ${output}`)
    }
  }
  const until = async (node: number, state: 'UP' | 'DOWN') => {
    const deadline = Date.now() + PATIENCE_MS
    for (;;) {
      const seen = await states(node).catch(() => [])
      if (seen.length > 0 && seen.every((one) => one.startsWith(state) && !one.includes('/'))) return
      if (Date.now() > deadline || child.exitCode !== null)
        throw new Error(`HAProxy does not see node ${node + 1} ${state} but ${seen}: ${printed}`)
      await pause(20)
    }
  }
  for (const node of nodes.keys()) await until(node, 'UP')
  return {
    url: `http://127.0.0.1:${port}`,
    output: () => printed,
    states,
    until,
    async drain(node) {
      await set(node, 'drain')
      const deadline = Date.now() + PATIENCE_MS
      while (!(await column(node, 'scur')).every((count) => count === '0')) {
        if (Date.now() > deadline)
          throw new Error(`HAProxy still has requests at node ${node + 1}: ${printed}`)
        await pause(20)
      }
    },
    use: (node) => set(node, 'ready'),
  }
}

function forTest(
  text: string,
  { nodes, inter, port, socket }: Required<HaproxyOptions> & { port: number; socket: string },
): string {
  const replaced = (from: RegExp, to: string, input: string) => {
    if (!from.test(input)) throw new Error(`deploy/haproxy/haproxy.cfg has no ${from}`)
    return input.replace(from, to)
  }
  let result = replaced(/bind :443 .*/, `bind 127.0.0.1:${port}`, text)
  result = replaced(/retries 2\n\s*option redispatch/, 'retries 0', result)
  result = replaced(/maxconn 20000/, 'maxconn 2000', result)
  result = replaced(/inter 1s/g, `inter ${inter}`, result)
  result = replaced(/^global\n/m, `global\n    stats socket ${socket} level admin\n`, result)
  for (const [at, node] of nodes.entries())
    result = replaced(new RegExp(`10\\.0\\.0\\.${at + 1}:8080`, 'g'), node, result)
  return result
}

async function ask(path: string, command: string): Promise<string> {
  const socket = connect(path)
  let answer = ''
  socket.setEncoding('utf8').on('data', (text) => {
    answer += text
  })
  socket.end(`${command}\n`)
  await once(socket, 'close')
  return answer
}
