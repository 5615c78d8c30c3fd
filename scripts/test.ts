import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs, stripVTControlCharacters } from 'node:util'
import { findServerBinaries, startThrowAwayServer, type ThrowAwayServer } from './postgres.ts'

/**
 * `npm test [-- [options] [part of a file's path]…]`: runs the test files with Node's own runner, on a PostgreSQL of their own
 * where the machine has one.
 *
 *   --long              the long suites, test/long/, instead
 *   --golden            rewrites the golden files, by running the tests that have some
 *   --require-postgres  fails when there is no PostgreSQL
 */

const { values: options, positionals: filters } = parseArgs({
  allowPositionals: true,
  options: {
    long: { type: 'boolean', default: false },
    golden: { type: 'boolean', default: false },
    'require-postgres': { type: 'boolean', default: false },
  },
})

/** Exit code of shells for a program that Ctrl-C ended. */
const INTERRUPTED = 130
/** One more than the cores of the smallest CI: many tests wait for processes and time limits. */
const CONCURRENCY = 3
const MINUTE_MS = 60_000
/** Each test file, server and command is a process of its own; what one of them compiled, the next ones read. */
const COMPILE_CACHE = 'node_modules/.cache/node-compile'
/** A test that hangs must not hang the run; counts for a whole file as well. */
const timeoutMs = (options.long ? 60 : 10) * MINUTE_MS

let server: ThrowAwayServer | undefined
let runner: ChildProcess | undefined
let interrupted = false
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    interrupted = true
    runner?.kill(signal)
  })
}

try {
  process.exitCode = await main()
} finally {
  await server?.stop()
}

async function main(): Promise<number> {
  const files = testFiles()
  if (files.length === 0) {
    say('no test file matches')
    return 1
  }
  const found = await postgres()
  say(`PostgreSQL: ${found.description}`)
  if (found.url === undefined && options['require-postgres']) return 1
  if (interrupted) return INTERRUPTED
  return run(files, {
    ...(found.url === undefined ? {} : { BERTH_TEST_POSTGRES_URL: found.url }),
    ...(options.golden ? { BERTH_GOLDEN: 'write' } : {}),
  })
}

function testFiles(): string[] {
  const all = globSync('{packages,test}/**/*.test.ts').sort()
  return all
    .filter((file) => file.startsWith('test/long/') === options.long)
    .filter((file) => filters.length === 0 || filters.some((filter) => file.includes(filter)))
    .filter((file) => !options.golden || /expectGolden\(|BERTH_GOLDEN/.test(readFileSync(file, 'utf8')))
}

/** Where the tests find a PostgreSQL, and a sentence about it. */
async function postgres(): Promise<{ readonly url?: string; readonly description: string }> {
  const given = process.env['BERTH_TEST_POSTGRES_URL']
  if (given) return { url: given, description: 'the server in BERTH_TEST_POSTGRES_URL' }
  const binaries = findServerBinaries()
  if (binaries === undefined) return { description: 'no server found; its dialect is tested on PGlite' }
  try {
    server = await startThrowAwayServer(binaries)
    return {
      url: server.url,
      description: `a server of its own, version ${server.version}, from ${binaries}`,
    }
  } catch (error) {
    const why = (error as Error).message
    return {
      description: `the server in ${binaries} does not start; its dialect is tested on PGlite\n${why}`,
    }
  }
}

/** Node's runner; ends with its summary, also after the list of failures. */
async function run(files: readonly string[], env: Readonly<Record<string, string>>): Promise<number> {
  const color = process.stdout.isTTY === true ? { FORCE_COLOR: '1' } : {}
  const flags = [`--test-concurrency=${CONCURRENCY}`, `--test-timeout=${timeoutMs}`, '--test-reporter=spec']
  runner = spawn(process.execPath, ['--test', ...flags, ...files], {
    env: { NODE_COMPILE_CACHE: resolve(COMPILE_CACHE), ...process.env, ...color, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  runner.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    process.stdout.write(chunk)
    text += chunk
  })
  const [code, signal] = (await once(runner, 'close')) as [number | null, NodeJS.Signals | null]
  const lines = stripVTControlCharacters(text).trimEnd().split('\n')
  const isSummary = (line: string) =>
    /^ℹ (tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$/.test(line)
  const summary = lines.filter(isSummary).slice(-8)
  if (!isSummary(lines.at(-1) ?? '')) say(`\n${summary.join('\n')}`)
  return interrupted || signal !== null ? INTERRUPTED : (code ?? 1)
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
