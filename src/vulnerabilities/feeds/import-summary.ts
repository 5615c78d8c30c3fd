/** What became of many documents: counts for each format, and each one that was not taken. */

/** What became of a document that was taken. */
export interface TakenDocument {
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
  /** '' where it could not be told. */
  readonly format: string
  /** 0: no line can be told. */
  readonly line: number
  readonly reason: string
}

const counted = ['created', 'updated', 'unchanged', 'withdrawn', 'covered', 'scored', 'older'] as const

export type Counts = Record<'documents' | 'rejected' | (typeof counted)[number], number>

export interface FormatSummary extends Counts {
  /** Events of the advisories, by type. */
  readonly events: Record<string, number>
  /** What no field of an advisory holds, by its path in the document. */
  readonly unmapped: Record<string, number>
}

export interface ImportSummary {
  readonly formats: ReadonlyMap<string, FormatSummary>
  readonly rejections: readonly RejectedDocument[]
  skipped(): number
  total(): Counts
  take(document: TakenDocument): void
  reject(document: RejectedDocument): void
  skip(): void
}

/** `rejectionsMax`: so many are kept; all are counted. */
export function importSummary(rejectionsMax = Number.POSITIVE_INFINITY): ImportSummary {
  const formats = new Map<string, FormatSummary>()
  const rejections: RejectedDocument[] = []
  let skipped = 0
  const of = (format: string): FormatSummary => {
    const known = formats.get(format) ?? { ...none(), events: {}, unmapped: {} }
    formats.set(format, known)
    return known
  }
  return {
    formats,
    rejections,
    skipped: () => skipped,
    total() {
      const total = none()
      for (const summary of formats.values())
        for (const name of Object.keys(total) as (keyof Counts)[]) total[name] += summary[name]
      return total
    },
    take(document) {
      const summary = of(document.format)
      summary.documents++
      for (const name of counted) summary[name] += document[name]
      for (const [type, count] of Object.entries(document.events))
        summary.events[type] = (summary.events[type] ?? 0) + count
      for (const { path, count } of document.unmapped)
        summary.unmapped[path] = (summary.unmapped[path] ?? 0) + count
    },
    reject(document) {
      of(document.format).rejected++
      if (rejections.length < rejectionsMax) rejections.push(document)
    },
    skip() {
      skipped++
    },
  }
}

function none(): Counts {
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
