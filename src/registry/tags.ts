import { create, equals } from '@bufbuild/protobuf'
import { EmptySchema } from '@bufbuild/protobuf/wkt'
import { Capability } from '#gen/capabilities/capabilities_pb.js'
import {
  type ListTagsRequest,
  type Tag,
  TagSchema,
  TagsService,
} from '#gen/chainguard/platform/registry/v2beta1/tags_pb.js'
import { accessOf, allowed, requireCapabilities } from '../core/allowed.ts'
import { type Call, implement } from '../core/call.ts'
import { setOf } from '../core/capabilities.ts'
import { notFound } from '../core/errors.ts'
import { refuseIfAny } from '../core/fields.ts'
import { timestampMs, timestampOf } from '../core/message.ts'
import { timeSortFields } from '../core/order-by.ts'
import { rootOf, type Uid } from '../core/uid.ts'
import type { Tx } from '../storage/db.ts'
import { type Condition, listPage } from '../storage/list.ts'
import { mutate } from '../storage/mutation.ts'
import {
  deleteResource,
  holdForChange,
  insertResource,
  type Kind,
  lockResource,
  nextUpdate,
  readResource,
  updateResource,
} from '../storage/rows.ts'
import type { Store } from '../storage/store.ts'
import type { TagRow } from '../storage/tables.ts'
import { checkBundles } from './bundles.ts'
import { holdRepo } from './parent-repo.ts'
import { checkDigest, checkTagName, formsOf, formsWithin, TAG_FORMS } from './tag-name.ts'

/**
 * Tags: names for the images of a repo. A tag is made and moved by one method, but moving it takes a right of its own (R20), and
 * no name is special.
 */

const TYPE = 'registry.chainguard.dev/Tag'

const KIND: Kind<'tags', typeof TagSchema> = {
  collection: 'tags',
  schema: TagSchema,
  type: TYPE,
  toMessage: toTag,
}

const { updated_at, update_time, updateTime } = timeSortFields

export function tagsService(store: Store) {
  const { db, clock, uids } = store

  const insert = async (tx: Tx, repo: Uid, tag: Tag): Promise<TagRow> => {
    const now = clock()
    const row: TagRow = {
      root: rootOf(repo),
      uid: uids.below(repo),
      parent: repo,
      name: tag.name,
      ...contentColumns(tag),
      forms: formsOf(tag.name),
      created_ms: now,
      updated_ms: now,
    }
    await insertResource(db, tx, 'tags', row)
    return row
  }

  return implement(TagsService, {
    async listTags(request, call) {
      const { rows, ...page } = await listPage(store, call, request, {
        collection: 'tags',
        sortFields: { uid: 'uid', name: 'name', updated_at, update_time, updateTime },
        defaultOrder: 'uid',
        equals: { name: request.name, digest: request.digest },
        conditions: conditionsOf(request),
      })
      return {
        $typeName: 'chainguard.platform.registry.v2beta1.ListTagsResponse' as const,
        tags: rows.map(toTag),
        ...page,
      }
    },

    async getTag(_request, call) {
      const { scope } = allowed(call)
      const row = await readResource(db, 'tags', scope)
      if (row === undefined) throw notFound(TYPE, scope)
      return toTag(row)
    },

    async createTag({ tag = create(TagSchema) }, call) {
      const repo = allowed(call).scope as Uid
      return mutate(store, call, async (tx) => {
        await holdRepo(db, tx, repo)
        refuseIfAny(checkTagName(tag.name), checkDigest(tag.digest), checkBundles(tag.bundles))
        const row = await holdTag(store, tx, repo, tag.name)
        if (row === undefined) {
          const inserted = await insert(tx, repo, tag)
          return { uid: inserted.uid, answer: toTag(inserted) }
        }
        const { uid } = row
        const current = toTag(row)
        const { digest, deprecated, bundles } = tag
        if (equals(TagSchema, current, { ...current, digest, deprecated, bundles }))
          return { uid, answer: current, unchanged: true }
        requireMayMove(call, repo)
        const changed = { ...contentColumns(tag), updated_ms: nextUpdate(store, row) }
        await updateResource(tx, 'tags', uid, changed)
        return { uid, answer: toTag({ ...row, ...changed }) }
      })
    },

    async deleteTag(_request, call) {
      const { scope } = allowed(call)
      return mutate(store, call, async (tx) => {
        await holdForChange(db, tx, call, KIND, scope)
        await deleteResource(db, tx, 'tags', scope)
        return { uid: scope, answer: create(EmptySchema) }
      })
    },
  })
}

/** The tag of this name, this transaction's alone. */
async function holdTag({ db }: Store, tx: Tx, repo: string, name: string): Promise<TagRow | undefined> {
  const found = await tx
    .selectFrom('tags')
    .select('uid')
    .where('root', '=', rootOf(repo))
    .where('parent', '=', repo)
    .where('name', '=', name)
    .executeTakeFirst()
  return found && lockResource(db, tx, 'tags', found.uid, 'update')
}

/** Whether a repo that is held has any. */
export async function hasTags(tx: Tx, repo: string): Promise<boolean> {
  const rows = await tx
    .selectFrom('tags')
    .select('uid')
    .where('root', '=', rootOf(repo))
    .where('parent', '=', repo)
    .limit(1)
    .execute()
  return rows.length > 0
}

const mayMove = setOf([Capability.CAP_TAG_UPDATE])

function requireMayMove(call: Call, repo: string): void {
  requireCapabilities(accessOf(call).grants, repo, mayMove, 'change a tag that is there')
}

function toTag(row: TagRow): Tag {
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

function contentColumns({ digest, deprecated, bundles }: Tag) {
  return { digest, deprecated: Number(deprecated), bundles: JSON.stringify(bundles) }
}

/** Names of the three forms are left out unless their switch is on, also when they are asked for by name. */
function conditionsOf(request: ListTagsRequest): Condition[] {
  const { includeReferrers, includeDates, includeEpochs, updatedSince } = request
  const shown =
    (includeReferrers ? TAG_FORMS.referrer : 0) |
    (includeDates ? TAG_FORMS.date : 0) |
    (includeEpochs ? TAG_FORMS.epoch : 0)
  const forms = formsWithin(shown)
  const conditions: Condition[] = forms.length === 8 ? [] : [{ column: 'forms', values: forms }]
  if (updatedSince !== undefined)
    conditions.push({ column: 'updated_ms', comparison: '>', value: timestampMs(updatedSince) })
  return conditions
}
