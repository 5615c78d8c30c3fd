import { spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** `npm run check`: runs all static checks. Stops at the first check that fails. */

const steps = {
  types: () => command('tsc', '--project', '.'),
  'types of the client in browsers': () => command('tsc', '--project', 'packages/client'),
  'types of the console': () => command('tsc', '--project', 'packages/console'),
  'format and lint': () => command('biome', 'check', '--error-on-warnings'),
  'unused code': () => command('knip'),
  'the contract': () => command('buf', 'lint'),
  'generated code is current': generatedIsCurrent,
  'rules of the project': () => command('node', '--test', '--test-reporter=dot', 'test/tidy.test.ts'),
} as const satisfies Record<string, () => string>

const SECOND_MS = 1000

for (const [name, check] of Object.entries(steps)) {
  const startMs = performance.now()
  const problems = check()
  const seconds = ((performance.now() - startMs) / SECOND_MS).toFixed(1)
  process.stdout.write(`${problems === '' ? 'ok    ' : 'FAILED'}  ${seconds.padStart(5)} s  ${name}\n`)
  if (problems !== '') {
    process.stdout.write(`\n${problems}\n\ncheck: "${name}" failed\n`)
    process.exit(1)
  }
}

/** Runs a program of node_modules/.bin. Returns its output if it failed, '' if it succeeded. */
function command(program: string, ...args: string[]): string {
  const path = `${join(process.cwd(), 'node_modules/.bin')}:${process.env['PATH']}`
  const env = { ...process.env, PATH: path }
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8', env })
  return status === 0 ? '' : `${stdout ?? ''}${stderr ?? ''}`.trim() || `${program}: ${error?.message}`
}

/** Generates into a temporary directory, so that a check changes nothing. */
function generatedIsCurrent(): string {
  const directory = mkdtempSync(join(tmpdir(), 'berth-generated-'))
  try {
    const failure =
      command('buf', 'generate', '--output', directory) ||
      command('node', 'scripts/generate-client.ts', join(directory, 'packages/client/src/generated'))
    if (failure !== '') return failure
    const filesIn = (root: string) =>
      globSync('packages/{contract/gen,client/src/generated}/**/*.{js,ts,json}', { cwd: root })
    const files = new Set([...filesIn('.'), ...filesIn(directory)])
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
