import { rootOf } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import type { Db } from '../../storage/db.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import { readStoredBlobs } from '../blobs/stored-blobs.ts'
import type { ManifestDescriptor } from '../manifests/image-json.ts'

/**
 * Reads small blobs of a repo, such as configurations, with two statements for all of them. Blobs that are not in the repo, and those that the
 * store cannot read now, are left out.
 */
export async function readSmallBlobs(
  { kysely }: Db,
  blobs: Pick<BlobStore, 'read'>,
  repo: string,
  descriptors: readonly ManifestDescriptor[],
): Promise<Map<string, Uint8Array>> {
  const contents = new Map<string, Uint8Array>()
  if (descriptors.length === 0) return contents
  const links = await kysely
    .selectFrom('repo_blobs')
    .select('digest')
    .where('root', '=', rootOf(repo))
    .where('repo', '=', repo)
    .where(
      'digest',
      'in',
      descriptors.map(({ digest }) => digest),
    )
    .execute()
  const found = await readStoredBlobs(
    kysely,
    ['size', 'location'],
    links.map(({ digest }) => digest),
  )
  const queue = found.values()
  const readNext = async () => {
    for (const { digest, size, location } of queue) {
      const content = await readBlob(blobs, location, Number(size)).catch(() => undefined)
      if (content !== undefined) contents.set(digest, content)
    }
  }
  await Promise.all(Array.from({ length: limits.configReadsMax }, readNext))
  return contents
}

async function readBlob(blobs: Pick<BlobStore, 'read'>, location: string, size: number): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  for await (const piece of blobs.read(location, { start: 0, end: size })) pieces.push(Buffer.from(piece))
  return Buffer.concat(pieces)
}
