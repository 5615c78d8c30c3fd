import { Session } from 'node:inspector/promises'
import { monitorEventLoopDelay } from 'node:perf_hooks'

/** The measured side of a child process: says `ready` with what the parent needs, then answers its questions. */

export type Handlers = Readonly<Record<string, (argument: never) => unknown>>

interface Question {
  readonly id: number
  readonly ask: string
  readonly argument: unknown
}

/** Time spent in one function itself, while the profiler ran. */
export interface HotFunction {
  readonly name: string
  readonly at: string
  readonly selfMs: number
}

const NS_PER_MS = 1e6
const KIB_PER_MB = 1024
const BYTES_PER_MB = KIB_PER_MB ** 2

export function serveParent(ready: unknown, handlers: Handlers): void {
  const all: Handlers = { ...common(), ...handlers }
  process.on('message', ({ id, ask, argument }: Question) => {
    void (async () => {
      try {
        const handler = all[ask]
        if (handler === undefined) throw new Error(`${ask} is not a request for this process`)
        process.send?.({ id, answer: await handler(argument as never) })
      } catch (error) {
        process.send?.({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) })
      }
    })()
  })
  process.on('disconnect', () => process.exit(0))
  process.send?.({ ready: ready ?? null }) // JSON drops what is undefined
}

function common(): Handlers {
  const delays = monitorEventLoopDelay({ resolution: 1 })
  const session = new Session()
  return {
    /** Microseconds of CPU that this process has used, all its threads together. */
    cpu: () => {
      const { user, system } = process.cpuUsage()
      return user + system
    },
    /** Megabytes that are resident now, and were at most. */
    memoryMb: () => ({
      now: process.memoryUsage.rss() / BYTES_PER_MB,
      most: process.resourceUsage().maxRSS / KIB_PER_MB,
    }),
    watchLoop: () => {
      delays.reset()
      delays.enable()
    },
    loopDelayMs: () => {
      delays.disable()
      return {
        median: delays.percentile(50) / NS_PER_MS,
        p99: delays.percentile(99) / NS_PER_MS,
        max: delays.max / NS_PER_MS,
      }
    },
    startProfile: async () => {
      session.connect()
      await session.post('Profiler.enable')
      await session.post('Profiler.setSamplingInterval', { interval: 200 })
      await session.post('Profiler.start')
    },
    stopProfile: async () => {
      const { profile } = await session.post('Profiler.stop')
      session.disconnect()
      return hotFunctions(profile)
    },
  }
}

interface Profile {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
  }[]
  readonly samples?: readonly number[] | undefined
  readonly timeDeltas?: readonly number[] | undefined
}

function hotFunctions({ nodes, samples = [], timeDeltas = [] }: Profile): HotFunction[] {
  const frames = new Map(nodes.map((node) => [node.id, node.callFrame]))
  const found = new Map<string, { name: string; at: string; selfMs: number }>()
  for (const [index, id] of samples.entries()) {
    const frame = frames.get(id)
    if (frame === undefined) continue
    const at = frame.url === '' ? '' : `${shortened(frame.url)}:${frame.lineNumber + 1}`
    const key = `${frame.functionName} ${at}`
    const known = found.get(key) ?? { name: frame.functionName || '(anonymous)', at, selfMs: 0 }
    known.selfMs += (timeDeltas[index] ?? 0) / 1000
    found.set(key, known)
  }
  return [...found.values()].sort((a, b) => b.selfMs - a.selfMs)
}

function shortened(url: string): string {
  return url
    .replace(/^.*\/node_modules\//, '')
    .replace(new URL('../..', import.meta.url).href, '')
    .replace(/^file:\/\//, '')
}
