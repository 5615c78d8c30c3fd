import type { Result } from './bench.ts'
import { type Unit, verdictOf } from './goals.ts'
import type { Measured } from './rounds.ts'

/** The results as a table. */
export function tableOf(results: readonly Result[]): string {
  const head = [
    'work',
    'measured',
    'at least',
    'stretch',
    'verdict',
    'CPU us',
    'base us',
    '/s',
    'base /s',
    '',
  ]
  const rows = results.map((result) => {
    const { title, value, unit, goal, ours, theirs, note } = result
    const bound = (one: number | undefined) =>
      one === undefined ? '-' : `${limitSign(unit)}${show(one, unit)}`
    return [
      title,
      show(value, unit),
      bound(goal?.atLeast),
      bound(goal?.stretch),
      verdictOf(value, goal),
      micros(ours),
      micros(theirs),
      rate(ours),
      rate(theirs),
      note ?? '',
    ]
  })
  const lines = [head, ...rows]
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)))
  return lines
    .map((line) =>
      line
        .map((cell, column) => {
          const width = widths[column] ?? 0
          return column === 0 || column === 4 || column === 9 ? cell.padEnd(width) : cell.padStart(width)
        })
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

function limitSign(unit: Unit): string {
  return unit === 'share' ? '' : '<= '
}

function show(value: number, unit: Unit): string {
  const digits = { share: 2, times: 1, factor: 2, ms: 1, s: 2, MB: 0, '/s': 0 }[unit]
  const suffix = { share: '', times: 'x', factor: 'x', ms: ' ms', s: ' s', MB: ' MB', '/s': ' /s' }[unit]
  return `${value.toFixed(digits)}${suffix}`
}

function micros(measured: Measured | undefined): string {
  return measured === undefined ? '' : measured.cpuUs.toFixed(1)
}

function rate(measured: Measured | undefined): string {
  return measured === undefined ? '' : String(Math.round(measured.perSecond))
}
