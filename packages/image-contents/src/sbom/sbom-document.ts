import type { ImageContents } from '../contents.ts'

/** What a software bill of materials (SBOM) lists. */
export interface SbomDocument {
  readonly format: 'SPDX' | 'CycloneDX'
  /** Of the specification, for example `2.3`. */
  readonly version: string
  /** `documentNamespace`, `serialNumber`, or `spdxId` of the document; '' if it has none. */
  readonly id: string
  readonly name: string
  /** Names with versions, for example `syft 1.13.0`. */
  readonly tools: readonly string[]
  /** Organizations and persons. */
  readonly authors: readonly string[]
  readonly created: Date | undefined
  /** The image that the document describes, which is not one of its packages. */
  readonly subject: SbomSubject | undefined
  readonly elements: SbomElements
  readonly contents: ImageContents
  /** Between the image and its packages, in the order of the document, each once. At most `sbomRelationsMax`. */
  readonly relations: readonly PackageRelation[]
}

export interface SbomSubject {
  readonly name: string
  readonly version: string
  /** '' if it has none. */
  readonly purl: string
  /** `sha256:` with 64 hexadecimal digits. */
  readonly digests: readonly string[]
}

/** What a document states about two packages. Ends are package URLs as in `contents`; '' is the image. */
export interface PackageRelation {
  readonly kind: RelationKind
  readonly from: string
  readonly to: string
}

export type RelationKind = 'contains' | 'dependsOn' | 'generatedFrom'

/** How many elements the document has, whether they are packages of the image or not. */
export interface SbomElements {
  /** Packages of SPDX, components of CycloneDX at every depth. */
  readonly packages: number
  /** Those with at least one text in the place of a package URL. */
  readonly packagesWithPurl: number
  readonly files: number
  readonly relationships: number
  readonly vulnerabilities: number
}
