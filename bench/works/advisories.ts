import { documentOf } from '../advisories/documents.ts'
import { documentsFor, nameOf } from '../advisories/load.ts'
import { yamlOf } from '../advisories/yaml.ts'
import type { Bench, Result } from '../bench.ts'
import type { Child } from '../child.ts'
import type { BerthReady } from '../children/berth.ts'
import type { Place } from '../configuration.ts'
import { parentsOf } from '../dataset.ts'
import { goals } from '../goals.ts'
import { type HttpClient, httpClient, medianOf, request } from '../http-load.ts'

/**
 * Half a million advisories: how fast more are imported, and the first page of every filter against a Get. A first page is measured three
 * times: asked for after an import, when cached results are invalid; requested again; and what it took when no one
 * had ever asked for it. All are times of one request at a time, since part of the work is done in other threads, or in PostgreSQL.
 */

type Berth = Child & { readonly ready: BerthReady }

export async function measureAdvisories(bench: Bench): Promise<Result[]> {
  const set = bench.sizes.advised
  const results = await measureOn(bench, 'SQLite: ', bench.copyOf(await bench.dataSet(set)))
  await bench.stopChildren()
  const place = await bench.postgresSet(set)
  if (place === undefined) {
    bench.say('  no PostgreSQL here: left out')
    return results
  }
  return [...results, ...(await measureOn(bench, 'PostgreSQL: ', place))]
}

async function measureOn(bench: Bench, where: string, place: Place): Promise<Result[]> {
  const berth = await bench.startBerth(place)
  const client = await httpClient(berth.ready.port)
  try {
    const importer = importerOf(bench, berth, client)
    return [
      ...(await measureImport(bench, where, berth, importer)),
      ...(await measureReads(bench, where, berth, client, importer)),
    ]
  } finally {
    client.close()
  }
}

const PATH = '/vulnerabilities/v2beta1/advisories'

/** Imports documents that the data set does not have; returns how many advisories they have. */
type Importer = (documents: number) => Promise<number>

function importerOf({ sizes: { advised } }: Bench, { ready }: Berth, client: HttpClient): Importer {
  const [group] = parentsOf(advised)
  let next = documentsFor(advised.advisories ?? 0)
  return async (count) => {
    const histories = Array.from({ length: count }, () => documentOf(next++))
    const documents = histories.map((document) => ({
      name: nameOf(document.package),
      content: Buffer.from(yamlOf(document)).toString('base64'),
    }))
    const bytes = request('POST', `${PATH}/${group}:importDocuments`, {
      token: ready.token,
      body: JSON.stringify({ documents }),
    })
    const { status, body } = await client.send(bytes)
    const advisories = histories.flatMap((document) => document.advisories).length
    const { documents: imported } = JSON.parse(body) as { documents: { created: number }[] }
    const created = imported?.reduce((sum, document) => sum + document.created, 0)
    if (status !== 200 || created !== advisories) throw new Error(`an import was answered ${status}: ${body}`)
    return advisories
  }
}

const IMPORTED = 10_000
const IMPORTED_QUICK = 500
const DOCUMENTS_PER_REQUEST = 50

async function measureImport(
  bench: Bench,
  where: string,
  berth: Berth,
  importer: Importer,
): Promise<Result[]> {
  const wanted = bench.options.quick ? IMPORTED_QUICK : IMPORTED
  await importer(DOCUMENTS_PER_REQUEST) // starts the reading thread
  if (bench.options.profile !== undefined) await berth.startProfile()
  let [documents, advisories] = [0, 0]
  const startMs = performance.now()
  while (advisories < wanted) {
    advisories += await importer(DOCUMENTS_PER_REQUEST)
    documents += DOCUMENTS_PER_REQUEST
  }
  const seconds = (performance.now() - startMs) / 1000
  if (bench.options.profile !== undefined)
    for (const { name, at, selfMs } of (await berth.stopProfile()).slice(0, 40))
      bench.say(`${((selfMs * 1000) / advisories).toFixed(1).padStart(8)} us an advisory  ${name}  ${at}`)
  const memory = await berth.ask<{ now: number; most: number }>('memoryMb')
  const result = (title: string, value: number, unit: Result['unit'], note?: string): Result => ({
    work: 'advisories',
    title: `${where}${title}`,
    value,
    unit,
    note,
  })
  const rate = `${(documents / seconds).toFixed(0)} documents a second`
  bench.say(`  ${where}import: ${(advisories / seconds).toFixed(0)} advisories, ${rate}`)
  return [
    result(`import of ${wanted} advisories`, advisories / seconds, '/s', rate),
    result('resident memory after it', memory.now, 'MB', `${memory.most.toFixed(0)} MB at most`),
  ]
}

interface Advisory {
  readonly uid: string
  readonly advisoryId: string
  readonly artifactName: string
  readonly componentName: string
  readonly componentLocation: string
  readonly aliases: readonly string[]
}

/** First pages: what is asked for, and whether it is more than one filter. */
function questionsOf(one: Advisory): readonly (readonly [query: string, isCombined?: true])[] {
  const alias = one.aliases.find((text) => text.startsWith('CVE-')) ?? one.aliases[0]
  return [
    [''],
    [`advisory_ids=${one.advisoryId}`],
    [`legacy_advisory_ids=${one.advisoryId}`],
    [`artifact_names=${one.artifactName}`],
    ['artifact_types=apk'],
    ['artifact_architectures=x86_64'],
    [`component_names=${one.componentName}`],
    ['component_names=stdlib'],
    ['component_types=go-module'],
    [`component_locations=${one.componentLocation}`],
    [`aliases=${alias}`],
    [`origin=${one.artifactName}`],
    ['event_review_states=REVIEW_STATE_APPROVED'],
    ['event_types=EVENT_TYPE_FILTER_FIXED'],
    ['event_types=EVENT_TYPE_FILTER_FIXED&event_types=EVENT_TYPE_FILTER_DETECTION'],
    ['latest_event_type=EVENT_TYPE_FILTER_FIXED'],
    ['event_authors=somebody'],
    ['exclude_event_authors=somebody'],
    ['event_reviewers=somebody'],
    ['event_types=EVENT_TYPE_FILTER_PENDING_UPSTREAM_FIX&component_types=go-module', true],
    ['order_by=artifact_name'],
    ['event_types=EVENT_TYPE_FILTER_FIXED&order_by=updated_at%20desc'],
    ['query=nothing-has-this'],
    [`query=${alias}`],
    ['query=crossplane-plugin'],
    ['query=postgres'],
    ['query=stdlib'],
    ['query=-1000'],
    ['query=cve-2024'],
    ['query=github.com/'],
    ['query=cve'],
    ['query=e'],
  ]
}

const TITLE_CHARS_MAX = 50

function titleOf(query: string): string {
  if (query === '') return 'first page'
  const text = decodeURIComponent(query)
    .replaceAll(/EVENT_TYPE_FILTER_|REVIEW_STATE_/g, '')
    .replaceAll('&', ' & ')
  return text.length <= TITLE_CHARS_MAX ? text : `${text.slice(0, TITLE_CHARS_MAX)}...`
}

const GETS = 10
const AGAIN = 5

async function measureReads(
  bench: Bench,
  where: string,
  { ready: { token } }: Berth,
  client: HttpClient,
  importer: Importer,
): Promise<Result[]> {
  const ask = async (path: string) => {
    const bytes = request('GET', `${PATH}${path}`, { token })
    const startMs = performance.now()
    const { status, body } = await client.send(bytes)
    const ms = performance.now() - startMs
    if (status !== 200) throw new Error(`${path} was answered ${status}: ${body}`)
    return { ms, body }
  }
  const { advisories } = JSON.parse((await ask('?component_types=python')).body) as { advisories: Advisory[] }
  const one = advisories.at(-1) as Advisory
  const questions = questionsOf(one)
  const gets: number[] = []
  const times = questions.map(() => ({ never: 0, first: [] as number[], again: [] as number[], total: '' }))
  for (let round = 0; round <= bench.options.rounds; round++) {
    await importer(1)
    for (const [at, [query]] of questions.entries()) {
      for (let get = 0; get < GETS; get++) gets.push((await ask(`/${one.uid}`)).ms)
      const time = times[at] as (typeof times)[number]
      const { ms, body } = await ask(`?${query}`)
      const again: number[] = []
      for (let count = 0; count < AGAIN; count++) again.push((await ask(`?${query}`)).ms)
      if (round === 0) {
        time.never = ms
        continue
      }
      time.first.push(ms)
      time.again.push(medianOf(again))
      time.total = (JSON.parse(body) as { totalCount: string }).totalCount
    }
  }
  const getMs = medianOf(gets)
  bench.say(`  ${where}a Get takes ${getMs.toFixed(2)} ms`)
  return questions.map(([query, isCombined], at): Result => {
    const { never, first, again, total } = times[at] as (typeof times)[number]
    const [value, later] = [medianOf(first) / getMs, medianOf(again) / getMs]
    const title = `${where}${titleOf(query)} : Get`
    const note = `again ${later.toFixed(1)}x; never asked before ${never.toFixed(0)} ms; of ${total}`
    bench.say(`  ${title}: ${value.toFixed(1)}, ${note}`)
    const goal = isCombined ? undefined : goals.query
    return { work: 'advisories', title, value, unit: 'times', goal, note }
  })
}
