import { formatProgressBar } from '@berth/cli/output/progress-bar.ts'
import { formatSize } from '@berth/cli/output/sizes.ts'

/** Returns a signal that the first SIGINT or SIGTERM aborts. A second one ends the process immediately. */
export function interruptSignal(): AbortSignal {
  const end = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => end.abort(new Error(`stopped by ${signal}; finished steps are kept`)))
  return end.signal
}

const DISPLAY_INTERVAL_MS = 200

/** Shows the progress of an operation in bytes, with its rate and remaining time. `suffix`: appended text. */
export function createByteProgress(
  show: (sentence: string) => void,
  suffix: () => string = () => '',
): (bytes: number, totalBytes: number) => void {
  let [startMs, shownMs] = [0, 0]
  return (bytes, totalBytes) => {
    const now = performance.now()
    if (startMs === 0) startMs = now
    if (now - shownMs < DISPLAY_INTERVAL_MS) return
    shownMs = now
    const rate = bytes / Math.max((now - startMs) / 1000, 0.001)
    const left = formatSeconds((totalBytes - bytes) / rate)
    show(
      `${formatProgressBar(bytes / totalBytes)} ${formatSize(bytes)} of ${formatSize(totalBytes)}, ${formatSize(Math.round(rate))}/s, ${left} left${suffix()}`,
    )
  }
}

function formatSeconds(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds))
  if (whole < 60) return `${whole} s`
  return whole < 3600
    ? `${Math.round(whole / 60)} min`
    : `${Math.floor(whole / 3600)} h ${Math.round((whole % 3600) / 60)} min`
}
