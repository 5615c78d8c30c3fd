import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AdvisoryRecord } from '@berth/advisory-formats/advisory-record.ts'
import { osvRecord } from '@berth/advisory-formats/osv/write-osv.ts'
import { defaultPublicationSettings } from '@berth/advisory-formats/publishing/publication-settings.ts'
import { toPublishedAdvisory } from '@berth/server/advisories/publish/published-row.ts'
import { hashRecord, toAdvisoryRow } from '@berth/server/advisories/storage/stored-advisory.ts'
import type { Uid } from '@berth/server/api/uid.ts'
import { parse } from 'yaml'
import { corpora, documentsIn, readOrThrow, rejectionOf } from './support/advisories/advisory-documents.ts'
import { formatProblems } from './support/advisories/format-schemas.ts'

/** OSV extensions are published unchanged. */

// biome-ignore lint/suspicious/noExplicitAny: JSON of OSV records.
type Json = any

const { distribution } = defaultPublicationSettings

function published(one: AdvisoryRecord): Json {
  const uid = `${'0'.repeat(40)}/${'1'.repeat(16)}` as Uid
  const row = toAdvisoryRow(uid, one, hashRecord(one), { now: 0, before: undefined })
  return osvRecord(
    [toPublishedAdvisory(one.withdrawnMs === undefined ? row : { ...row, deleted_ms: one.withdrawnMs })],
    distribution,
  )
}

const publishedOf = (name: string, text: string | Uint8Array): Json[] =>
  readOrThrow(name, text, 'osv').advisories.map(published)

/** Everything that scanners match by, each fact once: package, range or version. */
function matched(records: readonly Json[]): string[] {
  const facts = records.flatMap(({ affected = [] }) =>
    affected.flatMap((entry: Json) => {
      const of = entry.package ? [entry.package.ecosystem, entry.package.name] : []
      return [
        ...(entry.ranges ?? []).map(({ type, repo, events, database_specific, ...rest }: Json) =>
          JSON.stringify([of, type, repo, events, database_specific, rest]),
        ),
        ...(entry.versions ?? []).map((version: string) => JSON.stringify([of, version])),
      ]
    }),
  )
  return [...new Set(facts)].sort()
}

for (const collection of corpora) {
  test(`OSV records of ${collection.root} affect what they affected`, () => {
    let ranges = 0
    for (const { path, content } of documentsIn(collection, 'osv')) {
      const source: Json = path.endsWith('.json')
        ? JSON.parse(content.toString())
        : parse(content.toString(), (_, value) => (value === 'null' ? null : value), {
            schema: 'failsafe',
          })
      const first = publishedOf(path, content)
      // Of no package and no repository nothing is known that is affected.
      if (first.length === 0) continue
      assert.deepEqual(matched(first), matched([source]), path)
      ranges += matched(first).length
      for (const record of first) {
        const of = `${path} ${record.id}`
        assert.equal(formatProblems('osv', record), '', of)
        for (const name of ['summary', 'details', 'references', 'credits', 'related', 'database_specific'])
          if (source[name] != null && source[name].length !== 0)
            assert.deepEqual(record[name], source[name], `${of} ${name}`)
        const ids = (one: Json) => new Set([...(one.aliases ?? []), ...(one.upstream ?? [])])
        assert.deepEqual(ids(record), ids(source).add(source.id), of)
        const named = ({ package: of }: Json) => of?.name === record.affected[0].package?.name
        const specific = (source.affected as Json[]).filter(named)
        for (const [at, { ecosystem_specific: own, database_specific: more = {} }] of specific.entries()) {
          if (record.affected[0].package === undefined) continue
          assert.deepEqual(record.affected[at].ecosystem_specific ?? null, own ?? null, of)
          const {
            advisory: _,
            origin: __,
            product: ___,
            componentProduct: ____,
            ...rest
          } = record.affected[at].database_specific ?? {}
          assert.deepEqual(rest, more ?? {}, of)
        }
        const again = publishedOf('again.json', JSON.stringify(record))
        assert.deepEqual(
          again.map((each) => JSON.stringify(each)),
          [JSON.stringify(record)],
          of,
        )
      }
    }
    assert.ok(ranges > 100, String(ranges))
  })
}

const example = (affected: readonly Json[], more: object = {}) =>
  JSON.stringify({ id: 'HSEC-2025-1', modified: '2025-01-02T00:00:00Z', affected, ...more })
const pkg = { ecosystem: 'Hackage', name: 'ghc' }

test('a range starts where its record says', () => {
  const ranges = [
    { type: 'ECOSYSTEM', events: [{ introduced: '9.12.1' }, { fixed: '9.12.2' }] },
    { type: 'ECOSYSTEM', events: [{ introduced: '9.12.3' }, { last_affected: '9.12.4' }] },
  ]
  const [record] = publishedOf('a.json', example([{ package: pkg, ranges, versions: ['1.0'] }]))
  assert.deepEqual(record.affected[0].ranges, ranges)
  assert.deepEqual(record.affected[0].versions, ['1.0'])
})

test('invalid OSV values are not published, and the rest affects no more for it', () => {
  const [record] = publishedOf(
    'a.json',
    example(
      [
        {
          package: pkg,
          versions: ['1.0', 2],
          ranges: [
            { type: 'OTHER', events: [{ introduced: '1' }] },
            { type: 'SEMVER', events: [{ introduced: '1', fixed: '2' }, { limit: null }] },
            { type: 'GIT', events: [{ introduced: '1' }] },
            { type: 'SEMVER', events: [{ fixed: '3' }] },
          ],
          ecosystem_specific: null,
          database_specific: { advisory: 'x', origin: 'y', cwe: 1.5 },
        },
      ],
      {
        references: [{ type: 'NEW', url: 'https://a.example' }, { type: 'WEB', url: 'no' }, { type: 'WEB' }],
        credits: [{ name: 'Ada', type: 'CHEF', contact: ['mailto:a@b.example', 1] }, { type: 'TOOL' }],
        severity: [
          { type: 'Ubuntu', score: 'high' },
          { type: 'GUESS', score: '1' },
        ],
        related: ['CVE-1', 2],
      },
    ),
  )
  assert.equal(formatProblems('osv', record), '')
  const [{ ranges, versions, ecosystem_specific, database_specific }] = record.affected
  assert.deepEqual(ranges, [{ type: 'SEMVER', events: [{ introduced: '1' }, { fixed: '2' }] }])
  assert.deepEqual(versions, ['1.0'])
  assert.equal(ecosystem_specific, undefined)
  assert.equal(database_specific.cwe, 1.5)
  assert.equal(typeof database_specific.advisory, 'object')
  assert.deepEqual(record.references, [{ type: 'WEB', url: 'https://a.example' }])
  assert.deepEqual(record.credits, [{ name: 'Ada', contact: ['mailto:a@b.example'] }])
  assert.deepEqual(record.severity, [{ type: 'Ubuntu', score: 'high' }])
  assert.deepEqual(record.related, ['CVE-1'])
})

test('the extension that all advisories of a record repeat is limited', () => {
  const packages = Array.from({ length: 100 }, (_, at) => ({
    package: { ...pkg, name: `p${at}` },
    versions: ['1'],
  }))
  // limits.advisoryExtensionCharsMax
  const details = 'x'.repeat(1024 * 1024)
  const long = publishedOf('a.json', example(packages, { details, summary: 'long' }))
  assert.equal(long.length, 100)
  assert.deepEqual([long[0].details, long[0].summary], [undefined, 'long'])
  assert.deepEqual(long[0].affected[0].versions, ['1'])
  assert.equal(publishedOf('b.json', example(packages.slice(0, 2), { details }))[0].details, details)
  const versions = Array.from({ length: 60_000 }, (_, at) => `${at}`.repeat(20))
  assert.match(
    rejectionOf(example([{ package: pkg, versions }]), 'osv'),
    /affected\[0\] has more than 4194304 characters about one package/,
  )
})
