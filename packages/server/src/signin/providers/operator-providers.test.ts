import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseOperatorProviders } from './operator-providers.ts'

const provider = { name: 'google', issuer: 'https://accounts.google.com', clientId: 'berth' }

test('a provider needs a name, an issuer and a client, and has defaults for the rest', () => {
  assert.deepEqual(parseOperatorProviders(JSON.stringify([provider])), {
    providers: [
      { ...provider, label: 'google', clientSecret: '', scopes: ['email', 'profile'], requirePkce: false },
    ],
  })
})

const mistakes: readonly (readonly [string, unknown, RegExp])[] = [
  ['no JSON', '[', /not JSON/],
  ['no list', provider, /array/],
  ['no object', ['google'], /\[0\] must be an object/],
  ['an unknown member', [{ ...provider, secret: 'x' }], /\[0\]\.secret is unknown/],
  ['a name with a slash', [{ ...provider, name: 'a/b' }], /\[0\]\.name/],
  ['no issuer', [{ ...provider, issuer: '' }], /\[0\]\.issuer is required/],
  ['an issuer with a user', [{ ...provider, issuer: 'https://a@b.example' }], /\[0\]\.issuer/],
  ['no client', [{ ...provider, clientId: '' }], /\[0\]\.clientId/],
  ['a secret that is no text', [{ ...provider, clientSecret: 1 }], /\[0\]\.clientSecret must be text/],
  ['a scope with a blank', [{ ...provider, scopes: ['a b'] }], /\[0\]\.scopes/],
  ['one name twice', [provider, provider], /two providers have the name "google"/],
]
for (const [what, value, expected] of mistakes) {
  test(`${what} is reported`, () => {
    const read = parseOperatorProviders(typeof value === 'string' ? value : JSON.stringify(value))
    assert.ok('problems' in read)
    assert.match(read.problems.join('\n'), expected)
  })
}
