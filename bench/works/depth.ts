import { limits } from '@berth/server/config/limits.ts'
import type { Bench, Result } from '../bench.ts'
import { noCachedLists, type Place } from '../configuration.ts'
import { ORGANIZATION } from '../dataset.ts'
import { createResource, cycle, httpLoad, request } from '../http-load.ts'
import { inTurn, type Measured, type Side } from '../rounds.ts'

/** Groups at the deepest level against groups at the first, on SQLite and PostgreSQL: the same calls, in the same run. */

const CONCURRENT = 4
const CHILDREN = 50
/** Fewer than there are, so that both sides have a next page. */
const PAGE = 40
const GROUPS = '/iam/v2beta1/groups'

export async function measureDepth(bench: Bench): Promise<Result[]> {
  const set = { groups: 100, shape: 'tree' } as const
  const sqlite = bench.copyOf(await bench.dataSet(set))
  const results = await levelsOf(bench, 'SQLite', sqlite, (measured) => measured.cpuUs)
  await bench.stopChildren()
  const postgres = await bench.postgresSet(set)
  if (postgres === undefined) {
    bench.say('  no PostgreSQL here: neither BERTH_TEST_POSTGRES_URL nor server binaries; left out')
    return results
  }
  return [...results, ...(await levelsOf(bench, 'PostgreSQL', postgres, (measured) => measured.latencyMs))]
}

/** `cost`: CPU where the database is in the process, time where it is not. */
async function levelsOf(
  bench: Bench,
  engine: string,
  place: Place,
  cost: (measured: Measured) => number,
): Promise<Result[]> {
  const berth = await bench.startBerth({ ...place, limits: noCachedLists })
  const { port, token } = berth.ready
  const createGroup = (parent: string, name: string) =>
    createResource(port, token, `${GROUPS}/${parent}`, { name, description: 'A group of the benchmark' })
  const withChildren = async (parent: string) => {
    const children: string[] = []
    for (let at = 0; at < CHILDREN; at++) children.push(await createGroup(parent, `child-${at}`))
    return { parent, children }
  }

  const first = await withChildren(ORGANIZATION)
  let deepest = ORGANIZATION
  // The organization is level 0, and the children are at the last level.
  for (let level = 1; level < limits.groupDepthMax; level++) deepest = await createGroup(deepest, 'level')
  const last = await withChildren(deepest)

  const compare = async (title: string, pathsOf: (level: typeof first) => readonly string[]) => {
    bench.say(`  ${title}`)
    const side = (name: string, level: typeof first): Side => {
      const next = cycle(pathsOf(level).map((path) => request('GET', path, { token })))
      return { name, child: berth, load: (seconds) => httpLoad({ port, next }, CONCURRENT, seconds) }
    }
    const [ours, theirs] = (await inTurn(bench, [side('level 100', last), side('level 1', first)])) as [
      Measured,
      Measured,
    ]
    const value = cost(ours) / cost(theirs)
    return {
      work: 'depth' as const,
      title: `${engine}: ${title}`,
      value,
      unit: 'times' as const,
      ours,
      theirs,
    }
  }
  return [
    await compare('List, 40 children at level 100 : at level 1', ({ parent }) => [
      `${GROUPS}?uidp.children_of=${parent}&page_size=${PAGE}`,
    ]),
    await compare('Get, repeated, at level 100 : at level 1', ({ children }) =>
      children.map((uid) => `${GROUPS}/${uid}`),
    ),
    await compare('authorize (an empty List) at level 100 : at level 1', ({ children }) =>
      children.map((uid) => `/registry/v2beta1/repos?uidp.children_of=${uid}`),
    ),
  ]
}
