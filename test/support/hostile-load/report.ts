import { writeFileSync } from 'node:fs'
import { MIB } from './bytes.ts'
import type { Outcome } from './run.ts'

/** The table of what was measured. */

const columns = [
  'entrance',
  'case',
  'caller',
  'pause ms',
  'pause cpu ms',
  'cpu ms',
  'memory MiB',
  'p99 ms',
  'p99 / quiet',
  'replies',
  'remarks',
] as const

const LOG_CHARS = 200

type Row = Readonly<Record<(typeof columns)[number], string>>

const rounded = (value: number) =>
  Number.isNaN(value) ? '-' : value < 10 ? value.toFixed(1) : String(Math.round(value))

function row(outcome: Outcome): Row {
  const failures = Object.entries(outcome.failures).map(([what, count]) => `other client: ${what} x${count}`)
  const left = outcome.unreleasedBytes > 0 ? [`${outcome.unreleasedBytes} bytes are still counted`] : []
  const errors = outcome.errors
    .slice(0, 1)
    .map((text) => `${outcome.errors.length} errors in the log: ${text.slice(0, LOG_CHARS)}`)
  const wrong = outcome.wrong.map((reply) => `wrong reply ${reply}`)
  return {
    entrance: outcome.endpoint,
    case: outcome.case.name,
    caller: outcome.caller,
    'pause ms': rounded(outcome.pauseMs),
    'pause cpu ms': rounded(outcome.pauseCpuMs),
    'cpu ms': rounded(outcome.cpuMs),
    'memory MiB': rounded(outcome.grownBytes / MIB),
    'p99 ms': rounded(outcome.p99Ms),
    'p99 / quiet': rounded(outcome.p99Ms / outcome.quietP99Ms),
    replies: [...outcome.replies]
      .map(([reply, count]) => (count === 1 ? reply : `${reply} x${count}`))
      .join(', '),
    remarks: [
      ...(outcome.broken === undefined ? [] : [outcome.broken]),
      ...wrong,
      ...failures,
      ...left,
      ...errors,
    ].join('; '),
  }
}

/** One line of the table as text. */
export function line(outcome: Outcome): string {
  const { entrance, case: name, caller, replies, remarks, ...numbers } = row(outcome)
  const measured = Object.entries(numbers).map(([column, value]) => `${column} ${value}`)
  return [`${entrance}: ${name} (${caller})`, ...measured, replies, remarks].join(' | ')
}

/** Writes `<path>.md` and `<path>.json`. */
export function writeReport(path: string, outcomes: readonly Outcome[]): void {
  const rows = outcomes.map(row)
  const cells = (values: readonly string[]) =>
    `| ${values.map((value) => value.replaceAll('|', '\\|')).join(' | ')} |`
  const lines = [
    cells(columns),
    cells(columns.map(() => '---')),
    ...rows.map((one) => cells(columns.map((name) => one[name]))),
  ]
  writeFileSync(`${path}.md`, `${lines.join('\n')}\n`)
  writeFileSync(`${path}.json`, `${JSON.stringify(rows, undefined, 1)}\n`)
}
