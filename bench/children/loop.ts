import type { Load } from '../http-load.ts'
import { medianOf } from '../http-load.ts'

export interface LoopRequest {
  readonly seconds: number
  readonly concurrency: number
}

/** Repeats `work` for some seconds, with `concurrency` of it running at a time. */
export async function loop(
  { seconds, concurrency }: LoopRequest,
  work: () => Promise<void> | void,
): Promise<Load> {
  const startMs = performance.now()
  const endMs = startMs + seconds * 1000
  const latencies: number[] = []
  let count = 0
  const one = async () => {
    let nowMs = performance.now()
    while (nowMs < endMs) {
      const sentMs = nowMs
      const waiting = work()
      if (waiting !== undefined) await waiting
      nowMs = performance.now()
      if ((++count & 15) === 0 || latencies.length < 100) latencies.push(nowMs - sentMs)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, one))
  return { count, seconds: (performance.now() - startMs) / 1000, latencyMs: medianOf(latencies) }
}
