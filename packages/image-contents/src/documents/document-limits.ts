const KIB = 1024
const MIB = 1024 * KIB

/**
 * Limits of documents about images: SBOMs, attestations, scanner reports. The first four reject a document before it is parsed; the
 * limits of one package omit that package and report a problem.
 */
export const documentLimits = {
  documentBytesMax: 128 * MIB,
  /** Depth of nested lists and objects. */
  documentDepthMax: 128,
  /** Scalars, lists and objects of one document. JSON.parse takes up to 60 bytes for a value of 3 bytes. */
  documentValuesMax: 6_000_000,
  /** Length of the name of a field, in bytes. */
  documentFieldBytesMax: 4 * KIB,
  sbomPackagesMax: 200_000,
  sbomRelationshipsMax: 1_000_000,
  sbomFilesMax: 1_000_000,
  /** Licences that one licence of SPDX 3 combines, and the depth of such combinations. */
  sbomLicenseMembersMax: 100,
  sbomLicenseDepthMax: 8,
  /** Characters of one package. */
  sbomNameCharsMax: 512,
  sbomVersionCharsMax: 512,
  sbomPurlCharsMax: 2 * KIB,
  sbomPathCharsMax: 4 * KIB,
  sbomLicenseCharsMax: 4 * KIB,
  /** Tools and authors of a document. */
  sbomCreatorsMax: 100,
  /** Texts of all packages together: many packages can share one licence or file of the document. */
  sbomPackagesCharsMax: 128 * MIB,
  /** Files, source packages, and licences of one package that are looked at. */
  sbomPackageRelationsMax: 20,
  /** Relations between packages of one document that are kept. */
  sbomRelationsMax: 20_000,
  /** Rejecting one takes 50 times as long as reading one. */
  sbomInvalidPurlsMax: 10_000,
  problemsMax: 100,
  attestationSubjectsMax: 10_000,
  attestationSignaturesMax: 1000,
  /** Layers and manifests of a manifest that holds attachments. */
  artifactEntriesMax: 1000,
  reportFindingsMax: 200_000,
  /** Aliases, package URLs, URLs, locations, versions and scores of one finding, each. */
  reportListMax: 1000,
  reportTextCharsMax: 64 * KIB,
  /** Texts of all findings together: many findings can share one rule or component of the document. */
  reportCharsMax: 256 * MIB,
} as const
