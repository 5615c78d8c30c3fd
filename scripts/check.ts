import { execFile } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'

/** `npm run check`: runs all static checks, one on each core. Starts none after one that failed. */

const steps = {
  types: () => command('tsc', '--project', '.'),
  'types of the client in browsers': () => command('tsc', '--project', 'packages/client'),
  'types of the console': () => command('tsc', '--project', 'packages/console'),
  'format and lint': () => command('biome', 'check', '--error-on-warnings'),
  'unused code': () => command('knip'),
  'the contract': () => command('buf', 'lint'),
  'generated code is current': generatedIsCurrent,
  'rules of the project': () => command('node', '--test', '--test-reporter=dot', 'test/tidy.test.ts'),
} as const satisfies Record<string, () => Promise<string>>

const SQLITE_SCHEMA = 'packages/server/src/storage/engines/sqlite/schema.ts'
const SECOND_MS = 1000
/** Output of a program, bytes. */
const OUTPUT_MAX = 64 * 1024 ** 2

const waiting = Object.entries(steps)
const failures: (readonly [name: string, problems: string])[] = []

async function runWaiting(): Promise<void> {
  for (;;) {
    const [name, check] = waiting.shift() ?? []
    if (name === undefined || check === undefined || failures.length > 0) return
    const startMs = performance.now()
    const problems = await check()
    const seconds = ((performance.now() - startMs) / SECOND_MS).toFixed(1)
    process.stdout.write(`${problems === '' ? 'ok    ' : 'FAILED'}  ${seconds.padStart(5)} s  ${name}\n`)
    if (problems !== '') failures.push([name, problems])
  }
}

await Promise.all(Array.from({ length: availableParallelism() }, runWaiting))
for (const [name, problems] of failures) process.stdout.write(`\n${problems}\n\ncheck: "${name}" failed\n`)
if (failures.length > 0) process.exitCode = 1

/** Runs a program of node_modules/.bin. Returns its output if it failed, '' if it succeeded. */
function command(program: string, ...args: string[]): Promise<string> {
  const path = `${join(process.cwd(), 'node_modules/.bin')}:${process.env['PATH']}`
  const options = { env: { ...process.env, PATH: path }, maxBuffer: OUTPUT_MAX }
  return new Promise((resolve) => {
    execFile(program, args, options, (error, stdout, stderr) => {
      resolve(error === null ? '' : `${stdout}${stderr}`.trim() || `${program}: ${error.message}`)
    })
  })
}

/** Generates into a temporary directory, so that a check changes nothing. */
async function generatedIsCurrent(): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'berth-generated-'))
  try {
    const failure =
      (await command('buf', 'generate', '--output', directory)) ||
      (await command(
        'node',
        'scripts/generate-client.ts',
        join(directory, 'packages/client/src/generated'),
      )) ||
      (await command('node', 'scripts/generate-sqlite-schema.ts', join(directory, SQLITE_SCHEMA)))
    if (failure !== '') return failure
    const filesIn = (root: string) =>
      globSync('packages/{contract/gen,client/src/generated}/**/*.{js,ts,json}', { cwd: root })
    const files = new Set([...filesIn('.'), ...filesIn(directory), SQLITE_SCHEMA])
    const stale = [...files].filter((file) => read(file) !== read(join(directory, file))).sort()
    return stale.length === 0 ? '' : `npm run generate changes ${stale.join(', ')}`
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return '' // on one side only
  }
}
