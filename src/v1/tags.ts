import { create } from '@bufbuild/protobuf'
import type { Timestamp } from '@bufbuild/protobuf/wkt'
import {
  type Registry,
  RepoTagsSummarySchema,
  TagHistoryListSchema,
  TagListSchema,
  TagSchema,
} from '#gen/chainguard/platform/registry/registry_pb.js'
import { TagSchema as NewTagSchema, TagsService } from '#gen/chainguard/platform/registry/v2beta1/tags_pb.js'
import { allowed } from '../core/allowed.ts'
import type { Handlers } from '../core/call.ts'
import { notFound } from '../core/errors.ts'
import { timestampOf } from '../core/message.ts'
import type { Uid } from '../core/uid.ts'
import { REPO_TYPE } from '../registry/parent-repo.ts'
import { historyOf } from '../registry/tag-history.ts'
import { summaryOf } from '../registry/tag-summary.ts'
import { instantMs, putTag, replaceTag, TAG_TYPE } from '../registry/tags.ts'
import { mutate } from '../storage/mutation.ts'
import { readResource } from '../storage/rows.ts'
import type { Store } from '../storage/store.ts'
import { inWords, narrowed, nothing, respelled, type Translators, wholeList } from './translation.ts'
import { wording } from './wording.ts'

/**
 * Tags of version 1. Lists of it leave nothing out unless they are told to, and a tag may point at nothing yet; where it pointed
 * before is for this version alone to ask.
 */

type Names = 'createTag' | 'updateTag' | 'getRepoTagsSummary' | 'listTagHistory'

const tagWords = wording(
  TagSchema,
  NewTagSchema,
  [['id', 'uid'], 'name', 'digest', ['lastUpdated', 'updateTime'], 'deprecated', 'bundles'],
  { jsonOnly: { updatedAt: 'updateTime' } },
)

/** The first millisecond that is not before an instant. */
function notBefore(instant: Timestamp, field: string): number {
  return instantMs(instant, field) + (instant.nanos % 1_000_000 === 0 ? 0 : 1)
}

const spelled = respelled({ parent: 'repoId' }, tagWords)

const { listTags, deleteTag } = TagsService.method

interface Exclusions {
  readonly excludeReferrers: boolean
  readonly excludeDates: boolean
  readonly excludeEpochs: boolean
}

const included = ({ excludeReferrers, excludeDates, excludeEpochs }: Exclusions) => ({
  includeReferrers: !excludeReferrers,
  includeDates: !excludeDates,
  includeEpochs: !excludeEpochs,
})

export const tagTranslators: Required<Pick<Translators<typeof Registry>, 'listTags' | 'deleteTag'>> = {
  listTags: ({ uidp, id, name, digest, updatedSince, ...exclusions }, ask) =>
    inWords(spelled, async () => {
      const within = narrowed(uidp, { id })
      if (within === nothing) return create(TagListSchema)
      const asked = {
        uidp: within,
        name,
        digest,
        ...(updatedSince && { updatedSince }),
        ...included(exclusions),
      }
      return wholeList(ask, listTags, asked, (page) =>
        create(TagListSchema, { items: page.tags.map(tagWords.toOld) }),
      )
    }),

  deleteTag: ({ id }, ask) => inWords(spelled, () => ask(deleteTag, { uid: id })),
}

export function tagHandlers(store: Store): Required<Pick<Handlers<typeof Registry>, Names>> {
  const { db } = store

  return {
    createTag: ({ tag = create(TagSchema) }, call) =>
      inWords(spelled, async () => {
        const asked = create(NewTagSchema, tagWords.toNew(tag))
        return mutate(store, call, async (tx) => {
          const repo = allowed(call).scope as Uid
          const { answer, ...change } = await putTag(store, tx, call, repo, asked, { mayBeEmpty: true })
          return { ...change, answer: tagWords.toOld(answer) }
        })
      }),

    updateTag: (tag, call) =>
      inWords(spelled, async () => {
        const asked = create(NewTagSchema, tagWords.toNew(tag))
        return tagWords.toOld(await replaceTag(store, call, allowed(call).scope, asked))
      }),

    async getRepoTagsSummary(request, call) {
      const { scope } = allowed(call)
      if ((await readResource(db, 'repos', scope)) === undefined) throw notFound(REPO_TYPE, scope)
      const { tags, updatedMs, latest, version } = await summaryOf(db.kysely, scope, included(request))
      return create(RepoTagsSummarySchema, {
        id: scope,
        tagCount: BigInt(tags),
        ...(updatedMs !== undefined && { lastUpdated: timestampOf(updatedMs) }),
        ...(latest && { latestTag: tagWords.toOld(latest) }),
        latestVersion: version,
      })
    },

    async listTagHistory({ start, end }, call) {
      const { scope } = allowed(call)
      if ((await readResource(db, 'tags', scope)) === undefined) throw notFound(TAG_TYPE, scope)
      const rows = await historyOf(db.kysely, scope, {
        fromMs: start === undefined ? 0 : notBefore(start, 'start'),
        beforeMs: end === undefined ? Number.MAX_SAFE_INTEGER : notBefore(end, 'end'),
      })
      return create(TagHistoryListSchema, {
        items: rows.map(({ since_ms, digest }) => ({ updateTimestamp: timestampOf(since_ms), digest })),
      })
    },
  }
}
