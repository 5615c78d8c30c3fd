import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { compareVersions, type VersionScheme } from '@berth/package-versions/compare-versions.ts'

/** The order of versions against the pairs of test/version-comparison/. */

const FOLDER = join(import.meta.dirname, 'version-comparison')

const files: readonly (readonly [file: string, schemes: readonly VersionScheme[], pairs: number])[] = [
  ['alpine-versions.txt', ['apk'], 50],
  ['alpine-versions-generated.txt', ['apk'], 9787],
  ['debian-versions.txt', ['deb'], 30],
  ['debian-versions-generated.txt', ['deb'], 10191],
  ['redhat-versions.txt', ['rpm'], 69],
  ['semver-versions.txt', ['semver', 'npm', 'golang', 'cargo', 'hex'], 86],
  ['pub-versions.txt', ['pub'], 100],
  ['pypi-versions.txt', ['pypi'], 37],
  ['maven-versions.txt', ['maven'], 102],
  ['rubygems-versions-generated.txt', ['gem'], 4098],
  ['nuget-versions.txt', ['nuget'], 35],
  ['packagist-versions-generated.txt', ['composer'], 10630],
  ['cran-versions-generated.txt', ['cran'], 57],
  ['hackage-versions.txt', ['hackage'], 11],
]

interface Pair {
  readonly a: string
  readonly sign: string
  readonly b: string
}

function linesOf(file: string): string[] {
  return readFileSync(join(FOLDER, file), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !/^(#|\/\/) /.test(line))
}

function pairsOf(file: string): Pair[] {
  return linesOf(file).map((line) => {
    const [a = '', sign = '', b = '', ...rest] = line.split(' ')
    assert.deepEqual(rest, [], line)
    return { a, sign, b }
  })
}

function signOf(order: number | undefined): string {
  if (order === undefined) return '?'
  return order === 0 ? '=' : order < 0 ? '<' : '>'
}

const opposite: Readonly<Record<string, string>> = { '<': '>', '>': '<', '=': '=' }

for (const [file, schemes, total] of files) {
  test(`${file}: all ${total} pairs hold in both directions`, () => {
    const pairs = pairsOf(file)
    assert.equal(pairs.length, total)
    for (const scheme of schemes) {
      const failed = pairs.filter(
        ({ a, sign, b }) =>
          signOf(compareVersions(scheme, a, b)) !== sign ||
          signOf(compareVersions(scheme, b, a)) !== opposite[sign],
      )
      assert.deepEqual(
        failed.map(({ a, sign, b }) => `${a} ${sign} ${b}, not ${signOf(compareVersions(scheme, a, b))}`),
        [],
        scheme,
      )
    }
  })
}

test('every pair of the data is run', () => {
  const expected: Readonly<Record<string, { readonly kind?: string; readonly total?: number }>> = JSON.parse(
    readFileSync(join(FOLDER, 'expectations.json'), 'utf8'),
  )
  const counted = Object.entries(expected).flatMap(([file, { kind, total }]) =>
    kind === 'pairs' ? [[file, total]] : [],
  )
  assert.deepEqual(
    Object.fromEntries(counted),
    Object.fromEntries(files.map(([file, , total]) => [file, total])),
  )
  assert.equal(
    files.reduce((sum, [, , total]) => sum + total, 0),
    35_283,
  )
})

test('all valid versions of apk are versions', () => {
  const versions = linesOf('osvdev-alpine-valid_versions.txt')
  assert.equal(versions.length, 185)
  for (const version of versions) assert.equal(compareVersions('apk', version, version), 0, version)
})
