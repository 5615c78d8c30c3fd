const KIB = 1024
const MIB = 1024 * KIB
const GIB = 1024 * MIB

/** Limits of reading the layers of an image. What is beyond a limit is reported as a problem; what was read before it is kept. */
export const layerLimits = {
  layersMax: 1000,
  /** Unpacked size of all layers. */
  unpackedBytesMax: 32 * GIB,
  layerEntriesMax: 5_000_000,
  /** Time of reading all layers, milliseconds. */
  readLayersMsMax: 10 * 60_000,
  /** Linux allows no longer path and no longer chain of symbolic links. */
  pathBytesMax: 4096,
  linkHopsMax: 40,
  pathDepthMax: 256,
  /** Links and files with packages that are remembered, and the memory that their names take. */
  rememberedPathsMax: 1_000_000,
  rememberedPathBytesMax: 128 * MIB,
  /** One file, by its kind. Executables and archives are read whole, one at a time. */
  databaseBytesMax: 256 * MIB,
  metadataBytesMax: 4 * MIB,
  listBytesMax: 64 * MIB,
  executableBytesMax: 512 * MIB,
  archiveBytesMax: 512 * MIB,
  embeddedSbomBytesMax: 64 * MIB,
  /** SBOMs within the image are returned as bytes. */
  embeddedSbomsMax: 10_000,
  embeddedSbomsBytesMax: 128 * MIB,
  /** Archives within one archive: their number, depth, and the unpacked size of everything that is read of them. */
  nestedArchivesMax: 2000,
  archiveDepthMax: 4,
  archiveUnpackedBytesMax: 1 * GIB,
  archiveEntriesMax: 200_000,
  /** Sections of an executable, and its list of packages after decompression. */
  executableSectionsMax: 65_535,
  executableListBytesMax: 4 * MIB,
  /** Lists and values of one JSON document. */
  jsonValuesMax: 1_000_000,
  jsonDepthMax: 64,
  packagesMax: 200_000,
  packageNameCharsMax: KIB,
  packageLicenseCharsMax: KIB,
  problemsMax: 1000,
  problemCharsMax: 512,
} as const

export type LayerLimits = Readonly<Record<keyof typeof layerLimits, number>>
