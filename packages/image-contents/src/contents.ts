/** What an image contains. Readers of SBOMs and of layers produce it; the writers of SPDX and CycloneDX consume it. */

export interface ImageContents {
  /** Of `os-release`, or of the SBOM; undefined for images without an operating system. */
  readonly distribution: Distribution | undefined
  readonly packages: readonly ImagePackage[]
  /** What could not be read. The packages are those of the rest. */
  readonly problems: readonly ContentsProblem[]
}

/** Fields of `os-release`(5). */
export interface Distribution {
  /** `ID`, for example `alpine`. */
  readonly id: string
  /** `VERSION_ID`; '' for rolling releases. */
  readonly versionId: string
  /** `PRETTY_NAME`. */
  readonly name: string
  /** `SUPPORT_END`, the start of that day in milliseconds since 1970. */
  readonly supportEndMs?: number | undefined
}

/** Times that are known of few packages. Milliseconds since 1970, in whole seconds. */
export interface PackageTimes {
  /** When the package was built. */
  readonly builtMs?: number
  /** When its support ends, if the SBOM states it. */
  readonly endOfLifeMs?: number
}

export interface ImagePackage extends PackageTimes {
  /** Canonical package URL with the version. */
  readonly purl: string
  /** Type of the package URL, for example `apk`. */
  readonly type: string
  /** Namespace of the package URL; '' if it has none. */
  readonly namespace: string
  readonly name: string
  /** As the package database has it; '' if unknown. */
  readonly version: string
  /** '' if unknown or irrelevant. */
  readonly architecture: string
  /** The source package: `origin` of apk, `Source` of dpkg, `SOURCERPM` of rpm. */
  readonly origin: PackageOrigin | undefined
  /** SPDX license expression, or the text of the package; '' if unknown. */
  readonly license: string
  /** Path of the file that lists the package, without a leading slash; '' if the SBOM has none. */
  readonly path: string
  /** Digest of the layer with that file; '' if unknown. */
  readonly layer: string
}

export interface PackageOrigin {
  readonly name: string
  readonly version: string
}

export interface ContentsProblem {
  /** Path in the image, or '' for the image or document as a whole. */
  readonly path: string
  /** Continues "could not be read, because". */
  readonly reason: string
}
