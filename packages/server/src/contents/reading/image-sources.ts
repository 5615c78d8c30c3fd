import { rootOf, type Uid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import type { BlobStore } from '../../registry/blobs/blob-store.ts'
import { findLinkedBlob } from '../../registry/blobs/stored-blobs.ts'
import { readReferrerPage } from '../../registry/inspection/manifest-referrers.ts'
import { subjectOfTag } from '../../registry/retention/evaluation.ts'
import type { OpenStream } from '../../runtime/workers/process-streams.ts'
import type { Db } from '../../storage/db.ts'
import { MissingBlob } from './image-reader.ts'
import {
  type AttachedManifest,
  blobStream,
  type ContainingIndex,
  manifestStream,
  type ReadImageRequest,
} from './reading.ts'

/** Finds what belongs to an image in its repo. Other repos do not matter: their members may be others. */

/** Returns undefined if the manifest does not exist. */
export async function findImageSources(
  db: Db,
  repo: string,
  digest: string,
): Promise<ReadImageRequest | undefined> {
  const manifest = await readContent(db, repo, digest)
  if (manifest === undefined) return undefined
  const artifacts = await readArtifacts(db, repo, digest)
  const indexes: ContainingIndex[] = []
  for (const index of await indexesWith(db, repo, digest)) {
    const content = await readContent(db, repo, index)
    if (content === undefined) continue
    indexes.push({ digest: index, content, artifacts: await readArtifacts(db, repo, index) })
  }
  return { digest, manifest, artifacts, indexes }
}

/** Reads the manifests that refer to another one. */
async function readArtifacts(db: Db, repo: string, subject: string): Promise<AttachedManifest[]> {
  const artifacts: AttachedManifest[] = []
  const { rows } = await readReferrerPage(db, {
    repo,
    subject,
    artifactType: '',
    after: undefined,
    size: limits.contentsArtifactsMax,
  })
  for (const referrer of rows) {
    const content = await readContent(db, repo, referrer.digest)
    if (content !== undefined) artifacts.push({ digest: referrer.digest, content })
  }
  return artifacts
}

/** Returns the digests that tags of a manifest (`sha256-...`) attach it to. */
export async function subjectsByTag({ kysely }: Db, repo: string, digest: string): Promise<string[]> {
  const tags = await kysely
    .selectFrom('tags')
    .select('name')
    .where('root', '=', rootOf(repo))
    .where('parent', '=', repo)
    .where('digest', '=', digest)
    .limit(limits.contentsArtifactsMax)
    .execute()
  return tags.flatMap(({ name }) => subjectOfTag(name) ?? [])
}

/** Opens the blobs and manifests of a repo by the names of their streams. */
export function openInRepo(db: Db, blobs: Pick<BlobStore, 'read' | 'pathOf'>, repo: string): OpenStream {
  return async (name) => {
    const digest = name.slice(name.indexOf(':') + 1)
    if (name === manifestStream(digest)) {
      const content = await readContent(db, repo, digest)
      if (content === undefined) throw new MissingBlob('the repo does not have it')
      return { bytes: wholeChunk(content) }
    }
    const blob = name === blobStream(digest) ? await findLinkedBlob(db, repo as Uid, digest) : undefined
    if (blob === undefined) throw new MissingBlob('the repo does not have it')
    const { location, size } = blob
    const path = blobs.pathOf?.(location)
    return {
      bytes: blobs.read(location, { start: 0, end: size }),
      file: path === undefined ? undefined : { path, size },
    }
  }
}

async function* wholeChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

async function indexesWith({ kysely }: Db, repo: string, digest: string): Promise<string[]> {
  const rows = await kysely
    .selectFrom('manifest_references')
    .select('manifest')
    .where('root', '=', rootOf(repo))
    .where('repo', '=', repo)
    .where('digest', '=', digest)
    .where('kind', '=', 'manifest')
    .limit(limits.contentsIndexesMax)
    .execute()
  return rows.map(({ manifest }) => manifest)
}

async function readContent({ kysely }: Db, repo: string, digest: string): Promise<Uint8Array | undefined> {
  const row = await kysely
    .selectFrom('manifests')
    .select('content')
    .where('root', '=', rootOf(repo))
    .where('repo', '=', repo)
    .where('digest', '=', digest)
    .executeTakeFirst()
  return row?.content
}
