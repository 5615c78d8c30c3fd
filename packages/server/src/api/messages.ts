import type { DescMessage, MessageShape } from '@bufbuild/protobuf'
import type { Duration, Timestamp } from '@bufbuild/protobuf/wkt'
import { invalidArguments } from './errors.ts'
import { applyMask, resolveMask } from './field-mask.ts'

/** Helpers for messages of all resources. */

/** A Timestamp of whole milliseconds since 1970. */
export function timestampOf(ms: number): Timestamp {
  const seconds = Math.floor(ms / 1000)
  return {
    $typeName: 'google.protobuf.Timestamp',
    seconds: BigInt(seconds),
    nanos: (ms - seconds * 1000) * 1_000_000,
  }
}

/** Milliseconds, truncated; undefined for an invalid Duration. */
export function durationMs({ seconds, nanos }: Duration): number | undefined {
  const sameSign = seconds === 0n || nanos === 0 || seconds > 0n === nanos > 0
  if (!sameSign || Math.abs(nanos) > 999_999_999) return undefined
  return Number(seconds) * 1000 + Math.trunc(nanos / 1_000_000)
}

/** Returns a resource after an update, not yet validated. Throws code 3 for an invalid mask. */
export function applyUpdate<D extends DescMessage>(
  desc: D,
  current: MessageShape<D>,
  patch: MessageShape<D>,
  paths: readonly string[] | undefined,
): MessageShape<D> {
  const resolved = resolveMask(desc, paths, patch)
  if ('violation' in resolved) throw invalidArguments([resolved.violation])
  return applyMask(desc, current, patch, resolved.mask)
}
