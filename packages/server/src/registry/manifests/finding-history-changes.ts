import { incrementRows } from '../../storage/bulk-rows.ts'
import type { Db, Tx } from '../../storage/db.ts'

/**
 * What may have other vulnerabilities than before. The transaction of the change queues it, and a job of the room `findings` continues the
 * history of the tags that have it (ADR 75), and of their repos and groups (ADR 78).
 */

/** `image`: `id` of the contents of a manifest; `package`: `id` of a package; others: uid. */
export type FindingHistoryKind = 'image' | 'package' | 'tag' | 'repo' | 'group'

/** Queues subjects of an organization. What is queued already keeps its time. */
export async function queueFindingHistory(
  db: Db,
  tx: Tx,
  root: string,
  kind: FindingHistoryKind,
  subjects: readonly (string | number)[],
  changedMs: number,
): Promise<void> {
  const sorted = [...new Set(subjects.map(String))].sort()
  await incrementRows(
    db,
    tx,
    'finding_history_changes',
    sorted.map((subject) => ({ root, kind, subject, changed_ms: changedMs, revision: 1 })),
    { key: ['root', 'kind', 'subject'], numbers: ['revision'] },
  )
}
