import { rootOf, type Uid } from '../../../api/uid.ts'
import { limits } from '../../../config/limits.ts'
import type { HttpReply } from '../../../port/http.ts'
import { yieldToEventLoop } from '../../../runtime/event-loop.ts'
import { whenReady } from '../../../runtime/when-ready.ts'
import { createVersionCache } from '../../../storage/cache/version-cache.ts'
import { mutateBy } from '../../../storage/changes/mutation.ts'
import type { Db, Tx } from '../../../storage/db.ts'
import { preparedRead } from '../../../storage/prepared.ts'
import { lockResource } from '../../../storage/resource-rows.ts'
import { type Digest, parseDigest } from '../../manifests/digests.ts'
import { requireManifestMutable } from '../../policies/immutable-tags.ts'
import { findPolicy } from '../../policies/policy-rows.ts'
import { deleteManifests } from '../../quota/usage.ts'
import { lockRepo } from '../../resources/parent-repo.ts'
import { checkTagName } from '../../resources/tag-names.ts'
import { lockTagNamed, removeTag } from '../../resources/tags.ts'
import { authorizeRepo, operationCapabilities } from '../access.ts'
import { mutatorOf, type OciContext, type OciServices, requireRepo } from '../context.ts'
import { ociError } from '../errors.ts'
import { withWarnings } from '../warnings.ts'
import { isNotModified } from './blobs.ts'

/** Manifests of a repo, by digest or by tag: get and delete. A pull reads one row and no file, unless policies apply. */

const byDigest = preparedRead((db, { root, repo, digest }: { root: string; repo: string; digest: string }) =>
  db
    .selectFrom('manifests as m')
    .leftJoin('policy_revisions as p', 'p.root', 'm.root')
    .select(['m.digest', 'm.media_type', 'm.artifact_type', 'm.content', 'p.revision'])
    .where('m.root', '=', root)
    .where('m.repo', '=', repo)
    .where('m.digest', '=', digest),
)

const byTag = preparedRead((db, { root, repo, tag }: { root: string; repo: string; tag: string }) =>
  db
    .selectFrom('tags')
    .innerJoin('manifests as m', (join) =>
      join
        .onRef('m.root', '=', 'tags.root')
        .onRef('m.repo', '=', 'tags.parent')
        .onRef('m.digest', '=', 'tags.digest'),
    )
    .leftJoin('policy_revisions as p', 'p.root', 'tags.root')
    .select(['m.digest', 'm.media_type', 'm.artifact_type', 'm.content', 'p.revision', 'tags.deprecated'])
    .where('tags.root', '=', root)
    .where('tags.parent', '=', repo)
    .where('tags.name', '=', tag),
)

type ManifestRow = Awaited<ReturnType<typeof byTag>>[number] | Awaited<ReturnType<typeof byDigest>>[number]

const CACHED_MANIFESTS_MAX = 10_000

const cachedManifests = createVersionCache<ManifestRow | undefined>({
  max: CACHED_MANIFESTS_MAX,
  maxSize: limits.cachedManifestBytesMax,
  sizeOf: (row, key) => key.length + (row?.content.length ?? 0),
})

/** Reads what a pull needs of a manifest; undefined if there is none. */
function readManifest(
  db: Db,
  at: { readonly root: string; readonly repo: Uid },
  reference: Reference,
): ManifestRow | undefined | Promise<ManifestRow | undefined> {
  if ('digest' in reference) {
    const digest = reference.digest.text
    return cachedManifests(db, `${at.repo}@${digest}`, () => first(byDigest(db, { ...at, digest })))
  }
  const { tag } = reference
  if (checkTagName(tag) !== undefined) return undefined
  return cachedManifests(db, `${at.repo}:${tag}`, () => first(byTag(db, { ...at, tag })))
}

function first<T>(rows: readonly T[] | Promise<readonly T[]>): T | undefined | Promise<T | undefined> {
  return whenReady(rows, ([row]) => row)
}

/** A manifest reference in a path. */
export type Reference = { readonly digest: Digest } | { readonly tag: string }

/** Throws DIGEST_INVALID for text with a colon, which no tag has, that is not a digest. */
export function parseReference(text: string): Reference {
  if (text.includes(':')) return { digest: parseDigest(text) }
  return { tag: text }
}

export async function getManifest(
  { store, transfers, pullPolicies }: OciServices,
  context: OciContext,
  text: string,
): Promise<HttpReply> {
  const { db } = store
  const { name } = context.authorization.repository
  const repo = requireRepo(context.authorization.repository)
  const at = { root: rootOf(repo), repo }
  const reference = parseReference(text)
  const found = readManifest(db, at, reference)
  const row = found instanceof Promise ? await found : found
  if (row === undefined) throw manifestUnknown(text)
  const verdict =
    row.revision === null
      ? []
      : pullPolicies.evaluate({
          repo,
          repository: [...name.folders, name.repo].join('/'),
          requestedName: name.text,
          digest: row.digest,
          tag: 'tag' in reference ? reference.tag : '',
          mediaType: row.media_type,
          artifactType: row.artifact_type,
          content: row.content,
          revision: Number(row.revision),
        })
  const remarks = Array.isArray(verdict) ? verdict : await verdict
  const headers = {
    'content-type': row.media_type,
    'docker-content-digest': row.digest,
    etag: `"${row.digest}"`,
    'cache-control': 'private, no-cache',
    vary: 'authorization',
  }
  const isDeprecated = 'deprecated' in row && row.deprecated === 1
  const warnings = withWarnings(isDeprecated ? [`tag ${text} is deprecated`, ...remarks] : remarks)
  if (isNotModified(context.request, row.digest))
    return { status: 304, headers, ...warnings, body: undefined }
  if (!context.request.isHead) transfers.countPull(repo)
  return { status: 200, headers, ...warnings, body: row.content }
}

function manifestUnknown(reference: string) {
  return ociError('MANIFEST_UNKNOWN', `manifest ${reference} not found in the repository`)
}

/** Deletes a tag, or a manifest by its digest together with its tags. */
export async function deleteManifest(
  registry: OciServices,
  context: OciContext,
  text: string,
): Promise<HttpReply> {
  const repo = requireRepo(context.authorization.repository)
  const reference = parseReference(text)
  await ('tag' in reference
    ? deleteTag(registry, context, repo, reference.tag)
    : deleteByDigest(registry, context, repo, reference.digest.text))
  return { status: 202, headers: {}, body: undefined }
}

function deleteTag({ store }: OciServices, context: OciContext, repo: Uid, name: string): Promise<void> {
  return mutateBy(store, mutatorOf(context, 'DeleteTag'), async (tx) => {
    await lockRepo(store.db, tx, repo)
    const tag = await lockTagNamed(store.db, tx, repo, name)
    if (tag === undefined) throw manifestUnknown(name)
    await removeTag(store, tx, tag)
    return { uid: tag.uid, response: undefined }
  })
}

function deleteByDigest(
  { store }: OciServices,
  context: OciContext,
  repo: Uid,
  digest: string,
): Promise<void> {
  return mutateBy(store, mutatorOf(context, 'DeleteManifest'), async (tx) => {
    await lockRepo(store.db, tx, repo)
    await requireManifestMutable(tx, repo, digest, await findPolicy(tx, repo))
    const deleted = await deleteManifests(store, tx, repo, [digest])
    if (deleted.length === 0) throw manifestUnknown(digest)
    const tags = await listTagUids(tx, repo, digest)
    if (tags.length > 0)
      authorizeRepo(
        context.authorization,
        context.authorization.repository,
        operationCapabilities.deleteTag,
        'delete',
      )
    for (const { uid } of tags) {
      await yieldToEventLoop()
      const tag = await lockTag(store.db, tx, uid)
      if (tag !== undefined) await removeTag(store, tx, tag)
    }
    return { uid: repo, response: undefined }
  })
}

function lockTag(db: Db, tx: Tx, uid: string) {
  return lockResource(db, tx, 'tags', uid, 'update')
}

function listTagUids(tx: Tx, repo: Uid, digest: string) {
  return tx
    .selectFrom('tags')
    .select('uid')
    .where('root', '=', rootOf(repo))
    .where('parent', '=', repo)
    .where('digest', '=', digest)
    .execute()
}
