/** The result of importing many documents: counts for each format, and the rejected documents. */

/** The result of importing a document that was accepted. */
export interface AcceptedDocument {
  readonly format: string
  readonly created: number
  readonly updated: number
  readonly unchanged: number
  readonly withdrawn: number
  readonly covered: number
  readonly scored: number
  readonly older: number
  readonly events: Readonly<Record<string, number>>
  readonly unmapped: readonly { readonly path: string; readonly count: number }[]
}

export interface RejectedDocument {
  readonly name: string
  /** '' if unknown. */
  readonly format: string
  /** 0 if unknown. */
  readonly line: number
  readonly reason: string
}

const countNames = ['created', 'updated', 'unchanged', 'withdrawn', 'covered', 'scored', 'older'] as const

export type Counts = Record<'documents' | 'rejected' | (typeof countNames)[number], number>

export interface FormatSummary extends Counts {
  /** Events of the advisories, by type. */
  readonly events: Record<string, number>
  /** Counts of unmapped fields, by path in the document. */
  readonly unmapped: Record<string, number>
}

export interface ImportSummary {
  readonly formats: ReadonlyMap<string, FormatSummary>
  readonly rejections: readonly RejectedDocument[]
  skipped(): number
  total(): Counts
  accept(document: AcceptedDocument): void
  reject(document: RejectedDocument): void
  skip(): void
}

/** `rejectionsMax`: how many rejections are kept; all are counted. */
export function createImportSummary(rejectionsMax = Number.POSITIVE_INFINITY): ImportSummary {
  const formats = new Map<string, FormatSummary>()
  const rejections: RejectedDocument[] = []
  let skipped = 0
  const summaryOf = (format: string): FormatSummary => {
    const known = formats.get(format) ?? { ...zeroCounts(), events: {}, unmapped: {} }
    formats.set(format, known)
    return known
  }
  return {
    formats,
    rejections,
    skipped: () => skipped,
    total() {
      const total = zeroCounts()
      for (const summary of formats.values())
        for (const name of Object.keys(total) as (keyof Counts)[]) total[name] += summary[name]
      return total
    },
    accept(document) {
      const summary = summaryOf(document.format)
      summary.documents++
      for (const name of countNames) summary[name] += document[name]
      for (const [type, count] of Object.entries(document.events))
        summary.events[type] = (summary.events[type] ?? 0) + count
      for (const { path, count } of document.unmapped)
        summary.unmapped[path] = (summary.unmapped[path] ?? 0) + count
    },
    reject(document) {
      summaryOf(document.format).rejected++
      if (rejections.length < rejectionsMax) rejections.push(document)
    },
    skip() {
      skipped++
    },
  }
}

function zeroCounts(): Counts {
  return {
    documents: 0,
    rejected: 0,
    created: 0,
    updated: 0,
    unchanged: 0,
    withdrawn: 0,
    covered: 0,
    scored: 0,
    older: 0,
  }
}
