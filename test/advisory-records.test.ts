import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatLimits } from '@berth/advisory-formats/limits.ts'
import { readOrThrow } from './support/advisories/advisory-documents.ts'

/** What documents say about vulnerabilities, as searches find it. */

const {
  advisoryRecordsMax,
  advisoryRecordSummaryCharsMax,
  advisoryRecordTextCharsMax,
  advisoryRecordAliasesMax,
  advisoryRecordPackagesMax,
  advisoryRecordsCharsMax,
} = formatLimits

const affected = (name: string) => ({
  package: { ecosystem: 'npm', name },
  ranges: [{ type: 'SEMVER', events: [{ introduced: '0' }, { fixed: '2.0.0' }] }],
})

function osv(more: object) {
  const record = {
    id: 'GHSA-2222-3333-4444',
    modified: '2024-01-02T00:00:00Z',
    affected: [affected('a')],
    ...more,
  }
  return readOrThrow('osv.json', JSON.stringify(record)).records
}

test('a record names the vulnerability by its CVE ID; each CVE of an advisory is a vulnerability', () => {
  const [one, ...rest] = osv({ aliases: ['CVE-2024-0001', 'PYSEC-2024-1'], summary: 'x' })
  assert.deepEqual(
    [one?.id, one?.aliases, rest],
    ['CVE-2024-0001', ['GHSA-2222-3333-4444', 'PYSEC-2024-1'], []],
  )
  const both = osv({ aliases: ['CVE-2024-0001', 'CVE-2024-0002'], summary: 'x' })
  assert.deepEqual(
    both.map(({ id, aliases }) => [id, aliases]),
    [
      ['CVE-2024-0001', ['GHSA-2222-3333-4444']],
      ['CVE-2024-0002', ['GHSA-2222-3333-4444']],
    ],
  )
  assert.deepEqual(
    osv({ summary: 'x' }).map(({ id }) => id),
    ['GHSA-2222-3333-4444'],
  )
})

test('a document that says nothing in words, scores or weaknesses has no record, and neither has a withdrawn one', () => {
  assert.deepEqual(osv({}), [])
  assert.deepEqual(osv({ summary: ' \n ' }), [])
  assert.deepEqual(osv({ summary: 'x', withdrawn: '2024-01-02T00:00:00Z' }), [])
  const vector = 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H'
  const [scored] = osv({ severity: [{ type: 'CVSS_V3', score: vector }] })
  assert.deepEqual([scored?.severity, scored?.score, scored?.summary], ['critical', 9.8, ''])
  const [weak] = osv({ database_specific: { cwes: [{ cweId: 'CWE-79' }, { cweId: 'CWE-79' }] } })
  assert.deepEqual([weak?.severity, weak?.score, weak?.cwes], ['unknown', undefined, ['CWE-79']])
})

test('texts are one line, and notes of events are among them', () => {
  const [record] = osv({ summary: 'One\ntwo', details: '# Impact\r\n\r\n\tThree\u0007four' })
  assert.deepEqual([record?.summary, record?.text], ['One two', '# Impact Three four'])
  const wolfi = readOrThrow(
    'git.advisories.yaml',
    `schema-version: 2.0.2
package:
  name: git
advisories:
  - id: CGA-2222-3333-4444
    aliases:
      - CVE-2024-0003
    events:
      - timestamp: 2024-01-02T03:04:05Z
        type: false-positive-determination
        data:
          type: vulnerable-code-not-in-execution-path
          note: The parser is never
            called.
`,
  ).records
  assert.deepEqual(
    wolfi.map(({ id, text, packages, modifiedMs }) => [id, text, packages, modifiedMs]),
    [['CVE-2024-0003', 'The parser is never called.', ['git'], Date.parse('2024-01-02T03:04:05Z')]],
  )
})

test('of long texts and lists, the start is kept', () => {
  const aliases = Array.from({ length: advisoryRecordAliasesMax + 1 }, (_, at) => `X-${at + 100}`)
  const packages = Array.from({ length: advisoryRecordPackagesMax + 1 }, (_, at) => affected(`p${at + 100}`))
  const [record] = osv({
    aliases,
    affected: packages,
    // The limit is inside of a character of two code units.
    summary: `${'s'.repeat(advisoryRecordSummaryCharsMax - 1)}😀`,
    details: 'd'.repeat(advisoryRecordTextCharsMax + 1),
  })
  assert.equal(record?.aliases.length, advisoryRecordAliasesMax)
  assert.equal(record?.packages.length, advisoryRecordPackagesMax)
  assert.equal(record?.text.length, advisoryRecordTextCharsMax)
  assert.equal(record?.summary.length, advisoryRecordSummaryCharsMax)
  assert.ok(record?.summary.isWellFormed())
})

test('a document about many vulnerabilities has records of the first', () => {
  const ids = Array.from({ length: advisoryRecordsMax + 1 }, (_, at) => `CVE-2024-${at + 10_000}`)
  const vex = {
    '@context': 'https://openvex.dev/ns/v0.2.0',
    '@id': 'https://example.com/1',
    author: 'Example',
    timestamp: '2024-02-01T00:00:00Z',
    version: 1,
    statements: ids.map((name) => ({
      vulnerability: { name },
      products: [{ '@id': 'pkg:npm/a@1.0.0' }],
      status: 'not_affected',
      impact_statement: 'not reachable',
    })),
  }
  const { records } = readOrThrow('vex.json', JSON.stringify(vex))
  assert.equal(records.length, advisoryRecordsMax)
  assert.equal(records[0]?.id, ids[0])
})

test('an advisory about many CVEs has records until their texts are as long as the limit', () => {
  const aliases = Array.from({ length: 1999 }, (_, at) => `CVE-2024-${at + 10_000}`)
  const records = osv({ aliases, details: 'd'.repeat(1_000_000), summary: 's' })
  const chars = records.reduce((sum, { text, summary }) => sum + text.length + summary.length, 0)
  assert.ok(records.length > 1000 && chars <= advisoryRecordsCharsMax, `${records.length} ${chars}`)
})

test('a record that affects nothing has what it says, and a CSAF document may name a CVE twice', () => {
  const [alone] = osv({ aliases: ['CVE-2024-0001'], affected: [], summary: 'x' })
  assert.deepEqual([alone?.id, alone?.aliases], ['CVE-2024-0001', ['GHSA-2222-3333-4444']])
  const entry = (id: string, cwe: string) => ({
    cve: 'CVE-2024-0004',
    title: `about ${id}`,
    cwe: { id: cwe, name: 'x' },
    product_status: { known_affected: [id] },
  })
  const product = (id: string) => ({
    category: 'product_version',
    name: id,
    product: { name: id, product_id: id },
  })
  const csaf = {
    document: {
      category: 'csaf_vex',
      csaf_version: '2.0',
      publisher: { name: 'Example', namespace: 'https://example.com' },
      tracking: {
        id: 'EX-1',
        initial_release_date: '2024-03-01T00:00:00Z',
        current_release_date: '2024-03-02T00:00:00Z',
      },
    },
    product_tree: { branches: [product('a-1'), product('b-1')] },
    vulnerabilities: [entry('a-1', 'CWE-79'), entry('b-1', 'CWE-80')],
  }
  const { records, scores } = readOrThrow('csaf.json', JSON.stringify(csaf))
  assert.deepEqual(
    records.map(({ id, summary, cwes }) => [id, summary, cwes]),
    [['CVE-2024-0004', 'about a-1', ['CWE-79', 'CWE-80']]],
  )
  assert.deepEqual(scores, [
    { alias: 'CVE-2024-0004', component: '', severities: [], cwes: ['CWE-79', 'CWE-80'] },
  ])
})
