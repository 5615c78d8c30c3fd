import { includesAll } from '@berth/contract/capabilities.ts'
import { matchesEtag } from '../../../api/etag.ts'
import { rootOf } from '../../../api/uid.ts'
import { limits } from '../../../config/limits.ts'
import type { HttpReply, HttpRequest } from '../../../port/http.ts'
import { mutateBy } from '../../../storage/changes/mutation.ts'
import { inTransaction } from '../../../storage/db.ts'
import {
  findLinkedBlob,
  hasFreshLink,
  isLinkFresh,
  linkBlob,
  lockBlob,
  refreshLink,
} from '../../blobs/stored-blobs.ts'
import { parseDigest } from '../../manifests/digests.ts'
import { unlinkBlobs } from '../../quota/usage.ts'
import { lockRepo } from '../../resources/parent-repo.ts'
import { authorizeRepo, operationCapabilities, tokenAllows } from '../access.ts'
import { mutatorOf, type OciContext, type OciServices, requireRepo } from '../context.ts'
import { ociError } from '../errors.ts'
import { getOrCreateRepo, lockPushedRepo } from '../push-repo.ts'
import { parseRepoName, resolveRepo, scopeOf } from '../repo-names.ts'

/** Blobs of a repo: get (also ranges), mount from another repo, and unlink. */

export async function getBlob(
  { store, blobs }: OciServices,
  context: OciContext,
  reference: string,
): Promise<HttpReply> {
  const { request, authorization } = context
  const digest = parseDigest(reference)
  const repo = requireRepo(authorization.repository)
  const blob = await findLinkedBlob(store.db, repo, digest.text)
  if (blob === undefined) throw blobUnknown(digest.text)
  const now = store.clock()
  const needsRefresh = !isLinkFresh(blob, now) && canPush(context)
  if (needsRefresh && !(await refreshLink(store.db, repo, digest.text, now))) throw blobUnknown(digest.text)
  const headers = {
    'content-type': 'application/octet-stream',
    'docker-content-digest': digest.text,
    etag: `"${digest.text}"`,
    'accept-ranges': 'bytes',
    // The content never changes, but access to it may.
    'cache-control': 'private, max-age=31536000, immutable',
  }
  const { size, location } = blob
  if (isNotModified(request, digest.text)) return { status: 304, headers, body: undefined }
  if (blobs.presignUrl !== undefined && !request.isHead) {
    // The URL grants access to the blob, so it must not be cached.
    const redirectHeaders = { location: await blobs.presignUrl(location), 'cache-control': 'no-store' }
    return {
      status: 307,
      headers: { 'docker-content-digest': digest.text, ...redirectHeaders },
      body: undefined,
    }
  }
  // Ranges apply to GET only (RFC 9110, section 14.2).
  const range = request.isHead ? undefined : rangeOf(request, digest.text, size)
  if (range === 'unsatisfiable')
    return { status: 416, headers: { ...headers, 'content-range': `bytes */${size}` }, body: undefined }
  const { start, end } = range ?? { start: 0, end: size }
  const bytes = blobs.read(location, { start, end, mayBeCached: true })
  return {
    status: range === undefined ? 200 : 206,
    headers: {
      ...headers,
      'content-length': String(end - start),
      ...(range && { 'content-range': `bytes ${start}-${end - 1}/${size}` }),
    },
    body: request.isHead ? bytes : await awaitFirstChunk(bytes),
  }
}

/** Whether the caller may push: clients check for existing blobs and skip them. */
function canPush({ authorization: { caller, grants, repository } }: OciContext): boolean {
  return (
    includesAll(grants.at(scopeOf(repository)), operationCapabilities.push) &&
    tokenAllows(caller, repository.name.text, 'push')
  )
}

/** Waits for the first bytes, so that a failing store causes an error instead of a truncated response. */
async function awaitFirstChunk(bytes: AsyncIterable<Uint8Array>): Promise<AsyncIterable<Uint8Array>> {
  const rest = bytes[Symbol.asyncIterator]()
  let first: Promise<IteratorResult<Uint8Array>> | undefined = rest.next()
  await first
  const next = () => {
    const now = first ?? rest.next()
    first = undefined
    return now
  }
  const close = async (): Promise<IteratorResult<Uint8Array>> =>
    (await rest.return?.()) ?? { done: true, value: undefined }
  return { [Symbol.asyncIterator]: () => ({ next, return: close }) }
}

function blobUnknown(digest: string) {
  return ociError('BLOB_UNKNOWN', `blob ${digest} not found in the repository`)
}

/** Whether the client already has this content (RFC 9110, section 13.1.2). */
export function isNotModified({ headers }: HttpRequest, digest: string): boolean {
  const etags = headers['if-none-match']
  return (
    etags !== undefined &&
    etags.length <= limits.etagHeaderCharsMax &&
    matchesEtag(etags, `"${digest}"`) === true
  )
}

/** RFC 9110, section 14.2: a single range. Several ranges, or malformed ones, get the complete blob. */
function rangeOf(
  { headers }: HttpRequest,
  digest: string,
  size: number,
): { readonly start: number; readonly end: number } | 'unsatisfiable' | undefined {
  const condition = headers['if-range']
  if (condition !== undefined && condition !== `"${digest}"`) return undefined
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(headers.range ?? '') ?? []
  if (first === '' && last === '') return undefined
  if (first === '') {
    const length = Math.min(Number(last), size)
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size }
  }
  const [start, end] = [Number(first), last === '' ? size : Math.min(Number(last) + 1, size)]
  return start >= size || end <= start ? 'unsatisfiable' : { start, end }
}

/** Parameters of a request that starts an upload. */
export function uploadParameters(query: URLSearchParams): { readonly from?: string } {
  return Object.fromEntries(query)
}

/**
 * Links a blob of another repo that the caller may pull from. Returns undefined if that is not possible for any reason: the client then
 * uploads the blob and learns nothing. Throws UNAUTHORIZED if only the token is too narrow, with a challenge for a sufficient one.
 */
export async function mountBlob(registry: OciServices, context: OciContext): Promise<HttpReply | undefined> {
  const { store } = registry
  const { query, authorization } = context
  const { from } = uploadParameters(query)
  const digest = parseDigest(query.get('mount'))
  if (from === undefined) return undefined
  const source = await resolveRepo(store.db, parseRepoName(from))
  const mayPull = includesAll(authorization.grants.at(scopeOf(source)), operationCapabilities.pullBlob)
  if (!mayPull || source.repo === undefined) return undefined
  const { repository } = authorizeRepo(authorization, source, operationCapabilities.pullBlob, 'pull')
  if ((await findLinkedBlob(store.db, requireRepo(repository), digest.text)) === undefined) return undefined
  const repo = await getOrCreateRepo(registry, context)
  const mounted =
    (await hasFreshLink(store, repo, digest.text)) ||
    (await inTransaction(store.db, async (tx) => {
      await lockPushedRepo(store.db, tx, repo, authorization.repository)
      const blob = await lockBlob(store.db, tx, digest.text)
      if (blob === undefined) return false
      await linkBlob(store.db, tx, repo, blob, store.clock())
      return true
    }))
  if (!mounted) return undefined
  const location = `/v2/${authorization.repository.name.text}/blobs/${digest.text}`
  return { status: 201, headers: { location, 'docker-content-digest': digest.text }, body: undefined }
}

/** Unlinks a blob from the repo. Fails if a manifest of the repo references it. */
export async function deleteBlob(
  { store }: OciServices,
  context: OciContext,
  reference: string,
): Promise<HttpReply> {
  const digest = parseDigest(reference).text
  const repo = requireRepo(context.authorization.repository)
  await mutateBy(store, mutatorOf(context, 'DeleteBlob'), async (tx) => {
    await lockRepo(store.db, tx, repo)
    const needed = await tx
      .selectFrom('manifest_references')
      .select('manifest')
      .where('root', '=', rootOf(repo))
      .where('repo', '=', repo)
      .where('digest', '=', digest)
      .where('kind', '=', 'blob')
      .limit(1)
      .execute()
    const [first] = needed
    if (first !== undefined)
      throw ociError(
        'DENIED',
        `manifest ${first.manifest} references blob ${digest}: delete the manifest first`,
        {
          status: 409,
        },
      )
    if ((await unlinkBlobs(store.db, tx, repo, [digest])).length === 0) throw blobUnknown(digest)
    return { uid: repo, response: undefined }
  })
  return { status: 202, headers: {}, body: undefined }
}
