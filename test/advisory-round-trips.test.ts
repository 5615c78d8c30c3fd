import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { AdvisoryRecord, Format } from '@berth/advisory-formats/advisory-record.ts'
import { osvRecord } from '@berth/advisory-formats/osv/write-osv.ts'
import { defaultPublicationSettings } from '@berth/advisory-formats/publishing/publication-settings.ts'
import { type PublishedAdvisory, packageOf } from '@berth/advisory-formats/publishing/published-advisory.ts'
import { readDocument } from '@berth/advisory-formats/read-document.ts'
import { secdbEntry, secdbFooter, secdbHeader } from '@berth/advisory-formats/secdb/write-secdb.ts'
import { hasStatements, openVexDocument } from '@berth/advisory-formats/vex/write-openvex.ts'
import { toPublishedAdvisory } from '@berth/server/advisories/publish/published-row.ts'
import { hashRecord, toAdvisoryRow } from '@berth/server/advisories/storage/stored-advisory.ts'
import type { Uid } from '@berth/server/api/uid.ts'
import fc from 'fast-check'
import {
  corpora,
  type DocumentCorpus,
  documentsIn,
  readOrThrow,
} from './support/advisories/advisory-documents.ts'
import { formatProblems } from './support/advisories/format-schemas.ts'
import { record } from './support/advisories/random-documents.ts'

/** Published content is the same after it is imported and published again, byte for byte. */

const { distribution, secdb } = defaultPublicationSettings
const settings = { ...secdb, urlprefix: 'https://packages.wolfi.dev' }
const NOW = Date.UTC(2025, 4, 7)
let made = 0

function publishedOf(records: readonly AdvisoryRecord[]): PublishedAdvisory[] {
  return records.map((one) => {
    made = (made * 7 + 3) % 16 ** 8
    const uid = `${'0'.repeat(40)}/${made.toString(16).padStart(16, '0')}` as Uid
    const row = toAdvisoryRow(uid, one, hashRecord(one), { now: NOW, before: undefined })
    return toPublishedAdvisory(one.withdrawnMs === undefined ? row : { ...row, deleted_ms: one.withdrawnMs })
  })
}

/** Files by name, as each format publishes them. */
const writers: Readonly<
  Record<'osv' | 'secdb' | 'openvex', (all: readonly PublishedAdvisory[]) => Map<string, string>>
> = {
  osv: (all) =>
    new Map(
      [...Map.groupBy(all, ({ advisory }) => advisory.advisoryId)]
        .map(([id, some]) => [id, JSON.stringify(osvRecord(some, distribution))] as const)
        .sort(),
    ),
  secdb: (all) => {
    const live = all.filter(
      ({ advisory }) => advisory.deleteTime === undefined && advisory.artifactType === 'apk',
    )
    const entries = [...Map.groupBy(live, packageOf)]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([name, some]) => secdbEntry(name, some) ?? [])
    return new Map([['security.json', secdbHeader(settings) + entries.join(',') + secdbFooter]])
  },
  openvex: (all) => {
    const live = all.filter(({ advisory }) => advisory.deleteTime === undefined)
    return new Map(
      [...Map.groupBy(live, ({ advisory }) => advisory.artifactName)]
        .flatMap(([name, some]) => {
          const document = openVexDocument(some, {
            id: `https://berth.example/openvex/${encodeURIComponent(name)}.json`,
            publisher: 'https://berth.example',
            version: 7,
            distribution,
          })
          assert.equal(document !== undefined, hasStatements(some))
          return document === undefined
            ? []
            : [[document['@id'] as string, JSON.stringify(document)] as const]
        })
        .sort(),
    )
  },
}

function roundTrip(format: 'osv' | 'secdb' | 'openvex', records: readonly AdvisoryRecord[]): number {
  const first = writers[format](publishedOf(records))
  for (const [name, text] of first)
    assert.equal(formatProblems(format, JSON.parse(text)), '', `${name}: ${text}`)
  const again = [...first].flatMap(
    ([name, text]) => readOrThrow(name, text, format satisfies Format).advisories,
  )
  const second = writers[format](publishedOf(again))
  for (const [name, text] of first) assertSame(name, second.get(name), text)
  assert.deepEqual([...second.keys()], [...first.keys()])
  return again.length
}

/** Where two long texts begin to differ. */
function assertSame(name: string, actual: string | undefined, expected: string): void {
  if (actual === expected) return
  let at = 0
  while (at < expected.length && actual?.[at] === expected[at]) at++
  const part = (text: string | undefined) => text?.slice(Math.max(0, at - 300), at + 300)
  assert.equal(part(actual), part(expected), `${name} differs at ${at}`)
}

const formats = Object.keys(writers) as (keyof typeof writers)[]

/** Of the whole collection a part: all of it takes minutes on a busy machine. */
const PART = 5

function recordsIn(collection: DocumentCorpus, folder = '.', every = 1): AdvisoryRecord[] {
  const files = documentsIn(collection, folder).filter((_, at) => at % every === 0)
  return files.flatMap(({ path, content }) => {
    const result = readDocument(path, '', content)
    return 'document' in result ? result.document.advisories : []
  })
}

for (const collection of corpora) {
  const { root, isComplete: isWhole } = collection
  for (const format of formats) {
    test(`real advisories of ${root} keep what ${format} carries`, () => {
      const records = recordsIn(collection, '.', isWhole ? PART : 1)
      assert.ok(records.length > 100)
      // A name for people, which CSAF gives to products, is none of an OpenVEX document.
      const kept = format === 'openvex' ? records.filter(({ key }) => !key.startsWith('csaf:')) : records
      assert.ok(roundTrip(format, kept) > 100)
    })
  }

  test(`the security database of ${root} is the one that was derived from the same documents`, () => {
    const source = isWhole ? `${root}/secdb` : 'test/publications'
    const derived = JSON.parse(readFileSync(`${source}/wolfi-security-derived.json`, 'utf8'))
    const [text = ''] = writers.secdb(publishedOf(recordsIn(collection, 'wolfi/current'))).values()
    // What was never affected is `0-r0` there.
    assert.deepEqual(JSON.parse(text.replaceAll('"0":[', '"0-r0":[')), derived)
    assert.ok(derived.packages.length >= (isWhole ? 463 : 16))
  })
}

test('violations of a format are detected', () => {
  const score = { type: 'CVSS_V3', score: '9.8' }
  assert.match(formatProblems('osv', { id: 'EX-1', modified: 'yesterday', severity: [score] }), /pattern/)
  assert.match(
    formatProblems('osv', { id: 'CGA-1', modified: '2025-01-01T00:00:00Z', notes: '' }),
    /additional/,
  )
  assert.match(formatProblems('openvex', { statements: [] }), /fewer than 1/)
  assert.match(formatProblems('secdb', { packages: [{ pkg: { name: '', secfixes: {} } }] }), /fewer than 1/)
})

/** Advisories as readers make them. */
const plausible: fc.Arbitrary<Omit<AdvisoryRecord, 'key'>> = fc
  .record({
    some: record,
    artifact: fc.constantFrom(
      { artifactName: 'git', artifactType: 'apk', product: '' },
      { artifactName: 'git', artifactType: 'apk', product: 'pkg:apk/wolfi/git@2.39.0-r1?arch=armv7' },
      { artifactName: 'golang.org/x/net', artifactType: 'golang', product: '' },
      { artifactName: '@babel/core', artifactType: 'npm', product: 'pkg:npm/%40babel/core@1.0.0' },
      { artifactName: 'An app, 50% done/50% not', artifactType: '', product: '' },
      {
        artifactName: 'index',
        artifactType: 'oci',
        product: 'pkg:oci/index@sha256%3Aabc?repository_url=ghcr.io',
      },
      { artifactName: 'cpe:/o:acme:os:5', artifactType: 'operating-system', product: '' },
    ),
    aliases: fc.uniqueArray(
      fc.constantFrom('CVE-2024-1111', 'GHSA-2222-3333-4444', 'GO-2024-1234', 'XSA-12'),
      {
        maxLength: 3,
      },
    ),
    legacyAdvisoryId: fc.constantFrom('', 'CVE-2024-1111', 'CGA-2222-3333-4444'),
    componentName: fc.constantFrom('', 'golang.org/x/net', 'org.acme:tool', 'log4j', 'stdlib'),
    componentType: fc.constantFrom('', 'go-module', 'java-archive', 'npm', 'binary'),
  })
  .map(({ some, artifact, ...rest }) => ({
    ...some,
    ...artifact,
    ...rest,
    artifactArchitecture: '',
    componentLocation: '',
  }))

for (const format of formats) {
  test(`any advisories keep what ${format} carries`, () => {
    fc.assert(
      fc.property(fc.array(plausible, { maxLength: 8 }), (records) => {
        roundTrip(
          format,
          records.map((one, at) => ({ ...one, key: `wolfi:any:${at}` })),
        )
      }),
    )
  })
}
