import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isCodeChallenge, verifyCodeChallenge } from './pkce.ts'

// The example of RFC 7636, appendix B.
const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'

test('the verifier of the RFC matches its challenge', () => {
  assert.ok(isCodeChallenge(CHALLENGE))
  assert.ok(verifyCodeChallenge(VERIFIER, CHALLENGE))
})

const verifiers: Readonly<Record<string, string>> = {
  none: '',
  another: VERIFIER.replace('d', 'e'),
  'the challenge itself, as with the method plain': CHALLENGE,
  'one that is too short': VERIFIER.slice(1),
  'one that is too long': VERIFIER.padEnd(129, 'a'),
  'one with a character more': `${VERIFIER}a`,
  'one with padding': `${VERIFIER}=`,
  'one with a space': ` ${VERIFIER}`,
  'one with a line break': `${VERIFIER}\n`,
  'one with a letter that is not ASCII': VERIFIER.replace('d', 'ð'),
}
for (const [what, verifier] of Object.entries(verifiers))
  test(`a verifier that is ${what} is rejected`, () => assert.ok(!verifyCodeChallenge(verifier, CHALLENGE)))

for (const challenge of [
  '',
  CHALLENGE.slice(1),
  `${CHALLENGE}a`,
  `${CHALLENGE}=`,
  CHALLENGE.replace('-', '+'),
  ` ${CHALLENGE}`,
])
  test(`${JSON.stringify(challenge)} is not a valid challenge, and matches no verifier`, () => {
    assert.ok(!isCodeChallenge(challenge))
    assert.ok(!verifyCodeChallenge(VERIFIER, challenge))
  })

test('a verifier of each length that the RFC allows is accepted', async () => {
  const { createHash } = await import('node:crypto')
  for (const length of [43, 44, 100, 128]) {
    const verifier = 'aZ09-._~'.repeat(16).slice(0, length)
    assert.ok(verifyCodeChallenge(verifier, createHash('sha256').update(verifier).digest('base64url')))
  }
})
