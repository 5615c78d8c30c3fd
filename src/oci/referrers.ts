import { mediaTypes } from '../core/image-types.ts'
import { limits } from '../core/limits.ts'
import { rootOf, type Uid } from '../core/uid.ts'
import type { HttpReply } from '../http.ts'
import type { Db } from '../storage/db.ts'
import { runText, type SqlText, sqlText } from '../storage/sql-text.ts'
import type { ManifestRow } from '../storage/tables.ts'
import { readDigest } from './digests.ts'
import { nextPage } from './tags.ts'
import type { Registry, Visit } from './visit.ts'

interface Referrer extends Pick<ManifestRow, 'digest' | 'media_type' | 'size' | 'artifact_type'> {
  /** Null where there are many bytes of them, which are read once it is known that they are listed. */
  readonly annotations: string | null
  readonly annotation_bytes: number
}

const ANNOTATION_BYTES_AT_ONCE = 4096
/** Of an entry without its annotations. */
const ENTRY_BYTES = 400

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
  const listed = fitting(found)
  const entries = repo === undefined ? [] : await entriesOf(db, repo, listed)
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
  const max = sql.bind(ANNOTATION_BYTES_AT_ONCE)
  const text = `select digest, media_type, size, artifact_type, octet_length(annotations) as annotation_bytes,
      case when octet_length(annotations) <= ${max} then annotations end as annotations
    from manifests
    where root = ${sql.bind(rootOf(repo))} and repo = ${sql.bind(repo)} and subject = ${sql.bind(subject)}
      and subject <> '' and digest > ${sql.bind(after)} ${ofType(sql, artifactType)}
    order by digest limit ${sql.bind(limits.registryListMax + 1)}`
  return runText<Referrer>(db, text, sql)
}

/** As many as one answer may have, in number and in bytes; one at least. */
function fitting(found: readonly Referrer[]): readonly Referrer[] {
  let bytes = 0
  const beyond = found.findIndex((row, at) => {
    bytes += ENTRY_BYTES + Number(row.annotation_bytes)
    return at >= limits.registryListMax || (bytes > limits.referrersBytesMax && at > 0)
  })
  return beyond < 0 ? found : found.slice(0, beyond)
}

/** Descriptors as JSON. Annotations were checked when they came, and are JSON already. */
async function entriesOf(db: Db, repo: Uid, listed: readonly Referrer[]): Promise<string[]> {
  const long = listed.filter(({ annotations }) => annotations === null).map(({ digest }) => digest)
  const read = new Map<string, string>()
  for (let at = 0; at < long.length; at += LONG_AT_ONCE)
    for (const row of await db.kysely
      .selectFrom('manifests')
      .select(['digest', 'annotations'])
      .where('root', '=', rootOf(repo))
      .where('repo', '=', repo)
      .where('digest', 'in', long.slice(at, at + LONG_AT_ONCE))
      .execute())
      read.set(row.digest, row.annotations)
  return listed.map((row) => {
    const entry = JSON.stringify(descriptorOf(row))
    const annotations = row.annotations ?? read.get(row.digest) ?? ''
    return annotations === '' ? entry : `${entry.slice(0, -1)},"annotations":${annotations}}`
  })
}

const LONG_AT_ONCE = 200

function ofType(sql: SqlText, artifactType: string): string {
  return artifactType === '' ? '' : `and artifact_type = ${sql.bind(artifactType)}`
}

function descriptorOf({ digest, media_type: mediaType, size, artifact_type }: Referrer) {
  return {
    mediaType,
    digest,
    size: Number(size),
    ...(artifact_type !== '' && { artifactType: artifact_type }),
  }
}
