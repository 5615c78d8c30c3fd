import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Cleanup } from '../server/process.ts'
import { type AttackedServer, startAttackedServer } from './attacked-server.ts'
import { type Caller, type HostileCase, wrongReplies } from './hostile-case.ts'
import type { ReadingResult, ReadingSetup } from './reading-client.ts'
import { prepare, type Replies } from './send.ts'

/** Runs cases one after the other, and measures each. */

/** What a case did to the server and to its other client. */
export interface Outcome {
  readonly case: HostileCase
  readonly endpoint: string
  readonly caller: Caller
  /** How the event loop was held, in ms of time and of processor time; NaN when the server did not live to tell. */
  readonly pauseMs: number
  readonly pauseCpuMs: number
  /** Processor time of the main thread in all, ms. */
  readonly cpuMs: number
  /** Bytes by which the resident memory grew at most. */
  readonly grownBytes: number
  /** Of the other client's requests, and the same in a quiet run, in ms. */
  readonly p99Ms: number
  readonly quietP99Ms: number
  readonly failures: ReadingResult['failures']
  readonly replies: Replies
  /** What the server logged as errors. */
  readonly errors: readonly string[]
  /** Bytes of request bodies that are still counted as waiting in memory when all requests are over. */
  readonly unreleasedBytes: number
  /** Why the server does not answer any more; undefined when it does. */
  readonly broken: string | undefined
  readonly wrong: readonly string[]
}

export interface Endpoint {
  readonly name: string
  readonly cases: readonly HostileCase[]
}

/** The other client is watched at least so long, a case however short it is. */
const WATCHED_MS = 100
const QUIET_MS = 2000
const ALIVE_MS = 10_000
const SETTLING_MS = 100
const SETTLING_TRIES = 50
/** Memory that a server may keep after a case before it is started anew for the next. */
const KEPT_BYTES_MAX = 64 * 1024 * 1024

export async function runCases(
  t: Cleanup,
  entrances: readonly Endpoint[],
  done: (outcome: Outcome) => void,
): Promise<void> {
  const server = await startAttackedServer(t)
  const client = readingClient(t, {
    url: server.target.url,
    token: server.target.tokens.operator.api,
    group: server.target.group,
  })
  await client.watch(() => sleep(QUIET_MS / 2)) // connections and caches
  const quietP99Ms = p99((await client.watch(() => sleep(QUIET_MS))).latenciesMs)
  await server.reset()
  let quietRss = (await server.read()).rssBefore
  for (const { name: entrance, cases } of entrances) {
    for (const one of cases) {
      for (const caller of one.callers) {
        const outcome = await runCase(server, client, one, caller)
        done({ ...outcome, endpoint: entrance, quietP99Ms })
        const kept =
          outcome.broken === undefined ? await retainedBytes(server, quietRss) : Number.POSITIVE_INFINITY
        if (kept <= KEPT_BYTES_MAX) continue
        await server.restart()
        await server.reset()
        quietRss = (await server.read()).rssBefore
      }
    }
  }
}

async function retainedBytes(server: AttackedServer, quietRss: number): Promise<number> {
  await server.reset()
  return (await server.read()).rssBefore - quietRss
}

/** The server must have been reset, which collects garbage. */
async function runCase(
  server: AttackedServer,
  client: ReadingClient,
  one: HostileCase,
  caller: Caller,
): Promise<Omit<Outcome, 'endpoint' | 'quietP99Ms'>> {
  const send = prepare(server.target, one.attack(server.target, caller), newAddress())
  server.newErrors()
  let replies: Replies = new Map()
  let measured: Awaited<ReturnType<AttackedServer['read']>> | undefined
  let broken: string | undefined
  const { latenciesMs, failures } = await client.watch(async () => {
    const [sent] = await Promise.all([send(), sleep(WATCHED_MS)])
    replies = sent
    // Answers when the event loop turns again.
    measured = await server.read().catch(() => undefined)
  })
  if (!server.isRunning()) broken = 'the process ended'
  else if (measured === undefined) broken = 'the event loop stood still'
  else broken = await failureReason(server)
  const { pauseMs = Number.NaN, pauseCpuMs = Number.NaN, cpuMs = Number.NaN } = measured ?? {}
  return {
    case: one,
    caller,
    pauseMs,
    pauseCpuMs,
    cpuMs,
    grownBytes: measured === undefined ? Number.NaN : measured.rssPeak - measured.rssBefore,
    p99Ms: p99(latenciesMs),
    failures,
    replies,
    errors: server.newErrors(),
    unreleasedBytes: broken === undefined ? await unreleasedBytes(server.target.url) : Number.NaN,
    broken,
    wrong: wrongReplies(one, caller, replies.keys()),
  }
}

let addresses = 0

/**
 * Each case comes from another address of the loopback network: limits of an address that one case exhausts concern neither the next one nor
 * the other client. Only Linux has these addresses.
 */
function newAddress(): string | undefined {
  addresses++
  return process.platform === 'linux' ? `127.1.${addresses >> 8}.${addresses & 255}` : undefined
}

/** What the metric of waiting request bytes settles at: the server may learn late that a client hung up. */
async function unreleasedBytes(url: string): Promise<number> {
  let bytes = 0
  for (let tries = 0; tries < SETTLING_TRIES; tries++) {
    const text = await (await fetch(`${url}/metrics`)).text()
    bytes = Number(/^berth_buffered_request_bytes (\S+)$/m.exec(text)?.[1] ?? 0)
    if (bytes === 0) return 0
    await sleep(SETTLING_MS)
  }
  return bytes
}

/** Whether new requests of others are served after the attack. */
async function failureReason({ target }: AttackedServer): Promise<string | undefined> {
  for (const [path, headers] of [
    ['/healthz', {}],
    ['/readyz', {}],
    [`/iam/v2beta1/groups/${target.group}`, { authorization: target.bearer('operator') ?? '' }],
  ] as const) {
    try {
      const reply = await fetch(target.url + path, { headers, signal: AbortSignal.timeout(ALIVE_MS) })
      if (reply.status !== 200) return `${path} answers ${reply.status}`
      await reply.arrayBuffer()
    } catch (error) {
      return `${path}: ${(error as Error).message}`
    }
  }
  return undefined
}

interface ReadingClient {
  /** Reads while `work` runs. */
  watch(work: () => Promise<unknown>): Promise<ReadingResult>
}

function readingClient(t: Cleanup, setup: ReadingSetup): ReadingClient {
  const child: ChildProcess = fork(fileURLToPath(new URL('reading-client.ts', import.meta.url)))
  t.after(() => void child.kill())
  child.send(setup)
  return {
    async watch(work) {
      child.send('start')
      await work()
      const result = once(child, 'message')
      child.send('stop')
      return ((await result) as [ReadingResult])[0]
    },
  }
}

function p99(sorted: readonly number[]): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * 0.99) - 1)] ?? Number.NaN
}
