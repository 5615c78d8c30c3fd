import { parentOf, pathOf, rootOf } from '../../api/uid.ts'
import { inTransaction } from '../../storage/db.ts'
import { lockResource } from '../../storage/resource-rows.ts'
import { readFindingSummary } from '../storage/finding-summaries.ts'
import { addPoint, countBySeverity, readPoints } from './history-rows.ts'
import type { RecordOptions } from './tag-findings.ts'

/** The history of the vulnerabilities of repos and groups (ADR 78). */

export const scopeTables = { repo: 'repos', group: 'groups' } as const

export type ScopeKind = keyof typeof scopeTables

/** Returns the repos of tags, and the groups above them. */
export function scopesOf(tags: readonly string[]): Readonly<Record<ScopeKind, readonly string[]>> {
  const repos = [...new Set(tags.map(parentOf))]
  return { repo: repos, group: [...new Set(repos.flatMap((repo) => pathOf(repo).slice(0, -1)))] }
}

/** Adds a point if the vulnerabilities of a repo or group changed. Returns false if they are not known until all packages are matched. */
export async function recordScopeFindings(
  { db, clock, check }: RecordOptions,
  kind: ScopeKind,
  scope: string,
): Promise<boolean> {
  const { counts, images, unreadImages, isMatched } = await readFindingSummary(db, scope)
  if (!isMatched) return false
  // Most groups and repos never have an image.
  if (images === 0 && (await readPoints(db, 'scope_findings', scope, latest)).length === 0) return true
  const root = rootOf(scope)
  const values = { images, unread_images: unreadImages, ...countBySeverity(counts) }
  await inTransaction(db, async (tx) => {
    await check(tx)
    if ((await lockResource(db, tx, scopeTables[kind], scope, 'share')) === undefined) return
    await addPoint(db, tx, 'scope_findings', { root, scope, ...values }, clock())
  })
  return true
}

const latest = { beforeMs: Number.MAX_SAFE_INTEGER, size: 1 }
