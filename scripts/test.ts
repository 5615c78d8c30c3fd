import {
  chmodSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { run as runFiles } from 'node:test'
import { spec } from 'node:test/reporters'
import { parseArgs, stripVTControlCharacters } from 'node:util'
import { createCitusTemplates } from '../test/support/database/citus-databases.ts'
import { citusSelection, runsOnCitus } from '../test/support/database/citus-suites.ts'
import { createPostgresTemplate } from '../test/support/database/postgres-template.ts'
import { hasCitus, startThrowAwayCluster, type ThrowAwayCluster } from './citus.ts'
import { buildPackages } from './packages/build.ts'
import { PROGRAM } from './packages/paths.ts'
import { findServerBinaries, startThrowAwayServer, type ThrowAwayServer } from './postgres.ts'
import { groupFiles, separate, type TestProcess } from './test-groups.ts'

/**
 * `npm test [-- [options] [part of a file's path]…]`: runs the test files with Node's own runner. Without options, suites run on SQLite, and
 * those about what engines do differently also on PGlite.
 *
 *   --all               runs every suite on SQLite and PostgreSQL: on a server for the run, or on PGlite where the machine has no server
 *   --long              runs the long suites, test/long/, on every database instead
 *   --citus             runs every suite that runs on PostgreSQL on a Citus cluster instead; needs a PostgreSQL with Citus
 *   --citus-selection   the same for a selection that takes a few minutes (test/support/database/citus-suites.ts)
 *                       BERTH_TEST_CITUS_NODE=1: nodes use the first worker
 *   --golden            rewrites the golden files, by running the tests that have some
 *   --record            writes the durations of a whole run to test/durations.json, for the order of the first run in a new clone
 *   --require-postgres  fails when there is no PostgreSQL server
 */

const { values: options, positionals: filters } = parseArgs({
  allowPositionals: true,
  options: {
    all: { type: 'boolean', default: false },
    long: { type: 'boolean', default: false },
    golden: { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
    'require-postgres': { type: 'boolean', default: false },
    citus: { type: 'boolean', default: false },
    'citus-selection': { type: 'boolean', default: false },
  },
})

const onCitus = options.citus || options['citus-selection']
/** The databases of all suites, if they are selected. */
const selected = onCitus ? ['citus'] : (process.env['BERTH_TEST_DATABASES']?.split(',') ?? [])

/** Exit code of a program that Ctrl-C ended. */
const INTERRUPTED = 130
/** More than cores: many tests wait for processes and time limits. Not with several database servers for each test. */
const CONCURRENCY = onCitus
  ? availableParallelism()
  : Math.min(2 * availableParallelism(), availableParallelism() + 2)
const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
/** Each test file, server and command is a process of its own; what one of them compiled, the next ones read. */
const COMPILE_CACHE = 'node_modules/.cache/node-compile'
/** Milliseconds that each test file took when it ran last. */
const DURATIONS = 'node_modules/.cache/berth-test/durations.json'
/** Where a whole run builds the program that it starts in processes. */
const BUILT = 'node_modules/.cache/berth-test/packages'
/**
 * For each process with tests. New objects die before the larger space for them is full, and are not copied. Several processes share the
 * cores: threads of a garbage collector that wait for each other would take 15 % more processor time.
 */
const NODE_ARGUMENTS = [
  `--import=${new URL('../test/support/untracked-tests.ts', import.meta.url)}`,
  '--min-semi-space-size=16',
  '--max-semi-space-size=64',
  '--single-threaded-gc',
]
/** Of slow files, in the repository: `npm ci` removes the file above. */
const RECORDED = 'test/durations.json'
const RECORDED_MS_MIN = 10 * SECOND_MS
const SLOWEST_COUNT = 10
/** A test that hangs must not hang the run; counts for a whole file as well. */
const timeoutMs = (options.long ? 60 : 20) * MINUTE_MS
/** Linux has a file system in memory here. */
const MEMORY_FILES = '/dev/shm'
/** Several times what a run takes. */
const MEMORY_BYTES_MIN = 2 * 1024 ** 3

const interrupt = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => interrupt.abort())

let server: ThrowAwayServer | undefined
let cluster: ThrowAwayCluster | undefined
const directory = createRunDirectory()
process.env['BERTH_TEST_RUN_DIRECTORY'] = directory
try {
  process.exitCode = await main()
} finally {
  await Promise.all([server?.stop(), cluster?.stop()])
  rmSync(directory, { recursive: true, force: true })
}

async function main(): Promise<number> {
  const files = testFiles()
  if (files.length === 0) {
    print('no test file matches')
    return 1
  }
  const found = await findPostgres()
  print(found.text)
  if (found.url === undefined && options['require-postgres']) return 1
  const citus = await findCitus()
  if (citus !== undefined) print(citus)
  if (cluster === undefined && onCitus) return 1
  if (interrupt.signal.aborted) return INTERRUPTED
  const clusterTemplates = cluster === undefined ? undefined : await createCitusTemplates(cluster.urls)
  const template = found.url === undefined ? undefined : await createPostgresTemplate(found.url)
  const everyDatabase = `sqlite,${found.url === undefined ? 'pglite' : 'postgres'}`
  setEnvironment({
    NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? resolve(COMPILE_CACHE),
    TMPDIR: directory,
    BERTH_TEST_DATABASES:
      selected.length > 0 ? selected.join(',') : options.all || options.long ? everyDatabase : undefined,
    BERTH_TEST_POSTGRES_URL: found.url,
    BERTH_TEST_POSTGRES_TEMPLATE: template?.name,
    BERTH_TEST_CITUS_URLS: cluster?.urls.join(','),
    BERTH_TEST_CITUS_TEMPLATES: clusterTemplates?.join(','),
    BERTH_TEST_BUNDLE: isWhole() ? buildProgram() : undefined,
    BERTH_GOLDEN: options.golden ? 'write' : undefined,
    FORCE_COLOR: process.stdout.isTTY === true ? '1' : undefined,
  })
  try {
    return await run(files)
  } finally {
    await template?.drop()
  }
}

/** Not a few files, or those of a special kind. */
function isWhole(): boolean {
  return filters.length === 0 && !options.long && !options.golden
}

/** Builds the program: the sources take more than twice as much processor time to start, and a run starts hundreds of servers. */
function buildProgram(): string {
  return resolve(join(buildPackages(BUILT).berth, PROGRAM))
}

/** Sets variables of this process, which those of the test files inherit. */
function setEnvironment(variables: Readonly<Record<string, string | undefined>>): void {
  for (const [name, value] of Object.entries(variables)) if (value !== undefined) process.env[name] = value
}

function testFiles(): string[] {
  const all = globSync('{packages,test}/**/*.test.ts', { exclude: ['**/node_modules/**'] })
  return all
    .filter((file) => file.startsWith('test/long/') === options.long)
    .filter((file) => !onCitus || runsOnCitus(file, readFileSync(file, 'utf8')))
    .filter((file) => !options['citus-selection'] || citusSelection.includes(file))
    .filter((file) => filters.length === 0 || filters.some((filter) => file.includes(filter)))
    .filter((file) => !options.golden || /assertGolden\(|BERTH_GOLDEN/.test(readFileSync(file, 'utf8')))
}

/**
 * Creates the directory for temporary files of the run: in memory where there is space, since servers of tests wait for the disk at each
 * write. Other users, as which some programs run, may enter it.
 */
function createRunDirectory(): string {
  const parent = hasMemoryFiles() ? MEMORY_FILES : tmpdir()
  const created = mkdtempSync(join(parent, 'berth-test-run-'))
  chmodSync(created, 0o755)
  return created
}

function hasMemoryFiles(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY_FILES)
    return bavail * bsize >= MEMORY_BYTES_MIN
  } catch {
    return false
  }
}

/** Finds or starts the PostgreSQL server of the run, if one is needed; with a sentence about it. */
async function findPostgres(): Promise<{ readonly url?: string; readonly text: string }> {
  const isNeeded = options.all || options.long || options['require-postgres'] || selected.includes('postgres')
  if (!isNeeded && onCitus) return { text: 'Databases: Citus alone' }
  if (!isNeeded)
    return { text: 'Databases: SQLite, and PGlite for what engines do differently; every database: --all' }
  const given = process.env['BERTH_TEST_POSTGRES_URL']
  if (given) return { url: given, text: 'PostgreSQL: the server in BERTH_TEST_POSTGRES_URL' }
  const binaries = findServerBinaries()
  if (binaries === undefined) return { text: 'PostgreSQL: no server found; its dialect is tested on PGlite' }
  try {
    server = await startThrowAwayServer(binaries, directory)
    return {
      url: server.url,
      text: `PostgreSQL: a server for this run, version ${server.version}, from ${binaries}`,
    }
  } catch (error) {
    const why = (error as Error).message
    return {
      text: `PostgreSQL: the server in ${binaries} does not start; its dialect is tested on PGlite\n${why}`,
    }
  }
}

/** Starts the Citus cluster of the run, if it is selected; returns a sentence about it. */
async function findCitus(): Promise<string | undefined> {
  if (!selected.includes('citus')) return undefined
  const binaries = findServerBinaries()
  if (binaries === undefined || !hasCitus(binaries)) return 'Citus: not installed; its suites are skipped'
  cluster = await startThrowAwayCluster(binaries, directory)
  return `Citus: a coordinator and two workers for this run, PostgreSQL ${cluster.version}, from ${binaries}`
}

/** Runs the files with Node's runner, the slowest first, so that no slow one is left at the end. */
async function run(files: readonly string[]): Promise<number> {
  const known = readDurations(DURATIONS)
  const recorded = readDurations(RECORDED)
  // A file that never ran here: what was recorded, or its size if it is new or short.
  const expectedMs = (file: string) =>
    known[file] ?? recorded[file] ?? Math.min(statSync(file).size, RECORDED_MS_MIN)
  // Selected files run separately: what one of them needs from another would only show then.
  const parts = isWhole()
    ? groupFiles(files, expectedMs, directory)
    : files.map((file) => separate(file, expectedMs))
  parts.sort((a, b) => b.expectedMs - a.expectedMs)
  const events = runFiles({
    files: parts.map(({ file }) => file),
    concurrency: CONCURRENCY,
    execArgv: NODE_ARGUMENTS,
    timeout: timeoutMs,
    signal: interrupt.signal,
  })
  const finished: Finished[] = []
  const testedMs = new Map<string, number>()
  let isSuccess = true
  events.on('test:fail', () => {
    isSuccess = false
  })
  for (const outcome of ['test:pass', 'test:fail'] as const)
    events.on(outcome, ({ file, details }) => {
      if (file === undefined || details.type === 'suite') return
      const path = relative('.', file)
      testedMs.set(path, (testedMs.get(path) ?? 0) + details.duration_ms)
    })
  events.on('test:summary', ({ file, duration_ms }) => {
    const part = parts.find((one) => one.file === file)
    if (part !== undefined) finished.push({ ...part, durationMs: duration_ms })
  })
  let text = ''
  for await (const chunk of events.compose(new spec())) {
    process.stdout.write(chunk)
    text += chunk
  }
  printSlowest(finished)
  printSummary(text)
  if (interrupt.signal.aborted) return INTERRUPTED
  const durations = durationsOf(finished, testedMs, expectedMs)
  writeDurations(DURATIONS, { ...known, ...durations })
  if (options.record && isWhole()) writeDurations(RECORDED, rounded(durations))
  return isSuccess ? 0 : 1
}

interface Finished extends TestProcess {
  readonly durationMs: number
}

/** The time of each process, divided among its files in proportion to the time of their tests: the rest is what starts for them. */
function durationsOf(
  finished: readonly Finished[],
  testedMs: ReadonlyMap<string, number>,
  expectedMs: (file: string) => number,
): Record<string, number> {
  const durations: Record<string, number> = {}
  for (const { members, durationMs } of finished) {
    // The tests of some files are in a file that they import.
    const times = members.map((file) => testedMs.get(file) ?? expectedMs(file))
    const sum = times.reduce((total, ms) => total + ms, 0)
    for (const [at, file] of members.entries())
      durations[file] = Math.round((durationMs * (times[at] ?? 0)) / Math.max(sum, 1))
  }
  return durations
}

function printSlowest(finished: readonly Finished[]): void {
  if (finished.length < 2) return
  const slowest = finished.toSorted((a, b) => b.durationMs - a.durationMs).slice(0, SLOWEST_COUNT)
  const lines = slowest.map(({ members, durationMs }) => {
    const others = members.length > 1 ? ` and ${members.length - 1} more in its process` : ''
    return `${(durationMs / SECOND_MS).toFixed(1).padStart(7)} s  ${members[0]}${others}`
  })
  print(`\nslowest processes:\n${lines.join('\n')}`)
}

/** Prints the counts of the run once more, where a list of failures or of slow files came after them. */
function printSummary(text: string): void {
  const isCount = (line: string) =>
    /^ℹ (tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$/.test(line)
  const counts = stripVTControlCharacters(text).split('\n').filter(isCount).slice(-8)
  print(`\n${counts.join('\n')}`)
}

/** Without short files, and with times that another run does not change in every line. */
function rounded(durations: Readonly<Record<string, number>>): Record<string, number> {
  const slow = Object.entries(durations).filter(([, ms]) => ms >= RECORDED_MS_MIN)
  return Object.fromEntries(slow.map(([file, ms]) => [file, Math.round(ms / SECOND_MS) * SECOND_MS]).sort())
}

function readDurations(file: string): Readonly<Record<string, number>> {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return {}
  }
}

function writeDurations(file: string, durations: Readonly<Record<string, number>>): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `${JSON.stringify(durations, undefined, 2)}\n`)
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
