#!/usr/bin/env node
// Plain JavaScript that any Node can read, so that one that is too old hands over to the project's own instead of failing on syntax.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const oldestMajor = 24
const own = join(fileURLToPath(new URL('.', import.meta.url)), '../node_modules/node/bin/node')

if (Number(process.versions.node.split('.')[0]) >= oldestMajor) {
  const { enableCompileCache } = await import('node:module')
  enableCompileCache()
  // Docker calls its credential helper by another name.
  if (basename(process.argv[1]).startsWith('docker-credential-')) {
    const { credentialHelper } = await import('../src/cli/auth/credential-helper.ts')
    process.exitCode = await credentialHelper(process.argv[2], process.env)
  } else {
    const { main } = await import('../src/cli/main.ts')
    await main(process.argv.slice(2))
  }
} else if (existsSync(own)) {
  const { status, signal } = spawnSync(own, process.argv.slice(1), { stdio: 'inherit' })
  if (signal !== null) process.kill(process.pid, signal)
  process.exitCode = status ?? 1
} else {
  process.stderr.write(
    `berth: needs Node.js ${oldestMajor} or newer, this is ${process.versions.node}; the project brings its own: npm ci, then npx berth\n`,
  )
  process.exitCode = 1
}
