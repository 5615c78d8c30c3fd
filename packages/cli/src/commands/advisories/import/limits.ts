const MIB = 1024 * 1024

/** Limits of an import. A test keeps them equal to those of the server, which would reject larger documents and archives. */
export const importLimits = {
  advisoryDocumentBytesMax: 64 * MIB,
  documentsRequestBytesMax: 8 * MIB,
  archiveEntriesMax: 1_000_000,
  archiveBytesMax: 32 * 1024 * MIB,
  archiveRatioMax: 100,
  archiveNestingMax: 2,
} as const
