import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { test } from 'node:test'
import { variables } from '../src/config.ts'
import { limits } from '../src/core/limits.ts'
import { previousRelease } from './support/previous-release.ts'

/** The rules of the project that no linter knows. */

const files = globSync('{bin,src,client,test,scripts,examples,bench,docs,proto,.ci}/**/*', {
  withFileTypes: true,
})
  .filter((entry) => entry.isFile() && !entry.parentPath.includes('bench/results'))
  .map((entry) => join(entry.parentPath, entry.name))
const sources = files.filter((file) => file.startsWith('src/') && file.endsWith('.ts'))
const shipped = sources.filter((file) => !file.endsWith('.test.ts'))
const textOf = (file: string) => readFileSync(file, 'utf8')

/** Who may import whom: for each folder, what the paths of its imports (relative to src/) must match. */
const arrows: Readonly<Record<string, RegExp>> = {
  core: /^(#gen\/|core\/|node:(crypto|async_hooks)$|@bufbuild\/protobuf(\/|$))/,
  trust:
    /^(#gen\/|trust\/|core\/|@bufbuild\/protobuf(\/|$)|jose$|re2js$|lru-cache$|ipaddr\.js$|node:(crypto|module|net)$)/,
  storage:
    /^(#gen\/|storage\/|core\/|node:|@bufbuild\/protobuf(\/|$)|kysely(\/|$)|better-sqlite3$|pg$|lru-cache$)/,
  audit:
    /^(#gen\/|audit\/|core\/|storage\/|gateway\/(dispatch|json-writer|query-reader|rest)\.ts$|(http|log)\.ts$|@bufbuild\/protobuf(\/|$)|kysely$)/,
  auth: /^(#gen\/|auth\/|core\/|storage\/|@bufbuild\/protobuf(\/|$)|lru-cache$)/,
  sts: /^(#gen\/|sts\/|core\/|storage\/|trust\/|auth\/|(http|log)\.ts$|node:|jose$|kysely$|undici$|ipaddr\.js$|lru-cache$|@bufbuild\/protobuf(\/|$))/,
  cloud: /^(#gen\/|cloud\/|core\/|sts\/(account-token|outbound)\.ts$)/,
  iam: /^(#gen\/|iam\/|cloud\/probe\.ts$|sts\/sessions\.ts$|core\/|storage\/|trust\/|@bufbuild\/protobuf(\/|$)|kysely$)/,
  blobs: /^(blobs\/|core\/|storage\/db\.ts$|node:|@aws-sdk\/)/,
  oci: /^(#gen\/|oci\/|blobs\/|registry\/|worker\/|core\/|storage\/|auth\/|iam\/(groups|parent-group)\.ts$|sts\/(access-token|token-request)\.ts$|audit\/recorder\.ts$|limits\/rate-limits\.ts$|gateway\/(error-body|rest)\.ts$|(config|http|log|metrics)\.ts$|node:|@bufbuild\/protobuf(\/|$)|lru-cache$)/,
  backup:
    /^(backup\/|blobs\/|core\/|storage\/|oci\/(run-rows|scrub\/(findings|run|scrub))\.ts$|(store-identity|config|installation|log)\.ts$|node:|kysely$)/,
  'oci-client': /^(oci-client\/|core\/image-types\.ts$|node:|undici$)/,
  registry:
    /^(#gen\/|registry\/|blobs\/store\.ts$|core\/|storage\/|trust\/|worker\/|iam\/parent-group\.ts$|@bufbuild\/protobuf(\/|$)|kysely$|markdown-it$|sanitize-html$)/,
  vulnerabilities:
    /^(#gen\/|vulnerabilities\/|core\/|storage\/|worker\/|iam\/parent-group\.ts$|sts\/outbound\.ts$|gateway\/(dispatch|rest|timestamp)\.ts$|http\.ts$|node:|@bufbuild\/protobuf(\/|$)|kysely$|lru-cache$|yaml$|packageurl-js$|jsonc-parser$|yauzl$|tar-stream$|proper-lockfile$)/,
  limits:
    /^(#gen\/|limits\/|core\/|storage\/db\.ts$|http\.ts$|node:|@bufbuild\/protobuf(\/|$)|rate-limiter-flexible$|better-sqlite3$|kysely$|ipaddr\.js$|lru-cache$)/,
  v1: /^(#gen\/|v1\/|core\/|blobs\/store\.ts$|auth\/authorize\.ts$|registry\/|storage\/|iam\/(parent-group|role-bindings)\.ts$|@bufbuild\/protobuf(\/|$))/,
  gateway:
    /^(#gen\/|gateway\/|core\/|(body-budget|counted-bytes|http|port|reply-stream|unread-replies)\.ts$|limits\/(client-address|open-counts)\.ts$|node:|@bufbuild\/protobuf(\/|$))/,
  signin:
    /^(#gen\/|signin\/|auth\/|core\/|storage\/|sts\/|iam\/|trust\/|audit\/recorder\.ts$|gateway\/(error-body|status)\.ts$|limits\/client-address\.ts$|(bootstrap|http|installation|log)\.ts$|node:|hono(\/|$)|jose$|openid-client$|ipaddr\.js$|lru-cache$|kysely$|@simplewebauthn\/|@zxcvbn-ts\/|@bufbuild\/protobuf(\/|$))/,
  reference: /^(#gen\/|reference\/|core\/|gateway\/|http\.ts$|node:|@bufbuild\/protobuf(\/|$))/,
  telemetry: /^(telemetry\/|core\/|(config|installation|log)\.ts$|node:|pino$|@opentelemetry\/)/,
  cli: /^(?!#gen\/|iam\/|registry\/|gateway\/|auth\/|sts\/|trust\/)/,
}

test('imports point one way', () => {
  const wrong = shipped.flatMap((file) => {
    const allowed = arrows[file.split('/')[1] ?? '']
    if (allowed === undefined) return []
    return [...textOf(file).matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'([^']+)'/g)]
      .map(([, name = '']) => (name.startsWith('.') ? join(dirname(file), name).slice('src/'.length) : name))
      .filter((name) => !allowed.test(name))
      .map((name) => `${file} imports ${name}`)
  })
  assert.deepEqual(wrong, [])
})

test('the client stands alone: it runs in browsers, without this repository', () => {
  const client = files.filter((file) => file.startsWith('client/') && file.endsWith('.ts'))
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
  assert.deepEqual(importers(/from '@aws-sdk\//), ['src/blobs/s3-bucket.ts'])
  assert.deepEqual(importers(/^import (?!type\b).*\/s3-bucket\.ts'/m), ['src/blobs/s3.ts'])
  assert.deepEqual(importers(/\bfrom '.*\/s3\.ts'/), [])
})

test('the libraries for traces are loaded by servers with traces only', () => {
  const importers = (name: RegExp) => shipped.filter((file) => name.test(textOf(file)))
  assert.deepEqual(importers(/'@opentelemetry\//), ['src/telemetry/tracing.ts'])
  assert.deepEqual(importers(/^import (?!type\b).*\/tracing\.ts'/m), [])
})

test('the environment is read in the command line only', () => {
  const readers = shipped.filter((file) =>
    /\bprocess\s*(\.\s*env\b|\[\s*'env')|\benv\s*}\s*=\s*process\b|\benv\b.*'node:process'/.test(
      textOf(file),
    ),
  )
  const elsewhere = readers.filter((file) => !file.startsWith('src/cli/'))
  assert.deepEqual(elsewhere, [])
})

test('files are named after their idea, and nothing gathers the rest', () => {
  const bad = /(^|\/)(utils?|helpers?|common|shared|misc|index)(\/|\.\w+$|\.test\.ts$)/
  // proto/platform/common is the public import path of a schema file; an OCI layout has an index.json.
  const named = /^proto\/|^examples\/hello-image\/index\.json$/
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
  assert.deepEqual(
    texts.filter((file) => file !== 'test/tidy.test.ts' && words.test(textOf(file))),
    [],
  )
})

test('every migration is in the list, in order', () => {
  const present = globSync('src/storage/migrations/*.ts')
    .map((file) => basename(file, '.ts'))
    .sort()
  const listed = [...textOf('src/storage/migrate.ts').matchAll(/'(\d{4}-[\w-]+)':/g)].map(([, name]) => name)
  assert.deepEqual(listed, present)
})

test('the previous release is the last one of the change log, and its tags are in order', (t) => {
  const released = [...textOf('CHANGELOG.md').matchAll(/^## (\d+\.\d+\.\d+)$/gm)].map(
    ([, version]) => version,
  )
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

test('every limit is in force and named in a test or a document, every setting is documented', () => {
  const code = shipped
    .filter((file) => file !== 'src/core/limits.ts')
    .map(textOf)
    .join('\n')
  const words = files
    .filter((file) => /\.test\.ts$|^test\/support\/|^docs\//.test(file) && file !== 'test/tidy.test.ts')
    .map(textOf)
    .join('\n')
  const named = (text: string) => (limit: string) => !new RegExp(`\\b${limit}\\b`).test(text)
  assert.deepEqual(Object.keys(limits).filter(named(code)), [], 'not in force')
  assert.deepEqual(Object.keys(limits).filter(named(words)), [], 'named nowhere')
  const settings = Object.keys(variables).filter(named(textOf('docs/operating.md')))
  assert.deepEqual(settings, [], 'not in docs/operating.md')
})
