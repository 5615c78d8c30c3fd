import type {
  Advisory,
  AdvisoryEvent,
} from '@berth/contract/gen/chainguard/platform/vulnerabilities/v2beta1/advisories_pb.js'
import { timestampMs } from '@berth/contract/timestamp-text.ts'
import type { Timestamp } from '@bufbuild/protobuf/wkt'

/** The approved part of an advisory, for the writers of all formats. */
export interface PublishedAdvisory {
  /** Its events are the approved ones, in order. */
  readonly advisory: Advisory
  readonly origin: string
  /** The source's identifiers of the product and the component, if they are more than their names. */
  readonly product: string
  readonly componentProduct: string
  /** The OSV extension, compressed; only if it is published as OSV. */
  readonly osv?: Uint8Array
  /** When a document with a severity of its vulnerability was last imported; 0 for none or if not needed. */
  scoredMs?: number
}

/** Returns the package that an advisory is about. */
export function packageOf({ advisory, origin }: PublishedAdvisory): string {
  return origin || advisory.artifactName
}

/** Formats as `2024-05-06T07:08:09Z`, with milliseconds unless they are zero. */
export function formatTimestamp(time: Timestamp | undefined): string {
  return formatMs(time === undefined ? 0 : timestampMs(time))
}

export function formatMs(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z')
}

export function eventMs({ createTime }: AdvisoryEvent): number {
  return createTime === undefined ? 0 : timestampMs(createTime)
}

/** Returns the fixed versions that an event names. */
export function fixedVersions({ type }: AdvisoryEvent): string[] {
  const versions =
    type.case === 'fixed'
      ? [type.value.fixedVersion]
      : type.case === 'patched'
        ? type.value.patchedVersions
        : []
  return versions.filter((version) => version !== '')
}
