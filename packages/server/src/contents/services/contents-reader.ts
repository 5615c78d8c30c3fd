import { SbomFormat } from '@berth/contract/gen/berth/registry/v1/contents_pb.js'
import type { ImagePackage } from '@berth/image-contents/contents.ts'
import { withEndOfLife } from '@berth/image-contents/end-of-life.ts'
import { PackageURL } from 'packageurl-js'
import { rootOf, subtreeRange } from '../../api/uid.ts'
import type { Addresses } from '../../config/addresses.ts'
import type { BlobStore } from '../../registry/blobs/blob-store.ts'
import type { ContentReader } from '../../registry/manifests/manifest-reader.ts'
import type { ManifestContentsRow } from '../../storage/schema/tables.ts'
import { runLongText, sqlText } from '../../storage/sql-text.ts'
import type { Store } from '../../storage/store.ts'
import type { SbomMetadata } from '../reading/reading.ts'
import { readStoredContents, readStoredMetadata } from '../storing/stored-contents.ts'
import { type ImageReference, requireImageRow, requireRead } from './image-reference.ts'
import { readGivenSbom, type SbomText, writeSbom } from './image-sbom.ts'

/** Reads what images contain, for the services of both versions of the API. */
export interface ContentsReader {
  /** Throws as `requireImageRow`. */
  requireImage(image: ImageReference, field?: string): Promise<ManifestContentsRow>
  /** Throws as `requireImage`, and code 9 for an image without known contents. */
  requireContents(image: ImageReference): Promise<ManifestContentsRow>
  /** Throws code 9 for an image without known contents. */
  readPackages(image: ManifestContentsRow): Promise<readonly ImagePackage[]>
  /** What the SBOM that was given states besides packages; undefined if none was. */
  readMetadata(image: ManifestContentsRow): Promise<SbomMetadata | undefined>
  /** Unspecified: as it was given; throws code 5 if none was. */
  readSbom(
    image: ManifestContentsRow,
    format: SbomFormat.UNSPECIFIED | SbomFormat.SPDX | SbomFormat.CYCLONEDX,
  ): Promise<SbomText>
  /** Package URL of the source package; '' if it is unknown. */
  originPurl(found: ImagePackage): string
  /** Counts the different digests of manifests in a group or repo. */
  countDigests(scope: string): Promise<number>
}

export interface ContentsReaderOptions {
  readonly blobs: Pick<BlobStore, 'read'>
  readonly manifests: ContentReader
  readonly addresses: Pick<Addresses, 'baseUrl' | 'registryHost'>
}

export function createContentsReader(
  { db }: Pick<Store, 'db'>,
  { blobs, manifests, addresses }: ContentsReaderOptions,
): ContentsReader {
  return {
    requireImage: (image, field) => requireImageRow(db, manifests, image, field),
    async requireContents(image) {
      const row = await requireImageRow(db, manifests, image)
      requireRead(row)
      return row
    },
    async readPackages(image) {
      requireRead(image)
      const contents = await readStoredContents(db.kysely, image)
      return contents === undefined ? [] : withEndOfLife(contents).packages
    },
    readMetadata: (image) => readStoredMetadata(db.kysely, image),
    async readSbom(image, format) {
      requireRead(image)
      const source = {
        db,
        blobs,
        repository: `${addresses.registryHost}/${image.repo}`,
        namespace: `${addresses.baseUrl}/sboms`,
      }
      return format === SbomFormat.UNSPECIFIED
        ? readGivenSbom(source, image)
        : writeSbom(source, image, format)
    },
    originPurl({ type, namespace, origin }) {
      if (origin === undefined) return ''
      try {
        const version = origin.version === '' ? undefined : origin.version
        return new PackageURL(
          type,
          namespace || undefined,
          origin.name,
          version,
          undefined,
          undefined,
        ).toString()
      } catch {
        return ''
      }
    },
    async countDigests(scope) {
      const { from, to } = subtreeRange(scope)
      const sql = sqlText(db.engine)
      const text = `select count(distinct digest) as n from manifests
        where root = ${sql.bind(rootOf(scope))} and repo >= ${sql.bind(from)} and repo < ${sql.bind(to)}`
      const [row] = await runLongText<{ n: number }>(db, text, sql)
      return Number(row?.n ?? 0)
    },
  }
}
