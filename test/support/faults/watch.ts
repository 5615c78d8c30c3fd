import { setTimeout as sleep } from 'node:timers/promises'

/** Asks a path of a node again and again, and remembers the replies. */

export interface Sample {
  readonly startMs: number
  readonly tookMs: number
  /** 0: no reply in time, or no connection. */
  readonly status: number
}

export interface Watch {
  readonly samples: readonly Sample[]
  stop(): Promise<void>
}

/** As long as a patient balancer or Prometheus waits. */
export const WATCH_MS_MAX = 10_000

export function watch(url: string, everyMs: number): Watch {
  const samples: Sample[] = []
  let isOver = false
  const watching = (async () => {
    while (!isOver) {
      const startMs = performance.now()
      const status = await statusOf(url)
      samples.push({ startMs, tookMs: performance.now() - startMs, status })
      await sleep(Math.max(10, startMs + everyMs - performance.now()))
    }
  })()
  return {
    samples,
    async stop() {
      isOver = true
      await watching
    },
  }
}

async function statusOf(url: string): Promise<number> {
  try {
    const reply = await fetch(url, { signal: AbortSignal.timeout(WATCH_MS_MAX) })
    await reply.arrayBuffer()
    return reply.status
  } catch {
    return 0
  }
}
