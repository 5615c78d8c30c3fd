import {
  DeleteRepoTagsResponseSchema,
  type PreviewTagDeletionResponse,
  PreviewTagDeletionResponseSchema,
  type RepoTagsService,
} from '@berth/contract/gen/berth/registry/v1/repo_tags_pb.js'
import { TagsService } from '@berth/contract/gen/chainguard/platform/registry/v2beta1/tags_pb.js'
import { create } from '@bufbuild/protobuf'
import type { FieldViolation } from '../../../api/errors.ts'
import { requireValid } from '../../../api/fields.ts'
import { fullMethodName } from '../../../api/method-name.ts'
import { parentOf, parseUid, rootOf } from '../../../api/uid.ts'
import { limits } from '../../../config/limits.ts'
import { authorizationOf, requireScope } from '../../../pipeline/authorization.ts'
import type { Handlers } from '../../../pipeline/call.ts'
import { mutate, recordChange } from '../../../storage/changes/mutation.ts'
import type { Db } from '../../../storage/db.ts'
import { lockResource } from '../../../storage/resource-rows.ts'
import type { TagRow } from '../../../storage/schema/tables.ts'
import type { Store } from '../../../storage/store.ts'
import { isImmutable } from '../../policies/immutable-tags.ts'
import { readPolicy, toPolicy } from '../../policies/policy-rows.ts'
import { lockRepo, requireRepo } from '../parent-repo.ts'
import { removeTag } from '../tags.ts'

/** Deletes several tags of a repo together, and shows before what becomes of their manifests. */

type Names = 'previewTagDeletion' | 'deleteRepoTags'

export function tagDeletionHandlers(store: Store): Required<Pick<Handlers<typeof RepoTagsService>, Names>> {
  const { db } = store

  return {
    async previewTagDeletion({ tagUids }, call) {
      const { scope } = requireScope(call)
      const repo = await requireRepo(db, scope)
      requireValid(...checkTagUids(scope, tagUids))
      const policy = toPolicy(repo, await readPolicy(db.kysely, scope))
      const tags = await readTags(db, scope, tagUids)
      const { enabled = false, untaggedAfter } = policy.retention ?? {}
      return create(PreviewTagDeletionResponseSchema, {
        tags: tags.map(({ uid, name, digest }) => ({
          uid,
          name,
          digest,
          immutable: isImmutable(policy, name),
        })),
        manifests: await readTaglessManifests(db, scope, tags),
        ...(enabled && untaggedAfter && { untaggedAfter }),
      })
    },

    deleteRepoTags({ tagUids }, call) {
      const { scope } = requireScope(call)
      return mutate(store, call, async (tx) => {
        await lockRepo(db, tx, scope)
        requireValid(...checkTagUids(scope, tagUids))
        const { requestId, address } = call
        const method = fullMethodName(TagsService.method.deleteTag)
        const by = { caller: authorizationOf(call).caller, method, requestId, address }
        let deletedTags = 0
        // In one order, as every change of several tags.
        for (const uid of [...new Set(tagUids)].sort()) {
          const tag = await lockResource(db, tx, 'tags', uid, 'update')
          if (tag === undefined) continue
          await removeTag(store, tx, tag)
          await recordChange(store, tx, by, uid)
          deletedTags++
        }
        const response = create(DeleteRepoTagsResponseSchema, { deletedTags })
        return { uid: scope, response, unchanged: deletedTags === 0 }
      })
    },
  }
}

function checkTagUids(repo: string, uids: readonly string[]): (FieldViolation | undefined)[] {
  const { tagDeletionsMax: max } = limits
  if (uids.length === 0 || uids.length > max)
    return [{ field: 'tagUids', description: `must have between 1 and ${max} entries` }]
  return uids.map((uid, at) =>
    parseUid(uid) !== undefined && parentOf(uid) === repo
      ? undefined
      : { field: `tagUids[${at}]`, description: 'must be the uid of a tag of the repo' },
  )
}

async function readTags({ kysely }: Db, repo: string, uids: readonly string[]): Promise<TagRow[]> {
  const rows = await kysely
    .selectFrom('tags')
    .selectAll()
    .where('root', '=', rootOf(repo))
    .where('uid', 'in', [...new Set(uids)])
    .execute()
  // SQLite would read all tags of the organization in the order of their names.
  return rows.sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** Returns the manifests of a repo that only these tags point to. */
async function readTaglessManifests(
  { kysely }: Db,
  repo: string,
  tags: readonly TagRow[],
): Promise<Pick<PreviewTagDeletionResponse['manifests'][number], 'digest' | 'inIndex' | 'referrers'>[]> {
  const digests = [...new Set(tags.map(({ digest }) => digest).filter((digest) => digest !== ''))]
  if (digests.length === 0) return []
  const root = rootOf(repo)
  const others = await kysely
    .selectFrom('tags')
    .select('digest')
    .distinct()
    .where('root', '=', root)
    .where('parent', '=', repo)
    .where('digest', 'in', digests)
    .where(
      'uid',
      'not in',
      tags.map(({ uid }) => uid),
    )
    .execute()
  const tagged = new Set(others.map(({ digest }) => digest))
  const manifests = await kysely
    .selectFrom('manifests')
    .select('digest')
    .where('root', '=', root)
    .where('repo', '=', repo)
    .where('digest', 'in', digests)
    .orderBy('digest')
    .execute()
  const tagless = manifests.map(({ digest }) => digest).filter((digest) => !tagged.has(digest))
  if (tagless.length === 0) return []
  const entries = await kysely
    .selectFrom('manifest_references')
    .select('digest')
    .distinct()
    .where('root', '=', root)
    .where('repo', '=', repo)
    .where('digest', 'in', tagless)
    .where('kind', '=', 'manifest')
    .execute()
  const inIndexes = new Set(entries.map(({ digest }) => digest))
  const counts = await kysely
    .selectFrom('manifests')
    .select((row) => ['subject', row.fn.countAll().as('n')])
    .where('root', '=', root)
    .where('repo', '=', repo)
    .where('subject', '<>', '')
    .where('subject', 'in', tagless)
    .groupBy('subject')
    .execute()
  const referrers = new Map(counts.map(({ subject, n }) => [subject, Number(n)]))
  return tagless.map((digest) => ({
    digest,
    inIndex: inIndexes.has(digest),
    referrers: referrers.get(digest) ?? 0,
  }))
}
