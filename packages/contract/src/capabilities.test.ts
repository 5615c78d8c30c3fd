import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { Capability, CapabilitySchema } from '../gen/capabilities/capabilities_pb.js'
import {
  capabilitiesIn,
  capabilityByName,
  capabilityName,
  capabilitySetOf,
  decodeCapabilitySet,
  encodeCapabilitySet,
  everyCapability,
  includesAll,
  intersect,
  isGrantable,
  isInternalOnly,
  noCapabilities,
  union,
} from './capabilities.ts'

const all = CapabilitySchema.values.map((value): Capability => value.number)
const isOwn = (capability: Capability) => capability >= 100_000
const anyCapabilities = fc.uniqueArray(fc.constantFrom(...all.slice(1)))

/** The set with these short names, separated by spaces. */
const named = (names: string) =>
  capabilitySetOf(
    names.split(' ').map((name) => capabilityByName(name) ?? assert.fail(`no capability is called ${name}`)),
  )

describe('the enumeration', () => {
  test('has the 216 capabilities of the public platform, with a name and a bit of their own', () => {
    const live = all.filter((capability) => capability !== Capability.UNKNOWN && !isOwn(capability))
    assert.equal(live.length, 216)
    assert.equal(new Set(live.map(capabilityName)).size, 216)
    assert.equal(capabilitySetOf(live).toString(2).replaceAll('0', '').length, 216)
    assert.equal(capabilitySetOf(live).toString(2).length, 222)
  })

  test('numbers its own capabilities from 100000, and their bits from 1000', () => {
    const own = all.filter(isOwn)
    assert.deepEqual(own.map(capabilityName), [
      'repo_policies.update',
      'operator.get',
      'operator.update',
      'signature_verifiers.list',
      'signature_verifiers.create',
      'signature_verifiers.update',
      'signature_verifiers.delete',
    ])
    assert.equal(capabilitySetOf(own) & ((1n << 1000n) - 1n), 0n)
    assert.equal(everyCapability.toString(2).replaceAll('0', '').length, 216 + own.length)
  })

  test('never uses the bits that are set aside', () => {
    for (const bit of [0n, 40n, 41n, 135n, 136n, 143n])
      assert.equal((everyCapability >> bit) & 1n, 0n, `bit ${bit}`)
  })

  test('has 40 published internal and 21 deprecated capabilities, and none that is both', () => {
    const deprecated = CapabilitySchema.values
      .filter((value) => value.deprecated)
      .map((value) => value.number)
    assert.equal(deprecated.length, 21)
    assert.equal(all.filter((one) => isInternalOnly(one) && !isOwn(one)).length, 40)
    assert.equal(deprecated.filter(isInternalOnly).length, 0)
  })

  test('finds a capability by its short name and the name by the capability', () => {
    for (const capability of all.slice(1))
      assert.equal(capabilityByName(capabilityName(capability)!), capability)
    assert.equal(capabilityByName('groups.list'), Capability.CAP_IAM_GROUPS_LIST)
    assert.equal(capabilityByName('CAP_IAM_GROUPS_LIST'), undefined)
    assert.equal(capabilityByName(''), undefined)
    assert.equal(capabilityName(Capability.UNKNOWN), undefined)
    assert.equal(capabilityName(999 as Capability), undefined)
  })

  test('let organizations grant every capability that is not for the operator', () => {
    assert.equal(isGrantable(Capability.CAP_IAM_GROUPS_LIST), true)
    assert.equal(isGrantable(Capability.CAP_REPO_INTERNAL_ADMIN), false)
    assert.equal(isGrantable(Capability.CAP_INTERNAL), false)
    assert.equal(isGrantable(Capability.UNKNOWN), false)
    assert.equal(isGrantable(999 as Capability), false)
  })
})

describe('sets', () => {
  test('list their capabilities in ascending number, each once', () => {
    const { CAP_GULFSTREAM, CAP_IAM_GROUPS_LIST, CAP_INTERNAL } = Capability
    const set = capabilitySetOf([CAP_GULFSTREAM, CAP_IAM_GROUPS_LIST, CAP_INTERNAL, CAP_IAM_GROUPS_LIST])
    assert.deepEqual(capabilitiesIn(set), [CAP_INTERNAL, CAP_IAM_GROUPS_LIST, CAP_GULFSTREAM])
  })

  test('omit values that are not capabilities', () => {
    assert.equal(capabilitySetOf([Capability.UNKNOWN, 999 as Capability]), noCapabilities)
  })

  test('return what was encoded', () => {
    fc.assert(
      fc.property(anyCapabilities, (capabilities) => {
        assert.deepEqual(
          capabilitiesIn(capabilitySetOf(capabilities)),
          capabilities.toSorted((a, b) => a - b),
        )
      }),
    )
  })

  test('combine as sets do', () => {
    fc.assert(
      fc.property(anyCapabilities, anyCapabilities, (left, right) => {
        const [a, b] = [capabilitySetOf(left), capabilitySetOf(right)]
        assert.equal(union(a, b), capabilitySetOf([...left, ...right]))
        assert.equal(
          intersect(a, b),
          capabilitySetOf(left.filter((capability) => right.includes(capability))),
        )
        assert.equal(
          includesAll(a, b),
          right.every((capability) => left.includes(capability)),
        )
      }),
    )
  })
})

describe('the form in tokens', () => {
  const vectors: readonly [encoded: string, names: string][] = [
    ['AAAAAAAAAFwAAAAAAAAAAAAAAAAIAAAA', 'advisories.list'],
    ['AAAAAAAAADIAAAAAAAAACA==', 'groups.list'],
    ['AAAAAAAAADsEAAAAAAAACA==', 'groups.list repo.list'],
    ['AAAAAAAAAG0AAAAAAAAACAAAEAAAAAgA', 'groups.list apk.list apk.blobs.get'],
    [
      'AAAAAAAAAH1EAgAAAAAACBAACAAAAAFk',
      'groups.list record_signatures.list sboms.list vuln_reports.list repo.blobs.get repo.list manifest.list ' +
        'tag.list manifest.metadata.list referrers.list',
    ],
  ]
  for (const [encoded, names] of vectors) {
    test(`is ${encoded} for ${names}`, () => {
      assert.equal(encodeCapabilitySet(named(names)), encoded)
      assert.equal(decodeCapabilitySet(encoded), named(names))
    })
  }

  test('is short for the empty set', () => {
    assert.equal(encodeCapabilitySet(noCapabilities), 'AAAAAAAAADIAAAAAAAAAAA==')
    assert.equal(decodeCapabilitySet('AAAAAAAAADIAAAAAAAAAAA=='), noCapabilities)
  })

  test('is read back as it was written', () => {
    fc.assert(
      fc.property(anyCapabilities, (capabilities) => {
        const set = capabilitySetOf(capabilities)
        assert.equal(decodeCapabilitySet(encodeCapabilitySet(set)), set)
      }),
    )
  })

  test('may say more bits than it needs', () => {
    const older = capabilitiesIn(
      decodeCapabilitySet('AAAAAAAAAHxEQgBAgIBESAiIGDBAiqlk') ?? assert.fail('not decoded'),
    ).map(capabilityName)
    assert.equal(older.length, 29)
    assert.equal(older[0], 'groups.list')
    assert.equal(older.at(-1), 'packages.entitlements.list')
  })

  test('loses bits that stand for no capability', () => {
    const claim = (high: bigint) => {
      const bytes = Buffer.alloc(16)
      bytes.writeBigUInt64BE(64n, 0)
      bytes.writeBigUInt64BE(high, 8)
      return bytes.toString('base64')
    }
    assert.equal(decodeCapabilitySet(claim(1n | (1n << 3n) | (1n << 40n))), named('groups.list'))
  })

  test('may be the older list of numbers', () => {
    assert.equal(decodeCapabilitySet([1605, 103, 0, 1601, 99999]), named('groups.list repo.list'))
    assert.equal(decodeCapabilitySet([]), noCapabilities)
  })

  test('is nothing else', () => {
    const wrong = [
      undefined,
      null,
      103,
      {},
      '',
      'AAAA',
      'AAAAAAAAADIAAAAAAAAAAA', // no padding
      'AAAAAAAAADIAAAAAAAAA+A==', // the other alphabet
      'AAAAAAAAAFwAAAAAAAAAAA==', // 92 bits in one word
      'AAAAAAAAADIAAAAAAAAAAAAAAAAAAAAA', // 50 bits in two words
      '__________8AAAAAAAAAAA==', // a length beyond reason
      ['103'],
      [1.5],
    ]
    for (const value of wrong) assert.equal(decodeCapabilitySet(value), undefined, JSON.stringify(value))
  })
})
