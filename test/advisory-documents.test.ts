import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { test } from 'node:test'
import type { EventRecord, Format, ParsedDocument } from '@berth/advisory-formats/advisory-record.ts'
import { parse } from 'yaml'
import {
  corpora,
  type DocumentCorpus,
  documentsIn,
  eventKinds,
  readOrThrow,
} from './support/advisories/advisory-documents.ts'

/** What is read of the real documents: how much of each kind, and that nothing in them goes missing without a word. */

/** Everything is read once. */
const documents = corpora.flatMap((collection) =>
  documentsIn(collection).map((file) => ({
    ...file,
    collection,
    document: readOrThrow(file.path, file.content),
  })),
)
const read = (collection: DocumentCorpus, folder = '') =>
  documents.filter(({ collection: its, path }) => its === collection && path.startsWith(folder))

interface Counts {
  readonly documents: number
  readonly advisories: number
  readonly events: Readonly<Record<string, number>>
  readonly repeated?: number
  readonly scores?: number
  /** Vulnerabilities of which a document states the kinds of weaknesses. */
  readonly cwes?: number
  readonly withdrawn?: number
}

function countsOf(read: readonly ParsedDocument[]): Required<Counts> {
  const advisories = read.flatMap((document) => document.advisories)
  const repeated = read.flatMap(({ unmapped }) => unmapped.filter(({ path }) => path.endsWith(' (repeated)')))
  return {
    documents: read.length,
    advisories: advisories.length,
    events: eventKinds(advisories),
    repeated: repeated.reduce((sum, { count }) => sum + count, 0),
    scores: read.flatMap(({ scores }) => scores.filter(({ severities }) => severities.length > 0)).length,
    cwes: read.flatMap(({ scores }) => scores.filter(({ cwes }) => cwes.length > 0)).length,
    withdrawn: advisories.filter(({ withdrawnMs }) => withdrawnMs !== undefined).length,
  }
}

const NONE = { repeated: 0, scores: 0, cwes: 0, withdrawn: 0 }

/** The READMEs of the collection count events before equal ones are one: 13,083 of the current documents are 12,703 and 380. */
const wholeCounts: Readonly<Record<string, Counts>> = {
  'wolfi/current': {
    documents: 480,
    advisories: 8000,
    events: {
      'detection/scanv1': 5074,
      'detection/nvdapi': 21,
      'detection/manual': 19,
      fixed: 5866,
      falsePositiveDetermination: 816,
      fixNotPlanned: 643 - 380,
      pendingUpstreamFix: 602,
      truePositiveDetermination: 42,
    },
    repeated: 380,
  },
  'wolfi/earlier/2024-01-cve-ids': {
    documents: 20,
    advisories: 123,
    events: {
      'detection/manual': 4,
      'detection/scanv1': 10,
      fixed: 60,
      falsePositiveDetermination: 50,
      fixNotPlanned: 1,
      pendingUpstreamFix: 1,
      truePositiveDetermination: 3,
    },
  },
  osv: {
    documents: 327,
    advisories: 478,
    events: { 'detection/manual': 478, fixed: 558 },
    scores: 339,
    cwes: 57,
    withdrawn: 24,
  },
  secdb: {
    documents: 2,
    advisories: 12_395 + 59,
    events: { fixed: 10_912, falsePositiveDetermination: 1542 },
  },
  csaf: {
    documents: 6,
    advisories: 228,
    events: { truePositiveDetermination: 51, falsePositiveDetermination: 176, fixed: 1 },
    cwes: 3,
  },
}

/** Folders that are in the repository as they are. */
const completeCounts: Readonly<Record<string, Counts>> = {
  'wolfi/earlier/2023-07-format-v1': {
    documents: 8,
    advisories: 40,
    events: {
      fixed: 22,
      'detection/manual': 7,
      truePositiveDetermination: 2,
      falsePositiveDetermination: 15,
    },
  },
  'wolfi/schema-fixtures': {
    documents: 2,
    advisories: 2,
    events: {
      'detection/manual': 1,
      'detection/nvdapi': 1,
      'detection/scanv1': 1,
      truePositiveDetermination: 1,
      falsePositiveDetermination: 8,
      fixed: 1,
      analysisNotPlanned: 1,
      fixNotPlanned: 1,
      pendingUpstreamFix: 1,
    },
  },
  // 157 statements, some about several products.
  openvex: {
    documents: 19,
    advisories: 162,
    events: {
      fixed: 13,
      falsePositiveDetermination: 144,
      'detection/manual': 7,
      truePositiveDetermination: 1,
    },
  },
}

const chosenCounts: Readonly<Record<string, Counts>> = {
  'wolfi/current': {
    documents: 17,
    advisories: 104,
    events: {
      'detection/scanv1': 72,
      'detection/nvdapi': 3,
      fixed: 93,
      falsePositiveDetermination: 2,
      fixNotPlanned: 3,
      pendingUpstreamFix: 1,
      truePositiveDetermination: 1,
    },
    repeated: 37,
  },
  osv: {
    documents: 25,
    advisories: 30,
    events: { 'detection/manual': 30, fixed: 30 },
    scores: 18,
    cwes: 3,
    withdrawn: 2,
  },
  secdb: { documents: 1, advisories: 59, events: { fixed: 53, falsePositiveDetermination: 6 } },
  csaf: {
    documents: 4,
    advisories: 14,
    events: { truePositiveDetermination: 2, falsePositiveDetermination: 11, fixed: 1 },
    cwes: 1,
  },
}

for (const collection of corpora) {
  const counts = { ...(collection.isComplete ? wholeCounts : chosenCounts), ...completeCounts }
  for (const [folder, expected] of Object.entries(counts)) {
    test(`reads all of ${collection.root}/${folder}`, () => {
      assert.deepEqual(countsOf(read(collection, `${folder}/`).map(({ document }) => document)), {
        ...NONE,
        ...expected,
      })
    })
  }
}

/** What each format has that the records have in another form: kinds, times, and what defines how the rest is read. */
const understood: Readonly<Record<Format, RegExp>> = {
  wolfi:
    /^(schema-version|advisories\[\]\.events\[\]\.(type|timestamp|data\.type)|advisories\.\*\[\]\.(status|timestamp|justification))$/,
  osv: /^(schema_version|modified|published|withdrawn|affected\[\]\.ranges\[\]\.type|(affected\[\]\.)?severity\[\]\.type)$/,
  kev: /^(catalogVersion|count|dateReleased)$/,
  epss: /^$/,
  secdb: /^(urlprefix|reponame|distroversion)$/,
  openvex:
    /^(@context|timestamp|last_updated|statements\[\]\.(status|justification|timestamp)|statements\[\]\.products\[\](\.subcomponents\[\])?\.identifiers\.purl)$/,
  csaf: new RegExp(
    [
      String.raw`^document\.(category|csaf_version|tracking\.(current|initial)_release_date)$`,
      String.raw`^product_tree\.relationships\[\]\.(product_reference|relates_to_product_reference|full_product_name\.product_id)$`,
      String.raw`^product_tree\.(branches\[\]\.)+product\.product_id$`,
      String.raw`^vulnerabilities\[\]\.cwe\.name$`,
      String.raw`^vulnerabilities\[\]\.(product_status\.\w+\[\]|flags\[\]\.(date|label)|(threats|remediations)\[\]\.(category|date))$`,
      String.raw`^vulnerabilities\[\]\.((flags|threats|remediations)\[\]\.product_ids|scores\[\]\.products)\[\]$`,
    ].join('|'),
  ),
}

/** What each format has that the records have as it is. Every other path must be reported as unmapped, as often as it is there. */
const carried: Readonly<Record<Format, RegExp>> = {
  wolfi:
    /^(package\.name|advisories\[\]\.(id|aliases\[\]|events\[\]\.data\.(note|fixed-version|data\.\w+))|advisories\.\*\[\]\.(fixed-version|impact|action))$/,
  osv: /^(id|aliases\[\]|upstream\[\]|affected\[\]\.(package\.\w+|ranges\[\]\.(repo|events\[\]\.fixed))|(affected\[\]\.)?severity\[\]\.score|database_specific\.(cwe_ids\[\]|cwes\[\]\.cweId))$/,
  kev: /^title$/,
  epss: /^$/,
  secdb: /^(archs\[\]|packages\[\]\.pkg\.(name|secfixes\.\*\[\]))$/,
  openvex:
    /^(@id|author|statements\[\]\.(vulnerability(\.name|\.aliases\[\])?|impact_statement|action_statement|status_notes|products\[\](\.@id|\.subcomponents\[\]\.@id)?))$/,
  csaf: /^(document\.(publisher\.(name|namespace)|tracking\.id)|product_tree\.(branches\[\]\.)+product\.(name|product_identification_helper\.(purl|cpe))|vulnerabilities\[\]\.(cve|cwe\.id|(threats|remediations)\[\]\.details|scores\[\]\.cvss_v3\.vectorString))$/,
}

for (const collection of corpora) {
  test(`accounts for every value in ${collection.root}`, () => {
    for (const { path: file, content, document } of read(collection)) {
      const unmapped = new Map(document.unmapped.map(({ path, count }) => [path, count]))
      const records = JSON.stringify([document.id, document.advisories, document.scores])
      const known = new Set(records.match(/"(?:[^"\\]|\\.)*"/g))
      const isThere = (text: string) =>
        known.has(JSON.stringify(text)) || records.includes(JSON.stringify(text).slice(1, -1))
      for (const [path, texts] of leavesOf(JSON.parse(JSON.stringify(parsed(file, content))))) {
        const count = unmapped.get(path) ?? 0
        if (carried[document.format].test(path)) {
          const lost = texts.filter((text) => !isThere(text))
          assert.ok(lost.length <= count, `${file}: ${path} lost ${lost[0]}`)
        } else if (!understood[document.format].test(path)) {
          assert.equal(count, texts.length, `${file}: ${path}`)
        }
      }
    }
  })
}

function parsed(file: string, content: Buffer): unknown {
  const text = content.toString()
  // Every scalar of YAML as text; those that mean nothing as such.
  return file.endsWith('.json')
    ? JSON.parse(text)
    : JSON.parse(JSON.stringify(parse(text, { schema: 'failsafe' })).replaceAll(':"null"', ':null'))
}

/** The texts at each path, without what says nothing. */
function leavesOf(root: unknown): Map<string, string[]> {
  const found = new Map<string, string[]>()
  const walk = (value: unknown, path: string, name: string) => {
    if (value === null || value === '') return
    if (Array.isArray(value)) {
      for (const item of value) walk(item, `${path}[]`, name)
    } else if (typeof value === 'object') {
      const isDictionary = name === 'secfixes' || path === 'advisories'
      for (const [key, inner] of Object.entries(value)) {
        const step = isDictionary ? '*' : key
        walk(inner, path === '' ? step : `${path}.${step}`, key)
      }
    } else {
      found.set(path, [...(found.get(path) ?? []), String(value)])
    }
  }
  walk(root, '', '')
  return found
}

for (const collection of corpora) {
  test(`reads the same from ${collection.root} each time, as plain data, under keys of its own`, () => {
    for (const { path, content, document } of read(collection)) {
      assert.deepEqual(structuredClone(document), document, path)
      assert.deepEqual(readOrThrow(`elsewhere/${basename(path)}`, content, document.format), document, path)
      const keys = document.advisories.map(({ key }) => key)
      assert.equal(new Set(keys).size, keys.length, path)
      assert.ok(keys.every((key) => key.startsWith(`${document.format}:`)))
      for (const { events } of document.advisories) {
        const times = events.map(({ timeMs }) => timeMs)
        assert.deepEqual(
          times.toSorted((a, b) => a - b),
          times,
          path,
        )
      }
    }
  })
}

for (const collection of corpora.filter(({ isComplete: isWhole }) => isWhole)) {
  test('the database that was derived from the current documents says the same as they do', () => {
    const fixes = read(collection, 'secdb/wolfi-security-derived')
      .flatMap(({ document }) => document.advisories)
      .flatMap(({ artifactName, aliases, events }) =>
        events.map(({ type }) => `${artifactName} ${aliases[0]} ${outcome(type)}`),
      )
    assert.equal(fixes.length, 12_395)
    const expected = read(collection, 'wolfi/current/').flatMap(({ document: { id, advisories } }) =>
      advisories.flatMap(({ aliases, events }) => {
        const last = outcome(events.at(-1)?.type)
        return last === undefined ? [] : aliases.map((alias) => `${id} ${alias} ${last}`)
      }),
    )
    assert.deepEqual(fixes.sort(), [...new Set(expected)].sort())
  })
}

/** What a security database says of the last event; undefined for nothing. */
function outcome(type: EventRecord['type'] | undefined): string | undefined {
  if (type?.case === 'fixed') return type.value.fixedVersion
  return type?.case === 'falsePositiveDetermination' ? 'never' : undefined
}

test('the chosen documents are few, and the README of each says where it is from', () => {
  const files = documents.filter(({ collection }) => !collection.isComplete)
  const bytes = files.reduce((sum, { content }) => sum + content.length, 0)
  assert.ok(bytes < 400_000, `${bytes} bytes`)
  const sources = [...readFileSync('test/advisories/README.md', 'utf8').matchAll(/`([^`*]+)\*?`/g)].map(
    ([, start = '']) => start,
  )
  const unnamed = files.filter(({ path }) => !sources.some((source) => path.startsWith(source)))
  assert.deepEqual(
    unnamed.map(({ path }) => path),
    [],
  )
})
