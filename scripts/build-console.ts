import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'

/**
 * `npm run build:console`, and part of `npm ci`: builds packages/console into the files that the server sends. An installation without
 * development dependencies cannot build it, and does not fail: the server says on the page that the console is not built.
 */

const VITE = 'node_modules/vite/bin/vite.js'

if (!existsSync(VITE) || !existsSync('node_modules/react')) {
  process.stdout.write('console: not built, because development dependencies are not installed\n')
} else {
  const build = [VITE, 'build', 'packages/console', '--logLevel', 'warn']
  const { status } = spawnSync(process.execPath, build, { stdio: 'inherit' })
  if (status === 0) process.stdout.write('console: built into packages/console/dist/static\n')
  process.exitCode = status ?? 1
}
