import { capabilitySetOf } from '@berth/contract/capabilities.ts'
import { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import {
  type ListTagsRequest,
  type Tag,
  TagSchema,
  TagsService,
} from '@berth/contract/gen/chainguard/platform/registry/v2beta1/tags_pb.js'
import { EmptySchema } from '@berth/contract/gen/google/protobuf/empty_pb.js'
import { timestampMs } from '@berth/contract/timestamp-text.ts'
import { create } from '@bufbuild/protobuf'
import type { Timestamp } from '@bufbuild/protobuf/wkt'
import { type FieldViolation, invalidArgument, notFound } from '../../api/errors.ts'
import { requireEtagMatch } from '../../api/etag.ts'
import { requireValid } from '../../api/fields.ts'
import { timestampOf } from '../../api/messages.ts'
import { parentOf, rootOf, type Uid } from '../../api/uid.ts'
import {
  authorizationOf,
  type Grants,
  requireCapabilities,
  requireScope,
} from '../../pipeline/authorization.ts'
import { type Call, implement } from '../../pipeline/call.ts'
import { type MutationResult, mutate } from '../../storage/changes/mutation.ts'
import type { Db, Tx } from '../../storage/db.ts'
import type { ColumnCondition } from '../../storage/list/list-sql.ts'
import {
  deleteResource,
  insertResource,
  lockForChange,
  lockResource,
  nextUpdateMs,
  readResource,
  updateResource,
} from '../../storage/resource-rows.ts'
import {
  definitionOf,
  type ResourceDeclaration,
  resourceMethods,
} from '../../storage/resources/resource-methods.ts'
import type { TagRow } from '../../storage/schema/tables.ts'
import { runInTransaction, sqlText } from '../../storage/sql-text.ts'
import type { Store } from '../../storage/store.ts'
import { queueFindingHistory } from '../manifests/finding-history-changes.ts'
import { touchManifest } from '../manifests/manifest-rows.ts'
import { queueSignedImages } from '../manifests/signature-changes.ts'
import { isImmutable, requireTagMutable } from '../policies/immutable-tags.ts'
import { findPolicy } from '../policies/policy-rows.ts'
import { checkBundles } from './bundles.ts'
import { lockRepo } from './parent-repo.ts'
import { deleteHistory, recordDigest } from './tag-history.ts'
import { checkDigest, checkTagName, listedTagForms, tagFormsOf } from './tag-names.ts'

/**
 * Tags: names for the manifests of a repo. The same call creates and moves a tag, but moving a tag requires tag.update, whatever its
 * name (R20).
 */

/** Type of tags in errors. */
export const TAG_TYPE = 'registry.chainguard.dev/Tag'

const tags: ResourceDeclaration<'tags', typeof TagSchema, ListTagsRequest> = {
  table: 'tags',
  schema: TagSchema,
  isCached: true,
  toMessages: (rows) => rows.map(toTag),
  filter: (request) => ({
    equals: { digest: request.digest, name: request.name },
    conditions: conditionsOf(request),
  }),
}

/** The declaration of tags that their changes use. */
export const tagDefinition = definitionOf(tags)

export function tagsService(store: Store) {
  const { db } = store

  return implement(TagsService, {
    ...resourceMethods(store, TagsService, tags),

    createTag: ({ tag = create(TagSchema) }, call) =>
      mutate(store, call, (tx) => putTag(store, tx, call, requireScope(call).scope as Uid, tag)),

    async deleteTag(_request, call) {
      const { scope } = requireScope(call)
      return mutate(store, call, async (tx) => {
        await lockRepoOfTag(db, tx, scope)
        const { row } = await lockForChange(db, tx, call, tagDefinition, scope)
        await removeTag(store, tx, row)
        return { uid: scope, response: create(EmptySchema) }
      })
    },
  })
}

/** Creates a tag in a repo, or updates the tag of that name. `mayBeEmpty`: the tag may have no digest yet, which only version 1 allows. */
export async function putTag(
  store: Store,
  tx: Tx,
  call: Call,
  repo: Uid,
  tag: Tag,
  { mayBeEmpty = false }: { readonly mayBeEmpty?: boolean } = {},
): Promise<MutationResult<Tag>> {
  const { db } = store
  await lockRepo(db, tx, repo)
  requireValid(checkTagName(tag.name), ...checkContent(tag, mayBeEmpty))
  const current = await lockTagNamed(db, tx, repo, tag.name)
  // No other method of version 2 moves a tag.
  requireEtagMatch(call, TagSchema, current && toTag(current), current?.uid ?? tag.name)
  const wanted = contentColumns(tag)
  const { caller, grants } = authorizationOf(call)
  const target = { repo, name: tag.name, current, wanted, actor: caller.identity }
  const { row, unchanged } = await writeTag(store, tx, target, () => requireTagUpdate(grants, repo))
  return { uid: row.uid, response: toTag(row), unchanged }
}

/** Replaces a tag as version 1 does: it may lose its digest, and keeps its name. */
export function replaceTag(store: Store, call: Call, uid: string, tag: Tag): Promise<Tag> {
  return mutate(store, call, async (tx) => {
    await lockRepoOfTag(store.db, tx, uid)
    const { row } = await lockForChange(store.db, tx, call, tagDefinition, uid)
    const renamed = { field: 'name', description: 'must be the current name: a tag cannot be renamed' }
    requireValid(tag.name === row.name ? undefined : renamed, ...checkContent(tag, true))
    const { identity: actor } = authorizationOf(call).caller
    const wanted = contentColumns(tag)
    const target = { repo: row.parent as Uid, name: row.name, current: row, wanted, actor }
    const { row: after, unchanged } = await writeTag(store, tx, target)
    return { uid, response: toTag(after), unchanged }
  })
}

export interface TagToWrite {
  /** Locked, as is `current`, the tag of that name. */
  readonly repo: Uid
  readonly name: string
  readonly current: TagRow | undefined
  readonly wanted: Pick<TagRow, 'digest' | 'deprecated' | 'bundles'>
  /** uid of the identity that writes it. */
  readonly actor: string
}

/** Creates a tag, or changes the existing one unless `authorizeChange` throws. */
export async function writeTag(
  store: Store,
  tx: Tx,
  { repo, name, current, wanted, actor }: TagToWrite,
  authorizeChange: () => void = () => undefined,
): Promise<{ readonly row: TagRow; readonly unchanged: boolean }> {
  const { db, clock, uids } = store
  if (current === undefined) {
    const now = clock()
    const row: TagRow = {
      root: rootOf(repo),
      uid: uids.child(repo),
      parent: repo,
      name,
      forms: tagFormsOf(name),
      ...wanted,
      created_ms: now,
      updated_ms: now,
    }
    await insertResource(db, tx, 'tags', row)
    await queueSignedImages(db, tx, repo, { tags: [name] })
    await recordDigest(tx, { uid: row.uid, since_ms: now, digest: row.digest, actor })
    await queueFindingHistory(db, tx, row.root, 'tag', [row.uid], now)
    return { row, unchanged: false }
  }
  if (
    current.digest === wanted.digest &&
    current.deprecated === wanted.deprecated &&
    current.bundles === wanted.bundles
  )
    return { row: current, unchanged: true }
  authorizeChange()
  const isMoved = current.digest !== wanted.digest
  // The first digest of an empty tag of version 1 is no move.
  if (isMoved && current.digest !== '') await requireTagMutable(tx, current)
  const changed = { ...wanted, updated_ms: nextUpdateMs(store, current) }
  await updateResource(tx, 'tags', current.uid, changed)
  if (isMoved) {
    const { digest, updated_ms } = changed
    await recordDigest(tx, { uid: current.uid, since_ms: updated_ms, digest, actor })
    await queueFindingHistory(db, tx, current.root, 'tag', [current.uid], updated_ms)
    await touchManifest(tx, repo, current.digest, clock())
    await queueSignedImages(db, tx, repo, { tags: [name] })
  }
  return { row: { ...current, ...changed }, unchanged: false }
}

/** Deletes a tag with its history. The tag and its repo are locked. Throws code 9 for an immutable tag. */
export async function removeTag(
  { db, clock }: Pick<Store, 'db' | 'clock'>,
  tx: Tx,
  tag: TagRow,
): Promise<void> {
  const { uid, parent, name, digest } = tag
  await requireTagMutable(tx, tag)
  await touchManifest(tx, parent, digest, clock())
  await queueSignedImages(db, tx, parent, { tags: [name] })
  await deleteHistory(tx, uid)
  await deleteResource(db, tx, 'tags', uid)
  await queueFindingHistory(db, tx, rootOf(uid), 'tag', [uid], clock())
}

function checkContent({ digest, bundles }: Tag, mayBeEmpty: boolean): (FieldViolation | undefined)[] {
  return [digest === '' && mayBeEmpty ? undefined : checkDigest(digest), checkBundles(bundles)]
}

function contentColumns({ digest, deprecated, bundles }: Tag) {
  return { digest, deprecated: deprecated ? 1 : 0, bundles: JSON.stringify(bundles) }
}

const updateCapability = capabilitySetOf([Capability.CAP_TAG_UPDATE])

/** Throws code 7 for callers who may create tags but not move them (R20). */
export function requireTagUpdate(grants: Grants, repo: Uid): void {
  requireCapabilities(grants, repo, updateCapability, 'change an existing tag')
}

/** Returns a tag. Throws code 5 if it does not exist. */
export async function requireTag(db: Db, uid: string): Promise<TagRow> {
  const row = await readResource(db, 'tags', uid)
  if (row === undefined) throw notFound(TAG_TYPE, uid)
  return row
}

/** Locks the repo of a tag, so that its policy does not change meanwhile. */
export async function lockRepoOfTag(db: Db, tx: Tx, tag: string): Promise<void> {
  await lockResource(db, tx, 'repos', parentOf(tag), 'share')
}

/** Locks the tag of a name in a repo that is locked. Undefined if there is none, or it is being deleted. */
export async function lockTagNamed(db: Db, tx: Tx, repo: string, name: string): Promise<TagRow | undefined> {
  const sql = sqlText(db.engine)
  const text = `select * from tags where root = ${sql.bind(rootOf(repo))} and parent = ${sql.bind(repo)} and name = ${sql.bind(name)}${db.rules.lockForUpdate}`
  const [tag] = await runInTransaction<TagRow>(tx, text, sql)
  return tag
}

export function toTag(row: TagRow): Tag {
  return {
    $typeName: 'chainguard.platform.registry.v2beta1.Tag',
    uid: row.uid,
    name: row.name,
    digest: row.digest,
    updateTime: timestampOf(row.updated_ms),
    deprecated: row.deprecated === 1,
    bundles: JSON.parse(row.bundles) as string[],
  }
}

function conditionsOf(request: ListTagsRequest): ColumnCondition[] {
  const conditions: ColumnCondition[] = []
  const { updatedSince } = request
  if (updatedSince !== undefined)
    conditions.push({
      column: 'updated_ms',
      comparison: '>',
      value: instantMs(updatedSince, 'updated_since'),
    })
  const values = listedTagForms(request)
  if (values !== undefined) conditions.push({ column: 'forms', values })
  return conditions
}

const EARLIEST_MS = Date.parse('0001-01-01T00:00:00.000Z')
const LATEST_MS = Date.parse('9999-12-31T23:59:59.999Z')

/** Whether JSON can represent the time. */
export function isInstant(instant: Timestamp): boolean {
  const ms = timestampMs(instant)
  return instant.nanos >= 0 && instant.nanos <= 999_999_999 && ms >= EARLIEST_MS && ms <= LATEST_MS
}

/** Returns the millisecond of an instant: what changed in a later millisecond changed after the instant. Throws code 3. */
export function instantMs(instant: Timestamp, field: string): number {
  if (!isInstant(instant)) throw invalidArgument(field, 'must be a time in the years 1 to 9999')
  return timestampMs(instant)
}

const TAGS_PER_STATEMENT = 500

/**
 * Deletes the immutable tags of a repo, which could not be deleted before it. Returns false if other tags are left: then the transaction
 * must not commit.
 */
export async function removeImmutableTags(
  { db, clock }: Pick<Store, 'db' | 'clock'>,
  tx: Tx,
  repo: string,
): Promise<boolean> {
  const policy = await findPolicy(tx, repo)
  for (;;) {
    const tags = await tx
      .selectFrom('tags')
      .select(['uid', 'name'])
      .where('root', '=', rootOf(repo))
      .where('parent', '=', repo)
      .limit(TAGS_PER_STATEMENT)
      .execute()
    if (tags.length === 0) return true
    if (policy === undefined || !tags.every(({ name }) => isImmutable(policy, name))) return false
    for (const { uid } of tags) {
      await deleteHistory(tx, uid)
      await deleteResource(db, tx, 'tags', uid)
    }
    const uids = tags.map(({ uid }) => uid)
    await queueFindingHistory(db, tx, rootOf(repo), 'tag', uids, clock())
  }
}
