import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'

/**
 * `npm run shots [-- directory]`: writes pictures of every page and dialog of the console, for looking at before a release. They are those
 * that the tests with axe visit, in a directory for each area: `images/images-layers-375-dark.png`.
 */

const TESTS = 'test/console'
const SUFFIX = '.test.ts'
const PICTURED = /'[^'\n]* pass(es)? axe/

const directory = resolve(process.argv[2] ?? 'node_modules/.cache/berth-shots')
const areas = readdirSync(TESTS)
  .filter((file) => file.endsWith(SUFFIX) && PICTURED.test(readFileSync(`${TESTS}/${file}`, 'utf8')))
  .map((file) => file.slice(0, -SUFFIX.length))

for (const area of areas) {
  const pictures = `${directory}/${area}`
  mkdirSync(pictures, { recursive: true })
  const { status } = spawnSync(
    process.execPath,
    ['--test', '--test-name-pattern=pass(es)? axe', `${TESTS}/${area}${SUFFIX}`],
    { stdio: ['ignore', 'inherit', 'inherit'], env: { ...process.env, BERTH_TEST_SCREENSHOTS: pictures } },
  )
  process.stdout.write(`${readdirSync(pictures).length} pictures in ${pictures}\n`)
  if (status !== 0) process.exitCode = status ?? 1
}
