import { rootOf } from '../../../api/uid.ts'
import { limits } from '../../../config/limits.ts'
import type { HttpReply } from '../../../port/http.ts'
import { DEFAULT_ALGORITHM, requireDigest } from '../../manifests/digests.ts'
import { isLarge } from '../../manifests/manifest-reader.ts'
import { type ManifestToStore, storeManifest } from '../../manifests/store-manifest.ts'
import { quotaWarnings } from '../../quota/usage.ts'
import { checkTagName } from '../../resources/tag-names.ts'
import { authorizeRepo, operationCapabilities } from '../access.ts'
import { mutatorOf, nameUnknownError, type OciContext, type OciServices } from '../context.ts'
import { ociError } from '../errors.ts'
import { getOrCreateRepo, requireRepoCreate } from '../push-repo.ts'
import { retentionWarnings, withWarnings } from '../warnings.ts'
import { parseReference, type Reference } from './manifests.ts'

/** Pushes a manifest, with its tags. */
export async function putManifest(
  registry: OciServices,
  context: OciContext,
  text: string,
): Promise<HttpReply> {
  const { request, authorization } = context
  const reference = parseReference(text)
  const tags = 'tag' in reference ? [reference.tag] : context.query.getAll('tag')
  for (const tag of tags) {
    const wrong = checkTagName(tag)
    if (wrong !== undefined) throw ociError('MANIFEST_INVALID', `the tag ${wrong.description}`)
  }
  if (tags.length > limits.manifestTagsMax)
    throw ociError(
      'MANIFEST_INVALID',
      `the request sets ${tags.length} tags, at most ${limits.manifestTagsMax} are allowed (manifestTagsMax)`,
      { status: 414 },
    )
  if (tags.length > 0)
    authorizeRepo(authorization, authorization.repository, operationCapabilities.pushTag, 'push')
  requireRepoCreate(context)
  const { algorithm } = 'digest' in reference ? reference.digest : { algorithm: DEFAULT_ALGORITHM }
  // A body of unknown length may be large.
  const isSmall = !isLarge(Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY))
  const release = isSmall ? undefined : registry.manifests.reserve(reservationOwners(context))
  try {
    const body = await request.body(isSmall ? limits.manifestInlineBytesMax : limits.manifestBytesMax)
    const { content, digest, parsed } = await registry.manifests.push(body, {
      contentType: request.headers['content-type'],
      algorithm,
      require: (actual) => {
        if ('digest' in reference) requireDigest(reference.digest, actual)
      },
    })
    const repo = await getOrCreateRepo(registry, context)
    await storeManifest(
      registry.store,
      mutatorOf(context, 'PutManifest'),
      { repo, digest, tags, content, checked: parsed },
      { missingRepo: () => nameUnknownError(authorization.repository.name) },
    )
    registry.transfers.countPush(repo)
    return await pushedReply(registry, context, { reference, repo, digest, tags, checked: parsed })
  } finally {
    release?.()
  }
}

/** Owners whose large manifests are counted: the identity, and the organization that it pushes to. */
function reservationOwners({ authorization }: OciContext): string[] {
  const { repo, group } = authorization.repository
  const scope = repo ?? group
  return [authorization.caller.identity, ...(scope === undefined ? [] : [rootOf(scope)])]
}

async function pushedReply(
  registry: OciServices,
  { authorization: { repository } }: OciContext,
  {
    reference,
    repo,
    digest,
    tags,
    checked: parsed,
  }: Omit<ManifestToStore, 'content'> & { readonly reference: Reference },
): Promise<HttpReply> {
  return {
    status: 201,
    ...withWarnings([
      ...(await quotaWarnings(registry.store.db, rootOf(repo))),
      ...(await retentionWarnings(registry, repo, tags)),
    ]),
    headers: {
      location: `/v2/${repository.name.text}/manifests/${digest}`,
      'docker-content-digest': digest,
      ...(parsed.subject !== '' && { 'oci-subject': parsed.subject }),
      ...('digest' in reference && tags.length > 0 && { 'oci-tag': tags.join(', ') }),
    },
    body: undefined,
  }
}
