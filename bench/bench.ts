import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Child, startChild } from './child.ts'
import type { BerthReady } from './children/berth.ts'
import type { Place } from './configuration.ts'
import { type DataSet, whatIsIn } from './dataset.ts'
import { generate } from './generate.ts'
import type { Goal, WorkName } from './goals.ts'
import type { Options } from './options.ts'
import { type Cluster, postgresCluster } from './postgres.ts'
import type { Measured, Meter } from './rounds.ts'

/** One number that was measured, with the numbers that it was made of. */
export interface Result {
  readonly work: WorkName
  readonly title: string
  readonly value: number
  readonly unit: Goal['unit']
  /** Undefined: reported for orientation. */
  readonly goal?: Goal | undefined
  readonly ours?: Measured | undefined
  readonly theirs?: Measured | undefined
  readonly note?: string | undefined
}

/** What the works share in one run: data sets, processes, a place for files. */
export interface Bench extends Meter {
  readonly options: Options
  readonly sizes: {
    readonly usual: DataSet
    readonly small: DataSet
    readonly large: DataSet
    readonly advised: DataSet
    readonly contained: DataSet
  }
  /** A directory of its own that goes when the run ends. */
  scratch(): string
  /** A data set on SQLite. Shared: benchmarks that write use a copy. */
  dataSet(set: DataSet): Promise<Place>
  copyOf(place: Place): Place
  /** A data set on PostgreSQL; undefined where there is none to use. */
  postgresSet(set: DataSet): Promise<Place | undefined>
  start<Ready>(
    script: string,
    argument: unknown,
    core?: 'server' | 'load' | 'any',
  ): Promise<Child & { readonly ready: Ready }>
  startBerth(place: Place, core?: 'server' | 'any'): Promise<Child & { readonly ready: BerthReady }>
  /** Ends the processes that the last work started. */
  stopChildren(): Promise<void>
  close(): Promise<void>
}

const DATABASE = 'berth.db'
const MASTER_KEY = 'master.key'
const COMPLETE = 'complete'

export function createBench(options: Options): Bench {
  const temporary = mkdtempSync(join(tmpdir(), 'berth-bench-'))
  const kept = options.dataDir ?? join(temporary, 'sets')
  const children: Child[] = []
  const postgresSets = new Map<string, Promise<Place>>()
  let cluster: Promise<Cluster | undefined> | undefined
  let scratches = 0
  const scratch = () => {
    const dir = join(temporary, `scratch-${++scratches}`)
    mkdirSync(dir)
    return dir
  }
  const say = (text: string) => process.stderr.write(`${text}\n`)
  const { quick, shape, images } = options
  const start: Bench['start'] = async (script, argument, core) => {
    const child = await startChild<never>(script, argument, core)
    children.push(child)
    return child
  }
  const stopChildren = async () => {
    await Promise.all(children.splice(0).map((child) => child.stop()))
  }

  return {
    options,
    sizes: {
      usual: { groups: quick ? 2000 : 100_000, shape: 'tree' },
      small: { groups: 1000, shape },
      large: { groups: quick ? 20_000 : 1_000_000, shape },
      advised: { groups: 1, shape: 'flat', advisories: quick ? 5000 : 500_000 },
      contained: {
        groups: 1,
        shape: 'flat',
        advisories: Math.round(images * 1.75),
        images,
      },
    },
    say,
    scratch,
    start,
    stopChildren,
    startBerth: (place, core) => start<BerthReady>('berth', place, core),

    async dataSet(set) {
      const dataDir = join(kept, `sqlite-${nameOf(set)}`)
      if (existsSync(join(dataDir, COMPLETE))) return { dataDir }
      rmSync(dataDir, { recursive: true, force: true })
      mkdirSync(dataDir, { recursive: true })
      say(`  generating ${whatIsIn(set)} on SQLite`)
      await generate({ dataDir }, set, say)
      writeFileSync(join(dataDir, COMPLETE), '')
      return { dataDir }
    },

    copyOf({ dataDir }) {
      const copy = scratch()
      for (const file of [DATABASE, MASTER_KEY]) cpSync(join(dataDir, file), join(copy, file))
      return { dataDir: copy }
    },

    async postgresSet(set) {
      cluster ??= postgresCluster()
      const server = await cluster
      if (server === undefined) return undefined
      const name = nameOf(set)
      const make = async (dataDir: string, databaseUrl: string) => {
        say(`  generating ${whatIsIn(set)} on PostgreSQL`)
        await generate({ dataDir, databaseUrl }, set, say)
        return { dataDir, databaseUrl }
      }
      const database = name.replace('-', '_')
      const copyOfKept = async (dataDir: string) => {
        if (!existsSync(join(dataDir, COMPLETE))) {
          const databaseUrl = await server.keptDatabase(database)
          if (databaseUrl === undefined) return undefined
          rmSync(dataDir, { recursive: true, force: true })
          mkdirSync(dataDir, { recursive: true })
          await make(dataDir, databaseUrl)
          writeFileSync(join(dataDir, COMPLETE), '')
        }
        const copy = scratch()
        cpSync(join(dataDir, MASTER_KEY), join(copy, MASTER_KEY))
        return { dataDir: copy, databaseUrl: await server.database(database, database) }
      }
      const place = async () =>
        (options.dataDir === undefined ? undefined : await copyOfKept(join(kept, `postgres-${name}`))) ??
        (await make(scratch(), await server.database(database)))
      const known = postgresSets.get(name) ?? place()
      postgresSets.set(name, known)
      return known
    },

    async close() {
      await stopChildren()
      await (await cluster?.catch(() => undefined))?.stop()
      rmSync(temporary, { recursive: true, force: true })
    },
  }
}

function nameOf({ groups, shape, advisories, images }: DataSet): string {
  if (images !== undefined) return `images-${images}`
  return advisories === undefined ? `${shape}-${groups}` : `advisories-${advisories}`
}
