import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Uid } from '../api/uid.ts'
import type { Voucher } from '../pipeline/vouching.ts'
import { type InviteeMatch, matchInvitee } from './invitations.ts'

const root = 'a'.repeat(40)
const other = 'b'.repeat(40)
const ada = 'ada@example.com'
const account: Voucher = { kind: 'account' }
const provider = (organization: string, email: string): Voucher => ({
  kind: 'organization',
  provider: `${organization}/0123456789abcdef` as Uid,
  email,
})
const verified = { email: ada, email_unverified: '' }
const unverified = { email: '', email_unverified: 'ADA@example.com' }

const table: readonly (readonly [string, boolean, Voucher, typeof verified, InviteeMatch])[] = [
  ['for anyone', false, account, unverified, 'yes'],
  [ada, false, account, verified, 'yes'],
  [ada, false, { kind: 'operator' }, verified, 'yes'],
  [ada, false, account, unverified, 'unverified'],
  [ada, true, account, unverified, 'verifies'],
  // Only the address of a local account can be verified by email.
  [ada, true, { kind: 'operator' }, unverified, 'no'],
  [ada, true, { kind: 'direct' }, unverified, 'no'],
  [ada, true, provider(root, ''), unverified, 'no'],
  [ada, true, provider(root, ''), verified, 'no'],
  [ada, false, provider(root, ada), unverified, 'yes'],
  [ada, true, provider(other, ada), unverified, 'no'],
  ['eve@example.com', true, account, verified, 'no'],
  ['eve@example.com', true, account, unverified, 'no'],
]

test('R25: who can accept an invite for an email address', () => {
  for (const [email, provesEmail, voucher, identity, expected] of table) {
    const invite = { email: email === 'for anyone' ? '' : email, provesEmail, root }
    const row = JSON.stringify([email, provesEmail, voucher, identity])
    assert.equal(matchInvitee(invite, voucher, identity), expected, row)
  }
})
