import { writeFileSync } from 'node:fs'
import type { Outcome } from './run.ts'

/** The table of faults. */

const columns = [
  'fault',
  'duration s',
  'requests',
  'failed',
  'wrong codes',
  'first success s',
  'all nodes s',
  'writes',
  'lost',
  'half-done',
  '/readyz in the fault',
  '/metrics',
  'SIGTERM s',
  'remarks',
] as const

const REMARK_CHARS = 300

const seconds = (ms: number | undefined) =>
  ms === undefined ? '-' : Number.isNaN(ms) ? 'never' : (ms / 1000).toFixed(1)
const counts = (codes: Readonly<Record<string, number>>) =>
  Object.entries(codes)
    .map(([code, n]) => `${code} x${n}`)
    .join(', ') || '0'

function row(outcome: Outcome): Readonly<Record<(typeof columns)[number], string>> {
  const { broken, verified } = outcome
  const remarks = [
    ...(broken === undefined ? [] : [broken.slice(0, REMARK_CHARS)]),
    ...(verified?.lost ?? []).slice(0, 3),
    ...(verified?.inconsistent ?? []).slice(0, 3),
    ...[...new Set(outcome.contradictions)].slice(0, 3),
    ...outcome.examples.slice(0, 2).map((text) => text.slice(0, REMARK_CHARS)),
  ]
  return {
    fault: outcome.case.name,
    'duration s': seconds(outcome.durationMs),
    requests: String(outcome.requests),
    failed: counts(outcome.failed),
    'wrong codes': counts(outcome.wrong),
    'first success s': seconds(outcome.firstMs),
    'all nodes s': seconds(outcome.allMs),
    writes: String(verified?.acknowledged ?? '-'),
    lost: String(verified?.lost.length ?? '-'),
    'half-done': String(
      verified === undefined ? '-' : verified.inconsistent.length + outcome.contradictions.length,
    ),
    '/readyz in the fault': `${outcome.readyWrong === undefined ? '' : 'WRONG '}${outcome.ready || '-'}`,
    '/metrics': outcome.metricsWrong === undefined ? 'yes' : outcome.metrics,
    'SIGTERM s': seconds(outcome.stopMs),
    remarks: remarks.join('; ').replaceAll(/\s+/g, ' '),
  }
}

/** One line of the table as text. */
export function line(outcome: Outcome): string {
  return Object.entries(row(outcome))
    .map(([column, value]) => (column === 'fault' ? value : `${column} ${value}`))
    .join(' | ')
}

/** Writes `<path>.md` and `<path>.json`. */
export function writeReport(path: string, outcomes: readonly Outcome[]): void {
  const cells = (values: readonly string[]) =>
    `| ${values.map((value) => value.replaceAll('|', '\\|')).join(' | ')} |`
  const lines = [cells(columns), cells(columns.map(() => '---'))]
  for (const outcome of outcomes) {
    const values = row(outcome)
    lines.push(cells(columns.map((name) => values[name])))
  }
  writeFileSync(`${path}.md`, `${lines.join('\n')}\n`)
  const details = outcomes.map((outcome) => ({ ...outcome, case: outcome.case.name }))
  writeFileSync(`${path}.json`, `${JSON.stringify(details, undefined, 1)}\n`)
}
