#!/usr/bin/env node
// Plain JavaScript that any Node can read, so that one that is too old gets an answer instead of a syntax error.
const oldestMajor = 24
if (Number(process.versions.node.split('.')[0]) < oldestMajor) {
  process.stderr.write(
    `berth: needs Node.js ${oldestMajor} or newer, this is ${process.versions.node}; the project brings its own: npm ci, then npx berth\n`,
  )
  process.exitCode = 1
} else {
  const { enableCompileCache } = await import('node:module')
  enableCompileCache()
  const { main } = await import('../src/cli/main.ts')
  await main(process.argv.slice(2))
}
