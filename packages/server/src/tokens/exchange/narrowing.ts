import { type CapabilitySet, intersect } from '@berth/contract/capabilities.ts'
import { isWithin } from '../../api/uid.ts'

/** How a token narrows what its identity may do. */
export interface Narrowing {
  /** uids of groups; undefined: wherever the identity is bound. None: nowhere. */
  readonly scopes: readonly string[] | undefined
  /** Undefined: all that the identity has. */
  readonly capabilities: CapabilitySet | undefined
}

/** What both leave: a token that comes of a narrowed one is at most as wide, whatever was asked for. */
export function intersectNarrowing(one: Narrowing, other: Narrowing): Narrowing {
  return {
    scopes: combine(one.scopes, other.scopes, commonScopes),
    capabilities: combine(one.capabilities, other.capabilities, intersect),
  }
}

function combine<T>(
  one: T | undefined,
  other: T | undefined,
  common: (one: T, other: T) => T,
): T | undefined {
  if (one === undefined) return other
  return other === undefined ? one : common(one, other)
}

/** Of two groups of which one lies in the other, the lower one. */
function commonScopes(one: readonly string[], other: readonly string[]): readonly string[] {
  const common = one.flatMap((a) => other.flatMap((b) => (isWithin(a, b) ? [a] : isWithin(b, a) ? [b] : [])))
  return [...new Set(common)]
}
