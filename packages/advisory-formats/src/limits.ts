const KIB = 1024
const MIB = 1024 * KIB
const GIB = 1024 * MIB

/** Limits of advisory documents and of archives of them. Reading the largest document that they allow takes a few seconds. */
export const formatLimits = {
  /** Above the largest documents that are published. */
  advisoryDocumentBytesMax: 64 * MIB,
  /** Documents in one request to the server, in bytes. */
  documentsRequestBytesMax: 8 * MIB,
  /** Files in an archive, their unpacked size in total, and its ratio to the size of the archive. */
  archiveEntriesMax: 1_000_000,
  archiveBytesMax: 32 * GIB,
  archiveRatioMax: 100,
  /** Depth of archives within archives. */
  archiveNestingMax: 2,
  /** Depth of nested lists and maps. */
  advisoryDepthMax: 64,
  /** Scalars, lists and maps of one document. */
  advisoryValuesMax: 2_000_000,
  /** YAML takes more time and memory than JSON of the same size: characters, and lexical elements. */
  advisoryYamlCharsMax: 8 * MIB,
  advisoryYamlLexemesMax: 1_000_000,
  advisoryYamlAliasesMax: 1000,
  /** Values that all aliases of a document expand to. */
  advisoryYamlRepeatedValuesMax: 10_000,
  advisoriesPerDocumentMax: 200_000,
  /** CVEs of an EPSS catalog. */
  advisoryCatalogCvesMax: 1_000_000,
  /** Blocks of a thousand CVE numbers of a catalog. All CVEs that exist are in some 400. */
  advisoryCatalogBlocksMax: 10_000,
  /** Characters of what a KEV catalog requires. */
  advisoryCatalogActionCharsMax: 1000,
  /** Kinds of weaknesses of one vulnerability; further ones are ignored. */
  advisoryCwesMax: 50,
  /** Vulnerabilities of one document that are searched by their texts, and what is stored of each: further ones and the rest are not found. */
  advisoryRecordsMax: 10_000,
  advisoryRecordSummaryCharsMax: 300,
  advisoryRecordTextCharsMax: 4000,
  advisoryRecordAliasesMax: 50,
  advisoryRecordPackagesMax: 20,
  /** All of them of one document. */
  advisoryRecordsCharsMax: 8 * MIB,
  /** Totals of all advisories of a document: events, characters of notes, and aliases, scores and annotations together. */
  advisoryDocumentEventsMax: 1_000_000,
  advisoryDocumentNoteCharsMax: 128 * MIB,
  advisoryDocumentNamesMax: 4_000_000,
  /** Scores of one record. */
  advisoryScoresMax: 100,
  /** Events and aliases of one advisory. Records about whole kernels have the most. */
  advisoryEventsMax: 1000,
  advisoryAliasesMax: 2000,
  /** The OSV extension of one package (the fields of an OSV record without a field in the schema), as JSON. */
  advisoryExtensionCharsMax: 4 * MIB,
  /** Names, versions, paths and ids. */
  advisoryNameCharsMax: KIB,
  advisoryNoteCharsMax: 64 * KIB,
  /** Nesting of CSAF products that are components of components. */
  advisoryProductChainMax: 16,
  /** Parts of index keys, which PostgreSQL limits to about 2700 bytes: the key of a record in its group, and the id of a document. */
  advisoryKeyBytesMax: 768,
  advisoryDocumentIdBytesMax: 512,
  /** Names of packages and components, and ids of vulnerabilities, all of which have a suffix index. Published ones have up to 100 bytes. */
  advisoryIndexedNameBytesMax: 512,
  advisoryAliasBytesMax: 256,
  /** Suffix index of the names of one document. */
  advisoryDocumentSuffixBytesMax: 128 * MIB,
  /** Longest suffix that is indexed, and so the longest part of a name that a query can find. */
  advisorySuffixCharsMax: 128,
  /** Different paths of unmapped fields of one document. */
  advisoryUnmappedPathsMax: 500,
} as const
