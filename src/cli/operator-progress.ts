import { createOutput, terminalWidth } from './client/output.ts'

/** How far long work is, on standard error; '' when it is done. One line that changes, elsewhere a line now and then. */
export function progressLine(): (sentence: string) => void {
  const { stdout, stderr } = process
  return createOutput({
    format: 'table',
    color: false,
    isTerminal: stdout.isTTY === true,
    width: terminalWidth(),
    write: (text) => void stdout.write(text),
    tell: (text) => void stderr.write(text),
    progress: stderr.isTTY === true ? (text) => void stderr.write(`\r\u001b[K${text}`) : undefined,
  }).progress
}

/** Aborted by Ctrl-C and by whoever ends the process: long work then ends in order. A second time ends it at once. */
export function untilInterrupted(): AbortSignal {
  const end = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => end.abort(new Error(`ended by ${signal}; what was done stays done`)))
  return end.signal
}
