import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Identity } from '@berth/client'
import { customRule, valuesOfRule } from '../packages/console/src/pages/identities/rule.ts'

/** A rule that is opened and saved without a change is the same. */

const rules: Readonly<Record<string, object>> = {
  'claims with patterns': {
    claimMatch: {
      issuer: 'https://issuer.example.com',
      subjectPattern: 'repo:acme/.*',
      audience: 'acme',
      claims: { ref: 'refs/heads/main', note: 'a: b' },
      claimPatterns: { sha: '[0-9a-f]{40}' },
    },
  },
  'keys with several audiences, which expire in a second of a minute': {
    staticKeys: {
      issuer: 'https://robots.example.com',
      subject: 'robot',
      issuerKeys: '{"keys":[]}',
      expirationTime: '2030-02-03T04:05:06.000Z',
      audiences: ['https://one.example.com', 'two'],
    },
  },
  'keys without an audience, which expire at the start of a minute': {
    staticKeys: {
      issuer: 'https://robots.example.com',
      subject: 'robot',
      issuerKeys: '{"keys":[]}',
      expirationTime: '2030-02-03T04:05:00.000Z',
    },
  },
  'an AWS identity': {
    awsIdentity: {
      awsAccount: '123456789012',
      arn: 'arn:aws:iam::123456789012:role/ci',
      userIdPattern: 'AROA.*',
    },
  },
}

for (const [name, rule] of Object.entries(rules))
  test(`a rule that is not changed stays the same: ${name}`, () => {
    const read = valuesOfRule(rule as Identity)
    assert.ok(read !== undefined)
    assert.deepEqual(customRule(read.kind, read.values), { rule })
  })
