import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { releaseSection, sectionOf } from '../scripts/release/changelog.ts'
import { isNewer } from '../scripts/release/versions.ts'
import { type Cleanup, temporaryDirectory } from './support/server/process.ts'

/** `npm run release`: what it checks and commits. test/long/release.test.ts writes a complete release. */

const script = resolve('scripts/release.ts')

/** Creates a repository with what the release changes. */
function createProject(t: Cleanup, unreleased: string): string {
  const directory = temporaryDirectory(t)
  const write = (path: string, content: unknown) =>
    writeFileSync(join(directory, path), typeof content === 'string' ? content : JSON.stringify(content))
  mkdirSync(join(directory, 'packages/cli'), { recursive: true })
  const root = { name: 'berth', version: '1.2.3', dependencies: { '@berth/cli': '1.2.3', yaml: '1.2.3' } }
  const cli = {
    name: '@berth/cli',
    version: '1.2.3',
    devDependencies: { '@berth/client': '1.2.3', yaml: '1.2.3' },
  }
  write('package.json', root)
  write('packages/cli/package.json', cli)
  write('package-lock.json', {
    version: '1.2.3',
    packages: { '': root, 'packages/cli': cli, 'node_modules/yaml': { version: '1.2.3' } },
  })
  write('CHANGELOG.md', `# Changelog\n\n## Unreleased\n${unreleased}\n## 1.2.3\n\nOld changes.\n`)
  git(directory, 'init', '--quiet')
  for (const [name, value] of [
    ['user.name', 'Test'],
    ['user.email', 'test@example.com'],
  ] as const)
    git(directory, 'config', name, value)
  git(directory, 'add', '.')
  git(directory, 'commit', '--quiet', '--message', 'first')
  return directory
}

function git(cwd: string, ...args: string[]): string {
  return execFileSync('git', args, { cwd, encoding: 'utf8' })
}

function release(cwd: string, ...args: string[]) {
  return spawnSync(process.execPath, [script, ...args], { cwd, encoding: 'utf8' })
}

test('an invalid release is rejected with a reason, and changes nothing', (t) => {
  const project = createProject(t, '\nNew changes.\n')
  const first = git(project, 'rev-parse', 'HEAD')
  const refused = (args: string[], reason: RegExp) => {
    const { status, stderr } = release(project, ...args)
    assert.equal(status, 1, args.join(' '))
    assert.match(stderr, reason)
  }
  refused([], /the version must be one argument.*\n\nUsage: /)
  refused(['1.3'], /x\.y\.z/)
  refused(['1.3.0', '--unknown'], /--unknown/)
  refused(['1.2.2'], /1\.2\.2 is not newer than 1\.2\.3/)
  git(project, 'tag', 'v1.3.0')
  refused(['1.3.0', '--tag'], /the tag v1\.3\.0 exists/)
  appendFileSync(join(project, 'CHANGELOG.md'), 'x\n')
  refused(['1.3.0'], /the working tree has changes.*\n M CHANGELOG\.md/)
  git(project, 'checkout', '--quiet', 'CHANGELOG.md')
  const { status, stdout } = release(project, '1.3.0', '--dry-run')
  assert.deepEqual([status, /New changes\./.test(stdout)], [0, true])
  assert.equal(git(project, 'rev-parse', 'HEAD'), first)
  assert.equal(git(project, 'status', '--porcelain'), '')
  assert.match(release(createProject(t, ''), '1.3.0').stderr, /no text in the section "Unreleased"/)
  assert.match(release(project, '--help').stdout, /^Usage: npm run release/)
})

test('a release that fails after its commit names what to do, and does not commit again', (t) => {
  const project = createProject(t, '\nNew changes.\n')
  // Nothing here can be compiled.
  const { status, stderr } = release(project, '1.3.0', '--no-image')
  assert.equal(status, 1)
  assert.match(stderr, /Run the command again when the cause is removed, or undo the commit with git reset/)
  assert.ok(!existsSync(join(project, 'release/1.3.0')))
  const read = (path: string) => JSON.parse(readFileSync(join(project, path), 'utf8'))
  assert.deepEqual(read('package.json').dependencies, { '@berth/cli': '1.3.0', yaml: '1.2.3' })
  const cli = read('packages/cli/package.json')
  assert.equal(cli.version, '1.3.0')
  const { version, packages } = read('package-lock.json')
  for (const { devDependencies } of [cli, packages['packages/cli']])
    assert.deepEqual(devDependencies, { '@berth/client': '1.3.0', yaml: '1.2.3' })
  assert.deepEqual(
    [version, packages[''].version, packages['packages/cli'].version, packages['node_modules/yaml'].version],
    ['1.3.0', '1.3.0', '1.3.0', '1.2.3'],
  )
  git(project, 'clean', '--quiet', '--force', '-d')
  release(project, '1.3.0', '--no-image')
  assert.equal(git(project, 'rev-list', '--count', 'HEAD').trim(), '2')
})

test('sections of the changelog', () => {
  const changelog =
    '# Changelog\n\n## Unreleased\n\nNew.\n\n**More**\n\n## 1.2.3 (2026-01-02)\n\nOld.\n\n## 11213\n'
  assert.equal(sectionOf(changelog, 'Unreleased'), 'New.\n\n**More**')
  assert.equal(sectionOf(changelog, '1.2.3'), 'Old.')
  assert.equal(sectionOf(changelog, '1.2.4'), undefined)
  const released = releaseSection(changelog, '1.3.0', '2026-02-03')
  assert.equal(sectionOf(released, '1.3.0'), 'New.\n\n**More**')
  assert.equal(sectionOf(released, 'Unreleased'), undefined)
})

test('versions are compared by numbers', () => {
  const cases: [string, string, boolean][] = [
    ['1.10.0', '1.9.9', true],
    ['1.9.9', '1.10.0', false],
    ['1.2.3', '1.2.3', false],
    ['2.0.0', '1.99.99', true],
    ['0.6.1', '0.6.0', true],
  ]
  for (const [version, than, newer] of cases)
    assert.equal(isNewer(version, than), newer, `${version} ${than}`)
})
