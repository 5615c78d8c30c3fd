import assert from 'node:assert/strict'
import { test } from 'node:test'
import { randomUids } from '../api/uid.ts'
import {
  hasUserAuthority,
  isBindingEffective,
  type RecordedProvider,
  recordedProviderOf,
  type Voucher,
  verifiedEmailOf,
} from './vouching.ts'

/** The truth table of docs/adr/0013: every cell. */

const [a, b] = [randomUids.root(), randomUids.root()]
const providerOfA = randomUids.child(a)
const secondOfA = randomUids.child(a)
/** Of B, with the same issuer as the one of A: what it is called upstream plays no part. */
const providerOfB = randomUids.child(b)
const EMAIL = 'ada@a.example'
const KNOWN = 'ada@known.example'

const vouchers = {
  'local account': { kind: 'account' },
  'operator’s provider': { kind: 'operator' },
  'no session': { kind: 'direct' },
  'A’s provider': { kind: 'organization', provider: providerOfA, email: EMAIL },
  'A’s second provider': { kind: 'organization', provider: secondOfA, email: EMAIL },
  'B’s provider': { kind: 'organization', provider: providerOfB, email: EMAIL },
} as const satisfies Record<string, Voucher>
type VoucherName = keyof typeof vouchers
const everywhere: readonly VoucherName[] = ['local account', 'operator’s provider', 'no session']
const ofA: readonly VoucherName[] = ['A’s provider', 'A’s second provider']

const scopes = { A: a, 'below A': randomUids.child(a), B: b, 'below B': randomUids.child(b), platform: '' }

/** How a binding was made, and what it records of it. */
const made = {
  'by an administrator': '',
  'accepted with a local account': recordedProviderOf(vouchers['local account']),
  'accepted through the operator’s provider': recordedProviderOf(vouchers['operator’s provider']),
  'created the organization with a local account': recordedProviderOf(vouchers['local account']),
  'mapping of a group': '',
  'before version 0.7': '',
  'accepted through A’s provider': recordedProviderOf(vouchers['A’s provider']),
  'accepted through A’s second provider': recordedProviderOf(vouchers['A’s second provider']),
  'accepted through B’s provider': recordedProviderOf(vouchers['B’s provider']),
  'created the organization through A’s provider': recordedProviderOf(vouchers['A’s provider']),
} as const satisfies Record<string, RecordedProvider>

/** The ways in which a foreign binding counts for a voucher, besides those that count everywhere. */
const counted: Partial<Record<VoucherName, readonly (keyof typeof made)[]>> = {
  'A’s provider': ['accepted through A’s provider', 'created the organization through A’s provider'],
  'A’s second provider': ['accepted through A’s second provider'],
  'B’s provider': ['accepted through B’s provider'],
}

for (const [name, voucher] of Object.entries(vouchers) as [VoucherName, Voucher][]) {
  for (const [place, scope] of Object.entries(scopes)) {
    test(`ADR 13: ${name} vouched, the binding is in ${place}`, () => {
      const own = place !== 'platform' && (ofA.includes(name) ? place.endsWith('A') : place.endsWith('B'))
      for (const [how, acceptedThrough] of Object.entries(made)) {
        const expected =
          everywhere.includes(name) ||
          own ||
          (place !== 'platform' && (counted[name] ?? []).some((one) => one === how))
        assert.equal(isBindingEffective(voucher, { scope, acceptedThrough }), expected, how)
      }
    })
  }

  test(`ADR 13: ${name} vouched, and the person as a whole is meant`, () => {
    for (const [how, registeredThrough] of Object.entries(made)) {
      const expected =
        everywhere.includes(name) || (counted[name] ?? []).some((one) => made[one] === registeredThrough)
      assert.equal(hasUserAuthority(voucher, registeredThrough), expected, how)
    }
  })

  test(`ADR 13: ${name} vouched for an email address`, () => {
    const email = verifiedEmailOf(voucher, KNOWN)
    const isEverywhere = everywhere.includes(name)
    assert.equal(email.address, isEverywhere ? KNOWN : EMAIL)
    assert.equal(email.isTrustedIn(a), isEverywhere || ofA.includes(name))
    assert.equal(email.isTrustedIn(b), isEverywhere || name === 'B’s provider')
    assert.equal(email.isTrustedIn(''), isEverywhere)
    assert.equal(email.isTrustedIn(randomUids.root()), isEverywhere)
  })
}
