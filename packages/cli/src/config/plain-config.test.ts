import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parse } from 'yaml'
import { parsePlainConfig } from './plain-config.ts'

const UID = '346953793abc8d1e6029f4bb90b5a13b16cd9096'

test('the format of berth config is parsed like the YAML library does', () => {
  const files = [
    'profile: default\n',
    'profile: default\nprofiles:\n  default: {}\n',
    `profile: work\nprofiles:\n  work:\n    api: http://127.0.0.1:8080\n    default.group: ${UID}/633f6cac4ee96dd0\n  other:\n    output: json\n`,
  ]
  for (const text of files) {
    assert.deepEqual(parsePlainConfig(text), parse(text))
    assert.ok(parsePlainConfig(text))
  }
})

test('any other YAML is left to the library', () => {
  const files = [
    '',
    'profile: default',
    'profile: "default"\n',
    'profile: null\n',
    'profile: work # mine\n',
    'profiles:\n  a: {}\n',
    'profile: a\nprofiles:\n',
    'profile: a\nprofiles:\n  a:\n',
    'profile: a\nprofiles:\n  a: {}\n  a: {}\n',
    'profile: a\nprofiles:\n  a:\n    output: json\n    output: yaml\n',
    'profile: a\nprofiles:\n  a:\n   output: json\n',
    'profile: a\nprofiles:\n  a:\n    output: json\n  b:\n',
    'profile: a\nprofiles:\n  a:\n    audience: 1e3\n',
    `profile: a\nprofiles:\n  a:\n    default.group: ${'1'.repeat(40)}\n`,
    'profile: a\nprofiles:\n  null:\n    output: json\n',
    'profile: a\r\n',
  ]
  for (const text of files) assert.equal(parsePlainConfig(text), undefined, JSON.stringify(text))
})

test('no input is parsed differently from the library', () => {
  const word = fc.constantFrom(
    ...[
      'default',
      'work',
      'api',
      'null',
      'true',
      'No',
      '1',
      '0x1f',
      '1e3',
      '~',
      '{}',
      'a:',
      'a: b',
      'a#b',
      '-',
      'x-y',
    ],
    ...[
      'http://127.0.0.1:8080',
      'https://a.example',
      UID,
      '1'.repeat(40),
      `${'1'.repeat(20)}e${'1'.repeat(19)}`,
      "'q'",
      '&a b',
    ],
  )
  const row = fc.oneof(
    fc.constantFrom('profiles:', '', '# words', '  work:', '    api: https://a.example', '\t'),
    fc
      .tuple(fc.constantFrom('', ' ', '  ', '    '), word, fc.constantFrom(':', ': ', ' : ', ''), word)
      .map((parts) => parts.join('')),
  )
  const file = fc
    .tuple(fc.boolean(), fc.array(row, { maxLength: 6 }), fc.constantFrom('\n', '', '\r\n'))
    .map(
      ([isUsual, rows, end]) => (isUsual ? ['profile: work', 'profiles:', ...rows] : rows).join('\n') + end,
    )
  fc.assert(
    fc.property(file, (text) => {
      const read = parsePlainConfig(text)
      if (read !== undefined) assert.deepEqual(read, parse(text))
    }),
    { numRuns: 5000 },
  )
})
