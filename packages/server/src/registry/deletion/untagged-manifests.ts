import {
  DeleteUntaggedManifestsResponseSchema,
  type ManifestsService,
  PreviewUntaggedManifestsResponseSchema,
} from '@berth/contract/gen/berth/registry/v1/manifests_pb.js'
import { RepoPolicySchema, RetentionSchema } from '@berth/contract/gen/berth/registry/v1/repo_policies_pb.js'
import { create } from '@bufbuild/protobuf'
import { type Duration, durationFromMs } from '@bufbuild/protobuf/wkt'
import { invalidArgument } from '../../api/errors.ts'
import { requireValid } from '../../api/fields.ts'
import { durationMs } from '../../api/messages.ts'
import { fullMethodName } from '../../api/method-name.ts'
import { effectivePageSize } from '../../api/page-tokens.ts'
import { limits } from '../../config/limits.ts'
import { authorizationOf, requireScope } from '../../pipeline/authorization.ts'
import type { Call, Handlers } from '../../pipeline/call.ts'
import { type Mutator, mutateBy, recordChange } from '../../storage/changes/mutation.ts'
import { callerBinding, readCursor } from '../../storage/list/list.ts'
import type { Store } from '../../storage/store.ts'
import { findPolicy, readPolicy, toPolicy } from '../policies/policy-rows.ts'
import { lockRepo, requireRepo } from '../resources/parent-repo.ts'
import { checkAge } from '../resources/repo-policies.ts'
import { batches, deleteUnreferencedManifests } from '../retention/manifest-deletion.ts'
import { previewRetention } from '../retention/preview.ts'
import { unreferencedBytes } from '../retention/unreferenced-blobs.ts'
import { manifestsToDelete } from '../retention/unreferenced-manifests.ts'

/** Manifests that nothing needs: shows and deletes them once, by the rules that retention applies regularly. */

type UntaggedHandlers = Pick<
  Handlers<typeof ManifestsService>,
  'previewUntaggedManifests' | 'deleteUntaggedManifests'
>

export function untaggedManifestHandlers(store: Store): UntaggedHandlers {
  const { db, clock, pageTokens } = store

  return {
    async previewUntaggedManifests({ olderThan, deletedOnly, pageSize, pageToken }, call) {
      const { scope } = requireScope(call)
      const repo = await requireRepo(db, scope)
      if (pageSize < 0) throw invalidArgument('page_size', 'must not be negative')
      const ageMs = readAge(olderThan)
      const { immutableTags } = toPolicy(repo, await readPolicy(db.kysely, scope))
      const listKey = JSON.stringify([...callerBinding(call), scope, 'untagged', ageMs, deletedOnly])
      const after = readCursor(pageTokens, pageToken, listKey)?.after as [string, string] | undefined
      const { verdicts, deletedTags, deletedManifests, last } = await previewRetention(
        store,
        {
          repo: scope,
          retention: create(RetentionSchema, { untaggedAfter: durationFromMs(ageMs) }),
          immutable: create(RepoPolicySchema, immutableTags && { immutableTags }),
        },
        { deletedOnly, deletedTagsOnly: true, after, size: effectivePageSize(pageSize) },
      )
      const bytes = after === undefined ? await unreferencedBytes(db, scope, deletedManifests) : 0
      return create(PreviewUntaggedManifestsResponseSchema, {
        verdicts,
        deletedTags,
        deletedManifests: deletedManifests.size,
        unreferencedBytes: BigInt(bytes),
        nextPageToken:
          last === undefined ? '' : pageTokens.issue({ after: last, skip: 0, skipped: 0 }, listKey),
      })
    },

    async deleteUntaggedManifests({ olderThan }, call) {
      const { scope } = requireScope(call)
      await requireRepo(db, scope)
      const untilMs = clock() - readAge(olderThan)
      const found = await manifestsToDelete(db, scope, untilMs)
      const digests = found.slice(0, limits.untaggedDeletionsMax)
      const mutator = mutatorOf(call)
      let [deletedManifests, deletedTags] = [0, 0]
      for (const batch of batches(digests)) {
        // In small transactions, between which pushes of the repo continue.
        const deleted = await mutateBy(store, mutator, async (tx) => {
          await lockRepo(db, tx, scope)
          const immutable = (await findPolicy(tx, scope)) ?? create(RepoPolicySchema)
          const counts = await deleteUnreferencedManifests(
            store,
            tx,
            { repo: scope, immutable },
            {
              digests: batch,
              untilMs,
              record: (method, uid) => recordChange(store, tx, { ...mutator, method }, uid),
            },
          )
          // The call itself is recorded once, with the first deletion.
          const isRecorded = deletedManifests > 0 || counts.manifests === 0
          return { uid: scope, response: counts, unchanged: isRecorded }
        })
        deletedManifests += deleted.manifests
        deletedTags += deleted.tags
      }
      return create(DeleteUntaggedManifestsResponseSchema, {
        deletedManifests,
        deletedTags,
        remainingManifests: found.length - digests.length,
      })
    },
  }
}

/** Returns the age in milliseconds. Throws code 3 if it is out of range. */
function readAge(olderThan: Duration | undefined): number {
  requireValid(checkAge(olderThan, 'olderThan'))
  return (olderThan && durationMs(olderThan)) ?? limits.untaggedAgeMsDefault
}

/** `authorizedMs` is that of the call: later transactions check the rights of the caller again. */
function mutatorOf(call: Call): Mutator {
  const { requestedMethod, requestId, address } = call
  const method = fullMethodName(requestedMethod)
  return { ...authorizationOf(call), authorizedMs: performance.now(), method, requestId, address }
}
