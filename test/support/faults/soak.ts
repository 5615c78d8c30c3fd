import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { databaseFile } from '@berth/server/installation/installation.ts'
import { fileBlobs } from '@berth/server/registry/blobs/files/file-system.ts'
import { collectGarbage } from '@berth/server/registry/gc/garbage-collection.ts'
import { startExpiryJob } from '@berth/server/storage/jobs/delete-expired.ts'
import type { Tables } from '@berth/server/storage/schema/tables.ts'
import type { Kysely } from 'kysely'
import { openDatabase } from '../database/open-database.ts'
import { cleanups } from '../server/process.ts'
import { startLoad } from './load.ts'
import { type Shape, type Site, startSite } from './site/fault-site.ts'
import { databaseOf, type Verified, verify } from './verify-acknowledged.ts'

/** A mixed load for long, and what of a server grows meanwhile. */

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const SAMPLE_MS = 5000
/** Reading the sizes of tables is work for the database too. */
const SLOW_SAMPLES_EVERY = 6
const TOKENS_MS = 20 * MINUTE_MS
/** Of groups, repos and images each: what is stored stays the same in the long run. */
const KEPT_MAX = 200
/** Of the average client between two pieces of work. */
const PAUSE_MS = 100
/** After everything that expires has expired. */
const LATER_MS = 500 * DAY_MS

/** Tables whose rows expire, or follow what is done instead of what is there. */
const housekeeping = [
  'sessions',
  'session_groups',
  'pending',
  'guesses',
  'idempotency_keys',
  'audit_events',
  'counts',
  'tombstones',
  'uploads',
  'registry_runs',
  'blobs',
  'repo_blobs',
] as const satisfies readonly (keyof Tables)[]

interface NodeSample {
  readonly rssBytes: number
  readonly handles: number
  readonly threads: number
}

interface Sample {
  readonly atMs: number
  readonly nodes: readonly NodeSample[]
  /** Once in a while. */
  readonly slow?: {
    readonly rows: Readonly<Record<string, number>>
    readonly walBytes: number
    readonly files: number
  }
}

export interface SoakResult {
  readonly name: string
  readonly minutes: number
  readonly requests: number
  readonly failed: Readonly<Record<string, number>>
  /** By node: median of resident memory after the warm-up and at the end, growth as a fraction, and bytes per hour by a fitted line. */
  readonly memory: readonly Growth[]
  readonly handles: readonly Growth[]
  readonly samples: readonly Sample[]
  readonly verified: Verified
  /** Rows of tables after everything that expires has expired. */
  readonly left: Readonly<Record<string, number>>
}

interface Growth {
  readonly first: number
  readonly last: number
  readonly growth: number
  readonly perHour: number
}

export async function soak(
  name: string,
  shape: Shape,
  minutes: number,
  report: (line: string) => void,
): Promise<SoakResult> {
  const t = cleanups()
  try {
    const site = await startSite(t, { ...shape, lasting: true })
    const load = startLoad(site.target, { pauseMs: PAUSE_MS, trackedMax: KEPT_MAX })
    const startMs = performance.now()
    const db = await openDatabase(databaseOf(site))
    const samples: Sample[] = []
    let renewedMs = startMs
    while (performance.now() - startMs < minutes * MINUTE_MS) {
      await sleep(SAMPLE_MS)
      if (performance.now() - renewedMs > TOKENS_MS) {
        await site.renewTokens()
        renewedMs = performance.now()
      }
      const isSlow = samples.length % SLOW_SAMPLES_EVERY === 0
      const sample: Sample = {
        atMs: performance.now() - startMs,
        nodes: site.nodes.map((node) => nodeSample(node.process().child.pid)),
        ...(isSlow && { slow: await slowSample(site, db.kysely) }),
      }
      samples.push(sample)
      if (isSlow) report(`${name}: ${lineOf(sample)}, ${load.failures.length} failed`)
    }
    const unfinished = await load.stop()
    const verified = await verify(t, site, load.acknowledged)
    const failed: Record<string, number> = {}
    for (const { what, detail } of load.failures) {
      const key = `${what}: ${detail.slice(0, 80)}`
      failed[key] = (failed[key] ?? 0) + 1
    }
    const warmMs = warmUpMs(minutes)
    const of = (value: (sample: NodeSample) => number) =>
      site.nodes.map((_, at) =>
        growthOf(
          samples.filter(({ atMs }) => atMs > warmMs),
          (sample) => value(sample.nodes[at] as NodeSample),
        ),
      )
    await db.close()
    return {
      name,
      minutes,
      requests: Object.values(load.requests).reduce((sum, n) => sum + n, 0),
      failed,
      memory: of(({ rssBytes }) => rssBytes),
      handles: of(({ handles }) => handles),
      samples,
      verified: {
        ...verified,
        inconsistent: [...verified.inconsistent, ...load.contradictions, ...load.lostWrites, ...unfinished],
      },
      left: await leftLater(site),
    }
  } finally {
    await t.run()
  }
}

/** The first ten minutes of a run of an hour; a third of a short one. */
function warmUpMs(minutes: number): number {
  return Math.min(10, minutes / 3) * MINUTE_MS
}

function nodeSample(pid = 0): NodeSample {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const value = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? Number.NaN)
  return {
    rssBytes: value('VmRSS') * 1024,
    threads: value('Threads'),
    handles: readdirSync(`/proc/${pid}/fd`).length,
  }
}

async function slowSample(site: Site, db: Kysely<Tables>) {
  const rows: Record<string, number> = {}
  for (const table of housekeeping) {
    const { n } = await db
      .selectFrom(table)
      .select((expression) => expression.fn.countAll<number>().as('n'))
      .executeTakeFirstOrThrow()
    rows[table] = Number(n)
  }
  const dataDir = site.env['BERTH_DATA_DIR'] ?? ''
  const files = readdirSync(join(dataDir, 'blobs'), { recursive: true }).length
  if (site.env['BERTH_DATABASE_URL'] === undefined)
    return {
      rows,
      files,
      walBytes: statSync(`${databaseFile(dataDir)}-wal`, { throwIfNoEntry: false })?.size ?? 0,
    }
  const { rows: wal } = await site.cluster.run('select sum(size)::float8 as bytes from pg_ls_waldir()')
  return { rows, files, walBytes: wal[0].bytes as number }
}

/** Medians of the first and the last fifth, and a line through all (least squares). */
function growthOf(samples: readonly Sample[], value: (sample: Sample) => number): Growth {
  const fifth = Math.max(1, Math.floor(samples.length / 5))
  const median = (some: readonly Sample[]) =>
    some.map(value).sort((a, b) => a - b)[Math.floor(some.length / 2)] ?? Number.NaN
  const [first, last] = [median(samples.slice(0, fifth)), median(samples.slice(-fifth))]
  const mean = (numbers: readonly number[]) => numbers.reduce((sum, n) => sum + n, 0) / numbers.length
  const [times, values] = [samples.map(({ atMs }) => atMs), samples.map(value)]
  const [meanTime, meanValue] = [mean(times), mean(values)]
  const covariance = mean(times.map((at, n) => (at - meanTime) * ((values[n] ?? 0) - meanValue)))
  const variance = mean(times.map((at) => (at - meanTime) ** 2))
  return { first, last, growth: last / first - 1, perHour: (covariance / variance) * 60 * MINUTE_MS }
}

/** Rows of housekeeping tables once everything that expires has expired and the registry has been collected. */
async function leftLater(site: Site): Promise<Readonly<Record<string, number>>> {
  for (const node of site.nodes) await node.kill()
  const db = await openDatabase(databaseOf(site))
  try {
    const clock = () => Date.now() + LATER_MS
    let problem: unknown
    const expiring = startExpiryJob({
      db,
      clock,
      auditRetentionMs: DAY_MS,
      intervalMs: 100,
      onFailed: (error) => (problem = error),
      onError: (error) => (problem = error),
    })
    const blobs = fileBlobs(join(site.env['BERTH_DATA_DIR'] ?? '', 'blobs'))
    for (let n = 0; n < 2; n++)
      await collectGarbage({
        store: { db, clock },
        blobs,
        graceMs: 0,
        dryRun: false,
        requireKnownStore: true,
      })
    let rows: Readonly<Record<string, number>> = {}
    for (let tries = 0; tries < 100; tries++) {
      await sleep(200)
      if (problem !== undefined) throw problem
      rows = (await slowSample(site, db.kysely)).rows
      if (['idempotency_keys', 'audit_events', 'pending', 'sessions'].every((table) => rows[table] === 0))
        break
    }
    await expiring.stop()
    return rows
  } finally {
    await db.close()
  }
}

const mib = (bytes: number) => `${(bytes / 1024 / 1024).toFixed(1)} MiB`

function lineOf({ atMs, nodes, slow }: Sample): string {
  const rows = Object.entries(slow?.rows ?? {})
    .filter(([, n]) => n > 0)
    .map(([table, n]) => `${table} ${n}`)
  return [
    `${(atMs / MINUTE_MS).toFixed(1)} min`,
    ...nodes.map(
      ({ rssBytes, handles, threads }) => `${mib(rssBytes)} / ${handles} handles / ${threads} threads`,
    ),
    `WAL ${mib(slow?.walBytes ?? 0)}`,
    `${slow?.files} files`,
    ...rows,
  ].join(', ')
}

/** Writes `<path>.md` and `<path>.json`. */
export function writeSoakReport(path: string, results: readonly SoakResult[]): void {
  const lines: string[] = []
  for (const result of results) {
    const { name, minutes, requests, failed, memory, handles, samples, verified, left } = result
    const slow = samples.filter((sample) => sample.slow !== undefined)
    lines.push(
      `## ${name}: ${minutes} min`,
      '',
      `${requests} requests, failed: ${JSON.stringify(failed)}, writes ${verified.acknowledged}, lost ${verified.lost.length}, half-done ${verified.inconsistent.length}.`,
      '',
      '| node | memory after warm-up | at the end | growth | per hour | handles |',
      '| --- | --- | --- | --- | --- | --- |',
      ...memory.map(
        ({ first, last, growth, perHour }, at) =>
          `| ${at} | ${mib(first)} | ${mib(last)} | ${(growth * 100).toFixed(1)} % | ${mib(perHour)} | ${handles[at]?.first} to ${handles[at]?.last} |`,
      ),
      '',
      'Samples:',
      '',
      ...slow.map((sample) => `- ${lineOf(sample)}`),
      '',
      `Rows after everything has expired: ${JSON.stringify(left)}`,
      '',
    )
  }
  writeFileSync(`${path}.md`, lines.join('\n'))
  writeFileSync(`${path}.json`, `${JSON.stringify(results, undefined, 1)}\n`)
}
