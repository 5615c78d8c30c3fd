import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Format } from '@berth/advisory-formats/advisory-record.ts'
import { readDocument } from '@berth/advisory-formats/read-document.ts'
import { parseJson } from '@berth/advisory-formats/syntax/parse-json.ts'
import { limits } from '@berth/server/config/limits.ts'
import fc from 'fast-check'
import { rejectionOf } from './support/advisories/advisory-documents.ts'

/** Rejected documents: the line and reason of each; the worst of them take seconds at most. */

const wolfi = (advisories: string, version = '2.0.2') =>
  `schema-version: ${version}\npackage:\n  name: a\nadvisories:\n${advisories}`
const event = (fields: string) => wolfi(`  - id: CGA-2222-2222-2222\n    events:\n      - ${fields}\n`)
const osv = (fields: string) => `{\n"id": "DSA-1-1",\n"modified": "2024-01-01T00:00:00Z",\n${fields}\n}`
const openvex = (statement: string) =>
  `{"@context": "https://openvex.dev/ns/v0.2.0",\n"statements": [\n${statement}\n]}`
const csaf = (version: string, rest: string) =>
  `{"document": {"csaf_version": "${version}", "publisher": {"name": "p", "namespace": "n"},\n"tracking": {"id": "t",
"current_release_date": "2024-01-01T00:00:00Z", "initial_release_date": "2024-01-01T00:00:00Z"}},\n${rest}}`
const list = (count: number, item: string) => Array(count).fill(item).join(',')

const rejections: readonly (readonly [
  what: string,
  content: string | Uint8Array,
  reason: RegExp,
  format?: Format,
])[] = [
  // Encodings.
  ['nothing', '', /^0: the document is empty$/],
  ['blanks', ' \n\t\n', /^0: the document is empty$/],
  ['comments', '# nothing\n', /^0: the document is empty$/],
  [
    'UTF-16, little end first',
    Buffer.from('\ufeff{"id": 1}', 'utf16le'),
    /^0: .* UTF-16 or UTF-32: convert it/,
  ],
  ['UTF-16 without a mark', Buffer.from('{"id": 1}', 'utf16le'), /^0: .* UTF-16/],
  ['UTF-32, big end first', Buffer.from([0, 0, 0xfe, 0xff, 0, 0, 0, 0x7b]), /^0: .* UTF-32/],
  ['Latin-1', Buffer.from('id: a\nsummary: \xe9t\xe9\n', 'latin1'), /^2: the document is not in UTF-8/],
  ['a NUL', '{\n"id": "a\0"}', /^2: .* U\+0000/],
  [
    'an escaped NUL',
    osv('"aliases": ["CVE-2024-1\\u0000"]'),
    /^4: aliases\[0\] must not contain the character U\+0000/,
  ],
  ['half of a pair', osv('"aliases": ["\\ud800"]'), /^4: aliases\[0\] is not valid Unicode/],
  // Syntax.
  ['cut off JSON', '{\n"id": "DSA-1-1",\n"modified": ', /^3: the document is not JSON: value expected$/],
  ['a comment in JSON', osv('"a": 1 // one'), /^4: the document is not JSON/],
  ['a trailing comma', osv('"a": [1,]'), /^4: the document is not JSON/],
  ['two values', '{}\n{}', /^2: the document is not JSON/],
  ['a name twice in JSON', osv('"summary": "a",\n"id": "DSA-2-1"'), /^5: the field "id" occurs twice$/],
  [
    'a name twice in YAML',
    event('{timestamp: 2024-01-01T00:00:00Z, type: a, type: b}'),
    /^7: the field "type" occurs twice$/,
  ],
  ['bad indentation', 'id:\n   a: b\n  modified: b\n', /^3: the document is not YAML/],
  ['a tab', 'package:\n\tname: a\n', /^2: the document is not YAML/],
  ['two documents', 'id: a\n---\nid: b\n', /^2: the file has more than one document/],
  ['a tag', 'id: !!binary aGk=\n', /^1: the tag .*binary is not supported/],
  ['an unknown tag', 'a: 1\nid: !x aGk=\n', /^2: /],
  ['an unknown alias', 'a: 1\nid: *x\n', /^2: .*\bx\b/],
  ['an alias of itself', 'id: b\na: &x [*x]\n', /^2: the alias \*x is inside the value that it refers to$/],
  ['a map as a name', '? {a: b}\n: c\n', /^1: the name of a field is not plain text$/],
  [
    'a name that changes prototypes',
    osv('"__proto__": {"a": 1}'),
    /^4: a field must not be named __proto__$/,
  ],
  ['the same in YAML', 'id: a\n__proto__: b\n', /^2: a field must not be named __proto__$/],
  [
    'a huge name',
    osv(`"${'a'.repeat(limits.advisoryNameCharsMax + 1)}": 1`),
    /^4: the name of a field has more than 1024 characters$/,
  ],
  [
    'digits that a double does not hold',
    osv('"database_specific": {\n"a": 12345678901234567890}'),
    /^5: the number 12345678901234567890 would lose digits: write it as a string$/,
  ],
  [
    'a fraction of too many digits',
    osv('"a": 0.12345678901234567891'),
    /^4: the number .* would lose digits/,
  ],
  ['a number beyond all', osv('"a": 1e999'), /^4: the number 1e999 would lose digits/],
  ['a number too small', osv('"a": 1e-999'), /^4: the number 1e-999 would lose digits/],
  // Kinds of documents.
  ['a list', '[1]', /^1: the document must have fields$/],
  ['text', 'hello', /^1: the document must have fields$/],
  [
    'something else',
    '{"name": "a"}',
    /^1: the document is not a Wolfi, OSV, secdb, OpenVEX or CSAF document, nor a KEV or EPSS catalog$/,
  ],
  ['another format than was said', '{"name": "a"}', /^1: the document lacks document$/, 'csaf'],
  ['wolfi of model 3', wolfi('', '3'), /^1: schema-version is "3": only version 2 is supported$/],
  ['wolfi of no version', 'package:\n  name: a\nadvisories: []\n', /^1: the document lacks schema-version$/],
  [
    'OSV of model 2',
    osv('"schema_version": "2.0.0"'),
    /^4: schema_version is "2.0.0": only version 1 is supported$/,
  ],
  [
    'CSAF of model 3',
    csaf('3.0', '"vulnerabilities": []'),
    /^1: document.csaf_version is "3.0": only version 2.0 is supported$/,
  ],
  // Fields.
  [
    'an id that is none',
    wolfi('  - id: CGA-1111-2222-3333\n'),
    /^5: advisories\[0\].id must be an id such as/,
  ],
  ['an id of words', '{\n"id": "not an id",\n"modified": "2024-01-01T00:00:00Z"}', /^2: id must be an id/],
  [
    'an id as a number',
    '{"modified": "2024-01-01T00:00:00Z",\n"id": 5}',
    /^2: id must be a string, so that no digits are lost$/,
  ],
  ['an alias of a known form that is none', osv('"aliases": ["GHSA-1"]'), /^4: aliases\[0\] must be an id/],
  [
    'an id twice',
    wolfi('  - id: CGA-2222-2222-2222\n  - id: CGA-2222-2222-2222\n'),
    /^6: advisories\[1\] has the same id as another advisory/,
  ],
  [
    'a day that no month has',
    event('{timestamp: 2024-02-31T00:00:00Z, type: fixed, data: {fixed-version: a}}'),
    /^7: advisories\[0\].events\[0\].timestamp must be a time such as .*2024-02-31/,
  ],
  ['a day without a time', osv('"published": "2024-01-01"'), /^4: published must be a time/],
  [
    'no time',
    openvex('{"vulnerability": "CVE-2024-1000", "products": ["a"], "status": "fixed"}'),
    /^3: statements\[0\] lacks a timestamp, and the document has none$/,
  ],
  [
    'a missing field',
    event('{timestamp: 2024-01-01T00:00:00Z, type: fixed, data: {}}'),
    /^7: advisories\[0\].events\[0\].data lacks fixed-version$/,
  ],
  [
    'missing data',
    event('{timestamp: 2024-01-01T00:00:00Z, type: fixed}'),
    /^7: advisories\[0\].events\[0\] lacks data$/,
  ],
  ['a list that is none', osv('"aliases": "CVE-2024-1000"'), /^4: aliases must be a list$/],
  ['nothing in a list', osv('"aliases": [null]'), /^4: aliases\[0\] must be a string$/],
  [
    'control characters in a name',
    osv('"affected": [{"package": {"ecosystem": "a", "name": "\\u001b[2J"}}]'),
    /^4: affected\[0\].package.name must be one line without control/,
  ],
  [
    'an id of the first form that is none',
    'package:\n  name: a\nadvisories:\n  b:\n    - status: fixed\n',
    /^5: advisories.b must have an id such as CVE-2025-12345 as its name/,
  ],
  [
    'a version of several lines',
    '{"reponame": "a", "packages": [{"pkg": {"name": "a", "secfixes":\n{"1\\n": []}}}]}',
    /^2: .* must have a version as its name$/,
  ],
  ['a secdb of nowhere', '{"packages": [], "apkurl": "a"}', /^1: the document lacks urlprefix and reponame/],
  // Limits.
  [
    'too many bytes',
    new Uint8Array(limits.advisoryDocumentBytesMax + 1).fill(0x20),
    /^0: the document has more than 67108864 bytes$/,
  ],
  [
    'too deep',
    osv(`"a": ${'['.repeat(limits.advisoryDepthMax)}${']'.repeat(limits.advisoryDepthMax)}`),
    /^4: the document is nested deeper than 64 levels$/,
  ],
  [
    'too many values',
    `{"a": [${list(limits.advisoryValuesMax, '1')}]}`,
    /^1: the document has more than 2000000 values/,
  ],
  [
    'a long name',
    osv(`"aliases": ["${'a'.repeat(limits.advisoryNameCharsMax + 1)}"]`),
    /^4: aliases\[0\] has more than 1024 characters$/,
  ],
  [
    'a long note',
    event(
      `{timestamp: 2024-01-01T00:00:00Z, type: fix-not-planned, data: {note: ${'a'.repeat(limits.advisoryNoteCharsMax + 1)}}}`,
    ),
    /^7: .*note has more than 65536 characters$/,
  ],
  [
    'many aliases',
    osv(
      `"aliases": [${Array.from({ length: limits.advisoryAliasesMax }, (_, index) => `"A-${index}"`).join()}],\n"affected": [{"package": {"ecosystem": "a", "name": "b"}}]`,
    ),
    /^1: the document has more than 2000 aliases$/,
  ],
  [
    'many events',
    osv(
      `"affected": [{"package": {"ecosystem": "a", "name": "b"}, "ranges": [{"events": [\n${list(limits.advisoryEventsMax, '{"fixed": "1"}')}]}]}]`,
    ),
    /^5: .* exceeds the limit of 1000 events/,
  ],
  [
    'many advisories',
    `{"reponame": "a", "packages": [{"pkg": {"name": "a", "secfixes": {"1":\n[${Array.from({ length: limits.advisoriesPerDocumentMax + 1 }, (_, index) => `"CVE-2024-${index + 1000}"`).join()}]}}}]}`,
    /^2: .* exceeds the limit of 200000 advisories/,
  ],
  [
    'statements about everything',
    openvex(
      `{"vulnerability": "CVE-2024-1000", "timestamp": "2024-01-01T00:00:00Z", "status": "fixed", "products": [${list(1500, '"a"')}],\n"subcomponents": [${list(1500, '"b"')}]}`,
    ),
    new RegExp(`^3: statements\\[0\\] exceeds the limit of ${limits.advisoryDocumentEventsMax} events`),
  ],
  [
    'a note about everything',
    openvex(
      `{"vulnerability": "CVE-2024-1000", "timestamp": "2024-01-01T00:00:00Z", "status": "fixed", "status_notes": "${'a'.repeat(limits.advisoryNoteCharsMax)}", "products": [${list(3000, '"a"')}]}`,
    ),
    new RegExp(
      `^3: .* exceeds the limit of ${limits.advisoryDocumentNoteCharsMax} characters of notes in one document$`,
    ),
  ],
  [
    'components of components',
    csaf(
      '2.0',
      `"product_tree": {"relationships": [${Array.from({ length: limits.advisoryProductChainMax + 1 }, (_, index) => `{"full_product_name": {"product_id": "${index}"}, "product_reference": "c", "relates_to_product_reference": "${index + 1}"}`).join()}]},\n"vulnerabilities": [{"cve": "CVE-2024-1000", "product_status": {"fixed": ["0"]}}]`,
    ),
    /relationships\[16\] is in a chain of more than 16 relationships$/,
  ],
  [
    'a long name of a package',
    osv(
      `"affected": [{"package": {"ecosystem": "a",\n"name": "${'漢'.repeat(limits.advisoryIndexedNameBytesMax / 3 + 1)}"}}]`,
    ),
    /^5: affected\[0\]\.package\.name has a name of more than 512 bytes$/,
  ],
  [
    'a long name that is part of a package URL',
    openvex(
      `{"vulnerability": "CVE-2024-1000", "timestamp": "2024-01-01T00:00:00Z", "status": "fixed", "products": [\n"pkg:npm/${'a'.repeat(600)}"]}`,
    ),
    /^4: statements\[0\]\.products\[0\] has a name of more than 512 bytes$/,
  ],
  [
    'a long alias',
    osv(
      `"affected": [{"package": {"ecosystem": "a", "name": "b"}}],\n"aliases": ["A-${'漢'.repeat(limits.advisoryAliasBytesMax / 3)}"]`,
    ),
    /^5: aliases\[0\] has a name of more than 256 bytes$/,
  ],
  [
    'a document with a long name',
    openvex('').replace(
      '"@context"',
      `"@id": "${'漢'.repeat(limits.advisoryDocumentIdBytesMax / 3 + 1)}", "@context"`,
    ),
    /^1: @id has a name of more than 512 bytes$/,
  ],
  [
    'names that would be found in too many ways',
    `{"reponame": "a", "packages": [\n${Array.from({ length: 6000 }, (_, index) => `{"pkg": {"name": "${`${index}`.padEnd(500, 'a')}", "secfixes": {"1": ["CVE-2024-1000"]}}}`).join(',\n')}]}`,
    new RegExp(
      `^\\d{3,}: packages\\[\\d+\\]\\.pkg\\.name exceeds the limit of ${limits.advisoryDocumentSuffixBytesMax} bytes in the search index for the names of one document$`,
    ),
  ],
  [
    'many aliases of YAML',
    `a: &a 1\nb: [${list(limits.advisoryYamlAliasesMax + 1, '*a')}]\n`,
    /^2: the document has more than 1000 aliases$/,
  ],
  [
    'aliases of aliases',
    `a: &a [${list(limits.advisoryYamlRepeatedValuesMax / 50, '1')}]\nb: [${list(60, '*a')}]\n`,
    /^1: aliases repeat more than 10000 values/,
  ],
  [
    'remarks about everything',
    csaf(
      '2.0',
      `"vulnerabilities": [{"cve": "CVE-2024-1000", "product_status": {"known_not_affected": [${list(3000, '"a"')}]},
"threats": [${list(limits.advisoryDocumentNamesMax / 2000, '{"category": "impact", "details": "b"}')}]}]`,
    ),
    /exceeds the limit of 4000000 aliases, scores and annotations in one document$/,
  ],
  [
    'aliases of everything',
    osv(
      `"aliases": [${list(limits.advisoryAliasesMax, '"A-1"')}],
"affected": [${Array.from({ length: 2100 }, (_, index) => `{"package": {"ecosystem": "a", "name": "b${index}"}}`)}]`,
    ),
    /^1: the document exceeds the limit of 4000000 aliases/,
  ],
  [
    'many scores',
    osv(`"severity": [${list(limits.advisoryScoresMax + 1, '{"type": "CVSS_V2", "score": "a"}')}]`),
    /^4: severity\[100\] exceeds the limit of 100 scores$/,
  ],
  [
    'many scores of one package',
    osv(
      `"affected": [${Array.from({ length: limits.advisoryScoresMax + 1 }, (_, index) => `{"package": {"ecosystem": "e${index}", "name": "a"}, "severity": [{"type": "CVSS_V2", "score": "${index}"}]}`)}]`,
    ),
    /^4: affected\[100\] exceeds the limit of 100 scores of a$/,
  ],
  [
    'too many lexical elements of YAML',
    `a:\n  [${list(limits.advisoryYamlLexemesMax / 2, 'b')}]`,
    /^2: the document has more than 1000000 lexical elements/,
  ],
  [
    'too much YAML',
    `a: ${'b'.repeat(limits.advisoryYamlCharsMax)}`,
    /^0: the document is YAML of more than 8388608 characters/,
  ],
]

for (const [what, content, reason, format = ''] of rejections) {
  test(`rejects ${what}`, () => assert.match(rejectionOf(content, format), reason))
}

test('accepts a byte order mark, CRLF line ends, and aliases with little repetition', () => {
  const text = `\ufeffid: &id DSA-1-1\r\nmodified: "2024-01-01T00:00:00Z"\r\naliases: [*id]\r\n`
  assert.equal(rejectionOf(text), 'taken')
  assert.equal(rejectionOf(osv('"a": [1.10, 1e3, -0.5, 9007199254740991, 0.1, 123456.7890]')), 'taken')
})

test('reports no more paths than the limit, however many names there are', () => {
  const names = Array.from({ length: 1000 }, (_, index) => `"name${index}": "a"`).join()
  const result = readDocument('made', '', Buffer.from(osv(`"database_specific": {${names}}`)))
  assert.ok('document' in result)
  assert.equal(result.document.unmapped.length, limits.advisoryUnmappedPathsMax + 1)
  assert.deepEqual(result.document.unmapped.at(-1), {
    path: '(other paths)',
    count: 1000 - limits.advisoryUnmappedPathsMax,
  })
})

const SIZE = 5_000_000
const repeat = (text: string) => text.repeat(SIZE / text.length)
const floods: Readonly<Record<string, string>> = {
  'open lists': repeat('['),
  'open lists of YAML': `a: ${repeat('[')}`,
  'open entries': repeat('- '),
  'open names': repeat('? '),
  'open objects': repeat('{"a":'),
  'anchors of themselves': repeat('a: &a [*a]\n'),
  'different anchors': Array.from({ length: SIZE / 20 }, (_, index) => `a${index}: &a [*a]`).join('\n'),
  'one long line': repeat('x'),
  'one long value': `a: ${repeat('x ')}`,
  'a text without an end': `a: "${repeat('x')}`,
  'a JSON text without an end': `{"a": "${repeat('x')}`,
  escapes: `a: "${repeat('\\n')}"`,
  'errors, less than are counted': `a: ${'[]'.repeat(400_000)}`,
  directives: repeat('%a\n'),
  'tags, less than are counted': '!a '.repeat(400_000),
  names: Array.from({ length: 200_000 }, (_, index) => `k${index}: v`).join('\n'),
  'blank lines': repeat('\n'),
}

test('the worst case takes seconds, and is only rejected', () => {
  for (const [what, text] of Object.entries(floods)) {
    // Of this process: other work on the machine does not count.
    const before = process.cpuUsage()
    assert.notEqual(rejectionOf(text), 'taken', what)
    const { user, system } = process.cpuUsage(before)
    const seconds = (user + system) / 1e6
    assert.ok(seconds < 10, `${what} takes ${seconds.toFixed(1)} s`)
  }
})

test('accepts the same JSON as JSON.parse, except numbers that lose digits and duplicate names', () => {
  const piece = fc.constantFrom(
    ...[
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"a"',
      '"b"',
      '"\\u00e9"',
      '"\\x"',
      '"\\ud83d"',
      '1',
      '-',
      '0',
      '.5',
      '01',
      'e1',
      '1E+2',
    ],
    ...[
      'true',
      'null',
      'nul',
      ' ',
      '\n',
      '\t',
      '\r',
      '\f',
      '\u00a0',
      '\ufeff',
      '//',
      '/**/',
      "'a'",
      '+1',
      'NaN',
      '\u2028',
      '"\t"',
      '"',
    ],
  )
  const almost = fc.tuple(fc.json(), fc.nat(), fc.nat(3), piece).map(([json, at, cut, put]) => {
    const index = at % (json.length + 1)
    return json.slice(0, index) + put + json.slice(index + cut)
  })
  const text = fc.oneof(
    fc.json(),
    almost,
    fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join('')),
  )
  fc.assert(
    fc.property(text, (json) => {
      let strict = true
      try {
        JSON.parse(json)
      } catch {
        strict = false
      }
      let reason = ''
      try {
        parseJson(json)
      } catch (error) {
        reason = (error as Error).message
      }
      const isOurs = /lose digits|occurs twice|__proto__|without U\+0000/.test(reason)
      assert.ok(isOurs || strict === (reason === ''), `${JSON.stringify(json)}: ${reason || 'taken'}`)
    }),
    { numRuns: 3000 },
  )
})

test('returns a document or a reason for any content', () => {
  const words = fc.constantFrom(
    ...[
      'id',
      'modified',
      'affected',
      'package',
      'ranges',
      'events',
      'fixed',
      'severity',
      'statements',
      'products',
      'status',
    ],
    ...[
      'document',
      'vulnerabilities',
      'product_tree',
      'advisories',
      'schema-version',
      'packages',
      'pkg',
      'secfixes',
      'name',
      'type',
    ],
    ...[
      'vulnerability',
      'timestamp',
      'reponame',
      'aliases',
      'data',
      '@id',
      'tracking',
      'publisher',
      'csaf_version',
      'branches',
    ],
  )
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 5, depthIdentifier: 'tree' },
      fc.constantFrom(
        ...['2', '2.0', '2024-01-01T00:00:00Z', 'CVE-2024-1000', 'fixed', 'detection', '', null, 1, true],
      ),
      fc.dictionary(words, tie('tree'), { maxKeys: 6 }),
      fc.array(tie('tree'), { maxLength: 3 }),
    ),
  }))
  const formats = ['', 'wolfi', 'osv', 'secdb', 'openvex', 'csaf', 'kev', 'epss'] as const
  fc.assert(
    fc.property(
      fc.oneof(
        tree.map((value) => Buffer.from(JSON.stringify(value))),
        fc.uint8Array(),
      ),
      (content) => {
        for (const format of formats) {
          const result = readDocument('made', format, content)
          if ('rejection' in result) assert.match(result.rejection.reason, /\S/)
        }
      },
    ),
    { numRuns: 2000 },
  )
})
