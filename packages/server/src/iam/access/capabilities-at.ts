import { type CapabilitySet, noCapabilities, union } from '@berth/contract/capabilities.ts'
import { depthOf, isWithin, pathOf } from '../../api/uid.ts'
import type { Grants } from '../../pipeline/authorization.ts'

/** Returns all capabilities at a uid: of roles there, at every group above, and on the platform. */
export function capabilitiesAt(byScope: Grants['capabilitiesByScope'], uid: string): CapabilitySet {
  let held = noCapabilities
  // To look up a hundred ancestors, a hash of each is computed, which takes longer than to compare the uid with a few scopes.
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
