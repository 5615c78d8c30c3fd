import { imageMediaTypes } from '@berth/contract/image-media-types.ts'
import { rootOf, type Uid } from '../../../api/uid.ts'
import { limits } from '../../../config/limits.ts'
import type { HttpReply } from '../../../port/http.ts'
import { yieldToEventLoop } from '../../../runtime/event-loop.ts'
import type { Db } from '../../../storage/db.ts'
import type { ManifestRow } from '../../../storage/schema/tables.ts'
import { runText, type SqlText, sqlText } from '../../../storage/sql-text.ts'
import { parseDigest } from '../../manifests/digests.ts'
import type { OciContext, OciServices } from '../context.ts'
import { nextPageLink } from './tags.ts'

interface Referrer extends Pick<ManifestRow, 'digest' | 'media_type' | 'size' | 'artifact_type'> {
  /** Null if they are large: they are read only for the entries of the response. */
  readonly annotations: string | null
  readonly annotation_bytes: number
}

const INLINE_ANNOTATION_BYTES_MAX = 4096
/** Size of an entry without its annotations. */
const ENTRY_BYTES = 400
/** Rows per statement, so that other work can run in between. */
const ROWS_PER_STATEMENT = 1000

/** Lists the manifests that refer to a subject, whether it exists or not, as an image index, a page at a time. */
export async function listReferrers(
  { store }: OciServices,
  { authorization: { repository }, query }: OciContext,
  reference: string,
): Promise<HttpReply> {
  const { db } = store
  const { repo } = repository
  const { text: subject } = parseDigest(reference)
  const artifactType = query.get('artifactType') ?? ''
  // No repo, no referrers: clients treat a 404 as a registry without the referrers API.
  const found =
    repo === undefined ? [] : await referrersOf(db, repo, subject, artifactType, query.get('last') ?? '')
  const listed = limitToPage(found)
  const entries = repo === undefined ? [] : await entriesOf(db, repo, listed)
  const last = found[entries.length - 1]?.digest
  const parameters = { ...(artifactType !== '' && { artifactType }), last }
  return {
    status: 200,
    headers: {
      'content-type': imageMediaTypes.index,
      ...(artifactType !== '' && { 'oci-filters-applied': 'artifactType' }),
      ...nextPageLink(
        found.length > entries.length,
        `/v2/${repository.name.text}/referrers/${subject}`,
        parameters,
      ),
    },
    body: `{"schemaVersion":2,"mediaType":"${imageMediaTypes.index}","manifests":[${entries.join(',')}]}`,
  }
}

/** Returns the referrers of one response and one more, read in batches. */
async function referrersOf(
  db: Db,
  repo: Uid,
  subject: string,
  artifactType: string,
  after: string,
): Promise<Referrer[]> {
  const found: Referrer[] = []
  for (let last = after; found.length <= limits.registryListMax; ) {
    await yieldToEventLoop()
    const rows = await referrersPage(db, repo, subject, artifactType, last)
    found.push(...rows)
    const end = rows.at(-1)
    if (end === undefined || rows.length < ROWS_PER_STATEMENT) break
    last = end.digest
  }
  return found
}

function referrersPage(db: Db, repo: Uid, subject: string, artifactType: string, after: string) {
  const sql = sqlText(db.engine)
  const max = sql.bind(INLINE_ANNOTATION_BYTES_MAX)
  const text = `select digest, media_type, size, artifact_type, octet_length(annotations) as annotation_bytes,
      case when octet_length(annotations) <= ${max} then annotations end as annotations
    from manifests
    where root = ${sql.bind(rootOf(repo))} and repo = ${sql.bind(repo)} and subject = ${sql.bind(subject)}
      and subject <> '' and digest > ${sql.bind(after)} ${artifactTypeCondition(sql, artifactType)}
    order by digest limit ${sql.bind(ROWS_PER_STATEMENT)}`
  return runText<Referrer>(db, text, sql)
}

/** Limits the number and the bytes of the entries; at least one is returned. */
function limitToPage(found: readonly Referrer[]): readonly Referrer[] {
  let bytes = 0
  const beyond = found.findIndex((row, at) => {
    bytes += ENTRY_BYTES + Number(row.annotation_bytes)
    return at >= limits.registryListMax || (bytes > limits.referrersBytesMax && at > 0)
  })
  return beyond < 0 ? found : found.slice(0, beyond)
}

/** Returns the descriptors as JSON. Stored annotations are valid JSON. */
async function entriesOf(db: Db, repo: Uid, listed: readonly Referrer[]): Promise<string[]> {
  const withLongAnnotations = listed
    .filter(({ annotations }) => annotations === null)
    .map(({ digest }) => digest)
  const read = new Map<string, string>()
  for (let at = 0; at < withLongAnnotations.length; at += LONG_ANNOTATIONS_PER_STATEMENT) {
    await yieldToEventLoop()
    for (const row of await db.kysely
      .selectFrom('manifests')
      .select(['digest', 'annotations'])
      .where('root', '=', rootOf(repo))
      .where('repo', '=', repo)
      .where('digest', 'in', withLongAnnotations.slice(at, at + LONG_ANNOTATIONS_PER_STATEMENT))
      .execute())
      read.set(row.digest, row.annotations)
  }
  const entries: string[] = []
  for (const [at, row] of listed.entries()) {
    if (at % ROWS_PER_STATEMENT === 0) await yieldToEventLoop()
    const entry = JSON.stringify(descriptorOf(row))
    const annotations = row.annotations ?? read.get(row.digest) ?? ''
    entries.push(annotations === '' ? entry : `${entry.slice(0, -1)},"annotations":${annotations}}`)
  }
  return entries
}

const LONG_ANNOTATIONS_PER_STATEMENT = 50

function artifactTypeCondition(sql: SqlText, artifactType: string): string {
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
