import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { directoryArgument } from './directory-argument.ts'

/** `npm run shots -- [directory]`: the screenshots are those that the tests check with axe. */

const defaultDirectory = 'node_modules/.cache/berth-shots'
const help = `Usage: npm run shots -- [directory]

Writes screenshots of every page and dialog of the console, for review before a release.
Each area has a directory of its own: images/images-layers-375-dark.png.
Without a directory, they are written into ${defaultDirectory}.
`

const TESTS = 'test/console'
const SUFFIX = '.test.ts'
const PICTURED = 'assertAccessible('

const directory = resolve(directoryArgument(help, defaultDirectory))
const areas = readdirSync(TESTS)
  .filter((file) => file.endsWith(SUFFIX) && readFileSync(`${TESTS}/${file}`, 'utf8').includes(PICTURED))
  .map((file) => file.slice(0, -SUFFIX.length))

const built = spawnSync(process.execPath, ['scripts/build-console.ts', '--if-changed'], { stdio: 'inherit' })
if (built.status !== 0) process.exit(built.status ?? 1)

for (const area of areas) {
  const pictures = `${directory}/${area}`
  mkdirSync(pictures, { recursive: true })
  const { status } = spawnSync(process.execPath, ['--test', `${TESTS}/${area}${SUFFIX}`], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, BERTH_TEST_SCREENSHOTS: pictures },
  })
  process.stdout.write(`${readdirSync(pictures).length} pictures in ${pictures}\n`)
  if (status !== 0) process.exitCode = status ?? 1
}
