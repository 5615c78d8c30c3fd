import { decompressOsvExtension, type OsvExtension } from '@berth/advisory-formats/osv/osv-extension.ts'
import type { Advisory } from '@berth/contract/gen/chainguard/platform/vulnerabilities/v2beta1/advisories_pb.js'
import type { NamedAdvisory, NamedPackage } from '../../advisories/packages/package-names.ts'
import { toAdvisory } from '../../advisories/storage/stored-advisory.ts'
import type { AdvisoryRow, PackageRow } from '../../storage/schema/tables.ts'

/** What is matched: an advisory and a package, as plain values. */

/** An advisory that may be about a package. */
export interface Candidate extends NamedAdvisory {
  readonly uid: string
  readonly advisory: Pick<Advisory, 'aliases' | 'events' | 'severities'>
  readonly advisoryId: string
  readonly componentName: string
  readonly osv: OsvExtension | undefined
}

/** A package of an image, in the version that is installed. */
export interface MatchedPackage extends NamedPackage {
  readonly version: string
  /** '' if unknown: then the version of the package. */
  readonly originVersion: string
}

/** The columns that a candidate is read from. */
export const candidateColumns = [
  'uid',
  'advisory_id',
  'artifact_name',
  'component_name',
  'content',
  'created_ms',
  'updated_ms',
  'key',
  'origin',
  'product',
  'osv',
] as const satisfies readonly (keyof AdvisoryRow)[]

export type CandidateRow = Pick<AdvisoryRow, (typeof candidateColumns)[number]>

export function toCandidate(row: CandidateRow): Candidate {
  const advisory = toAdvisory(row)
  return {
    uid: row.uid,
    key: row.key,
    artifactName: row.artifact_name,
    artifactType: advisory.artifactType,
    componentName: row.component_name,
    componentType: advisory.componentType,
    origin: row.origin,
    product: row.product,
    advisoryId: row.advisory_id,
    advisory,
    osv: decompressOsvExtension(row.osv),
  }
}

export function toMatchedPackage(row: PackageRow): MatchedPackage {
  const [distributionId = '', distributionVersion = ''] = row.distribution.split(' ')
  return {
    type: row.type,
    namespace: row.namespace,
    name: row.name,
    version: row.version,
    originName: row.origin_name,
    originVersion: row.origin_version,
    distributionId,
    distributionVersion,
  }
}
