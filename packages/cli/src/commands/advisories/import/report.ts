import type { FormatSummary, ImportSummary } from '@berth/advisory-formats/import/import-summary.ts'
import type { Output, View } from '../../../output/output.ts'
import { plural } from '../../../output/plural.ts'

/** The report of an import: tables for people, one object for programs. */

export interface ImportOutcome {
  readonly dryRun: boolean
  /** Interrupted or failed before the end. */
  readonly stopped: boolean
}

/** Format of documents whose format was not detected. */
const UNKNOWN = 'unknown'

export interface ImportReport extends ImportOutcome {
  readonly formats: Readonly<Record<string, FormatSummary>>
  readonly total: ReturnType<ImportSummary['total']>
  readonly skipped: number
  readonly rejected: readonly {
    readonly file: string
    readonly line: number
    readonly reason: string
    readonly format: string
  }[]
}

export function toImportReport(summary: ImportSummary, ending: ImportOutcome): ImportReport {
  return {
    ...ending,
    formats: Object.fromEntries(
      [...summary.formats].map(([format, counts]) => [format || UNKNOWN, counts] as const).sort(byName),
    ),
    total: summary.total(),
    skipped: summary.skipped(),
    rejected: summary.rejections.map(({ name, line, reason, format }) => ({
      file: name,
      line,
      reason,
      format,
    })),
  }
}

const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]) => (a < b ? -1 : 1)

interface FormatRow extends Omit<FormatSummary, 'events' | 'unmapped'> {
  readonly format: string
}

/** Count columns and their titles. */
const counts = [
  ['documents', 'DOCUMENTS'],
  ['created', 'CREATED'],
  ['updated', 'UPDATED'],
  ['unchanged', 'UNCHANGED'],
  ['withdrawn', 'WITHDRAWN'],
  ['covered', 'SUPERSEDED'],
  ['scored', 'SCORES UPDATED'],
  ['older', 'OLDER'],
  ['rejected', 'REJECTED'],
] as const

const formatView: View<FormatRow> = {
  columns: [
    { title: 'FORMAT', kind: 'name', value: ({ format }) => format },
    ...counts.map(([name, title]) => ({
      title,
      kind: 'name' as const,
      value: (row: FormatRow) => String(row[name]),
    })),
  ],
  id: ({ format }) => format,
  empty: 'no documents were found',
}

interface CountRow {
  readonly format: string
  readonly what: string
  readonly count: number
}

const countView = (title: string): View<CountRow> => ({
  columns: [
    { title: 'FORMAT', kind: 'name', value: ({ format }) => format },
    { title, kind: 'name', value: ({ what }) => what },
    { title: 'COUNT', value: ({ count }) => String(count) },
  ],
})

const UNMAPPED_SHOWN = 15

export async function printReport(output: Output, report: ImportReport): Promise<void> {
  const { formats, total, skipped, rejected, dryRun, stopped } = report
  if (output.format === 'json' || output.format === 'yaml') return output.item(report, formatView as never)
  const rows = Object.entries(formats).map(([format, summary]) => ({ ...summary, format }))
  const several = rows.length > 1 ? [...rows, { ...total, format: 'all' }] : rows
  await output.list(output.format === 'csv' ? rows : several, formatView)
  if (['csv', 'id', 'none'].includes(output.format)) return

  const tallied = (of: 'events' | 'unmapped') =>
    Object.entries(formats).flatMap(([format, summary]) =>
      Object.entries(summary[of])
        .map(([what, count]) => ({ format, what, count }))
        .sort((a, b) => b.count - a.count),
    )
  const events = tallied('events')
  const unmapped = tallied('unmapped').sort((a, b) => b.count - a.count)
  output.line('')
  if (events.length > 0) await output.list(events, countView('EVENT'))
  if (unmapped.length > 0) {
    output.line('')
    const isLong = output.format !== 'wide' && unmapped.length > UNMAPPED_SHOWN
    await output.list(isLong ? unmapped.slice(0, UNMAPPED_SHOWN) : unmapped, countView('UNMAPPED FIELD'))
    if (isLong) output.line(`and ${unmapped.length - UNMAPPED_SHOWN} more; -o wide shows all`)
  }
  for (const { file, line, reason } of rejected)
    output.notice(`rejected ${file}${line > 0 ? `:${line}` : ''}: ${reason}`)
  if (skipped > 0) output.notice(`skipped ${plural(skipped, 'file')} without advisories`)
  if (dryRun) output.notice('dry run: nothing was changed')
  if (stopped) output.notice('stopped before the end; run the command again to continue')
}
