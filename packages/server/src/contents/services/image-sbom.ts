import { SbomFormat } from '@berth/contract/gen/berth/registry/v1/contents_pb.js'
import { withEndOfLife } from '@berth/image-contents/end-of-life.ts'
import { writeCycloneDx } from '@berth/image-contents/writers/write-cyclonedx.ts'
import { writeSpdx } from '@berth/image-contents/writers/write-spdx.ts'
import { failedPrecondition, notFound } from '../../api/errors.ts'
import type { Uid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { version } from '../../config/version.ts'
import type { BlobStore } from '../../registry/blobs/blob-store.ts'
import { findLinkedBlob } from '../../registry/blobs/stored-blobs.ts'
import type { Db } from '../../storage/db.ts'
import type { ManifestContentsRow, ManifestDocumentRow } from '../../storage/schema/tables.ts'
import { readStoredContents, readStoredDocument } from '../storing/stored-contents.ts'

/** SBOMs of images: as they were given, or written from what was read. */

export interface SbomText {
  readonly format: string
  readonly sbom: string
}

interface SbomSource {
  readonly db: Db
  readonly blobs: Pick<BlobStore, 'read'>
  /** Address of the registry and path of the repo, and start of ids of documents. */
  readonly repository: string
  readonly namespace: string
}

const SBOM_TYPE = 'registry.chainguard.dev/Sbom'

/** Throws code 5 if the image has no SBOM, and code 9 if it is too large to be returned. */
export async function readGivenSbom(
  { db, blobs }: Pick<SbomSource, 'db' | 'blobs'>,
  { root, id, repo, digest }: ManifestContentsRow,
): Promise<SbomText> {
  const row = await db.kysely
    .selectFrom('manifest_documents')
    .selectAll()
    .where('root', '=', root)
    .where('contents', '=', id)
    .where('kind', '=', 'sbom')
    .orderBy('position')
    .limit(1)
    .executeTakeFirst()
  if (row === undefined)
    throw notFound(
      SBOM_TYPE,
      digest,
      `image ${digest} was pushed without an SBOM; ask for one in the format SPDX or CycloneDX`,
    )
  return { format: row.format, sbom: await readGivenDocument({ db, blobs }, repo, row, SBOM_TYPE) }
}

/** Throws code 5 if the repo does not have the document, and code 9 if it is too large to be returned. */
export async function readGivenDocument(
  { db, blobs }: Pick<SbomSource, 'db' | 'blobs'>,
  repo: string,
  row: ManifestDocumentRow,
  type: string,
): Promise<string> {
  if (row.content.length > 0) return Buffer.from(await readStoredDocument(row)).toString()
  const blob = await findLinkedBlob(db, repo as Uid, row.blob)
  if (blob === undefined) throw notFound(type, row.blob)
  if (blob.size > limits.contentsSbomBytesMax)
    throw failedPrecondition(
      'SBOM_TOO_LARGE',
      `the document has ${blob.size} bytes, at most ${limits.contentsSbomBytesMax} are returned; pull the blob ${row.blob} instead`,
      repo,
    )
  const chunks: Uint8Array[] = []
  for await (const chunk of blobs.read(blob.location, { start: 0, end: blob.size }))
    chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks).toString()
}

export async function writeSbom(
  { db, repository, namespace }: SbomSource,
  row: ManifestContentsRow,
  format: SbomFormat.SPDX | SbomFormat.CYCLONEDX,
): Promise<SbomText> {
  const stored = await readStoredContents(db.kysely, row)
  if (stored === undefined) throw notFound(SBOM_TYPE, row.digest)
  const contents = withEndOfLife(stored)
  const image = {
    repository,
    digest: row.digest,
    created: new Date(Number(row.read_ms)),
    tool: { name: 'berth', version: version() },
    namespace,
  }
  return format === SbomFormat.SPDX
    ? { format: 'spdx-2.3', sbom: writeSpdx(image, contents) }
    : { format: 'cyclonedx-1.6', sbom: writeCycloneDx(image, contents) }
}
