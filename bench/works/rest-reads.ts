import type { Bench, Result } from '../bench.ts'
import { CALLER, ORGANIZATION, parentsOf, someGroups } from '../dataset.ts'
import { cycle, httpClient, httpLoad, request } from '../http-load.ts'
import { shareOfCpu } from './share.ts'

/** REST Get and List against a bare HTTP server that answers the same bytes. */

export const CONNECTIONS = 64
const DIFFERENT = 1000

export function getPaths(bench: Bench): string[] {
  return someGroups(bench.sizes.usual, DIFFERENT).map((uid) => `/iam/v2beta1/groups/${uid}`)
}

/** Pages of 50 at the beginning of every parent, with totals. */
export function listPaths(bench: Bench): string[] {
  return [ORGANIZATION, ...parentsOf(bench.sizes.usual)].map(
    (uid) => `/iam/v2beta1/groups?uidp.descendants_of=${uid}`,
  )
}

export async function measureGet(bench: Bench): Promise<Result[]> {
  return [await restRead(bench, 'get', 'REST Get of a group', getPaths(bench))]
}

export async function measureList(bench: Bench): Promise<Result[]> {
  return [await restRead(bench, 'list', 'REST List, 50 groups with totalCount', listPaths(bench))]
}

async function restRead(
  bench: Bench,
  work: 'get' | 'list',
  title: string,
  paths: readonly string[],
): Promise<Result> {
  const berth = await bench.startBerth(await bench.dataSet(bench.sizes.usual))
  const { port, token } = berth.ready
  const requests = paths.map((path) => request('GET', path, { token }))
  const body = await bodyOf(port, requests[0] as Buffer)
  const bare = await bench.start<{ port: number }>('http', { body })
  bench.say(`  ${Buffer.byteLength(body)} bytes an answer`)
  const side = (name: string, child: typeof berth | typeof bare) => ({
    name,
    child,
    load: (seconds: number) =>
      httpLoad({ port: child.ready.port, next: cycle(requests) }, CONNECTIONS, seconds),
  })
  return shareOfCpu(bench, { work, title }, side('Berth', berth), side('bare HTTP', bare))
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
