import { type CapabilitySet, includesAll, noCapabilities, union } from '@berth/contract/capabilities.ts'
import { depthOf, isWithin, pathOf } from '../../api/uid.ts'
import type { Grants } from '../../pipeline/authorization.ts'

/**
 * Capabilities that descendants inherit. A caller can hold roles in thousands of groups, and each request needs these functions, so they must
 * not compare all pairs of groups.
 */

type CapabilitiesByScope = Grants['capabilitiesByScope']

/** Returns all capabilities at a uid: of roles there, at every group above, and on the platform. */
export function capabilitiesAt(byScope: CapabilitiesByScope, uid: string): CapabilitySet {
  let held = noCapabilities
  // Comparing the uid with a few scopes is faster than computing hashes of up to a hundred ancestors.
  if (byScope.size <= depthOf(uid) + 1) {
    for (const [scope, here] of byScope) if (isWithin(uid, scope)) held = union(held, here)
    return held
  }
  for (const scope of uid === '' ? [''] : ['', ...pathOf(uid)]) {
    const here = byScope.get(scope)
    if (here !== undefined) held = union(held, here)
  }
  return held
}

/** Returns all capabilities at each scope, in the order of uids. */
export function inheritedCapabilities(byScope: CapabilitiesByScope): CapabilitiesByScope {
  const inherited = new Map<string, CapabilitySet>()
  // In the order of uids, a scope follows its ancestors. These are on the stack, the next one last.
  const ancestors: string[] = []
  for (const scope of [...byScope.keys()].sort()) {
    while (ancestors.length > 0 && !isWithin(scope, ancestors.at(-1) as string)) ancestors.pop()
    const parent = ancestors.at(-1)
    const above = parent === undefined ? noCapabilities : (inherited.get(parent) as CapabilitySet)
    inherited.set(scope, union(above, byScope.get(scope) as CapabilitySet))
    ancestors.push(scope)
  }
  return inherited
}

/** Returns the topmost scopes with all of `needed`, in the order of uids. `inherited`: of `inheritedCapabilities`. */
export function topmostScopes(inherited: CapabilitiesByScope, needed: CapabilitySet): string[] {
  const topmost: string[] = []
  for (const [scope, held] of inherited) {
    if (!includesAll(held, needed)) continue
    const last = topmost.at(-1)
    if (last === undefined || !isWithin(scope, last)) topmost.push(scope)
  }
  return topmost
}
