import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Condition } from './condition.ts'
import { type ClaimMatch, matchClaims, matchIssuer } from './match.ts'
import { compilePattern } from './patterns.ts'

const options = {
  defaultAudiences: ['sts.example.com', 'https://sts.example.com'],
  pattern: compilePattern,
}

const exact: ClaimMatch = {
  iss: { case: 'issuer', value: 'https://ci.example.com' },
  sub: { case: 'subject', value: 'repo:a/b' },
  aud: { case: undefined },
  claims: {},
  claimPatterns: {},
}

const token = {
  issuer: 'https://ci.example.com',
  subject: 'repo:a/b',
  audience: ['sts.example.com'],
  payload: {} as Record<string, unknown>,
}

function conditionsOf(match: Partial<ClaimMatch>, claims: Partial<typeof token>): Condition[] {
  const asked = { ...exact, ...match }
  const subject = { ...token, ...claims }
  const patternIssuers = [subject.issuer]
  const conditions = [matchIssuer(asked, subject.issuer, { ...options, patternIssuers })]
  matchClaims(asked, subject, options, (condition) => conditions.push(condition) > 0)
  return conditions
}

/** The first that does not hold. */
function fieldOf(match: Partial<ClaimMatch>, claims: Partial<typeof token>): string | undefined {
  return conditionsOf(match, claims).find(({ holds }) => holds !== true)?.name
}

test('issuer and subject are equal, or their patterns match the whole value', () => {
  const iss = { case: 'issuerPattern', value: 'https://[a-z]+\\.example\\.com' } as const
  const sub = { case: 'subjectPattern', value: 'repo:a/.*|other' } as const
  assert.equal(fieldOf({}, {}), undefined)
  assert.equal(fieldOf({ iss, sub }, {}), undefined)
  for (const [match, claims, field] of [
    [{}, { issuer: 'https://ci.example.com/' }, 'issuer'],
    [{}, { issuer: 'https://ci.example.com.evil.example' }, 'issuer'],
    [{ iss }, { issuer: 'https://ci.example.com.evil.example' }, 'issuer'],
    [{ iss: { case: 'issuerPattern', value: '(' } }, {}, 'issuer'],
    [{ iss: { case: 'issuerPattern', value: '.*' } }, { issuer: 'https://ci.example.com@evil' }, 'issuer'],
    [{ iss: { case: undefined } }, {}, 'issuer'],
    [{}, { subject: 'repo:a/bc' }, 'subject'],
    [{ sub }, { subject: 'xrepo:a/b' }, 'subject'],
    [{ sub }, { subject: 'otherx' }, 'subject'],
    [{ sub: { case: undefined } }, { subject: '' }, 'subject'],
    [{ sub: { case: 'subject', value: 'repo:.*' } }, {}, 'subject'],
  ] as const) {
    assert.equal(fieldOf(match, claims), field, JSON.stringify([match, claims]))
  }
})

test('R10: the audience is always checked, by default for the token service itself', () => {
  const aud = { case: 'audience', value: 'my-audience' } as const
  const pattern = { case: 'audiencePattern', value: 'my-.*' } as const
  for (const [match, audience, field] of [
    [{}, ['sts.example.com'], undefined],
    [{}, ['https://sts.example.com'], undefined],
    [{}, ['other', 'sts.example.com'], undefined],
    [{}, [], 'audience'],
    [{}, ['STS.example.com'], 'audience'],
    [{}, ['https://sts.example.com/'], 'audience'],
    [{}, ['https://sts.other.example'], 'audience'],
    [{ aud }, ['my-audience'], undefined],
    [{ aud }, ['x', 'my-audience'], undefined],
    [{ aud }, ['sts.example.com'], 'audience'],
    [{ aud }, [], 'audience'],
    [{ aud: pattern }, ['x', 'my-own'], undefined],
    [{ aud: pattern }, ['not-my-own'], 'audience'],
  ] as const) {
    assert.equal(fieldOf(match, { audience: [...audience] }), field, JSON.stringify([match, audience]))
  }
})

test('R11: the audience of another installation does not match', () => {
  assert.equal(
    fieldOf({}, { audience: ['sts.elsewhere.example', 'https://sts.elsewhere.example'] }),
    'audience',
  )
})

test('custom claims are compared as text and must all match', () => {
  const payload = {
    ref: 'main',
    n: 42,
    big: 2 ** 60,
    f: 1.5,
    yes: true,
    no: false,
    list: ['main'],
    map: {},
    nil: null,
  }
  for (const [claims, claimPatterns, field] of [
    [{ ref: 'main', n: '42', yes: 'true', no: 'false', f: '1.5' }, {}, undefined],
    [{}, { ref: 'ma.*', n: '\\d+', yes: 'true|false' }, undefined],
    [{ ref: 'main' }, { n: '4.' }, undefined],
    [{ ref: 'Main' }, {}, 'claims.ref'],
    [{ ref: 'main', n: '42.0' }, {}, 'claims.n'],
    [{ big: String(2 ** 60) }, {}, 'claims.big'],
    [{ list: 'main' }, {}, 'claims.list'],
    [{ list: '["main"]' }, {}, 'claims.list'],
    [{ map: '{}' }, {}, 'claims.map'],
    [{ nil: 'null' }, {}, 'claims.nil'],
    [{ missing: '' }, {}, 'claims.missing'],
    [{ toString: 'x' }, {}, 'claims.toString'],
    [{}, { list: '.*' }, 'claims.list'],
    [{}, { missing: '.*' }, 'claims.missing'],
    [{}, { constructor: '.*' }, 'claims.constructor'],
    [{}, { ref: 'ma' }, 'claims.ref'],
    [{}, { ref: '(' }, 'claims.ref'],
    [{ ref: 'main' }, { n: '7' }, 'claims.n'],
  ] as [Record<string, string>, Record<string, string>, string | undefined][]) {
    assert.equal(
      fieldOf({ claims, claimPatterns }, { payload }),
      field,
      JSON.stringify([claims, claimPatterns]),
    )
  }
})

test('R1: a pattern matches only issuers that the operator listed', () => {
  const iss = { case: 'issuerPattern', value: 'https://[a-z]+\\.example\\.com' } as const
  for (const [patternIssuers, holds] of [
    [[], false],
    [['https://other.example.com'], false],
    [['https://ci.example.com'], true],
  ] as const) {
    const condition = matchIssuer({ iss }, token.issuer, { ...options, patternIssuers })
    assert.equal(condition.holds, holds)
    assert.equal(/BERTH_PATTERN_ISSUERS/.test(condition.detail().hint ?? ''), !holds)
  }
})

test('a condition that does not hold has a hint at the likely mistake', () => {
  const subject = (value: string) => ({ sub: { case: 'subject', value } }) as const
  const pattern = (value: string) => ({ sub: { case: 'subjectPattern', value } }) as const
  for (const [match, hint] of [
    [subject('repo:a/b/'), /trailing slash/],
    [subject('repo:A/b'), /upper and lower case/],
    [subject(' repo:a/b'), /leading or trailing spaces/],
    [subject('repo:a/*'), /exact value, not a pattern/],
    [subject('other'), /^$/],
    [pattern('repo:a/*'), /for any text write \.\* instead: repo:a\/\.\*$/],
    [pattern('repo:*/b'), /write \.\* instead: repo:\.\*\/b$/],
    [pattern('repo:a'), /only a part/],
    [pattern('REPO:a/b'), /upper and lower case/],
    [pattern('('), /^the pattern is not a regular expression/],
    [pattern('other'), /^$/],
  ] as const) {
    const failed = conditionsOf(match, {}).find(({ holds }) => holds !== true)
    assert.equal(failed?.name, 'subject', JSON.stringify(match))
    assert.match(failed?.detail().hint ?? '', hint, JSON.stringify(match))
  }
})
