import { parseArgs } from 'node:util'
import { usualWorks, type WorkName, workNames } from './goals.ts'

/** What the command line asks for. */
export interface Options {
  readonly only: readonly WorkName[]
  readonly seconds: number
  readonly rounds: number
  readonly quick: boolean
  readonly json: boolean
  readonly saveReference: boolean
  /** Where data sets are kept; undefined: a temporary directory that goes when the run ends. */
  readonly dataDir: string | undefined
  /** The databases that measurements of both use. */
  readonly databases: readonly DatabaseName[]
  /** Shape of the large data set. */
  readonly shape: Shape
  readonly profile: WorkName | undefined
  /** The release that `compare` measures beside the working tree: a tarball, a directory, or a version or commit of this repository. */
  readonly compare: string | undefined
  /** Images of the data set of `contents`. It has 1.75 advisories for each. */
  readonly images: number
  /** Organizations of `distributed`. */
  readonly organizations: number
}

/** `tree`: 1,000 groups of 1,000 groups each. `flat`: all of them children of one group. */
export type Shape = 'tree' | 'flat'

export const databaseNames = ['sqlite', 'postgres'] as const
export type DatabaseName = (typeof databaseNames)[number]

export const help = `Usage: npm run bench -- [options]

Measures Berth against baselines that run beside it, and prints the ratios with their goals.

  --only LIST        works, separated by commas: ${usualWorks.join(', ')}
  --peers            measure beside Zot, Distribution and PocketBase instead. BERTH_BENCH_ZOT, BERTH_BENCH_DISTRIBUTION and
                     BERTH_BENCH_POCKETBASE name their programs
  --compare RELEASE  compare the package of the working tree with a release instead: its tarball, its unpacked directory, or a
                     version or commit of this repository. Fails if it is slower
  --seconds N        seconds of load per round and side (default 3)
  --rounds N         rounds, of which the median counts (default 3)
  --quick            small data sets and short rounds: shows that it runs, not how fast
  --shape SHAPE      of the large data set: tree (1,000 x 1,000, default) or flat (1,000,000 x 1)
  --images N         images of the data set of contents (default 100,000)
  --organizations N  organizations of distributed (default 10,000), which requires PostgreSQL with Citus and is measured if --only names it
  --databases LIST   of contents: ${databaseNames.join(', ')} (default both)
  --data DIR         keep the data sets in DIR and use them again; those of PostgreSQL in the server of BERTH_TEST_POSTGRES_URL
  --profile WORK     run one work under the CPU profiler and print the functions that take most of it
  --json             print JSON instead of the table
  --save-reference   write what was measured into bench/results/reference.json as well
  --help             print this

Examples:
  npm run bench
  npm run bench -- --only get,list --rounds 5
  npm run bench -- --only pages,skip --data /var/tmp/berth-bench
  npm run bench -- --profile list
  npm run bench -- --compare berth-0.6.0.tgz
  npm run bench -- --only distributed --organizations 100000 --seconds 20
  npm run bench -- --quick

A goal that is missed does not make the command fail; something that cannot be measured does, and a slower release.
`

/** A mistake on the command line; its message says which. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

export function readOptions(args: readonly string[]): Options | 'help' {
  const { values } = parse(args)
  if (values.help) return 'help'
  const quick = values.quick ?? false
  const profile = values.profile === undefined ? undefined : workOf(values.profile)
  return {
    only: worksOf(values, profile),
    compare: values.compare,
    seconds: numberOf('--seconds', values.seconds, quick ? 0.3 : 3, 0.1),
    rounds: numberOf('--rounds', values.rounds, quick ? 1 : 3, 1),
    quick,
    json: values.json ?? false,
    saveReference: values['save-reference'] ?? false,
    dataDir: values.data,
    databases: values.databases?.split(',').map(databaseOf) ?? databaseNames,
    shape: shapeOf(values.shape ?? 'tree'),
    profile,
    images: Math.round(numberOf('--images', values.images, quick ? 1000 : 100_000, 1000)),
    organizations: Math.round(numberOf('--organizations', values.organizations, quick ? 100 : 10_000, 1)),
  }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        only: { type: 'string' },
        peers: { type: 'boolean' },
        compare: { type: 'string' },
        seconds: { type: 'string' },
        rounds: { type: 'string' },
        quick: { type: 'boolean' },
        shape: { type: 'string' },
        data: { type: 'string' },
        databases: { type: 'string' },
        profile: { type: 'string' },
        images: { type: 'string' },
        organizations: { type: 'string' },
        json: { type: 'boolean' },
        'save-reference': { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    })
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

function worksOf(
  { only, peers, compare }: ReturnType<typeof parse>['values'],
  profile: WorkName | undefined,
): readonly WorkName[] {
  if (profile !== undefined) return [profile]
  const named = only?.split(',').map(workOf) ?? []
  if (named.includes('compare') && compare === undefined)
    throw new UsageError('compare requires --compare RELEASE')
  const others: WorkName[] = [
    ...(peers ? (['peers'] as const) : []),
    ...(compare ? (['compare'] as const) : []),
  ]
  const all = [...new Set([...named, ...others])]
  return all.length > 0 ? all : usualWorks
}

function workOf(text: string): WorkName {
  const work = workNames.find((name) => name === text.trim())
  if (work === undefined) throw new UsageError(`${text} is not a work; there are ${workNames.join(', ')}`)
  return work
}

function databaseOf(text: string): DatabaseName {
  const database = databaseNames.find((name) => name === text.trim())
  if (database === undefined)
    throw new UsageError(`${text} is not a database; there are ${databaseNames.join(', ')}`)
  return database
}

function shapeOf(text: string): Shape {
  if (text !== 'tree' && text !== 'flat') throw new UsageError(`--shape must be tree or flat, not ${text}`)
  return text
}

function numberOf(option: string, text: string | undefined, fallback: number, min: number): number {
  if (text === undefined) return fallback
  const value = Number(text)
  if (!Number.isFinite(value) || value < min) throw new UsageError(`${option} must be at least ${min}`)
  return value
}
