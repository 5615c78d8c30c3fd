import type { Readable } from 'node:stream'
import { clientWentAway, requestTimedOut } from './gateway/status.ts'
import type { PortLimits } from './port.ts'

/**
 * Reads a body as fast as it is taken, and no faster than it comes. A slow client is told by its progress: only the time counts in
 * which nothing of its body was there to be taken.
 */
export async function* bodyStream(
  source: Readable,
  {
    streamedBodyWindowMs: windowMs,
    streamedBodyWindowBytesMin: bytesMin,
  }: Pick<PortLimits, 'streamedBodyWindowMs' | 'streamedBodyWindowBytesMin'>,
): AsyncGenerator<Uint8Array> {
  let wake = () => {}
  const goOn = () => wake()
  const events = ['readable', 'end', 'error', 'close'] as const
  for (const event of events) source.on(event, goOn)
  let waitedMs = 0
  let bytes = 0
  try {
    for (;;) {
      const chunk: Uint8Array | null = source.read()
      if (chunk !== null) {
        bytes += chunk.length
        yield chunk
        continue
      }
      if (source.readableEnded) return
      if (source.destroyed) throw clientWentAway()
      const sinceMs = performance.now()
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, windowMs - waitedMs)
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
      waitedMs += performance.now() - sinceMs
      if (waitedMs < windowMs) continue
      if (bytes < bytesMin) throw requestTimedOut()
      waitedMs = 0
      bytes = 0
    }
  } finally {
    for (const event of events) source.off(event, goOn)
  }
}
