import { constants } from 'node:os'
import type { Log } from '../../runtime/log.ts'

export type StopSignal = 'SIGINT' | 'SIGTERM'

/** A terminal and `npm` may both forward one Ctrl-C: a signal within this time is a repetition. */
const REPEATED_SIGNAL_MS = 500

/** The first SIGTERM or SIGINT calls `stop`, the second one `stopNow`, and then ends the process. */
export function onStopSignals(
  log: Log,
  { stop, stopNow }: { readonly stop: (signal: StopSignal) => void; readonly stopNow?: typeof stop },
): void {
  let signalledMs: number | undefined
  const onSignal = (signal: StopSignal) => {
    const nowMs = performance.now()
    if (signalledMs !== undefined) {
      if (nowMs - signalledMs < REPEATED_SIGNAL_MS) return
      log.warn({ signal }, 'stopping immediately: running requests are cut off')
      stopNow?.(signal)
      process.exit(codeOf(signal))
    }
    signalledMs = nowMs
    stop(signal)
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
}

/** Ends the process as a signal does without a handler. */
export function endBySignal(signal: StopSignal): never {
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
  // The first process of a container ignores signals without a handler.
  process.exit(codeOf(signal))
}

function codeOf(signal: StopSignal): number {
  return 128 + constants.signals[signal]
}
