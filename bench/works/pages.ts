import type { Bench, Result } from '../bench.ts'
import type { Child } from '../child.ts'
import type { BerthReady } from '../children/berth.ts'
import { noCachedLists } from '../configuration.ts'
import type { DataSet } from '../dataset.ts'
import { type Goal, goals, type WorkName } from '../goals.ts'
import { cycle, httpLoad, request } from '../http-load.ts'
import { inTurn, type Measured, type Side } from '../rounds.ts'
import { bodyOf } from './rest-reads.ts'

/** Lists of very many groups against lists of few, and deep skips against first pages. */

type Berth = Child & { readonly ready: BerthReady }

const LIST = '/iam/v2beta1/groups'
const CONCURRENT = 4
const PAGE = 50
const FIRST = `page_size=${PAGE}`
const FIRST_BY_NAME = `order_by=name&${FIRST}`

function listSide(name: string, berth: Berth, query: string, connections = CONCURRENT): Side {
  const { port, token } = berth.ready
  const next = cycle([request('GET', `${LIST}?${query}`, { token })])
  return { name, child: berth, load: (seconds) => httpLoad({ port, next }, connections, seconds) }
}

/** The query of the page that starts after `rows` rows, by its page token. */
async function pageAfter(berth: Berth, rows: number, query = FIRST): Promise<string> {
  const { port, token } = berth.ready
  const body = await bodyOf(port, request('GET', `${LIST}?${query}&skip=${rows - PAGE}`, { token }))
  const { nextPageToken } = JSON.parse(body) as { nextPageToken: string }
  return `${query}&page_token=${nextPageToken}`
}

export async function measurePages(bench: Bench): Promise<Result[]> {
  const start = async (set: DataSet) =>
    bench.startBerth({ ...(await bench.dataSet(set)), limits: noCachedLists })
  const large = await start(bench.sizes.large)
  const small = await start(bench.sizes.small)
  return pagesOf(bench, 'pages', '', large, small, (measured) => measured.cpuUs)
}

/** `cost`: CPU where the database is in the process, time where it is not. */
export async function pagesOf(
  bench: Bench,
  work: WorkName,
  where: string,
  large: Berth,
  small: Berth,
  cost: (measured: Measured) => number,
): Promise<Result[]> {
  const deep = Math.floor(bench.sizes.large.groups / 2)
  const middle = Math.floor(bench.sizes.small.groups / 2)
  const compare = async (title: string, queries: readonly [string, string], goal: Goal | undefined) => {
    bench.say(`  ${title}`)
    const [ours, theirs] = (await inTurn(bench, [
      listSide('large', large, queries[0]),
      listSide('small', small, queries[1]),
    ])) as [Measured, Measured]
    const value = cost(ours) / cost(theirs)
    return { work, title: `${where}${title}`, value, unit: 'times' as const, goal, ours, theirs }
  }
  const both = (query: string): [string, string] => [query, query]
  return [
    await compare('first page, many groups : 1,000', both(FIRST), goals.pages),
    await compare(
      'keyset page in the middle',
      [await pageAfter(large, deep), await pageAfter(small, middle)],
      goals.pages,
    ),
    await compare('totalCount (page of 1)', both('page_size=1'), goals.pages),
    await compare('first page by name', both(FIRST_BY_NAME), undefined),
    await compare(
      'keyset page by name',
      [await pageAfter(large, deep, FIRST_BY_NAME), await pageAfter(small, middle, FIRST_BY_NAME)],
      undefined,
    ),
  ]
}

export async function measureSkip(bench: Bench): Promise<Result[]> {
  const place = await bench.dataSet(bench.sizes.large)
  const berth = await bench.startBerth({ ...place, limits: noCachedLists })
  return skipOf(bench, 'skip', '', berth, (measured) => measured.cpuUs)
}

export async function skipOf(
  bench: Bench,
  work: WorkName,
  where: string,
  berth: Berth,
  cost: (measured: Measured) => number,
): Promise<Result[]> {
  const middle = Math.floor(bench.sizes.large.groups / 2) + 123
  const [ours, theirs] = (await inTurn(bench, [
    listSide('skip', berth, `${FIRST}&skip=${middle}`),
    listSide('first page', berth, FIRST),
  ])) as [Measured, Measured]
  const goal = work === 'skip' ? goals.skip : undefined
  const title = `${where}skip to the middle by uid : first page`
  return [{ work, title, value: cost(ours) / cost(theirs), unit: 'times', goal, ours, theirs }]
}
