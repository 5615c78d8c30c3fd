import type {
  AdvisoryEvent,
  Severity,
} from '@berth/contract/gen/chainguard/platform/vulnerabilities/v2beta1/advisories_pb.js'

/**
 * What a document says, whatever its format: the words between the readers of `formats/` and the rows. All of it is plain data,
 * because documents are read in a thread of their own.
 */

export const formats = ['wolfi', 'osv', 'secdb', 'openvex', 'csaf'] as const
export type Format = (typeof formats)[number]

/** One event without what only the platform gives it. */
export interface EventRecord {
  /** Milliseconds since 1970, cut and not rounded; of events in one millisecond the order of the list counts. */
  readonly timeMs: number
  readonly author: string
  /** The one member of the schema's `type`. */
  readonly type: AdvisoryEvent['type']
  /** What tracks it elsewhere; undefined for nothing. */
  readonly issue?: string
}

export type Score = Pick<Severity, 'type' | 'score'>

/** One vulnerability in one artifact and component. Texts are '' where the document does not say. */
export interface AdvisoryRecord {
  /** Names the advisory in its group, and stays when its document is read again: begins with the format. */
  readonly key: string
  /** Form `CGA-xxxx-xxxx-xxxx`; '' for none of its own. */
  readonly advisoryId: string
  /** The id that it has in its source; '' for none. */
  readonly legacyAdvisoryId: string
  readonly author: string
  readonly artifactName: string
  readonly artifactType: string
  readonly artifactArchitecture: string
  readonly componentName: string
  readonly componentLocation: string
  readonly componentType: string
  /** The package that the artifact was built from. */
  readonly origin: string
  /** How the source names the product where that is more than the artifact's name: a package URL, a CPE, any text. */
  readonly product: string
  /** The same of the component. */
  readonly componentProduct?: string
  readonly aliases: readonly string[]
  /** In the order of time; no two are equal in every field. */
  readonly events: readonly EventRecord[]
  /** What OSV says beyond these fields (carried-osv.ts), as JSON; undefined where it is no OSV. */
  readonly osv?: string
  /** Scores of this very record, which hold for no other with the same aliases. */
  readonly severities: readonly Score[]
  /** Undefined: the format has no times, and the time of the import counts. */
  readonly createdMs: number | undefined
  readonly updatedMs: number | undefined
  /** When it was taken back. */
  readonly withdrawnMs: number | undefined
}

/** What a document says of the severity of a vulnerability wherever it occurs. */
export interface ScoreRecord {
  /** Id of the vulnerability. */
  readonly alias: string
  /** Component that it is about; '' for any. */
  readonly component: string
  readonly severities: readonly Score[]
}

/** What the schema has no field for: kept with the document, and told of. */
export interface UnmappedPath {
  /** Path in the document, with `[]` for the entries of lists, e.g. `affected[].ranges[].events[].introduced`. */
  readonly path: string
  readonly count: number
}

/** A document that was read. */
export interface ParsedDocument {
  readonly format: Format
  /** Names the document among those of its format in a group: what it said before is replaced by what it says now. */
  readonly id: string
  /** When this version of it was made; a version that is older than the one that is there changes nothing. */
  readonly revisionMs: number | undefined
  readonly advisories: readonly AdvisoryRecord[]
  readonly scores: readonly ScoreRecord[]
  readonly unmapped: readonly UnmappedPath[]
}

/** Why a document was not taken. */
export interface Rejection {
  /** From 1; 0 where no line can be told. */
  readonly line: number
  /** For people: what is wrong and, where that can be told, what would be right. */
  readonly reason: string
}

export type ReadResult = { readonly document: ParsedDocument } | { readonly rejection: Rejection }
