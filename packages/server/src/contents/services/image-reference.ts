import { failedPrecondition, invalidArgument, notFound } from '../../api/errors.ts'
import { rootOf } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { unreadContents } from '../../registry/manifests/contents-rows.ts'
import type { ContentReader } from '../../registry/manifests/manifest-reader.ts'
import { MANIFEST_TYPE, requireRepo } from '../../registry/resources/parent-repo.ts'
import { checkDigest, checkTagName } from '../../registry/resources/tag-names.ts'
import type { Db } from '../../storage/db.ts'
import type { ManifestContentsRow } from '../../storage/schema/tables.ts'

/** Finds the image that a request names by a digest or tag, and by a platform if it is an index. */

export interface ImageReference {
  readonly repo: string
  readonly reference: string
  readonly platform: string
}

const DEFAULT_PLATFORM = 'linux/amd64'
const platformPattern = /^(?:[a-z0-9_]+\/[a-z0-9_]+(?:\/[a-z0-9_]+)?)?$/

/**
 * Returns the row of an image, unread or read. Throws code 3 for an invalid reference or platform, and code 5 if there is no such repo,
 * manifest or image. `field`: of the reference, in errors.
 */
export async function requireImageRow(
  db: Db,
  manifests: ContentReader,
  { repo, reference, platform }: ImageReference,
  field = 'reference',
): Promise<ManifestContentsRow> {
  await requireRepo(db, repo)
  if (platform.length > limits.architectureCharsMax * 2 || !platformPattern.test(platform))
    throw invalidArgument('platform', 'must be an operating system and an architecture, such as linux/arm64')
  const digest = await requireDigestOf(db, repo, reference, field)
  const row = await findRow(db, repo, digest)
  // Rows of manifests that an earlier version stored are added in the background.
  const manifest = await readManifest(db, repo, digest)
  if (manifest === undefined) throw notFound(MANIFEST_TYPE, reference)
  const { entries = [] } = (await manifests.content(rootOf(repo), manifest)) ?? {}
  if (entries.length === 0) return row ?? unqueued(repo, digest)
  const images = entries.filter((entry) => entry.platform !== '')
  const wanted = platform === '' ? DEFAULT_PLATFORM : platform
  const entry = images.find((one) => one.platform === wanted) ?? (platform === '' ? images[0] : undefined)
  const found = entry && (await findRow(db, repo, entry.digest))
  if (found === undefined) throw notFound(MANIFEST_TYPE, reference, `${reference} has no image for ${wanted}`)
  return found
}

/** Throws code 9 for an image without known contents. */
export function requireRead(row: ManifestContentsRow): void {
  if (row.source === '') throw contentsUnknown(row)
}

/** The error, code 9, for an image without known contents. `reason`: why it could not be read, if that is known. */
export function contentsUnknown({
  repo,
  digest,
  state,
  reason = '',
}: Pick<ManifestContentsRow, 'repo' | 'digest' | 'state'> & { readonly reason?: string }): Error {
  const why: Readonly<Record<string, string>> = {
    none: 'it is not an image',
    failed: `it could not be read${reason === '' ? '' : `, because ${reason}`}`,
  }
  return failedPrecondition(
    'IMAGE_NOT_READ',
    `the contents of ${digest} are unknown: ${why[state] ?? 'it has not been read yet; try again in a few seconds'}`,
    repo,
  )
}

async function requireDigestOf(db: Db, repo: string, reference: string, field: string): Promise<string> {
  if (checkDigest(reference) === undefined) return reference
  if (checkTagName(reference) !== undefined)
    throw invalidArgument(field, 'must be a digest such as sha256:0123..., or a tag')
  const tag = await db.kysely
    .selectFrom('tags')
    .select('digest')
    .where('root', '=', rootOf(repo))
    .where('parent', '=', repo)
    .where('name', '=', reference)
    .executeTakeFirst()
  if (tag === undefined || tag.digest === '') throw notFound(MANIFEST_TYPE, reference)
  return tag.digest
}

async function findRow(
  { kysely }: Db,
  repo: string,
  digest: string,
): Promise<ManifestContentsRow | undefined> {
  return kysely
    .selectFrom('manifest_contents')
    .selectAll()
    .where('root', '=', rootOf(repo))
    .where('repo', '=', repo)
    .where('digest', '=', digest)
    .executeTakeFirst()
}

async function readManifest({ kysely }: Db, repo: string, digest: string): Promise<Uint8Array | undefined> {
  const row = await kysely
    .selectFrom('manifests')
    .select('content')
    .where('root', '=', rootOf(repo))
    .where('repo', '=', repo)
    .where('digest', '=', digest)
    .executeTakeFirst()
  return row?.content
}

function unqueued(repo: string, digest: string): ManifestContentsRow {
  return unreadContents({ repo, digest }, 'backlog', 0)
}
