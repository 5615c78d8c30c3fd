import { type CapabilitySet, intersect } from '@berth/contract/capabilities.ts'
import { isWithin } from '../../api/uid.ts'

/** How a token narrows the access of its identity. */
export interface Narrowing {
  /** uids of groups; undefined: not narrowed. Empty: no access. */
  readonly scopes: readonly string[] | undefined
  /** Undefined: not narrowed. */
  readonly capabilities: CapabilitySet | undefined
}

/** Intersects two narrowings: a token that is exchanged for a narrowed one is never wider. */
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

/** The groups that are equal to or below a group of both lists. */
function commonScopes(one: readonly string[], other: readonly string[]): readonly string[] {
  const common = one.flatMap((a) => other.flatMap((b) => (isWithin(a, b) ? [a] : isWithin(b, a) ? [b] : [])))
  return [...new Set(common)]
}
