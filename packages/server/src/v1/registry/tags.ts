import {
  type Registry,
  RepoTagsSummarySchema,
  TagHistoryListSchema,
  TagListSchema,
  TagSchema,
} from '@berth/contract/gen/chainguard/platform/registry/registry_pb.js'
import {
  TagSchema as NewTagSchema,
  TagsService,
} from '@berth/contract/gen/chainguard/platform/registry/v2beta1/tags_pb.js'
import { create } from '@bufbuild/protobuf'
import type { Timestamp } from '@bufbuild/protobuf/wkt'
import { notFound } from '../../api/errors.ts'
import { timestampOf } from '../../api/messages.ts'
import type { Uid } from '../../api/uid.ts'
import { requireScope } from '../../pipeline/authorization.ts'
import type { Handlers } from '../../pipeline/call.ts'
import { REPO_TYPE } from '../../registry/resources/parent-repo.ts'
import { listHistory } from '../../registry/resources/tag-history.ts'
import { summarizeTags } from '../../registry/resources/tag-summary.ts'
import { instantMs, putTag, replaceTag, TAG_TYPE } from '../../registry/resources/tags.ts'
import { mutate } from '../../storage/changes/mutation.ts'
import { readResource } from '../../storage/resource-rows.ts'
import type { Store } from '../../storage/store.ts'
import { createMapping } from '../mapping/message-mapping.ts'
import {
  fieldPathMapper,
  listAllPages,
  narrowFilter,
  noMatch,
  type Translators,
  translateErrors,
} from '../mapping/translation.ts'

/**
 * Tags of version 1. Its lists omit nothing by default, and a tag may have no digest yet; only this version returns the history of a tag.
 */

type Names = 'createTag' | 'updateTag' | 'getRepoTagsSummary' | 'listTagHistory'

const tagMapping = createMapping(
  TagSchema,
  NewTagSchema,
  [['id', 'uid'], 'name', 'digest', ['lastUpdated', 'updateTime'], 'deprecated', 'bundles'],
  { jsonOnly: { updatedAt: 'updateTime' } },
)

/** Returns the first millisecond that is not before an instant. */
function ceilInstantMs(instant: Timestamp, field: string): number {
  return instantMs(instant, field) + (instant.nanos % 1_000_000 === 0 ? 0 : 1)
}

const toV1Path = fieldPathMapper({ parent: 'repoId' }, tagMapping)

const { listTags, deleteTag } = TagsService.method

interface Exclusions {
  readonly excludeReferrers: boolean
  readonly excludeDates: boolean
  readonly excludeEpochs: boolean
}

const toFormFilter = ({ excludeReferrers, excludeDates, excludeEpochs }: Exclusions) => ({
  includeReferrers: !excludeReferrers,
  includeDates: !excludeDates,
  includeEpochs: !excludeEpochs,
})

export const tagTranslators: Required<Pick<Translators<typeof Registry>, 'listTags' | 'deleteTag'>> = {
  listTags: ({ uidp, id, name, digest, updatedSince, ...exclusions }, ask) =>
    translateErrors(toV1Path, async () => {
      const filter = narrowFilter(uidp, { id })
      if (filter === noMatch) return create(TagListSchema)
      const listRequest = {
        uidp: filter,
        name,
        digest,
        ...(updatedSince && { updatedSince }),
        ...toFormFilter(exclusions),
      }
      return listAllPages(ask, listTags, listRequest, (page) =>
        create(TagListSchema, { items: page.tags.map(tagMapping.toV1) }),
      )
    }),

  deleteTag: ({ id }, ask) => translateErrors(toV1Path, () => ask(deleteTag, { uid: id })),
}

export function tagHandlers(store: Store): Required<Pick<Handlers<typeof Registry>, Names>> {
  const { db } = store

  return {
    createTag: ({ tag = create(TagSchema) }, call) =>
      translateErrors(toV1Path, async () => {
        const requested = create(NewTagSchema, tagMapping.toV2(tag))
        return mutate(store, call, async (tx) => {
          const repo = requireScope(call).scope as Uid
          const { response, ...change } = await putTag(store, tx, call, repo, requested, {
            mayBeEmpty: true,
          })
          return { ...change, response: tagMapping.toV1(response) }
        })
      }),

    updateTag: (tag, call) =>
      translateErrors(toV1Path, async () => {
        const requested = create(NewTagSchema, tagMapping.toV2(tag))
        return tagMapping.toV1(await replaceTag(store, call, requireScope(call).scope, requested))
      }),

    async getRepoTagsSummary(request, call) {
      const { scope } = requireScope(call)
      if ((await readResource(db, 'repos', scope)) === undefined) throw notFound(REPO_TYPE, scope)
      const { tags, updatedMs, latest, version } = await summarizeTags(
        db.kysely,
        scope,
        toFormFilter(request),
      )
      return create(RepoTagsSummarySchema, {
        id: scope,
        tagCount: BigInt(tags),
        ...(updatedMs !== undefined && { lastUpdated: timestampOf(updatedMs) }),
        ...(latest && { latestTag: tagMapping.toV1(latest) }),
        latestVersion: version,
      })
    },

    async listTagHistory({ start, end }, call) {
      const { scope } = requireScope(call)
      if ((await readResource(db, 'tags', scope)) === undefined) throw notFound(TAG_TYPE, scope)
      const rows = await listHistory(db.kysely, scope, {
        fromMs: start === undefined ? 0 : ceilInstantMs(start, 'start'),
        beforeMs: end === undefined ? Number.MAX_SAFE_INTEGER : ceilInstantMs(end, 'end'),
      })
      return create(TagHistoryListSchema, {
        items: rows.map(({ since_ms, digest }) => ({ updateTimestamp: timestampOf(since_ms), digest })),
      })
    },
  }
}
