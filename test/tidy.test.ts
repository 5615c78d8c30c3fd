import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import { settings } from '@berth/server/installation/config.ts'
import { citusDifferences, citusSelection, runsOnCitus } from './support/database/citus-suites.ts'
import { previousRelease } from './support/server/previous-release.ts'
import {
  FILES_PER_FOLDER_MAX,
  importsOf,
  looseFiles,
  packageOf,
  packages,
  roomOf,
  rooms,
  roomTable,
  shippedFiles,
} from './support/tidy/rooms.ts'

/** The rules of the project that no linter knows. */

const files = globSync('{bin,packages,test,scripts,examples,bench,docs,.ci}/**/*', {
  withFileTypes: true,
})
  .filter((entry) => entry.isFile() && !/bench\/results|console\/dist|test\/data\//.test(entry.parentPath))
  .map((entry) => join(entry.parentPath, entry.name))
const sources = files.filter((file) => /^packages\/[^/]+\/src\/.*\.ts$/.test(file))
const shipped = shippedFiles()
const textOf = (file: string) => readFileSync(file, 'utf8')

const imports = importsOf(shipped)

/** Words that hide who does what: the language of this repository is plain English. */
const dialect = [
  /\bwhoever\b/,
  /(?<!=)\b(somebody|everybody)\b/, // `=`: titles of benchmark results
  /\btold of\b/,
  /\b(take|takes|taking|taken) away\b/,
  /\bthe waist\b/,
  /\bwhat holds\b/,
  /\bmay not be had\b/,
  /\b(is|are) let in\b/,
  /\bat once\b/,
  /\blies (in|below)\b/,
  /\b(be|have|has|was|were|is|are) begun\b/,
  /\bfounds an\b/,
  /\bwhat nobody\b/,
  /\bcomes? round\b/,
  /\bas good as none\b/,
  /\bjudge[sd]?\b/,
]

test('texts have no words of the dialect', () => {
  const texts = globSync(
    '{packages,test,docs,proto,bin,bench,scripts,examples,deploy}/**/*.{ts,md,js,mjs,proto,yaml,yml,sh}',
    {
      exclude: (name) => ['node_modules', 'gen', 'generated', 'results'].includes(basename(name)),
    },
  ).concat(['README.md', 'CONTRIBUTING.md', 'SECURITY.md'])
  const found = texts
    // Released migrations never change.
    .filter((file) => !file.includes('/storage/migrations/') && file !== 'test/tidy.test.ts')
    .sort()
    .flatMap((file) =>
      textOf(file)
        .split('\n')
        .flatMap((line, at) =>
          dialect.some((word) => word.test(line.toLowerCase())) ? [`${file}:${at + 1}: ${line.trim()}`] : [],
        ),
    )
  assert.deepEqual(found, [])
})

test('each file of the server is in a room, and each room in the list', () => {
  const known = new Set(rooms.map(({ name }) => `packages/server/src/${name}/`))
  const lost = shipped
    .filter((file) => file.startsWith('packages/server/src/'))
    .filter((file) => !known.has(`${file.split('/').slice(0, 4).join('/')}/`))
  assert.deepEqual(
    lost,
    looseFiles.map((name) => `packages/server/src/${name}`),
  )
  assert.deepEqual(
    globSync('packages/*')
      .map((path) => basename(path))
      .sort(),
    Object.keys(packages).sort(),
  )
})

test('a folder with many files has sub-folders', () => {
  const folders = Map.groupBy(
    shipped.filter((file) => !/\/(migrations|generated)\//.test(file)),
    (file) => dirname(file),
  )
  const full = [...folders]
    .filter(([, files]) => files.length > FILES_PER_FOLDER_MAX)
    .map(([folder]) => folder)
  assert.deepEqual(full, [])
})

test('imports point one way', () => {
  const order = rooms.map(({ name }) => name)
  for (const [at, { name, uses }] of rooms.entries())
    for (const use of uses)
      assert.ok(
        [...order.slice(0, at), ...looseFiles].includes(use),
        `${name} uses ${use}, which is above it`,
      )
  const wrong = imports.filter(({ file, target }) => {
    const room = rooms.find(({ name }) => name === roomOf(file))
    const other = looseFiles.includes(basename(target)) ? basename(target) : roomOf(target)
    if (room === undefined || target.startsWith('packages/contract/') || target.startsWith('node:'))
      return false
    if (target.startsWith('packages/server/'))
      return other !== room.name && (other === undefined || !room.uses.includes(other))
    if (packageOf(target) !== undefined) return false
    const library = target
      .split('/')
      .slice(0, target.startsWith('@') ? 2 : 1)
      .join('/')
    return library !== '@bufbuild/protobuf' && !room.libraries.includes(library)
  })
  assert.deepEqual(
    wrong.map(({ file, target }) => `${file} imports ${target}`),
    [],
  )
})

test('proofs of authorization are made by the pipeline and its adapters alone', () => {
  const makers = /\b(authorizeScope|authorizeVisible|publishedScope)\b/
  assert.deepEqual(
    shipped.filter((file) => !file.includes('/pipeline/') && makers.test(textOf(file))).sort(),
    [
      'packages/server/src/advisories/publish/published-feed-handler.ts',
      'packages/server/src/registry/oci/access.ts',
      'packages/server/src/registry/oci/handler.ts',
    ],
  )
})

test('the request pipeline alone authenticates browsers, and each page is an operation', () => {
  const filesWith = (pattern: RegExp) =>
    shipped
      .filter((file) => pattern.test(textOf(file)))
      .map((file) => file.replace('packages/server/src/', ''))
      .sort()
  assert.deepEqual(filesWith(/\bsessionBySecret\(/), [
    'signin/sessions/session-cookie.ts',
    'tokens/sessions/sessions.ts',
  ])
  assert.deepEqual(filesWith(/\bauthenticateBrowser\(/), [
    'signin/pages/page-routes.ts',
    'signin/sessions/session-cookie.ts',
    'signin/sessions/session-credential.ts',
  ])
  assert.deepEqual(filesWith(/\bnew Hono\b/), ['signin/app.ts', 'signin/pages/page-routes.ts'])
  const names = shipped.flatMap((file) =>
    [...textOf(file).matchAll(/\b(?:get|post)\(\s*[^;]*?,\s*\w+\((?:context, )?'(\w+)'\)/g)].map(
      ([, name]) => name,
    ),
  )
  assert.ok(names.length > 30)
  assert.deepEqual(names, [...new Set(names)])
})

test('packages import only what they name', () => {
  const wrong = imports.filter(({ file, target }) => {
    const [own = '', other] = [packageOf(file), packageOf(target)]
    return other !== undefined && other !== own && !packages[own]?.uses.includes(other)
  })
  assert.deepEqual(
    wrong.map(({ file, target }) => `${file} imports ${target}`),
    [],
  )
})

/** Asserts that a table between markers is as generated; `npm run golden -- tidy` writes it (BERTH_GOLDEN). */
function expectTable(file: string, marker: string, table: string): void {
  const text = textOf(file)
  const [start, end] = [`<!-- ${marker} -->\n`, `<!-- /${marker} -->`]
  const at = text.indexOf(start)
  assert.ok(at >= 0 && text.includes(end), `${file} has no place for the table of ${marker}`)
  const next = `${text.slice(0, at)}${start}${table}\n${text.slice(text.indexOf(end))}`
  if (process.env['BERTH_GOLDEN'] === 'write') writeFileSync(file, next)
  else assert.ok(text === next, `${file} is not current: npm run golden -- tidy`)
}

test('the table of rooms in docs/architecture.md is current', () => {
  expectTable('docs/architecture.md', 'rooms', roomTable())
})

test('the table of settings in docs/operating.md is current', () => {
  const rows = settings.map(({ name, help, defaultText }) => `| \`${name}\` | ${help} | ${defaultText} |`)
  const table = ['| Variable | Meaning | Default |', '|---|---|---|', ...rows].join('\n')
  expectTable('docs/operating.md', 'settings', table)
})

test('the client stands alone: it runs in browsers, without this repository', () => {
  const client = files.filter((file) => file.startsWith('packages/client/src/') && file.endsWith('.ts'))
  const imports = client.flatMap((file) =>
    [...textOf(file).matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'([^']+)'/g)].map(([, name = '']) =>
      name.startsWith('.') ? join(dirname(file), name) : name,
    ),
  )
  assert.ok(client.length > 5)
  assert.deepEqual(
    imports.filter((name) => !client.includes(name)),
    [],
  )
})

test('the library for S3 is loaded by installations with a bucket only', () => {
  const importers = (name: RegExp) => shipped.filter((file) => name.test(textOf(file)))
  assert.deepEqual(importers(/from '@aws-sdk\//), ['packages/server/src/registry/blobs/s3/bucket.ts'])
  assert.deepEqual(importers(/^import (?!type\b).*\/bucket\.ts'/m), [
    'packages/server/src/registry/blobs/s3/s3-blobs.ts',
  ])
  assert.deepEqual(importers(/\bfrom '.*\/s3-blobs\.ts'/), [])
})

test('the libraries for traces are loaded by servers with traces only', () => {
  const importers = (name: RegExp) => shipped.filter((file) => name.test(textOf(file)))
  assert.deepEqual(importers(/'@opentelemetry\//), ['packages/server/src/telemetry/tracing.ts'])
  assert.deepEqual(importers(/^import (?!type\b).*\/telemetry\/tracing\.ts'/m), [])
})

test('the environment is read in the command line only', () => {
  const readers = shipped.filter((file) =>
    /\bprocess\s*(\.\s*env\b|\[\s*'env')|\benv\s*}\s*=\s*process\b|\benv\b.*'node:process'/.test(
      textOf(file),
    ),
  )
  const elsewhere = readers.filter(
    (file) =>
      !/^packages\/cli\/|^packages\/server\/src\/(commands\/|installation\/environment\.ts$)/.test(file),
  )
  assert.deepEqual(elsewhere, [])
})

test('files are named after their idea, and nothing gathers the rest', () => {
  const bad = /(^|\/)(utils?|helpers?|common|shared|misc|index)(\/|\.\w+$|\.test\.ts$)/
  // proto/platform/common is the public import path of a schema file; an OCI layout has an index.json.
  const named = /^packages\/contract\/|^examples\/hello-image\/index\.json$/
  assert.deepEqual(
    files.filter((file) => bad.test(file) && !named.test(file)),
    [],
  )
})

test('exports have names', () => {
  const unnamed = sources.filter((file) => /^export default|\bas default\b/m.test(textOf(file)))
  assert.deepEqual(unnamed, [])
})

test('the repository speaks of itself only, and of nothing that is to be done', () => {
  const words = /\b(TODO|FIXME|XXX|HACK|WIP|tbd)\b|\bissue #\d/
  const texts = [...files, 'README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md', 'package.json']
  // Documents of others, which say what they say.
  const own = texts.filter(
    (file) =>
      file !== 'test/tidy.test.ts' && !/^test\/(sboms|version-comparison|package-databases)\//.test(file),
  )
  assert.deepEqual(
    own.filter((file) => words.test(textOf(file))),
    [],
  )
})

test('every migration is in the list, in order', () => {
  const present = globSync('packages/server/src/storage/migrations/*.ts')
    .map((file) => basename(file, '.ts'))
    .sort()
  const listed = [
    ...textOf('packages/server/src/storage/schema/migrate.ts').matchAll(/'(\d{4}-[\w-]+)':/g),
  ].map(([, name]) => name)
  assert.deepEqual(listed, present)
})

test('the previous release is the last one of the change log, and its tags are in order', (t) => {
  const released = [
    ...textOf('CHANGELOG.md').matchAll(/^## (\d+\.\d+\.\d+)(?: \(\d{4}-\d\d-\d\d\))?$/gm),
  ].map(([, version]) => version)
  const isRelease = !/^## Unreleased$/m.test(textOf('CHANGELOG.md'))
  assert.equal(previousRelease.version, released[isRelease ? 1 : 0])
  const git = (...args: string[]) =>
    spawnSync('git', args, { encoding: 'utf8' }).stdout.trim().split('\n').filter(Boolean)
  const tags = git('for-each-ref', '--sort=creatordate', '--format=%(refname:short)', 'refs/tags/v*')
  if (tags.length === 0) return t.skip('this clone has no tags')
  assert.deepEqual(
    tags,
    released
      .map((version) => `v${version}`)
      .filter((tag) => tags.includes(tag))
      .reverse(),
  )
  const tag = `v${previousRelease.version}`
  if (tags.includes(tag)) assert.deepEqual(git('rev-list', '-n', '1', tag), [previousRelease.commit])
})

test('every limit is in force and named in a test or a document', () => {
  const code = shipped
    .filter((file) => !/^packages\/(server\/src\/config|advisory-formats\/src)\/limits\.ts$/.test(file))
    .map(textOf)
    .join('\n')
  const words = files
    .filter((file) => /\.test\.ts$|^test\/support\/|^docs\//.test(file) && file !== 'test/tidy.test.ts')
    .map(textOf)
    .join('\n')
  const named = (text: string) => (limit: string) => !new RegExp(`\\b${limit}\\b`).test(text)
  assert.deepEqual(Object.keys(limits).filter(named(code)), [], 'not in force')
  assert.deepEqual(Object.keys(limits).filter(named(words)), [], 'named nowhere')
})

test('only the engines of storage compare names of database engines', () => {
  const compares =
    /\bengine\b\s*[!=]==?|[!=]==?\s*\w*\.?engine\b|[!=]==?\s*'(?:sqlite|postgres|postgresql)'|switch \([^)]*\bengine\)|case '(?:sqlite|postgres)'/
  // Released migrations never change.
  const isReleased = (file: string) => /storage\/migrations\/000[1-9]-/.test(file)
  const found = shipped.filter(
    (file) =>
      file.startsWith('packages/server/src/') &&
      !file.startsWith('packages/server/src/storage/engines/') &&
      !isReleased(file) &&
      compares.test(textOf(file)),
  )
  assert.deepEqual(found, [])
})

test('each kind of background job is in docs/background-work.md', () => {
  const text = textOf('docs/background-work.md')
  const named = shipped.flatMap((file) => {
    const source = textOf(file)
    const traces = [...source.matchAll(/span: '(job [a-z-]+)'/g)].map(([, name = '']) => name)
    return source.includes('startJobScheduler(')
      ? [...traces, file.replace('packages/server/src/', '')]
      : traces
  })
  const missing = named.filter((name) => !text.includes(`\`${name}\``) && !name.endsWith('/job-scheduler.ts'))
  assert.deepEqual(missing, [])
})

test('each declared difference of a distributed database is used by a test and documented, and the selection for CI exists', () => {
  const documented = textOf('docs/scaling.md')
  const tests = files.filter((file) => file.endsWith('.test.ts')).map(textOf)
  for (const [name, reason] of Object.entries(citusDifferences)) {
    assert.ok(
      tests.some((text) => text.includes(`differsOnCitus('${name}')`)),
      `no test needs ${name}`,
    )
    assert.ok(documented.includes(`\`${name}\``), `${name} (${reason}) is not in docs/scaling.md`)
  }
  for (const file of citusSelection) assert.ok(runsOnCitus(file, textOf(file)), file)
})
