import { rootOf, type Uid } from '../../api/uid.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import { insertRows } from '../../storage/bulk-rows.ts'
import { type MutationResult, type Mutator, mutateBy } from '../../storage/changes/mutation.ts'
import type { Db, Tx } from '../../storage/db.ts'
import { prepared } from '../../storage/prepared.ts'
import type { ManifestRow, TagRow } from '../../storage/schema/tables.ts'
import { runInTransaction, sqlText } from '../../storage/sql-text.ts'
import type { Store } from '../../storage/store.ts'
import { readStoredBlobs } from '../blobs/stored-blobs.ts'
import { ociError } from '../oci/errors.ts'
import { countManifest } from '../quota/usage.ts'
import { lockRepo, lockRepoForShare } from '../resources/parent-repo.ts'
import { lockTagNamed, requireTagUpdate, writeTag } from '../resources/tags.ts'
import { queueReading } from './contents-rows.ts'
import { type Descriptor, dependenciesOf, type ParsedManifest } from './manifest-parser.ts'
import { touchManifest } from './manifest-rows.ts'
import { queueSignedImages } from './signature-changes.ts'

/** Stores a manifest that was pushed or is copied, with its tags. */

/** How a manifest references a digest. */
type DependencyKind = 'blob' | 'manifest'

export interface ManifestToStore {
  readonly repo: Uid
  readonly digest: string
  /** Names of tags that will point to it. */
  readonly tags: readonly string[]
  readonly content: Uint8Array
  readonly checked: ParsedManifest
}

export interface StoringRules {
  /** The error for a repo that does not exist. */
  readonly missingRepo?: () => Error
  /** Throws if a tag that points to another digest must not be moved. */
  readonly requireMove?: (tag: TagRow) => void
  /** Of tags that are created or moved. Otherwise a moved tag keeps its own. */
  readonly marks?: TagMarks
}

/** What a tag states beside its digest. */
export type TagMarks = Pick<TagRow, 'deprecated' | 'bundles'>

const NO_MARKS: TagMarks = { deprecated: 0, bundles: '[]' }

export interface StoredManifest {
  /** The repo did not have the manifest. */
  readonly isNew: boolean
  /** uids of the tags. */
  readonly tagUids: readonly string[]
}

/**
 * Stores a manifest unchanged in one transaction: checks and locks what it references, and creates or moves its tags. Records a change
 * unless the repo has all of it. Throws MANIFEST_BLOB_UNKNOWN for missing content, and the errors of quotas and immutable tags.
 */
export function storeManifest(
  store: Store,
  mutator: Mutator,
  { repo, digest, tags, content, checked: parsed }: ManifestToStore,
  { missingRepo, requireMove = () => undefined, marks }: StoringRules = {},
): Promise<StoredManifest> {
  const { db } = store
  return mutateBy(store, mutator, async (tx): Promise<MutationResult<StoredManifest>> => {
    // Pushes of tags wait for each other; manifests without a tag are pushed concurrently.
    if (tags.length > 0) await lockRepo(db, tx, repo)
    else await lockRepoForShare(db, tx, repo, missingRepo)
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
    const tagUids: string[] = []
    for (const name of tags) {
      await yieldToEventLoop()
      const current = await lockTagNamed(db, tx, repo, name)
      const isThere = current?.digest === digest
      const { deprecated, bundles } = (isThere ? undefined : marks) ?? current ?? NO_MARKS
      const wanted = { digest, deprecated, bundles }
      const target = { repo, name, current, wanted, actor: mutator.caller.identity }
      const tag = await writeTag(store, tx, target, () => {
        requireTagUpdate(mutator.grants, repo)
        if (current !== undefined) requireMove(current)
      })
      tagUids.push(tag.row.uid)
      if (!tag.unchanged) [uid, unchanged] = [tag.row.uid, false]
    }
    return { uid, response: { isNew, tagUids }, unchanged }
  })
}

const insertIfAbsent = prepared((db, row: ManifestRow) =>
  db
    .insertInto('manifests')
    .values(row)
    .onConflict((conflict) => conflict.columns(['root', 'repo', 'digest']).doNothing())
    .returning('digest'),
)

/** Returns false if it already exists. Throws MANIFEST_INVALID if it exists with another media type (R32). */
async function insertManifest(tx: Tx, row: ManifestRow): Promise<boolean> {
  if ((await insertIfAbsent(tx, row)).length > 0) return true
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
