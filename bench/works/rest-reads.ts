import type { Bench, Result } from '../bench.ts'
import { CALLER, everyGroup, ORGANIZATION, parentsOf, someGroups } from '../dataset.ts'
import { goals } from '../goals.ts'
import { cycle, httpClient, httpLoad, request } from '../http-load.ts'
import { inTurn, type Measured, type Side } from '../rounds.ts'
import { shareOf } from './share.ts'

/** REST Get and List against a bare HTTP server that answers the same bytes. */

export const CONNECTIONS = 64
const DIFFERENT = 1000
const SPACES_MAX = 20

export function getPaths(bench: Bench): string[] {
  return someGroups(bench.sizes.usual, DIFFERENT).map(getPath)
}

const getPath = (uid: string) => `/iam/v2beta1/groups/${uid}`

/** Pages of 50 at the beginning of every parent, with totals. */
export function listPaths(bench: Bench): string[] {
  return [ORGANIZATION, ...parentsOf(bench.sizes.usual)].map(
    (uid) => `/iam/v2beta1/groups?uidp.descendants_of=${uid}`,
  )
}

/** More groups than a server caches. */
function notRepeatedGetPaths(bench: Bench): string[] {
  return everyGroup(bench.sizes.usual).map(getPath)
}

/** The same pages as requests that differ for a cache: by spaces, which order nothing. */
function notRepeatedListPaths(bench: Bench): string[] {
  return Array.from({ length: SPACES_MAX }, (_, spaces) =>
    listPaths(bench).map((path) => `${path}&order_by=uid${'+'.repeat(spaces)}`),
  ).flat()
}

export function measureGet(bench: Bench): Promise<Result[]> {
  return restReads(bench, 'get', 'REST Get of a group', getPaths(bench), notRepeatedGetPaths(bench))
}

export function measureList(bench: Bench): Promise<Result[]> {
  const title = 'REST List, 50 groups with totalCount'
  return restReads(bench, 'list', title, listPaths(bench), notRepeatedListPaths(bench))
}

/** `repeated`: paths that are few enough to be cached. `notRepeated`: those that are not, for orientation. */
async function restReads(
  bench: Bench,
  work: 'get' | 'list',
  title: string,
  repeated: readonly string[],
  notRepeated: readonly string[],
): Promise<Result[]> {
  const berth = await bench.startBerth(await bench.dataSet(bench.sizes.usual))
  const { port, token } = berth.ready
  const body = await bodyOf(port, request('GET', repeated[0] ?? '', { token }))
  const bare = await bench.start<{ port: number }>('http', { body })
  bench.say(`  ${Buffer.byteLength(body)} bytes an answer`)
  const side = (name: string, child: typeof berth | typeof bare, paths: readonly string[]): Side => {
    const next = cycle(paths.map((path) => request('GET', path, { token })))
    return {
      name,
      child,
      load: (seconds) => httpLoad({ port: child.ready.port, next }, CONNECTIONS, seconds),
    }
  }
  const [cached, uncached, base] = (await inTurn(bench, [
    side('Berth, repeated', berth, repeated),
    side('Berth, not repeated', berth, notRepeated),
    side('bare HTTP', bare, repeated),
  ])) as [Measured, Measured, Measured]
  return [
    shareOf({ work, title, goal: goals[work] }, cached, base),
    shareOf({ work, title: `${title}, not repeated` }, uncached, base),
  ]
}

/** The body of a successful answer. */
export async function bodyOf(port: number, bytes: Buffer): Promise<string> {
  const client = await httpClient(port)
  try {
    const { status, body } = await client.send(bytes)
    if (status !== 200) throw new Error(`the server answered ${status} to ${CALLER}: ${body}`)
    return body
  } finally {
    client.close()
  }
}
