import type { ImageContents, ImagePackage } from '@berth/image-contents/contents.ts'
import type { ScannerReportFormat } from '@berth/image-contents/reports/read-scanner-report.ts'
import type { ReportedSeverity } from '@berth/image-contents/reports/scanner-report.ts'
import type { RelationKind, SbomDocument } from '@berth/image-contents/sbom/sbom-document.ts'
import type { ImageStatement } from '@berth/image-contents/vex/image-statements.ts'

/** What the server asks the process that reads images, and its replies. */

export interface ReadImageRequest {
  readonly digest: string
  /** Bytes of the manifest. */
  readonly manifest: Uint8Array
  /** Manifests that refer to it, by their subject or by a tag. */
  readonly artifacts: readonly AttachedManifest[]
  /** Indexes that contain it, with the manifests that refer to them. */
  readonly indexes: readonly ContainingIndex[]
}

export interface ContainingIndex extends AttachedManifest {
  readonly artifacts: readonly AttachedManifest[]
}

export interface AttachedManifest {
  readonly digest: string
  readonly content: Uint8Array
}

export type Reading =
  /** Not an image. `subjects`: digests of the manifests that it describes; `isAboutIndexes`: and their images, if they are indexes. */
  | { readonly kind: 'none'; readonly subjects: readonly string[]; readonly isAboutIndexes: boolean }
  | {
      readonly kind: 'image'
      readonly source: 'sbom' | 'sbom-file' | 'layers'
      /** Of the SBOM, such as `spdx-2.3`; '' without. */
      readonly format: string
      readonly contents: ImageContents
      /** Of the first SBOM in `documents`; undefined without. */
      readonly metadata: SbomMetadata | undefined
      readonly documents: readonly FoundDocument[]
      /** What attached documents state about vulnerabilities of the image, in the order in which they apply. */
      readonly statements: readonly ImageStatement[]
      readonly reports: readonly FoundReport[]
    }

/** What an SBOM states besides packages, as it is stored. */
export interface SbomMetadata extends Pick<SbomDocument, 'name' | 'tools' | 'authors'> {
  /** Milliseconds since 1970. */
  readonly createdMs: number | undefined
  readonly relations: readonly StoredRelation[]
}

/** Its ends are indexes of the stored packages; IMAGE is the image. */
export type StoredRelation = readonly [kind: RelationKind, from: number, to: number]

export const IMAGE = -1

/** `packages`: those that are stored. Relations of others are omitted. */
export function toMetadata(
  { name, tools, authors, relations, created }: SbomDocument,
  packages: readonly ImagePackage[],
): SbomMetadata {
  const indexes = new Map([['', IMAGE], ...packages.map(({ purl }, at) => [purl, at] as const)])
  const stored = relations.flatMap(({ kind, ...ends }): StoredRelation[] => {
    const [from, to] = [indexes.get(ends.from), indexes.get(ends.to)]
    return from === undefined || to === undefined ? [] : [[kind, from, to]]
  })
  return { name, tools, authors, createdMs: created?.getTime(), relations: stored }
}

/** A report of a scanner, as it is stored. */
export interface FoundReport {
  /** Index of its document in `documents`. */
  readonly document: number
  /** Name in lower case. */
  readonly scanner: string
  readonly version: string
  readonly format: ScannerReportFormat
  /** 0 if the report does not say. */
  readonly createdMs: number
  readonly databaseMs: number
  readonly counts: Readonly<Record<ReportedSeverity, number>>
  readonly stored: number
  /** The stored findings as JSON, a list of ReportedVulnerability. */
  readonly findings: Uint8Array
}

/** A document about an image, as it was given. */
export interface FoundDocument {
  readonly kind: 'sbom' | 'vex' | 'report'
  /** Such as `spdx-2.3`. */
  readonly format: string
  /** The attached manifest; '' for a file of the image. */
  readonly manifest: string
  /** The blob with it, or with its attestation; '' for a file of the image. */
  readonly blob: string
  readonly path: string
  /** Of a file of the image, and of a document within an attestation; empty for a blob that is the document. */
  readonly content: Uint8Array
}

/** Names of the streams that the process opens: blobs and manifests of the repo. */
export const blobStream = (digest: string) => `blob:${digest}`
export const manifestStream = (digest: string) => `manifest:${digest}`
