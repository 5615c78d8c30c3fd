import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { arch, cpus, platform, release } from 'node:os'
import { fileURLToPath } from 'node:url'
import { type Bench, createBench, type Result } from './bench.ts'
import { pinLoad, pinned, SERVER_CORE } from './cores.ts'
import { verdictOf, type WorkName } from './goals.ts'
import { help, type Options, readOptions, UsageError } from './options.ts'
import { tableOf } from './report.ts'
import { measureAdvisories } from './works/advisories.ts'
import { measureAws } from './works/aws.ts'
import { measureJson } from './works/codecs.ts'
import { isRegression, measureCompare } from './works/compare.ts'
import { measureContents } from './works/contents.ts'
import { measureCreate } from './works/create.ts'
import { measureDepth } from './works/depth.ts'
import { measureDistributed } from './works/distributed.ts'
import { measureExchange } from './works/exchange.ts'
import { measureConnect, measureGrpc } from './works/grpc-get.ts'
import { measurePages, measureSkip } from './works/pages.ts'
import { measurePeers } from './works/peers.ts'
import { measurePolicies } from './works/policies.ts'
import { measurePostgres } from './works/postgres.ts'
import { measureRefresh } from './works/refresh.ts'
import { measureRegistry } from './works/registry.ts'
import { measureGet, measureList } from './works/rest-reads.ts'
import { measureScopes } from './works/scopes.ts'
import { measureStart } from './works/start.ts'
import { measureTraced } from './works/traced.ts'
import { measureWait } from './works/wait.ts'
import { measureWorkers } from './works/workers.ts'

/** The benchmark's command line. Exit codes: 0 measured, 1 something could not be measured or is slower than the release, 2 wrong usage. */

const works: Readonly<Record<WorkName, (bench: Bench) => Promise<Result[]>>> = {
  get: measureGet,
  list: measureList,
  grpc: measureGrpc,
  create: measureCreate,
  exchange: measureExchange,
  aws: measureAws,
  refresh: measureRefresh,
  pages: measurePages,
  skip: measureSkip,
  depth: measureDepth,
  scopes: measureScopes,
  wait: measureWait,
  postgres: measurePostgres,
  start: measureStart,
  advisories: measureAdvisories,
  contents: measureContents,
  registry: measureRegistry,
  policies: measurePolicies,
  traced: measureTraced,
  json: measureJson,
  connect: measureConnect,
  workers: measureWorkers,
  distributed: measureDistributed,
  peers: measurePeers,
  compare: measureCompare,
}

const USAGE_EXIT_CODE = 2

async function main(args: readonly string[]): Promise<void> {
  const options = readOptions(args)
  if (options === 'help') {
    process.stdout.write(help)
    return
  }
  pinLoad()
  const bench = createBench(options)
  bench.say(
    pinned
      ? `servers on core ${SERVER_CORE}, load on another`
      : 'nothing is pinned: this takes two cores and taskset, so expect noise',
  )
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void bench.close().finally(() => process.exit(1)))
  }
  const results: Result[] = []
  const failures: string[] = []
  try {
    for (const name of options.only) {
      bench.say(`\n${name}`)
      try {
        results.push(...(await works[name](bench)))
      } catch (error) {
        failures.push(name)
        bench.say(`  ${name} could not be measured: ${error instanceof Error ? error.stack : String(error)}`)
      } finally {
        await bench.stopChildren()
      }
    }
  } finally {
    await bench.close()
  }
  if (options.profile === undefined) report(options, results)
  if (failures.length > 0) {
    bench.say(`\ncould not be measured: ${failures.join(', ')}`)
    process.exitCode = 1
  }
  const regressions = results.filter((result) => result.work === 'compare' && isRegression(result))
  for (const { title, value } of regressions) bench.say(`regression: ${title}: ${value.toFixed(2)} times`)
  if (regressions.length > 0) process.exitCode = 1
}

function report(options: Options, results: readonly Result[]): void {
  const { seconds, rounds, quick, shape, images } = options
  const text = JSON.stringify(
    {
      time: new Date().toISOString(),
      machine: {
        cpu: cpus()[0]?.model,
        cores: cpus().length,
        node: process.version,
        system: `${platform()} ${release()} ${arch()}`,
        pinned,
      },
      options: { seconds, rounds, quick, shape, images },
      results: results.map((result) => ({ ...result, verdict: verdictOf(result.value, result.goal) })),
    },
    undefined,
    2,
  )
  const dir = fileURLToPath(new URL('./results/', import.meta.url))
  mkdirSync(dir, { recursive: true })
  const name = new Date().toISOString().slice(0, 19).replaceAll(':', '')
  writeFileSync(`${dir}${name}.json`, `${text}\n`)
  if (options.saveReference) saveReference(`${dir}reference.json`, text)
  process.stdout.write(options.json ? `${text}\n` : `\n${tableOf(results)}\n`)
  const missed = results.filter(({ value, goal }) => verdictOf(value, goal) === 'missed')
  if (!options.json && missed.length > 0) {
    process.stdout.write(`\nmissed: ${missed.map(({ title }) => title).join('; ')}\n`)
  }
}

/** The works that were measured take the place of their former results; those of others stay. What was measured later says when. */
function saveReference(file: string, text: string): void {
  const measured = JSON.parse(text) as Reference
  const known = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Reference) : { results: [] }
  const works = new Set(measured.results.map(({ work }) => work))
  const kept = known.results.filter(({ work }) => !works.has(work))
  const { results, ...run } = measured
  const merged =
    kept.length === 0
      ? measured
      : { ...run, ...known, results: [...kept, ...results.map((one) => ({ ...one, run }))] }
  writeFileSync(file, `${JSON.stringify(merged, undefined, 2)}\n`)
}

interface Reference {
  readonly results: readonly { readonly work: string }[]
}

try {
  await main(process.argv.slice(2))
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  process.stderr.write(`bench: ${error.message}\n`)
  process.exitCode = USAGE_EXIT_CODE
}
