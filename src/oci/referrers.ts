import { limits } from '../core/limits.ts'
import { rootOf, type Uid } from '../core/uid.ts'
import type { HttpReply } from '../http.ts'
import type { Db } from '../storage/db.ts'
import { runText, type SqlText, sqlText } from '../storage/sql-text.ts'
import type { ManifestRow } from '../storage/tables.ts'
import { readDigest } from './digests.ts'
import { mediaTypes } from './manifest-check.ts'
import { nextPage } from './tags.ts'
import type { Registry, Visit } from './visit.ts'

type Referrer = Pick<ManifestRow, 'digest' | 'media_type' | 'size' | 'artifact_type' | 'annotations'>

/** Manifests of the repo that refer to another one, whether that is there or not: an index of them, a page at a time. */
export async function listReferrers(
  { store }: Registry,
  { place, query }: Visit,
  reference: string,
): Promise<HttpReply> {
  const { db } = store
  const { repo } = place
  const { text: subject } = readDigest(reference)
  const artifactType = query.get('artifactType') ?? ''
  // Where there is no repo nothing refers to anything: clients take a 404 here for a registry that cannot tell.
  const found =
    repo === undefined ? [] : await referrersOf(db, repo, subject, artifactType, query.get('last') ?? '')
  const entries: string[] = []
  let bytes = 0
  for (const row of found.slice(0, limits.registryListMax)) {
    const entry = JSON.stringify(descriptorOf(row))
    bytes += entry.length
    if (bytes > limits.referrersBytesMax && entries.length > 0) break
    entries.push(entry)
  }
  const last = found[entries.length - 1]?.digest
  const parameters = { ...(artifactType !== '' && { artifactType }), last }
  return {
    status: 200,
    headers: {
      'content-type': mediaTypes.index,
      ...(artifactType !== '' && { 'oci-filters-applied': 'artifactType' }),
      ...nextPage(found.length > entries.length, `/v2/${place.name.text}/referrers/${subject}`, parameters),
    },
    body: `{"schemaVersion":2,"mediaType":"${mediaTypes.index}","manifests":[${entries.join(',')}]}`,
  }
}

function referrersOf(db: Db, repo: Uid, subject: string, artifactType: string, after: string) {
  const sql = sqlText(db.engine)
  const text = `select digest, media_type, size, artifact_type, annotations from manifests
    where root = ${sql.bind(rootOf(repo))} and repo = ${sql.bind(repo)} and subject = ${sql.bind(subject)}
      and subject <> '' and digest > ${sql.bind(after)} ${ofType(sql, artifactType)}
    order by digest limit ${sql.bind(limits.registryListMax + 1)}`
  return runText<Referrer>(db, text, sql)
}

function ofType(sql: SqlText, artifactType: string): string {
  return artifactType === '' ? '' : `and artifact_type = ${sql.bind(artifactType)}`
}

function descriptorOf({ digest, media_type: mediaType, size, artifact_type, annotations }: Referrer) {
  return {
    mediaType,
    digest,
    size: Number(size),
    ...(artifact_type !== '' && { artifactType: artifact_type }),
    ...(annotations !== '' && { annotations: JSON.parse(annotations) }),
  }
}
