import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync } from 'node:fs'
import { resolve } from 'node:path'

/**
 * `npm run shots [-- directory]`: writes pictures of every page and dialog of the console, for looking at before a release. They are those
 * that the test with axe visits.
 */

const directory = resolve(process.argv[2] ?? 'node_modules/.cache/berth-shots')
mkdirSync(directory, { recursive: true })
const { status } = spawnSync(
  process.execPath,
  ['--test', '--test-name-pattern=states of the console|passes axe', 'test/console/console-states.test.ts'],
  { stdio: ['ignore', 'inherit', 'inherit'], env: { ...process.env, BERTH_TEST_SCREENSHOTS: directory } },
)
process.stdout.write(`${readdirSync(directory).length} pictures in ${directory}\n`)
process.exitCode = status ?? 1
