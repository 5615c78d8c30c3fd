import { rootOf, type Uid } from '../../../api/uid.ts'
import { limits } from '../../../config/limits.ts'
import type { HttpReply } from '../../../port/http.ts'
import { yieldToEventLoop } from '../../../runtime/event-loop.ts'
import { insertRows } from '../../../storage/bulk-rows.ts'
import { type MutationResult, mutateBy } from '../../../storage/changes/mutation.ts'
import type { Db, Tx } from '../../../storage/db.ts'
import type { ManifestRow } from '../../../storage/schema/tables.ts'
import { runInTransaction, sqlText } from '../../../storage/sql-text.ts'
import { readStoredBlobs } from '../../blobs/stored-blobs.ts'
import { queueReading } from '../../manifests/contents-rows.ts'
import { DEFAULT_ALGORITHM, requireDigest } from '../../manifests/digests.ts'
import { type Descriptor, dependenciesOf, type ParsedManifest } from '../../manifests/manifest-parser.ts'
import { isLarge } from '../../manifests/manifest-reader.ts'
import { touchManifest } from '../../manifests/manifest-rows.ts'
import { queueSignedImages } from '../../manifests/signature-changes.ts'
import { countManifest, quotaWarnings } from '../../quota/usage.ts'
import { lockRepo } from '../../resources/parent-repo.ts'
import { checkTagName } from '../../resources/tag-names.ts'
import { lockTagNamed, requireTagUpdate, writeTag } from '../../resources/tags.ts'
import { authorizeRepo, operationCapabilities } from '../access.ts'
import { mutatorOf, type OciContext, type OciServices } from '../context.ts'
import { ociError } from '../errors.ts'
import { getOrCreateRepo, lockRepoForShare, requireRepoCreate } from '../push-repo.ts'
import { retentionWarnings, withWarnings } from '../warnings.ts'
import { parseReference, type Reference } from './manifests.ts'

/**
 * Pushes a manifest in one transaction: checks and locks what it references, stores the manifest unchanged, and creates or moves its
 * tags.
 */
export async function putManifest(
  registry: OciServices,
  context: OciContext,
  text: string,
): Promise<HttpReply> {
  const { request, authorization } = context
  const reference = parseReference(text)
  const tags = 'tag' in reference ? [reference.tag] : context.query.getAll('tag')
  for (const tag of tags) {
    const wrong = checkTagName(tag)
    if (wrong !== undefined) throw ociError('MANIFEST_INVALID', `the tag ${wrong.description}`)
  }
  if (tags.length > limits.manifestTagsMax)
    throw ociError(
      'MANIFEST_INVALID',
      `the request sets ${tags.length} tags, at most ${limits.manifestTagsMax} are allowed (manifestTagsMax)`,
      { status: 414 },
    )
  if (tags.length > 0)
    authorizeRepo(authorization, authorization.repository, operationCapabilities.pushTag, 'push')
  requireRepoCreate(context)
  const { algorithm } = 'digest' in reference ? reference.digest : { algorithm: DEFAULT_ALGORITHM }
  // A body of unknown length may be large.
  const isSmall = !isLarge(Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY))
  const release = isSmall ? undefined : registry.manifests.reserve(reservationOwners(context))
  try {
    const body = await request.body(isSmall ? limits.manifestInlineBytesMax : limits.manifestBytesMax)
    const { content, digest, parsed } = await registry.manifests.push(body, {
      contentType: request.headers['content-type'],
      algorithm,
      require: (actual) => {
        if ('digest' in reference) requireDigest(reference.digest, actual)
      },
    })
    const repo = await getOrCreateRepo(registry, context)
    await storeManifest(registry, context, { repo, digest, tags, content, checked: parsed })
    registry.transfers.countPush(repo)
    return await pushedReply(registry, context, { reference, repo, digest, tags, checked: parsed })
  } finally {
    release?.()
  }
}

/** Owners whose large manifests are counted: the identity, and the organization that it pushes to. */
function reservationOwners({ authorization }: OciContext): string[] {
  const { repo, group } = authorization.repository
  const scope = repo ?? group
  return [authorization.caller.identity, ...(scope === undefined ? [] : [rootOf(scope)])]
}

async function pushedReply(
  registry: OciServices,
  { authorization: { repository } }: OciContext,
  {
    reference,
    repo,
    digest,
    tags,
    checked: parsed,
  }: Omit<PushedContent, 'content'> & { readonly reference: Reference },
): Promise<HttpReply> {
  return {
    status: 201,
    ...withWarnings([
      ...(await quotaWarnings(registry.store.db, rootOf(repo))),
      ...(await retentionWarnings(registry, repo, tags)),
    ]),
    headers: {
      location: `/v2/${repository.name.text}/manifests/${digest}`,
      'docker-content-digest': digest,
      ...(parsed.subject !== '' && { 'oci-subject': parsed.subject }),
      ...('digest' in reference && tags.length > 0 && { 'oci-tag': tags.join(', ') }),
    },
    body: undefined,
  }
}

/** How a manifest references a digest. */
type DependencyKind = 'blob' | 'manifest'

interface PushedContent {
  readonly repo: Uid
  readonly digest: string
  readonly tags: readonly string[]
  readonly content: Uint8Array
  readonly checked: ParsedManifest
}

function storeManifest({ store }: OciServices, context: OciContext, pushed: PushedContent): Promise<void> {
  const { db } = store
  const { repo, digest, tags, content, checked: parsed } = pushed
  const mutator = mutatorOf(context, 'PutManifest')
  return mutateBy(store, mutator, async (tx): Promise<MutationResult<void>> => {
    // Pushes of tags wait for each other; manifests without a tag are pushed concurrently.
    if (tags.length > 0) await lockRepo(db, tx, repo)
    else await lockRepoForShare(db, tx, repo, context.authorization.repository)
    const references = await requireDependencies(db, tx, repo, parsed)
    const now = store.clock()
    const row: ManifestRow = {
      root: rootOf(repo),
      repo,
      digest,
      media_type: parsed.mediaType,
      size: content.length,
      subject: parsed.subject,
      artifact_type: parsed.artifactType,
      annotations: parsed.annotations,
      created_ms: now,
      touched_ms: now,
      content,
    }
    const isNew = await insertManifest(tx, row)
    // An existing manifest may reference layers that were pushed after it.
    await insertRows(
      db,
      tx,
      'manifest_references',
      [...references].map(([needed, kind]) => ({
        root: row.root,
        repo,
        digest: needed,
        manifest: digest,
        kind,
      })),
      { ifAbsent: true },
    )
    if (isNew) {
      await countManifest(db, tx, repo, digest)
      await queueReading(tx, { repo, digest }, now)
      await queueSignedImages(db, tx, repo, { subjects: [parsed.subject] })
    }
    let uid: string = repo
    let unchanged = !isNew
    for (const name of tags) {
      await yieldToEventLoop()
      const current = await lockTagNamed(db, tx, repo, name)
      const { deprecated = 0, bundles = '[]' } = current ?? {}
      const wanted = { digest, deprecated, bundles }
      const target = { repo, name, current, wanted, actor: mutator.caller.identity }
      const tag = await writeTag(store, tx, target, () => requireTagUpdate(mutator.grants, repo))
      if (!tag.unchanged) [uid, unchanged] = [tag.row.uid, false]
    }
    return { uid, response: undefined, unchanged }
  })
}

/** Returns false if it already exists. Throws MANIFEST_INVALID if it exists with another media type (R32). */
async function insertManifest(tx: Tx, row: ManifestRow): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto('manifests')
    .values(row)
    .onConflict((conflict) => conflict.columns(['root', 'repo', 'digest']).doNothing())
    .executeTakeFirst()
  if (numInsertedOrUpdatedRows === 1n) return true
  const known = await tx
    .selectFrom('manifests')
    .select('media_type')
    .where('root', '=', row.root)
    .where('repo', '=', row.repo)
    .where('digest', '=', row.digest)
    .executeTakeFirst()
  if (known?.media_type !== row.media_type)
    throw ociError('MANIFEST_INVALID', `the manifest already exists with media type ${known?.media_type}`)
  await touchManifest(tx, row.repo, row.digest, row.touched_ms)
  return false
}

const ROWS_PER_STATEMENT = 200

/**
 * Returns the dependencies of a manifest, locked until the transaction ends, and the existing ones among its optional layers. Throws
 * MANIFEST_BLOB_UNKNOWN for a missing one, and MANIFEST_INVALID for one with a different size than in the manifest.
 */
async function requireDependencies(
  db: Db,
  tx: Tx,
  repo: Uid,
  parsed: ParsedManifest,
): Promise<Map<string, DependencyKind>> {
  const { blobs, optional, manifests } = dependenciesOf(parsed)
  return new Map([
    ...(await requirePresent(db, tx, repo, 'repo_blobs', blobs, optional)).map(
      (digest) => [digest, 'blob'] as const,
    ),
    ...(await requirePresent(db, tx, repo, 'manifests', manifests)).map(
      (digest) => [digest, 'manifest'] as const,
    ),
  ])
}

async function requirePresent(
  db: Db,
  tx: Tx,
  repo: Uid,
  table: 'repo_blobs' | 'manifests',
  wanted: readonly Descriptor[],
  optional: ReadonlySet<Descriptor> = new Set(),
): Promise<string[]> {
  const digests = [...new Set(wanted.map(({ digest }) => digest))].sort()
  const sizes = new Map<string, number>()
  for (let at = 0; at < digests.length; at += ROWS_PER_STATEMENT) {
    await yieldToEventLoop()
    const sql = sqlText(db.engine)
    const text = `select digest, size from ${table} where root = ${sql.bind(rootOf(repo))} and repo = ${sql.bind(repo)}
      and digest in (${sql.bindAll(digests.slice(at, at + ROWS_PER_STATEMENT))}) order by digest${db.rules.lockForShare}`
    const rows = await runInTransaction<{ digest: string; size: number }>(tx, text, sql)
    // A scrub may have found the bytes damaged: they must be pushed again.
    const stored =
      table === 'repo_blobs'
        ? await readStoredBlobs(
            tx,
            ['digest'],
            rows.map(({ digest }) => digest),
          )
        : undefined
    for (const { digest, size } of rows)
      if (stored === undefined || stored.has(digest)) sizes.set(digest, Number(size))
  }
  for (const descriptor of wanted) {
    const { digest, size } = descriptor
    const actual = sizes.get(digest)
    if (actual === undefined && optional.has(descriptor)) continue
    if (actual === undefined)
      throw ociError(
        'MANIFEST_BLOB_UNKNOWN',
        `the manifest references ${digest}, which is not in the repository`,
      )
    if (actual !== size)
      throw ociError(
        'MANIFEST_INVALID',
        `the manifest states a size of ${size} for ${digest}, which has ${actual} bytes`,
      )
  }
  return [...sizes.keys()]
}
