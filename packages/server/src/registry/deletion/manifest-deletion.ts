import { capabilitySetOf } from '@berth/contract/capabilities.ts'
import {
  type DeleteManifestResponse,
  DeleteManifestResponseSchema,
  ManifestsService,
} from '@berth/contract/gen/berth/registry/v1/manifests_pb.js'
import { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import { TagsService } from '@berth/contract/gen/chainguard/platform/registry/v2beta1/tags_pb.js'
import { create } from '@bufbuild/protobuf'
import { failedPrecondition, notFound } from '../../api/errors.ts'
import { fullMethodName } from '../../api/method-name.ts'
import { rootOf } from '../../api/uid.ts'
import { authorizationOf, requireCapabilities } from '../../pipeline/authorization.ts'
import type { Call } from '../../pipeline/call.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import { mutate, recordChange } from '../../storage/changes/mutation.ts'
import type { Reader, Tx } from '../../storage/db.ts'
import { lockResource } from '../../storage/resource-rows.ts'
import type { Store } from '../../storage/store.ts'
import { type ImmutableTagsPolicy, requireManifestMutable } from '../policies/immutable-tags.ts'
import { readPolicy, toPolicy } from '../policies/policy-rows.ts'
import { deleteManifests, lockManifestParts } from '../quota/usage.ts'
import { lockRepo, MANIFEST_TYPE } from '../resources/parent-repo.ts'
import { removeTag } from '../resources/tags.ts'
import { unreferencedBytes } from '../retention/unreferenced-blobs.ts'
import { type DeletionPlan, planDeletion } from './manifest-deletion-plan.ts'

/** Deletes a manifest with what only it needs, or shows what that is. */

const tagDeletion = capabilitySetOf([Capability.CAP_TAG_DELETE])

export interface ManifestDeletionRequest {
  readonly repo: string
  readonly digest: string
  readonly validateOnly: boolean
}

export async function deleteManifest(
  store: Store,
  call: Call,
  { repo, digest, validateOnly }: ManifestDeletionRequest,
): Promise<DeleteManifestResponse> {
  const { db } = store
  if (!validateOnly)
    return mutate(store, call, async (tx) => {
      await lockRepo(db, tx, repo)
      const plan = await authorizedPlan(tx, call, repo, digest)
      await applyPlan(store, tx, call, { repo, digest, plan })
      return { uid: repo, response: toResponse(plan) }
    })
  // A preview does not keep pushes waiting.
  const response = toResponse(await authorizedPlan(db.kysely, call, repo, digest))
  const digests = new Set([digest, ...response.manifests.map((manifest) => manifest.digest)])
  return { ...response, unreferencedBytes: BigInt(await unreferencedBytes(db, repo, digests)) }
}

/** Throws code 7 for a caller who may not delete the tags of the plan, and the errors of `requireDeletable`. */
async function authorizedPlan(
  reader: Reader,
  call: Call,
  repo: string,
  digest: string,
): Promise<DeletionPlan> {
  const immutable = toPolicy({ uid: repo, created_ms: 0 }, await readPolicy(reader, repo))
  await requireDeletable(reader, repo, digest, immutable)
  const plan = await planDeletion(reader, { repo, immutable }, digest)
  if (plan.tags.length + plan.attachedTags.length > 0)
    requireCapabilities(authorizationOf(call).grants, repo, tagDeletion, 'delete tags of the manifest')
  return plan
}

/** Throws code 5 for a manifest that does not exist, and code 9 for one that an index contains or that has an immutable tag. */
async function requireDeletable(
  reader: Reader,
  repo: string,
  digest: string,
  immutable: ImmutableTagsPolicy,
): Promise<void> {
  const at = { root: rootOf(repo), repo, digest }
  const existing = await reader
    .selectFrom('manifests')
    .select('digest')
    .where((row) => row.and(at))
    .executeTakeFirst()
  if (existing === undefined) throw notFound(MANIFEST_TYPE, digest)
  await requireManifestMutable(reader, repo, digest, immutable)
  const index = await reader
    .selectFrom('manifest_references')
    .select('manifest')
    .where((row) => row.and({ ...at, kind: 'manifest' }))
    .limit(1)
    .executeTakeFirst()
  if (index !== undefined)
    throw failedPrecondition(
      'MANIFEST_IN_USE',
      `manifest ${digest} is part of index ${index.manifest}; delete the index first`,
      repo,
    )
}

interface PlannedDeletion {
  readonly repo: string
  readonly digest: string
  readonly plan: DeletionPlan
}

async function applyPlan(
  store: Store,
  tx: Tx,
  call: Call,
  { repo, digest, plan }: PlannedDeletion,
): Promise<void> {
  const { db } = store
  const dependents = plan.dependents.map((dependent) => dependent.digest)
  const { caller } = authorizationOf(call)
  const { requestId, address } = call
  const record = (method: string, uid: string) =>
    recordChange(store, tx, { caller, requestId, address, method }, uid)
  await lockManifestParts(db, tx, repo, [digest, ...dependents])
  await deleteManifests(store, tx, repo, [digest, ...dependents])
  for (const _ of dependents) await record(fullMethodName(ManifestsService.method.deleteManifest), repo)
  for (const { uid } of [...plan.tags, ...plan.attachedTags]) {
    await yieldToEventLoop()
    const tag = await lockResource(db, tx, 'tags', uid, 'update')
    if (tag === undefined) continue
    await removeTag(store, tx, tag)
    await record(fullMethodName(TagsService.method.deleteTag), uid)
  }
}

function toResponse({ tags, attachedTags, dependents }: DeletionPlan): DeleteManifestResponse {
  return create(DeleteManifestResponseSchema, {
    tags: [...tags, ...attachedTags].map(({ name }) => name).sort(),
    manifests: dependents.map(({ digest, artifact_type: artifactType, reason }) => ({
      digest,
      artifactType,
      reason,
    })),
  })
}
