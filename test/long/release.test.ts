import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from '../support/server/process.ts'

test('a release in a clone is complete, has correct checksums, and can be repeated', (t) => {
  const clone = join(temporaryDirectory(t), 'clone')
  const run = (program: string, ...args: string[]) =>
    execFileSync(program, args, { cwd: clone, encoding: 'utf8' })
  execFileSync('git', ['clone', '--quiet', '.', clone])
  symlinkSync(resolve('node_modules'), join(clone, 'node_modules'))
  run('sh', '-c', 'echo node_modules >> .git/info/exclude')
  for (const [name, value] of [
    ['user.name', 'Test'],
    ['user.email', 'test@example.com'],
  ] as const)
    run('git', 'config', name, value)

  run(process.execPath, 'scripts/release.ts', '99.0.0', '--no-image', '--tag')
  const directory = join(clone, 'release/99.0.0')
  const files = ['berth', 'berth-cli', 'berth-client'].flatMap((name) => [
    `${name}-99.0.0.cdx.json`,
    `${name}-99.0.0.tgz`,
  ])
  assert.deepEqual(readdirSync(directory).sort(), ['RELEASE_NOTES.md', 'SHA256SUMS', ...files].sort())
  execFileSync('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: directory })
  const bill = JSON.parse(readFileSync(join(directory, 'berth-99.0.0.cdx.json'), 'utf8'))
  assert.equal(bill.metadata.component.version, '99.0.0')
  const components = (bill.components as { name: string }[]).map(({ name }) => name)
  for (const name of ['better-sqlite3', 'kysely', 'undici']) assert.ok(components.includes(name), name)
  assert.ok(!components.includes('typescript'))
  assert.equal(run('git', 'status', '--porcelain'), '')
  assert.equal(run('git', 'tag', '--points-at', 'HEAD').trim(), 'v99.0.0')
  run('npm', 'ci', '--dry-run', '--ignore-scripts')

  const commit = run('git', 'rev-parse', 'HEAD')
  const tarball = readFileSync(join(directory, 'berth-99.0.0.tgz'))
  run(process.execPath, 'scripts/release.ts', '99.0.0', '--no-image')
  assert.equal(run('git', 'rev-parse', 'HEAD'), commit)
  assert.ok(readFileSync(join(directory, 'berth-99.0.0.tgz')).equals(tarball))
})
