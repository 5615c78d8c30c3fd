import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type CapabilitySet,
  capabilitiesIn,
  capabilitySetOf,
  everyCapability,
  includesAll,
  intersect,
  noCapabilities,
} from '@berth/contract/capabilities.ts'
import fc from 'fast-check'
import { isWithin } from '../../api/uid.ts'
import { capabilitiesAt, inheritedCapabilities, topmostScopes } from './inherited-capabilities.ts'

const some = capabilitiesIn(everyCapability).slice(0, 2)
const [FIRST, SECOND] = some.map((capability) => capabilitySetOf([capability])) as [
  CapabilitySet,
  CapabilitySet,
]
const BOTH = capabilitySetOf(some)

/** The platform, and uids that are often descendants, siblings and ancestors of each other. */
const scopes = fc.oneof(
  { weight: 1, arbitrary: fc.constant('') },
  {
    weight: 5,
    arbitrary: fc
      .tuple(
        fc.constantFrom('a'.repeat(40), 'b'.repeat(40)),
        fc.array(fc.constantFrom('0'.repeat(16), 'f'.repeat(16)), { maxLength: 6 }),
      )
      .map(([root, path]) => [root, ...path].join('/')),
  },
)

/** From few scopes, fewer than the levels of most uids, to more than any uid has. */
const holdings = fc
  .array(fc.tuple(scopes, fc.constantFrom(FIRST, SECOND)), { maxLength: 20 })
  .map((pairs) => new Map<string, CapabilitySet>(pairs))

test('a capability is held at a uid if it is held there, above it or on the platform', () => {
  fc.assert(
    fc.property(holdings, scopes, (byScope, uid) => {
      const held = capabilitiesAt(byScope, uid)
      for (const one of [FIRST, SECOND]) {
        const isHeld = [...byScope].some(([scope, here]) => here === one && isWithin(uid, scope))
        assert.equal(intersect(held, one), isHeld ? one : noCapabilities)
      }
      assert.equal(intersect(held, BOTH), held)
    }),
  )
})

test('all scopes together have what each of them has', () => {
  fc.assert(
    fc.property(holdings, (byScope) => {
      const each = [...byScope.keys()].sort().map((scope) => [scope, capabilitiesAt(byScope, scope)] as const)
      assert.deepEqual([...inheritedCapabilities(byScope)], each)
    }),
  )
})

test('the topmost scopes with some capabilities are those without such a scope above', () => {
  fc.assert(
    fc.property(holdings, fc.constantFrom(FIRST, SECOND, BOTH), (byScope, needed) => {
      const scopes = [...byScope.keys()].filter((scope) =>
        includesAll(capabilitiesAt(byScope, scope), needed),
      )
      const topmost = scopes.filter(
        (scope) => !scopes.some((other) => other !== scope && isWithin(scope, other)),
      )
      assert.deepEqual(topmostScopes(inheritedCapabilities(byScope), needed), topmost.sort())
    }),
  )
})
