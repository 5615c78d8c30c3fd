import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'

/**
 * `npm run build:console`, and part of `npm ci`: builds packages/console into the files that the server sends. An installation without
 * development dependencies cannot build it, and does not fail: the server says on the page that the console is not built.
 *
 *   --if-changed  does nothing if the files are those of the current sources: `npx berth` in a clone runs what `npm ci` runs, every time
 */

const VITE = 'node_modules/vite/bin/vite.js'
const PAGE = 'packages/console/dist/static/console.html'
/** The hash of the sources that the files were built from. */
const BUILT_FROM = 'packages/console/dist/built-from'
/** What the console is built from, by the rules of docs/architecture.md. */
const SOURCES = [
  'package-lock.json',
  ...['console', 'client', 'look', 'workloads', 'advisory-formats'].map(
    (name) => `packages/${name}/{*.*,src/**/*.*}`,
  ),
]

const { values: options } = parseArgs({ options: { 'if-changed': { type: 'boolean', default: false } } })

function hashOfSources(): string {
  const hash = createHash('sha256')
  for (const path of SOURCES.flatMap((pattern) => globSync(pattern)).sort())
    hash.update(path).update('\0').update(readFileSync(path))
  return hash.digest('hex')
}

function isCurrent(sources: string): boolean {
  return existsSync(PAGE) && existsSync(BUILT_FROM) && readFileSync(BUILT_FROM, 'utf8') === sources
}

if (!existsSync(VITE) || !existsSync('node_modules/react')) {
  process.stdout.write('console: not built, because development dependencies are not installed\n')
} else {
  const sources = hashOfSources()
  if (!options['if-changed'] || !isCurrent(sources)) {
    const build = [VITE, 'build', 'packages/console', '--logLevel', 'warn']
    const { status } = spawnSync(process.execPath, build, { stdio: 'inherit' })
    if (status === 0) {
      writeFileSync(BUILT_FROM, sources)
      process.stdout.write('console: built into packages/console/dist/static\n')
    }
    process.exitCode = status ?? 1
  }
}
