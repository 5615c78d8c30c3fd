import type { CopyProgress } from '../../oci-client/copy.ts'
import type { Output } from '../../output/output.ts'
import { formatProgressBar } from '../../output/progress-bar.ts'
import { formatSize } from '../../output/sizes.ts'

/** Progress of a copy: bytes, rate and remaining time. */

/** Minimum interval between two updates. */
const DISPLAY_INTERVAL_MS = 100
/** The rate is an average over this time. */
const WINDOW_MS = 5000

export function createTransferProgress(output: Output): CopyProgress {
  let [expected, done, shownMs] = [0, 0, 0]
  const startedMs = performance.now()
  const passed: { readonly atMs: number; readonly bytes: number }[] = []
  const show = () => {
    const nowMs = performance.now()
    if (nowMs - shownMs < DISPLAY_INTERVAL_MS) return
    shownMs = nowMs
    while ((passed[0]?.atMs ?? nowMs) < nowMs - WINDOW_MS) passed.shift()
    const bytes = passed.reduce((sum, one) => sum + one.bytes, 0)
    const rate = bytes / (Math.max(1, Math.min(WINDOW_MS, nowMs - startedMs)) / 1000)
    const left = rate > 0 ? `, ${formatRemaining((expected - done) / rate)} left` : ''
    // Fits a narrow terminal.
    const of = `${formatSize(done)} of ${formatSize(expected)}`
    output.progress(`${formatProgressBar(done / expected)} ${of}, ${formatSize(Math.round(rate))}/s${left}`)
  }
  return {
    addExpected(bytes) {
      expected += bytes
      show()
    },
    addCopied(bytes) {
      done += bytes
      const nowMs = performance.now()
      const last = passed.at(-1)
      // Merge small chunks into a few entries per second.
      if (last !== undefined && nowMs - last.atMs < DISPLAY_INTERVAL_MS)
        passed[passed.length - 1] = { atMs: last.atMs, bytes: last.bytes + bytes }
      else passed.push({ atMs: nowMs, bytes })
      show()
    },
    addSkipped(bytes) {
      done += bytes
      show()
    },
  }
}

function formatRemaining(seconds: number): string {
  const whole = Math.ceil(seconds)
  if (whole < 60) return `${whole} s`
  const minutes = Math.floor(whole / 60)
  return minutes < 60 ? `${minutes} min ${whole % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
