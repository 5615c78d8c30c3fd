import type { Db } from '../../storage/db.ts'

const TAGS_MAX = 20

interface ImageInRepo {
  readonly repo: string
  readonly digest: string
}

/** Returns a look-up of the tags of images and of the indexes that contain them, ordered by name, at most TAGS_MAX for each image. */
export async function readImageTags(
  { kysely }: Db,
  root: string,
  images: readonly ImageInRepo[],
): Promise<(image: ImageInRepo) => string[]> {
  const digests = [...new Set(images.map(({ digest }) => digest))]
  const repos = [...new Set(images.map(({ repo }) => repo))]
  if (digests.length === 0) return () => []
  const references = await kysely
    .selectFrom('manifest_references')
    .select(['repo', 'digest', 'manifest'])
    .where('root', '=', root)
    .where('repo', 'in', repos)
    .where('digest', 'in', digests)
    .where('kind', '=', 'manifest')
    .execute()
  const tags = await kysely
    .selectFrom('tags')
    .select(['parent', 'digest', 'name'])
    .where('root', '=', root)
    .where('parent', 'in', repos)
    .where('digest', 'in', [...digests, ...references.map(({ manifest }) => manifest)])
    // Sorted here: SQLite would read all tags of the organization in the order of their names.
    .execute()
  return ({ repo, digest }) => {
    const indexes = references.filter((one) => one.repo === repo && one.digest === digest)
    const wanted = new Set([digest, ...indexes.map(({ manifest }) => manifest)])
    return tags
      .filter((tag) => tag.parent === repo && wanted.has(tag.digest))
      .map(({ name }) => name)
      .sort()
      .slice(0, TAGS_MAX)
  }
}
