import { incrementRows } from '../../storage/bulk-rows.ts'
import type { Db, Tx } from '../../storage/db.ts'

/**
 * What may have other vulnerabilities than before. The transaction of the change queues it, and a job of the room `findings` continues the
 * history of the tags that have it (ADR 75).
 */

export interface FindingHistorySubjects {
  /** `id` of the contents of manifests. */
  readonly images?: readonly number[]
  /** `id` of packages. */
  readonly packages?: readonly number[]
  /** uids. */
  readonly tags?: readonly string[]
}

const kinds = { images: 'image', packages: 'package', tags: 'tag' } as const

export type FindingHistoryKind = keyof typeof kinds

/** Returns what a queued row is about, if it is of a kind. */
export function subjectOf(kind: FindingHistoryKind, { subject }: { readonly subject: string }) {
  const prefix = `${kinds[kind]} `
  return subject.startsWith(prefix) ? subject.slice(prefix.length) : undefined
}

/** Queues subjects of an organization for a time. What is queued already keeps its time. */
export async function queueFindingHistory(
  db: Db,
  tx: Tx,
  root: string,
  subjects: FindingHistorySubjects,
  dueMs: number,
): Promise<void> {
  const names = (Object.keys(kinds) as FindingHistoryKind[]).flatMap((kind) =>
    (subjects[kind] ?? []).map((subject) => `${kinds[kind]} ${subject}`),
  )
  await incrementRows(
    db,
    tx,
    'finding_history_changes',
    [...new Set(names)].sort().map((subject) => ({ root, subject, due_ms: dueMs, revision: 1 })),
    { key: ['root', 'subject'], numbers: ['revision'] },
  )
}
