import type {
  AdvisoryEvent,
  Severity,
} from '@berth/contract/gen/chainguard/platform/vulnerabilities/v2beta1/advisories_pb.js'

import type { SeverityLabel } from './severity/severity-ratings.ts'

/**
 * The content of a document, whatever its format: the common form between the readers and the database rows. It is plain data,
 * because documents are read in a child process.
 */

export const formats = ['wolfi', 'osv', 'secdb', 'openvex', 'csaf', 'kev', 'epss'] as const
export type Format = (typeof formats)[number]

/** An event without the fields that only the platform sets. */
export interface EventRecord {
  /** Milliseconds since 1970, truncated; events in the same millisecond keep the order of the list. */
  readonly timeMs: number
  readonly author: string
  /** The one member of the schema's `type`. */
  readonly type: AdvisoryEvent['type']
  /** The issue that tracks it; undefined for none. */
  readonly issue?: string
}

export type Score = Pick<Severity, 'type' | 'score'>

/** One vulnerability in one artifact and component. Texts that the document does not have are ''. */
export interface AdvisoryRecord {
  /** Identifies the advisory in its group and stays the same when its document is imported again. Starts with the format. */
  readonly key: string
  /** In the form `CGA-xxxx-xxxx-xxxx`; '' for none. */
  readonly advisoryId: string
  /** The id in its source; '' for none. */
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
  /** The source's identifier of the product, if it is more than the artifact's name: a package URL, a CPE, any text. */
  readonly product: string
  /** The same for the component. */
  readonly componentProduct?: string
  readonly aliases: readonly string[]
  /** In order of time; no two are equal in every field. */
  readonly events: readonly EventRecord[]
  /** The OSV extension (osv/osv-extension.ts), as JSON; undefined for other formats. */
  readonly osv?: string
  /** Scores of this record only, not of others with the same aliases. */
  readonly severities: readonly Score[]
  /** Undefined if the format has no times: the time of the import is used. */
  readonly createdMs: number | undefined
  readonly updatedMs: number | undefined
  /** When it was withdrawn. */
  readonly withdrawnMs: number | undefined
}

/** The severity and the weaknesses that a document states for a vulnerability wherever it occurs. */
export interface ScoreRecord {
  /** Id of the vulnerability. */
  readonly alias: string
  /** The affected component; '' for any. */
  readonly component: string
  readonly severities: readonly Score[]
  /** Kinds of weaknesses, such as `CWE-79`. */
  readonly cwes: readonly string[]
}

/** What a catalog states about CVEs with neighbouring numbers (exploitation/cve-facts.ts). */
export interface CveBlock {
  /** `CVE-2021-44`: the CVEs from CVE-2021-44000 to CVE-2021-44999. */
  readonly block: string
  /** A line for each CVE, sorted: its ID, a space, and the facts as JSON. */
  readonly lines: string
}

/** What a document says about a vulnerability, whatever package is affected. Texts are one line. */
export interface VulnerabilityRecord {
  /** Its CVE ID if it has one. */
  readonly id: string
  readonly aliases: readonly string[]
  readonly summary: string
  /** Details and notes. */
  readonly text: string
  /** Names of affected packages. */
  readonly packages: readonly string[]
  readonly severity: SeverityLabel | 'unknown'
  /** Highest base score of the newest version of CVSS; undefined if none is known. */
  readonly score: number | undefined
  readonly cwes: readonly string[]
  readonly publishedMs: number | undefined
  readonly modifiedMs: number | undefined
}

/** A field of a document that the schema has no field for: stored with the document, and reported. */
export interface UnmappedPath {
  /** Path in the document, with `[]` for the entries of lists, e.g. `affected[].ranges[].events[].introduced`. */
  readonly path: string
  readonly count: number
}

/** A document that was parsed. */
export interface ParsedDocument {
  readonly format: Format
  /** Identifies the document among those of its format in a group: a new version replaces the earlier one. */
  readonly id: string
  /** When this version was created; an older version than the stored one is ignored. */
  readonly revisionMs: number | undefined
  readonly advisories: readonly AdvisoryRecord[]
  readonly scores: readonly ScoreRecord[]
  /** For searches. */
  readonly records: readonly VulnerabilityRecord[]
  /** Of catalogs only. */
  readonly cveBlocks?: readonly CveBlock[]
  readonly unmapped: readonly UnmappedPath[]
}

/** Why a document is rejected. */
export interface Rejection {
  /** Starts at 1; 0 if unknown. */
  readonly line: number
  /** What is wrong and, if known, what is expected. */
  readonly reason: string
}

export type ReadResult = { readonly document: ParsedDocument } | { readonly rejection: Rejection }
