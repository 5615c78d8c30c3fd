import type {
  Advisory,
  AdvisoryEvent,
} from '@berth/contract/gen/chainguard/platform/vulnerabilities/v2beta1/advisories_pb.js'
import { timestampMs } from '@berth/contract/timestamp-text.ts'
import type { Timestamp } from '@bufbuild/protobuf/wkt'

/** An advisory as the writers of all formats get it: what is not approved stays inside. */
export interface PublishedAdvisory {
  /** Its events are the approved ones, in order. */
  readonly advisory: Advisory
  readonly origin: string
  /** How the source names the product and the component, where that is more than their names. */
  readonly product: string
  readonly componentProduct: string
  /** What OSV says beyond that, packed; only where it is published as OSV. */
  readonly osv?: Uint8Array
  /** When a document that says how severe its vulnerability is was last read; 0 for none, or where nobody asks. */
  scoredMs?: number
}

/** The package that an advisory is about. */
export function packageOf({ advisory, origin }: PublishedAdvisory): string {
  return origin || advisory.artifactName
}

/** `2024-05-06T07:08:09Z`, with milliseconds where there are some. */
export function formatTimestamp(time: Timestamp | undefined): string {
  return formatMs(time === undefined ? 0 : timestampMs(time))
}

export function formatMs(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z')
}

export function eventMs({ createTime }: AdvisoryEvent): number {
  return createTime === undefined ? 0 : timestampMs(createTime)
}

/** The versions that an event says are without the vulnerability. */
export function fixedVersions({ type }: AdvisoryEvent): string[] {
  const versions =
    type.case === 'fixed'
      ? [type.value.fixedVersion]
      : type.case === 'patched'
        ? type.value.patchedVersions
        : []
  return versions.filter((version) => version !== '')
}
