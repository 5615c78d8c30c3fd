import { createOutput, terminalWidth } from '@berth/cli/output/output.ts'
import { formatProgressBar } from '@berth/cli/output/progress-bar.ts'
import { formatSize } from '@berth/cli/output/sizes.ts'

/** How far long work is, on standard error; '' when it is done. One line that changes, elsewhere a line now and then. */
export function createProgressLine(): (sentence: string) => void {
  const { stdout, stderr } = process
  return createOutput({
    format: 'table',
    color: false,
    isTerminal: stdout.isTTY === true,
    width: terminalWidth(),
    write: (text) => void stdout.write(text),
    writeError: (text) => void stderr.write(text),
    progress: stderr.isTTY === true ? (text) => void stderr.write(`\r\u001b[K${text}`) : undefined,
  }).progress
}

/** Aborted by Ctrl-C and by whoever ends the process: long work then ends in order. A second time ends it at once. */
export function interruptSignal(): AbortSignal {
  const end = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => end.abort(new Error(`ended by ${signal}; what was done stays done`)))
  return end.signal
}

const SHOWN_EVERY_MS = 200

/** Shows how many bytes of all are read or copied, how fast, and how long the rest takes. `more`: what else there is to say. */
export function createByteProgress(
  line: (sentence: string) => void,
  suffix: () => string = () => '',
): (bytes: number, bytesInAll: number) => void {
  let [startMs, shownMs] = [0, 0]
  return (bytes, bytesInAll) => {
    const now = performance.now()
    if (startMs === 0) startMs = now
    if (now - shownMs < SHOWN_EVERY_MS) return
    shownMs = now
    const rate = bytes / Math.max((now - startMs) / 1000, 0.001)
    const left = formatSeconds((bytesInAll - bytes) / rate)
    line(
      `${formatProgressBar(bytes / bytesInAll)} ${formatSize(bytes)} of ${formatSize(bytesInAll)}, ${formatSize(Math.round(rate))}/s, ${left} left${suffix()}`,
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
