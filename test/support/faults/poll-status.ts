import { setTimeout as sleep } from 'node:timers/promises'

/** Asks a path of a node again and again, and remembers the replies. */

export interface Sample {
  readonly startMs: number
  readonly tookMs: number
  /** 0: no reply in time, or no connection. */
  readonly status: number
}

export interface StatusPoll {
  readonly samples: readonly Sample[]
  stop(): Promise<void>
}

/** As long as a patient balancer or Prometheus waits. */
export const POLL_TIMEOUT_MS = 10_000

export function pollStatus(url: string, everyMs: number): StatusPoll {
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
    const reply = await fetch(url, { signal: AbortSignal.timeout(POLL_TIMEOUT_MS) })
    await reply.arrayBuffer()
    return reply.status
  } catch {
    return 0
  }
}
