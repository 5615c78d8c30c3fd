import type { AdvisoryRecord } from '@berth/advisory-formats/advisory-record.ts'
import type { Uid } from '../../api/uid.ts'
import type { Tx } from '../../storage/db.ts'
import type { Store } from '../../storage/store.ts'
import { type RecordsOf, requireRecords } from '../documents/stored-documents.ts'
import { deleteAdvisories, readRows, withdrawAdvisories, writeRecords } from './advisory-rows.ts'
import { mergeRecords, type RecordVersion } from './merge-records.ts'
import {
  coverageBy,
  isSecdbRecord,
  isSuperseded,
  readRelatedAdvisories,
  readSecdbDocuments,
  removedCoverage,
  subjectOf,
} from './secdb-supersession.ts'

/** Writes the advisories of one document, taking into account which entries of security databases are superseded. */

/** A change of the records of one document. */
export interface DocumentChange {
  readonly parent: Uid
  /** Keys of the document's previous records. */
  readonly before: readonly string[]
  /** Its new records, and other documents' records of the advisories that it no longer has. */
  readonly merged: readonly AdvisoryRecord[]
  /** Keys of advisories that no document has any more. */
  readonly orphanedKeys: readonly string[]
  readonly now: number
}

/** Counts of the changed advisories. */
export type AdvisoryChanges = Readonly<
  Record<'created' | 'updated' | 'unchanged' | 'withdrawn' | 'covered', number>
>

/** Writes the entries of a security database, except superseded ones. */
export async function writeSecdbRecords(
  store: Pick<Store, 'db' | 'uids'>,
  tx: Tx,
  { parent, merged, orphanedKeys, now }: DocumentChange,
): Promise<AdvisoryChanges> {
  const { db } = store
  const known = await readRelatedAdvisories(
    db,
    tx,
    parent,
    merged.map(({ artifactName }) => artifactName),
  )
  const coverage = coverageBy(known)
  const supersededKeys = merged.filter((record) => isSuperseded(record, coverage)).map(({ key }) => key)
  const superseded = new Set(supersededKeys)
  const records = merged.filter(({ key }) => !superseded.has(key))
  const changes = await writeRecords(store, tx, parent, records, now)
  await deleteAdvisories(db, tx, parent, supersededKeys)
  const withdrawn = await withdrawAdvisories(db, tx, parent, orphanedKeys, now)
  return { ...changes, withdrawn, covered: supersededKeys.length }
}

/** Writes the records of any other document, and updates which entries of security databases are superseded. */
export async function writeDetailedRecords(
  store: Pick<Store, 'db' | 'uids'>,
  tx: Tx,
  { parent, before, merged, orphanedKeys, now }: DocumentChange,
  recordsOf: RecordsOf,
): Promise<AdvisoryChanges> {
  const { db } = store
  const write = async () => {
    const changes = await writeRecords(store, tx, parent, merged, now)
    return { ...changes, withdrawn: await withdrawAdvisories(db, tx, parent, orphanedKeys, now) }
  }
  const databases = await readSecdbDocuments(tx, parent)
  if (databases.length === 0) return { ...(await write()), covered: 0 }

  const rows = [
    ...(await readRows(tx, parent, [...new Set([...before, ...merged.map(({ key }) => key)])])).values(),
  ]
  const subjects = rows.filter((row) => row.deleted_ms === undefined).map(subjectOf)
  const lostCoverage = removedCoverage(
    coverageBy(subjects),
    coverageBy(merged.filter(({ withdrawnMs }) => withdrawnMs === undefined)),
  )
  const entries = lostCoverage.size === 0 ? [] : requireRecords(databases, recordsOf)
  const written = await write()

  const packageNames = [...subjects, ...merged].flatMap(({ artifactName, origin }) => [artifactName, origin])
  const known = await readRelatedAdvisories(db, tx, parent, packageNames)
  const coverage = coverageBy(known)
  const isRecordSuperseded = (entry: Parameters<typeof isSuperseded>[0]) => isSuperseded(entry, coverage)
  const supersededKeys = known
    .filter((row) => isSecdbRecord(row) && isRecordSuperseded(row))
    .map(({ key }) => key)
  await deleteAdvisories(db, tx, parent, supersededKeys)
  const versions = entries.flatMap(({ document, records }) =>
    records
      .filter((record) => isSuperseded(record, lostCoverage) && !isRecordSuperseded(record))
      .map((record): RecordVersion => ({ record, document })),
  )
  const restored = await writeRecords(store, tx, parent, mergeRecords(versions), now)
  return {
    ...written,
    created: written.created + restored.created,
    updated: written.updated + restored.updated,
    covered: supersededKeys.length,
  }
}
