import { rootOf } from '../../api/uid.ts'
import { deleteRows, incrementRows, upsertRows } from '../../storage/bulk-rows.ts'
import type { Db, Tx } from '../../storage/db.ts'
import type { AdvisoryPackageRow, AdvisoryRow } from '../../storage/schema/tables.ts'
import { toAdvisory } from '../storage/stored-advisory.ts'
import { ecosystemOfAdvisory, packageNamesOf } from './package-names.ts'

/**
 * The index of advisories by the packages that they are about, and the queue of what is matched again when they change. Both are written
 * in the transaction of the change.
 */

/** Returns the index entries of an advisory. */
export function advisoryPackagesOf(row: AdvisoryRow): AdvisoryPackageRow[] {
  const { artifactType, componentType } = toAdvisory(row)
  const named = {
    key: row.key,
    artifactName: row.artifact_name,
    artifactType,
    componentType,
    origin: row.origin,
    product: row.product,
  }
  const ecosystem = ecosystemOfAdvisory(named) ?? databaseOf(row.key)
  return packageNamesOf(named).map((name) => ({ root: row.root, name, uid: row.uid, ecosystem }))
}

/** The ecosystem of security databases and of documents of Wolfi, which have all packages of a distribution. */
function databaseOf(key: string): string {
  if (key.startsWith('wolfi:')) return ROLLING_APK
  if (!key.startsWith('secdb:')) return ''
  const release = /^secdb:.*\/alpine\/(v\d+\.\d+|edge)(?:\/|:)/.exec(key)?.[1]
  return release === undefined ? ROLLING_APK : `Alpine:${release}`
}

/** Advisories of a rolling distribution of apk packages, which do not name it. */
export const ROLLING_APK = 'apk'

/** Updates the index for replaced advisories, and queues the packages that they are about. */
export async function updateAdvisoryPackages(
  db: Db,
  tx: Tx,
  before: readonly AdvisoryRow[],
  after: readonly AdvisoryRow[],
): Promise<void> {
  const previous = entriesOf(before)
  const current = entriesOf(after)
  const removed = [...previous].filter(([entry]) => !current.has(entry)).map(([, row]) => row)
  await deleteRows(db, tx, 'advisory_packages', removed)
  const added = [...current].filter(([entry]) => !previous.has(entry)).map(([, row]) => row)
  // An earlier version could leave an entry of an advisory that was withdrawn.
  await upsertRows(db, tx, 'advisory_packages', added, {
    key: ['root', 'name', 'uid'],
    values: ['ecosystem'],
  })
  const [first] = [...before, ...after]
  if (first === undefined) return
  const names = new Set([...previous.values(), ...current.values()].map(({ name }) => `name ${name}`))
  await queueChanges(db, tx, first.parent, [...names])
}

/** Queues the packages with vulnerabilities whose scores changed. */
export async function queueScoreChanges(
  db: Db,
  tx: Tx,
  parent: string,
  ids: readonly string[],
): Promise<void> {
  await queueChanges(
    db,
    tx,
    parent,
    ids.map((id) => `id ${id}`),
  )
}

/** The subject of the change of a catalog. */
export const CATALOGS = 'catalogs'

/** Queues the vulnerabilities of which a catalog may state something else than before. */
export function queueCatalogChange(db: Db, tx: Tx, parent: string): Promise<void> {
  return queueChanges(db, tx, parent, [CATALOGS])
}

/**
 * Queues what the scores and catalogs of a group are about, before they are deleted with it. They are few: advisories keep a group from being
 * deleted, and their documents are deleted before it.
 */
export async function queueGroupDeletion(tx: Tx, group: string): Promise<void> {
  const root = rootOf(group)
  const scores = await tx
    .selectFrom('advisory_scores')
    .select('alias')
    .where('root', '=', root)
    .where('parent', '=', group)
    // In the order of the index of the group: SQLite would read an index of the whole organization that has all of these columns.
    .orderBy('format')
    .execute()
  const block = await tx
    .selectFrom('cve_blocks')
    .select('block')
    .where('root', '=', root)
    .where('parent', '=', group)
    .limit(1)
    .executeTakeFirst()
  const aliases = new Set(scores.map(({ alias }) => alias))
  const subjects = [...aliases].map((alias) => `id ${alias}`)
  if (block !== undefined) subjects.push(CATALOGS)
  const parent = group.slice(-GROUP_CHARS)
  const rows = subjects.map((subject) => ({ root, subject, parent, revision: 1 }))
  for (let at = 0; at < rows.length; at += ROWS_PER_STATEMENT)
    await tx
      .insertInto('finding_changes')
      .values(rows.slice(at, at + ROWS_PER_STATEMENT))
      .onConflict((conflict) =>
        conflict
          .columns(['root', 'subject', 'parent'])
          .doUpdateSet((change) => ({ revision: change('finding_changes.revision', '+', 1) })),
      )
      .execute()
}

const ROWS_PER_STATEMENT = 500

function entriesOf(rows: readonly AdvisoryRow[]): ReadonlyMap<string, AdvisoryPackageRow> {
  return new Map(
    rows
      .flatMap(advisoryPackagesOf)
      .map((row) => [`${row.name}\n${row.uid}\n${row.ecosystem}`, row] as const),
  )
}

/** Each group has its own rows, so that imports into two groups do not wait for each other. */
async function queueChanges(db: Db, tx: Tx, group: string, subjects: readonly string[]): Promise<void> {
  const parent = group.slice(-GROUP_CHARS)
  const rows = subjects.toSorted().map((subject) => ({ root: rootOf(group), subject, parent, revision: 1 }))
  await incrementRows(db, tx, 'finding_changes', rows, {
    key: ['root', 'subject', 'parent'],
    numbers: ['revision'],
  })
}

/** The end of a uid, which is unique: index keys have no room for several uids (ADR 38). */
const GROUP_CHARS = 40
