import { type CapabilitySet, capabilitiesIn, capabilityName, union } from '@berth/contract/capabilities.ts'
import {
  type CopyImageRequest,
  CopyImageResponseSchema,
  ImageCopiesService,
} from '@berth/contract/gen/berth/registry/v1/image_copies_pb.js'
import { create } from '@bufbuild/protobuf'
import { alreadyExists, invalidArgument, notFound, permissionDenied } from '../../api/errors.ts'
import { requireValid } from '../../api/fields.ts'
import { fullMethodName } from '../../api/method-name.ts'
import { parseUid, pathOf, rootOf, type Uid } from '../../api/uid.ts'
import { groupPath, readGroupNames } from '../../iam/groups/group-names.ts'
import { authorizationOf, type Grants, requireScope } from '../../pipeline/authorization.ts'
import { type Call, implement } from '../../pipeline/call.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import type { Mutator } from '../../storage/changes/mutation.ts'
import { type Db, inTransaction } from '../../storage/db.ts'
import type { ManifestRow, RepoRow, TagRow } from '../../storage/schema/tables.ts'
import { parseDigest } from '../manifests/digests.ts'
import { dependenciesOf } from '../manifests/manifest-parser.ts'
import { isLarge } from '../manifests/manifest-reader.ts'
import { storeManifest, type TagMarks } from '../manifests/store-manifest.ts'
import { operationCapabilities } from '../oci/access.ts'
import type { OciServices } from '../oci/context.ts'
import { withApiReason } from '../oci/errors.ts'
import { retentionWarnings } from '../oci/warnings.ts'
import { requireTagMutable } from '../policies/immutable-tags.ts'
import { quotaWarnings, requireQuota } from '../quota/usage.ts'
import { MANIFEST_TYPE, requireRepo } from '../resources/parent-repo.ts'
import { checkDigest, checkTagName } from '../resources/tag-names.ts'
import { lockTagNamed, requireTagUpdate, TAG_TYPE } from '../resources/tags.ts'
import { type PlannedManifest, planCopy, readAddition } from './copy-plan.ts'
import { mountBlobs } from './mount-blobs.ts'

/** Copies images between repos of the installation: blobs are mounted, and manifests are stored as by a push (ADR 81). */

export type CopyServices = Pick<OciServices, 'store' | 'manifests' | 'transfers' | 'pullPolicies'>

const pull = union(operationCapabilities.pullManifest, operationCapabilities.pullBlob)
const pullReferrers = union(pull, operationCapabilities.listReferrers)

export function imageCopiesService(services: CopyServices) {
  return implement(ImageCopiesService, {
    async copyImage(request, call) {
      try {
        return await copyImage(services, request, call)
      } catch (error) {
        throw withApiReason(error)
      }
    },
  })
}

/** A valid request of an authorized caller. */
interface Copy extends Pick<CopyImageRequest, 'reference' | 'tag' | 'includeReferrers' | 'overwrite'> {
  readonly source: Uid
  readonly repo: Uid
  readonly mutator: Mutator
}

async function copyImage(services: CopyServices, request: CopyImageRequest, call: Call) {
  const { store } = services
  const { db } = store
  const copy = authorizeCopy(request, call)
  const { repo, reference, tag, overwrite } = copy
  await requireRepo(db, repo)
  const source = await requireRepo(db, copy.source)
  const { digest, marks } = await resolveReference(db, copy)
  const { image, referrers } = await planCopy(db, copy.source, digest, copy)
  const named = reference.includes(':') ? '' : reference
  await requirePullAllowed(services, source, [
    ...image.map((one) => ({ ...one, tags: one.digest === digest ? [named] : [] })),
    ...referrers,
  ])
  const tagged: PlannedManifest = { digest, tags: tag === '' ? [] : [tag] }
  await requireTags(db, copy, [...referrers, tagged])
  const digests = [...new Set([...image, ...referrers].map((one) => one.digest))]
  await requireQuota(db, rootOf(repo), () => readAddition(db, copy, digests))

  const counts = { copied: 0, existing: 0, mounted: 0, bytes: 0, blobsThere: 0 }
  const stored = new Set<string>()
  let tagUids: readonly string[] = []
  // The tag comes last: who pulls it finds the signatures of the image.
  const contents = referrers.length === 0 ? image.slice(0, -1) : [...image, ...referrers]
  for (const planned of [...contents, tagged]) {
    await yieldToEventLoop()
    const isFirst = !stored.has(planned.digest)
    const put = await putCopy(services, copy, planned, {
      mountsBlobs: isFirst,
      overwrite,
      // Tags that attach a referrer have no marks of their own.
      ...(planned === tagged && marks !== undefined && { marks }),
    })
    stored.add(planned.digest)
    tagUids = put.tagUids
    if (!isFirst) continue
    counts[put.isNew ? 'copied' : 'existing'] += 1
    counts.mounted += put.mounted
    counts.bytes += put.bytes
    counts.blobsThere += put.existing
  }
  return create(CopyImageResponseSchema, {
    digest,
    tagUid: tag === '' ? '' : (tagUids[0] ?? ''),
    copiedManifests: counts.copied,
    existingManifests: counts.existing,
    mountedBlobs: counts.mounted,
    mountedBytes: BigInt(counts.bytes),
    existingBlobs: counts.blobsThere,
    referrers: referrers.length,
    warnings: [
      ...(await quotaWarnings(db, rootOf(repo))),
      ...(await retentionWarnings(services, repo, tagged.tags)),
    ],
  })
}

/**
 * Authorizes a copy before anything shows whether the source exists. Throws code 7 with all that the caller lacks, in the source and at the
 * destination.
 */
function authorizeCopy(request: CopyImageRequest, call: Call): Copy {
  const repo = requireScope(call).scope as Uid
  const { reference, tag, includeReferrers, overwrite } = request
  const source = parseUid(request.sourceUid)
  if (source === undefined) throw invalidArgument('source_uid', 'must be the UID of a repo')
  requireValid(
    reference.includes(':') ? checkDigest(reference, 'reference') : checkTagName(reference, 'reference'),
    tag === '' ? undefined : checkTagName(tag, 'tag'),
  )
  const { caller, grants } = authorizationOf(call)
  requireBoth(grants, [
    { uid: source, where: 'in the source', needed: includeReferrers ? pullReferrers : pull },
    {
      uid: repo,
      where: 'at the destination',
      needed: tag === '' ? operationCapabilities.push : operationCapabilities.pushTag,
    },
  ])
  const { requestId, address } = call
  const mutator: Mutator = {
    caller,
    grants,
    authorizedMs: performance.now(),
    method: fullMethodName(call.requestedMethod),
    requestId,
    address,
  }
  return { source, repo, reference, tag, includeReferrers, overwrite, mutator }
}

interface Right {
  readonly uid: string
  readonly where: string
  readonly needed: CapabilitySet
}

function requireBoth(grants: Grants, rights: readonly Right[]): void {
  const lacking = rights.flatMap(({ uid, where, needed }) => {
    const names = capabilitiesIn((needed & ~grants.at(uid)) as CapabilitySet).map(capabilityName)
    return names.length === 0 ? [] : [{ uid, text: `${names.join(', ')} ${where} ${uid}` }]
  })
  const [first] = lacking
  if (first === undefined) return
  throw permissionDenied(
    `to copy this image you need ${lacking.map(({ text }) => text).join(', and ')}. Ask an owner of the group for a role that includes it.`,
    first.uid,
  )
}

/** Returns the digest of the image, and the marks of its tag. Throws code 5 if the source does not have it. */
async function resolveReference(
  db: Db,
  { source, reference }: Copy,
): Promise<{ readonly digest: string; readonly marks?: TagMarks }> {
  const inSource = db.kysely
    .selectFrom('manifests as m')
    .select('m.digest')
    .where('m.root', '=', rootOf(source))
    .where('m.repo', '=', source)
  if (reference.includes(':')) {
    const found = await inSource.where('m.digest', '=', reference).executeTakeFirst()
    if (found !== undefined) return found
  } else {
    const found = await inSource
      .innerJoin('tags as t', (join) =>
        join
          .onRef('t.root', '=', 'm.root')
          .onRef('t.parent', '=', 'm.repo')
          .onRef('t.digest', '=', 'm.digest'),
      )
      .select(['t.deprecated', 't.bundles'])
      .where('t.name', '=', reference)
      .executeTakeFirst()
    if (found !== undefined) {
      const { digest, ...marks } = found
      return { digest, marks }
    }
  }
  throw notFound(MANIFEST_TYPE, reference, `the source has no image ${reference}`)
}

/** Throws the error of the policies of the source if they deny a pull of what is copied. */
async function requirePullAllowed(
  { store: { db }, pullPolicies }: CopyServices,
  source: RepoRow,
  planned: readonly PlannedManifest[],
): Promise<void> {
  const repo = source.uid as Uid
  const revision = await db.kysely
    .selectFrom('policy_revisions')
    .select('revision')
    .where('root', '=', rootOf(repo))
    .executeTakeFirst()
  if (revision === undefined) return
  const folder = groupPath(source.parent, await readGroupNames(db, pathOf(source.parent as Uid)))
  const path = `${folder}/${source.name}`
  for (const { digest, tags } of planned) {
    await yieldToEventLoop()
    const { content, media_type, artifact_type } = await requireManifest(db, repo, digest)
    await pullPolicies.evaluate({
      repo,
      repository: path.slice(path.indexOf('/') + 1),
      requestedName: path,
      digest,
      tag: tags[0] ?? '',
      mediaType: media_type,
      artifactType: artifact_type,
      content,
      revision: Number(revision.revision),
    })
  }
}

/** Checks tags before anything is written: a copy that fails because of a tag leaves no manifests without one. */
async function requireTags(db: Db, copy: Copy, planned: readonly PlannedManifest[]): Promise<void> {
  const { repo, overwrite, mutator } = copy
  await inTransaction(db, async (tx) => {
    for (const { digest, tags } of planned) {
      for (const name of tags) {
        const current = await lockTagNamed(db, tx, repo, name)
        if (current === undefined || current.digest === digest) continue
        await requireTagMutable(tx, current)
        requireTagUpdate(mutator.grants, repo)
        requireOverwrite(overwrite, current)
      }
    }
  })
}

function requireOverwrite(overwrite: boolean, { uid, name, digest }: TagRow): void {
  if (overwrite) return
  throw alreadyExists(
    TAG_TYPE,
    uid,
    `tag ${name} of the destination points to ${digest}. Choose another tag, or overwrite it.`,
  )
}

/** Stores one manifest with its blobs, by the code of a push. */
async function putCopy(
  { store, manifests, transfers }: CopyServices,
  { source, repo, mutator }: Copy,
  { digest, tags }: PlannedManifest,
  {
    mountsBlobs,
    overwrite,
    marks,
  }: { readonly mountsBlobs: boolean; readonly overwrite: boolean; readonly marks?: TagMarks },
) {
  const { content, media_type, size } = await requireManifest(store.db, source, digest)
  const release = isLarge(Number(size))
    ? manifests.reserve([mutator.caller.identity, rootOf(repo)])
    : undefined
  try {
    const pushed = await manifests.push(Uint8Array.from(content), {
      contentType: media_type,
      algorithm: parseDigest(digest).algorithm,
      require: (actual) => {
        if (actual !== digest) throw new Error(`the content of manifest ${digest} has the digest ${actual}`)
      },
    })
    const blobs = mountsBlobs
      ? await mountBlobs(store, mutator, { source, repo }, dependenciesOf(pushed.parsed))
      : { mounted: 0, bytes: 0, existing: 0 }
    const stored = await storeManifest(
      store,
      mutator,
      { repo, digest, tags, content: pushed.content, checked: pushed.parsed },
      {
        requireMove: (tag) => requireOverwrite(overwrite, tag),
        ...(marks !== undefined && { marks }),
      },
    )
    if (stored.isNew) transfers.countPush(repo)
    return { ...blobs, ...stored }
  } finally {
    release?.()
  }
}

/** Throws code 5 for a manifest that was deleted meanwhile. */
async function requireManifest(db: Db, repo: Uid, digest: string): Promise<ManifestRow> {
  const row = await db.kysely
    .selectFrom('manifests')
    .selectAll()
    .where('root', '=', rootOf(repo))
    .where('repo', '=', repo)
    .where('digest', '=', digest)
    .executeTakeFirst()
  if (row === undefined) throw notFound(MANIFEST_TYPE, digest, `the source has no manifest ${digest}`)
  return row
}
