import { PendingWork } from '@berth/contract/gen/berth/vulnerabilities/v1/findings_pb.js'
import { lookupNamesOf } from '../../advisories/packages/package-names.ts'
import { failedPrecondition } from '../../api/errors.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import type { Db } from '../../storage/db.ts'
import type { PackageRow } from '../../storage/schema/tables.ts'
import { runLongText, runText, sqlText } from '../../storage/sql-text.ts'
import { toMatchedPackage } from '../matching/candidate.ts'
import { idsOf } from '../vulnerability-ids.ts'
import { areCatalogsPending } from './catalog-facts.ts'
import { type ImageContentsIds, packagesOf, readUnmatched } from './image-findings.ts'

type Images = Pick<ImageContentsIds, 'state' | 'ids'>

/** What is queued and may change the findings of images. Read it before the findings: what is done by then is in every later read. */

/** Returns the work that images wait for, in the order in which it is done. */
export async function readPendingWork(
  db: Db,
  root: string,
  { state, ids }: Images,
): Promise<readonly PendingWork[]> {
  const isPending = await Promise.all([
    state === 'pending',
    readUnmatched(db, root, ids),
    areAdvisoriesPending(db, root, ids),
    ids.length > 0 && areCatalogsPending(db, root),
  ])
  const kinds = [PendingWork.CONTENTS, PendingWork.PACKAGES, PendingWork.ADVISORIES, PendingWork.CATALOGS]
  return kinds.filter((_, at) => isPending[at])
}

/** Throws FAILED_PRECONDITION, type IMAGE_NOT_MATCHED, before the packages of an image are matched for the first time: it would look clean. */
export function requireMatched(pending: readonly PendingWork[], repo: string, digest: string): void {
  if (!pending.includes(PendingWork.PACKAGES)) return
  throw failedPrecondition(
    'IMAGE_NOT_MATCHED',
    `packages of ${digest} are not matched with advisories yet; try again in a few seconds`,
    repo,
  )
}

/** Whether the findings of images are those of the current advisories and catalogs. */
export async function areFindingsCurrent(db: Db, root: string, contents: Images): Promise<boolean> {
  return contents.state === 'read' && (await readPendingWork(db, root, contents)).length === 0
}

/** Whether any package or vulnerability of an organization waits to be matched. */
export async function isMatchingPending(db: Db, root: string): Promise<boolean> {
  const sql = sqlText(db.engine)
  const text = `select 1 as n where exists (select 1 from packages where root = ${sql.bind(root)} and matched_ms = 0)
    or exists (select 1 from finding_changes where root = ${sql.bind(root)})`
  return (await runText(db, text, sql)).length > 0
}

/** Whether advisories about packages of images, or scores of their vulnerabilities, have changed and are not matched yet. */
async function areAdvisoriesPending(db: Db, root: string, ids: readonly number[]): Promise<boolean> {
  if (ids.length === 0) return false
  // Mostly nothing is queued: the packages are only read if there is.
  const [areNames, areScores] = await Promise.all([hasChanges(db, root, 'name'), hasChanges(db, root, 'id')])
  if (!areNames && !areScores) return false
  const isQueued = async (kind: string, subjects: ReadonlySet<string>) => {
    const all = [...subjects]
    for (let at = 0; at < all.length; at += BATCH) {
      const sql = sqlText(db.engine)
      const batch = all.slice(at, at + BATCH).map((subject) => `${kind} ${subject}`)
      const text = `select 1 as n from finding_changes where root = ${sql.bind(root)} and subject in (${sql.bindAll(batch)}) limit 1`
      if ((await runText(db, text, sql)).length > 0) return true
      await yieldToEventLoop()
    }
    return false
  }
  if (areNames) {
    const sql = sqlText(db.engine)
    const text = `select p.* from (${packagesOf(sql, root, ids)}) as i
      ${sql.rules.lookUp('packages', 'p', `p.root = ${sql.bind(root)} and p.id = i.package`)}`
    const rows = await runLongText<PackageRow>(db, text, sql)
    if (await isQueued('name', new Set(rows.flatMap((row) => lookupNamesOf(toMatchedPackage(row))))))
      return true
  }
  if (!areScores) return false
  const sql = sqlText(db.engine)
  const text = `select distinct f.vulnerability, f.aliases from (${packagesOf(sql, root, ids)}) as i
    ${sql.rules.lookUp('package_findings', 'f', `f.root = ${sql.bind(root)} and f.package = i.package`)}`
  const rows = await runLongText<Parameters<typeof idsOf>[0]>(db, text, sql)
  return isQueued('id', new Set(rows.flatMap(idsOf)))
}

/** Subjects in one statement. */
const BATCH = 500

async function hasChanges(db: Db, root: string, kind: 'name' | 'id'): Promise<boolean> {
  const sql = sqlText(db.engine)
  // `!` is the character after the space.
  const text = `select 1 as n from finding_changes where root = ${sql.bind(root)}
    and subject >= ${sql.bind(`${kind} `)} and subject < ${sql.bind(`${kind}!`)} limit 1`
  return (await runText(db, text, sql)).length > 0
}
