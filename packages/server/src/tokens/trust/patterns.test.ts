import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { limits } from '../../config/limits.ts'
import { checkIssuer } from './issuer-url.ts'
import { parsePattern } from './pattern-syntax.ts'
import { compilePattern, lintIssuerPattern } from './patterns.ts'

function matches(pattern: string, value: string): boolean {
  const compiled = compilePattern(pattern)
  assert.ok('test' in compiled, `${pattern}: ${'error' in compiled ? compiled.error : ''}`)
  return compiled.test(value)
}

test('R4: a pattern matches the whole value, with any anchors and alternatives', () => {
  for (const [pattern, value, expected] of [
    ['a|b', 'a', true],
    ['a|b', 'ax', false],
    ['a|b', 'xb', false],
    ['^a|b$', 'ax', false],
    ['^a|b$', 'b', true],
    ['^repo:org/.*$', 'repo:org/x', true],
    ['repo:org/x', 'repo:org/x:ref', false],
    ['a', 'a\n', false],
    ['(?m)a$', 'a\nb', false],
    ['(?s).*', 'a\nb', true],
    ['.*', 'a\nb', false],
    ['(?i)main', 'MAIN', true],
    ['', '', true],
    ['', 'x', false],
    ['[[:alpha:]]+\\d{2}', 'ab12', true],
    ['\\Qa.b\\E', 'a.b', true],
    ['\\Qa.b\\E', 'axb', false],
  ] as const) {
    assert.equal(matches(pattern, value), expected, `${pattern} on ${JSON.stringify(value)}`)
  }
})

test('a pattern that does not compile alone is rejected, also if the implied group would make it compile', () => {
  for (const pattern of [
    'a)|(?:b',
    'a)(',
    ')',
    '(',
    '[',
    'a\\',
    '(?=a)b',
    '(?<!a)b',
    '(a)\\1',
    'a**',
    '\\C',
    '(?x)a',
    '*',
  ]) {
    const compiled = compilePattern(pattern)
    assert.ok('error' in compiled, pattern)
  }
})

test('R5: patterns that make backtracking engines hang match fast', () => {
  const value = `${'a'.repeat(4000)}!`
  for (const pattern of [
    '(a+)+',
    '(a|a)*',
    '(a|aa)+',
    '(.*a){20}',
    '(a?){200}a{200}',
    '(x+x+)+y',
    '([a-z]+)*[0-9]',
    '(.*)*(.*)*(.*)*b',
  ]) {
    const began = performance.now()
    assert.equal(matches(pattern, value), false, pattern)
    const ms = performance.now() - began
    assert.ok(ms < 1000, `${pattern} took ${ms} ms`)
  }
})

test('R5: repetitions that grow the program are rejected before they are expanded', () => {
  for (const pattern of [
    '((a{1000}){1000}){1000}',
    '(a{1000}){1000}',
    'a{1001}',
    '\\pL{1000}'.repeat(100),
    '((\\pL{10}){10}){10}'.repeat(30),
    '(a{0,100}){0,100}',
    '('.repeat(1000) + ')'.repeat(24),
  ]) {
    const began = performance.now()
    assert.ok('error' in compilePattern(pattern), pattern)
    assert.ok(performance.now() - began < 200, pattern)
  }
})

test('R5: a pattern has at most 1024 characters', () => {
  assert.equal(matches('a'.repeat(limits.patternCharsMax), 'a'.repeat(limits.patternCharsMax)), true)
  assert.ok('error' in compilePattern('a'.repeat(limits.patternCharsMax + 1)))
})

test('a value of more than 4096 characters matches nothing', () => {
  assert.equal(matches('a*', 'a'.repeat(4096)), true)
  assert.equal(matches('a*', 'a'.repeat(4097)), false)
})

test('R4: issuer patterns without a fixed domain are rejected', () => {
  for (const pattern of [
    '',
    '.*',
    '.+',
    'https://.*',
    'https://.*.example.com',
    'https://.*\\.example\\.com',
    'https://.+\\.example\\.com/x',
    'https://ci.example.com',
    'https://ci\\.example\\.com.*',
    'https://ci\\.example\\.com.?',
    'https://\\S+\\.example\\.com',
    'https://\\W\\.example\\.com',
    'https://\\D+\\.example\\.com',
    'https://[^.]+\\.example\\.com',
    'https://[!-~]+\\.example\\.com',
    'https://[[:punct:]a-z]+\\.example\\.com',
    'https://[[:^alpha:]]\\.example\\.com',
    'https://\\PL\\.example\\.com',
    'https://[\\x2f.]a\\.example\\.com',
    'https://(?s:.)\\.example\\.com',
    'https://(a|.)\\.example\\.com',
    'https://(a|(b|(c|[^x]))){3}\\.example\\.com',
    'https://[^/]+',
    'https://[a-z]*',
    'https://[a-z]+\\.com',
    'https://[a-z]+example\\.com',
    'https://ci\\.example\\.com[a-z]*',
    'https://ci\\.example\\.com(\\.[a-z]+)?/x',
    'https://([a-z]\\.)+/x',
    'https://(example\\.com)+[^/]',
    'https://ci\\.example\\.com:.*',
    'https://ci\\.example\\.com:[^/]+',
    'https://',
    'https:///x',
    'https://(|a\\.b)/x',
    'ftp://ci\\.example\\.com',
    'ci\\.example\\.com',
    'https?',
    'https:.*',
    '.https://ci\\.example\\.com',
    '(https://ci\\.example\\.com)?',
    'https://ci\\.example\\.com|.*',
    'https://ci\\.example\\.com/x|evil',
    '(?:https|.*)://ci\\.example\\.com',
    'https[:]//é',
    'https://ci\\.example\\.com)|(?:.*',
    '[',
  ]) {
    assert.equal(typeof lintIssuerPattern(pattern), 'string', pattern)
  }
})

test('R4: issuer patterns with a fixed host, or a varying part before a fixed domain, are accepted', () => {
  for (const [pattern, issuer] of [
    ['https://[a-z]+\\.example\\.com', 'https://ci.example.com'],
    ['https://[^/]+\\.example\\.com/path/.*', 'https://a.b.example.com/path/x'],
    ['^https://token\\.actions\\.githubusercontent\\.com$', 'https://token.actions.githubusercontent.com'],
    [
      'https://oidc\\.eks\\.[a-z0-9-]+\\.amazonaws\\.com/id/[A-F0-9]+',
      'https://oidc.eks.eu-1.amazonaws.com/id/4E',
    ],
    ['https://(a|b)\\.example\\.org', 'https://b.example.org'],
    ['(https://a\\.example|https://b\\.example:8443)/.*', 'https://b.example:8443/x'],
    ['https?://ci\\.example\\.com(/.*)?', 'http://ci.example.com'],
    ['http://localhost:\\d+/.*', 'http://localhost:8080/x'],
    ['http://127\\.0\\.0\\.1:[0-9]{2,5}', 'http://127.0.0.1:8080'],
    ['https://\\[::1\\]:[0-9]+', 'https://[::1]:8443'],
    ['https://ci-\\d{1,3}\\.example\\.com', 'https://ci-12.example.com'],
    ['https://(?:[a-z]+\\.)*ci\\.example\\.com', 'https://a.b.ci.example.com'],
    ['https://\\Qci.example.com\\E/.+', 'https://ci.example.com/a/b'],
    ['https:\\/\\/ci\\.example\\.com\\x2fx.*', 'https://ci.example.com/xy'],
    ['(?i)https://ci\\.example\\.com', 'https://ci.example.com'],
    ['https://ci[.]example[.]com', 'https://ci.example.com'],
  ] as const) {
    assert.equal(lintIssuerPattern(pattern), undefined, pattern)
    assert.equal(matches(pattern, issuer), true, pattern)
  }
})

const syntax = fc.constantFrom(
  ...[
    'a',
    'b',
    '/',
    '.',
    '\\.',
    '[^/]',
    '[a-z]',
    '[/a]',
    '\\w',
    '\\W',
    '\\d',
    '\\S',
    '(',
    '(?:',
    ')',
    '|',
    '*',
    '+',
    '?',
    '{2}',
  ],
  ...[
    '{0,2}',
    '^',
    '$',
    ':',
    '(?i)',
    '(?i:',
    '(?s-i)',
    '\\Q',
    '\\E',
    '\\x2f',
    '[[:alpha:]]',
    '[]a]',
    '\\pL',
    '-',
    '{',
    '}',
    ']',
  ],
  ...['\\.a\\.b', 'https://', 'é', '\\b', '(?P<n>', '\\/'],
)

test('the size bound and the issuer check parse every pattern that the engine accepts', () => {
  fc.assert(
    fc.property(fc.array(syntax, { maxLength: 12 }), (parts) => {
      const pattern = parts.join('')
      const compiled = compilePattern(pattern)
      if ('error' in compiled) assert.doesNotMatch(compiled.error, /not a supported/, pattern)
      else assert.ok(parsePattern(pattern) !== undefined, pattern)
    }),
    { numRuns: 2000 },
  )
})

test('R4: no accepted issuer pattern matches an issuer at a host of its own choice', () => {
  const evil = fc
    .array(fc.constantFrom('a', 'b', '.', '/', 'a.b', '.a.b', ':', '1'), { maxLength: 8 })
    .map((parts) => `https://evil/${parts.join('')}`)
  fc.assert(
    fc.property(fc.array(syntax, { maxLength: 8 }), evil, (parts, issuer) => {
      const pattern = `https://${parts.join('')}`
      if (lintIssuerPattern(pattern) !== undefined || checkIssuer(issuer) !== undefined) return
      assert.equal(matches(pattern, issuer), false, `${pattern} on ${issuer}`)
    }),
    { numRuns: 2000 },
  )
})
