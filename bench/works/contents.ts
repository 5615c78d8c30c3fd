import { documentOf } from '../advisories/documents.ts'
import type { Bench, Result } from '../bench.ts'
import type { Child } from '../child.ts'
import type { BerthReady } from '../children/berth.ts'
import type { Place } from '../configuration.ts'
import { imageAt } from '../contents/load.ts'
import { imageModelOf, packageAt } from '../contents/model.ts'
import { ORGANIZATION, parentsOf } from '../dataset.ts'
import type { Goal } from '../goals.ts'
import { goals } from '../goals.ts'
import { type HttpClient, httpClient, medianOf, request } from '../http-load.ts'

/**
 * 100,000 images with 200 packages each, and 175,000 advisories: how long they are matched, what the reads cost, and how soon a change of
 * an advisory shows at half of all images. Times are of one request at a time, against a Get of a group.
 */

type Berth = Child & { readonly ready: BerthReady }

export async function measureContents(bench: Bench): Promise<Result[]> {
  const set = bench.sizes.contained
  const { databases } = bench.options
  const results: Result[] = []
  if (databases.includes('sqlite')) {
    results.push(...(await measureOn(bench, 'SQLite: ', bench.copyOf(await bench.dataSet(set)))))
    await bench.stopChildren()
  }
  if (databases.includes('postgres')) {
    const place = await bench.postgresSet(set)
    if (place === undefined) bench.say('  no PostgreSQL here: left out')
    else results.push(...(await measureOn(bench, 'PostgreSQL: ', place)))
  }
  return results
}

async function measureOn(bench: Bench, where: string, place: Place): Promise<Result[]> {
  const berth = await bench.startBerth(place)
  const result = (title: string, value: number, unit: Result['unit'], note?: string, goal?: Goal): Result => {
    bench.say(`  ${where}${title}: ${value.toFixed(2)} ${unit}${note === undefined ? '' : `, ${note}`}`)
    return { work: 'contents', title: `${where}${title}`, value, unit, note, goal }
  }
  const before = await berth.ask<Memory>('memoryMb')
  const first = [
    result('database', await berth.ask<number>('databaseMb'), 'MB'),
    result('resident memory at the start', before.now, 'MB'),
    ...(await measureMatching(berth, 'all packages matched for the first time', result, async () => {})),
  ]
  await berth.ask('analyze')
  const vulnerabilities = await berth.ask<readonly Spread[]>('spreadOfVulnerabilities')
  // Not before: the server closes connections that are idle for so long.
  const client = await httpClient(berth.ready.port)
  try {
    return [
      ...first,
      ...(await measureReads(bench, berth, client, vulnerabilities, result)),
      ...(await measureChange(bench, berth, client, result)),
      ...(await measureHistory(berth, result)),
      ...(await measureMatching(berth, 'all advisories changed', result, () =>
        berth.ask('changeAllAdvisories'),
      )),
    ]
  } finally {
    client.close()
  }
}

interface Memory {
  readonly now: number
  readonly most: number
}

type ResultOf = (title: string, value: number, unit: Result['unit'], note?: string, goal?: Goal) => Result

/** Delay of the event loop and memory while something happens. */
async function watched<T>(
  berth: Berth,
  work: () => Promise<T>,
): Promise<{ value: T; note: string; seconds: number }> {
  await berth.ask('watchLoop')
  const [cpuBefore, startMs] = [await berth.cpu(), performance.now()]
  const value = await work()
  const seconds = (performance.now() - startMs) / 1000
  const cpu = ((await berth.cpu()) - cpuBefore) / 1e6
  const delay = await berth.ask<{ median: number; p99: number; max: number }>('loopDelayMs')
  const { now, most } = await berth.ask<Memory>('memoryMb')
  const loop = `event loop p99 ${delay.p99.toFixed(0)} ms, max ${delay.max.toFixed(0)} ms`
  return {
    value,
    seconds,
    note: `CPU ${cpu.toFixed(1)} s, ${loop}, memory ${now.toFixed(0)} MB, ${most.toFixed(0)} MB at most`,
  }
}

const POLL_MS = 100

async function measureMatching(
  berth: Berth,
  title: string,
  result: ResultOf,
  start: () => Promise<void>,
): Promise<Result[]> {
  const { seconds, note } = await watched(berth, async () => {
    await start()
    while ((await berth.ask<number>('unmatched')) > 0) await new Promise((done) => setTimeout(done, POLL_MS))
  })
  return [result(title, seconds, 's', note)]
}

const GETS = 10
const SAME = 5
const DIFFERENT = 10

async function measureReads(
  bench: Bench,
  berth: Berth,
  client: HttpClient,
  vulnerabilities: readonly Spread[],
  result: ResultOf,
): Promise<Result[]> {
  const { contained } = bench.sizes
  const model = imageModelOf(contained.images ?? 0)
  const ask = asker(client, berth.ready.token)
  const [group = ''] = parentsOf(contained)
  const getMs = async () => (await ask(`/iam/v2beta1/groups/${group}`)).ms
  // Images with base 0 and with others.
  const images = Array.from({ length: DIFFERENT }, (_, at) =>
    imageAt(Math.floor((model.images / DIFFERENT) * at) + (at % 2)),
  )
  const findings = '/vulnerabilities/v2beta1/imageFindings/'
  const summaries = '/vulnerabilities/v2beta1/findingSummaries/'
  const affected = '/vulnerabilities/v2beta1/affectedImages/'
  const tagOf = (at: number) =>
    `${vulnerabilities[at]?.packages} packages, ${vulnerabilities[at]?.images} images`
  const name = (number: number) => packageAt(model, number).name
  const { repo } = images[0] as (typeof images)[number]
  const inRepo = images.map((_, at) => imageAt(at))
  const different = (path: (image: (typeof images)[number]) => string) => images.map(path)
  type Question = readonly [title: string, paths: readonly string[], goal: Goal | undefined]
  const image20 = goals.findings
  const questions: readonly Question[] = [
    ['findings of an image', different((one) => `${findings}${one.repo}?digest=${one.digest}`), image20],
    ['findings of a tag', different((one) => `${findings}${one.repo}?tag=${one.tag}`), image20],
    [
      '200 findings',
      different((one) => `${findings}${one.repo}?digest=${one.digest}&page_size=200`),
      image20,
    ],
    [
      'findings, affected and high only',
      different(
        (one) => `${findings}${one.repo}?digest=${one.digest}&states=STATE_AFFECTED&severities=SEVERITY_HIGH`,
      ),
      image20,
    ],
    [
      'findings compared',
      inRepo
        .slice(1)
        .map(({ digest }) => `${findings}${repo}:compare?base_digest=${inRepo[0]?.digest}&digest=${digest}`),
      undefined,
    ],
    [
      'packages of an image',
      different((one) => `/registry/v2beta1/repos/${one.repo}/manifests/${one.digest}/packages`),
      image20,
    ],
    [
      'packages compared',
      inRepo
        .slice(1)
        .map(
          ({ digest }) =>
            `/registry/v2beta1/repos/${repo}/manifests/${inRepo[0]?.digest}/packages:compare?other_reference=${digest}`,
        ),
      undefined,
    ],
    [
      'images of a package in half of them',
      [`/registry/v2beta1/package_images/${ORGANIZATION}?name=${name(0)}`],
      goals.affected,
    ],
    [
      'the same in one version',
      [
        `/registry/v2beta1/package_images/${ORGANIZATION}?name=${name(0)}&version=${encodeURIComponent(packageAt(model, 0).version)}`,
      ],
      goals.affected,
    ],
    [
      'images of a rare package',
      [`/registry/v2beta1/package_images/${ORGANIZATION}?name=${name(model.packages - 1)}`],
      goals.affected,
    ],
    ['vulnerabilities of a repo', [`${summaries}${repo}`], undefined],
    ['vulnerabilities of a group', [`${summaries}${repo.slice(0, repo.lastIndexOf('/'))}`], undefined],
    ['vulnerabilities of the organization', [`${summaries}${ORGANIZATION}`], undefined],
    ...vulnerabilities.flatMap(({ vulnerability }, at): Question[] => [
      [
        `images of a CVE: ${tagOf(at)}`,
        [`${affected}${ORGANIZATION}?vulnerability=${vulnerability}`],
        goals.affected,
      ],
      [
        `the same in a repo: ${tagOf(at)}`,
        [`${affected}${repo}?vulnerability=${vulnerability}`],
        goals.affected,
      ],
    ]),
  ]
  const results: Result[] = []
  for (const [title, paths, goal] of questions) {
    const [first, again, gets]: number[][] = [[], [], []]
    let total = ''
    for (let round = 0; round < bench.options.rounds; round++)
      for (const path of paths) {
        for (let get = 0; get < GETS; get++) gets?.push(await getMs())
        const { ms, body } = await ask(path)
        first?.push(ms)
        for (let count = 0; count < SAME; count++) again?.push((await ask(path)).ms)
        total = (JSON.parse(body) as { totalCount?: string }).totalCount ?? ''
      }
    const getMedian = medianOf(gets ?? [])
    const worst = Math.max(...(first ?? []), ...(again ?? []))
    const note = `${(medianOf(again ?? []) / getMedian).toFixed(1)}x a Get of ${getMedian.toFixed(2)} ms; first ${medianOf(first ?? []).toFixed(1)} ms, longest ${worst.toFixed(1)} ms${total === '' ? '' : `; of ${total}`}`
    results.push(result(title, medianOf([...(first ?? []), ...(again ?? [])]), 'ms', note, goal))
  }
  results.push(...(await measurePaging(ask, vulnerabilities, result)))
  return results
}

interface Spread {
  readonly vulnerability: string
  readonly packages: number
  readonly images: number
}

type Ask = (path: string) => Promise<{ readonly ms: number; readonly body: string }>

function asker(client: HttpClient, token: string): Ask {
  return async (path) => {
    const startMs = performance.now()
    const { status, body } = await client.send(request('GET', path, { token }))
    const ms = performance.now() - startMs
    if (status !== 200) throw new Error(`${path} was answered ${status}: ${body}`)
    return { ms, body }
  }
}

const PAGES = 50

/** Later pages of the images of a vulnerability. */
async function measurePaging(
  ask: Ask,
  vulnerabilities: readonly Spread[],
  result: ResultOf,
): Promise<Result[]> {
  const [most] = vulnerabilities
  const times: number[] = []
  let token = ''
  for (let page = 0; page < PAGES; page++) {
    const path = `/vulnerabilities/v2beta1/affectedImages/${ORGANIZATION}?vulnerability=${most?.vulnerability}&page_size=200`
    const { ms, body } = await ask(token === '' ? path : `${path}&page_token=${encodeURIComponent(token)}`)
    times.push(ms)
    token = (JSON.parse(body) as { nextPageToken?: string }).nextPageToken ?? ''
    if (token === '') break
  }
  const note = `${times.length} pages of 200, longest ${Math.max(...times).toFixed(1)} ms`
  return [result('a later page of the images of a CVE', medianOf(times), 'ms', note, goals.affected)]
}

/** Waits until the tags of the images of the changed advisories are counted, which starts 10 s after the change. */
async function measureHistory(berth: Berth, result: ResultOf): Promise<Result[]> {
  const { seconds, note } = await watched(berth, async () => {
    while ((await berth.ask<number>('historyChanges')) > 0)
      await new Promise((done) => setTimeout(done, POLL_MS))
  })
  return [result('the history of their tags', seconds, 's', note)]
}

/** Imports a document that makes a package of the base of half of all images vulnerable, and waits until it is listed. */
async function measureChange(
  bench: Bench,
  berth: Berth,
  client: HttpClient,
  result: ResultOf,
): Promise<Result[]> {
  const { contained } = bench.sizes
  const [group] = parentsOf(contained)
  const { token } = berth.ready
  const ask = asker(client, token)
  const results: Result[] = []
  for (let round = 0; round < bench.options.rounds; round++) {
    const cve = `CVE-2031-${1000 + round}`
    const source = documentOf(0).package
    const text = `schema-version: 2.0.2\npackage:\n  name: ${source}\nadvisories:\n  - id: CGA-2222-3333-${'456789cfgh'[round]}444\n    aliases:\n      - ${cve}\n    events:\n      - timestamp: 2031-01-01T00:00:00Z\n        type: fixed\n        data:\n          fixed-version: 99.0.0-r0\n`
    const body = JSON.stringify({
      documents: [{ name: `${source}.advisories.yaml`, content: Buffer.from(text).toString('base64') }],
    })
    const { seconds, note } = await watched(berth, async () => {
      const reply = await client.send(
        request('POST', `/vulnerabilities/v2beta1/advisories/${group}:importDocuments`, { token, body }),
      )
      if (reply.status !== 200) throw new Error(reply.body)
      const path = `/vulnerabilities/v2beta1/affectedImages/${ORGANIZATION}?vulnerability=${cve}`
      for (;;) {
        const { body: found } = await ask(path)
        if ((JSON.parse(found) as { affectedImages?: object[] }).affectedImages?.length) break
        await new Promise((done) => setTimeout(done, 10))
      }
    })
    results.push(result(`a changed advisory of half of all images, ${round + 1}`, seconds, 's', note))
  }
  return results
}
