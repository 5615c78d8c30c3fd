import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { filesOf, readImage } from '../support/images/layers.ts'

/** Real databases, each in an image of its own, with the counts of an independent program. Lock files are not read from images: they list what a build asked for, not what is installed. */

const ROOT = 'test/package-databases'

interface Expectation {
  readonly packages?: number
  readonly installed?: number
  readonly origins?: number
  readonly with_source?: number
  readonly first?: string
  readonly last?: string
  readonly ID?: string
  readonly VERSION_ID?: string
}

const expectations = Object.entries(
  JSON.parse(readFileSync(`${ROOT}/expectations.json`, 'utf8')) as Record<string, Expectation>,
)

function contentOf(file: string): Buffer {
  const content = readFileSync(`${ROOT}/${file}`)
  return file.endsWith('.gz') ? gunzipSync(content) : content
}

function pathOf(file: string): string {
  if (file.includes('container-manifest-2')) return 'var/lib/rpmmanifest/container-manifest-2'
  if (file.includes('Packages.db')) return 'usr/lib/sysimage/rpm/Packages.db'
  if (file.startsWith('rpm/')) return `var/lib/rpm/${file.endsWith('.sqlite') ? 'rpmdb.sqlite' : 'Packages'}`
  if (file.startsWith('apk/')) return 'lib/apk/db/installed'
  if (file.startsWith('os-release/')) return 'etc/os-release'
  return file.includes('opkg') ? 'usr/lib/opkg/status' : 'var/lib/dpkg/status'
}

for (const [file, expected] of expectations) {
  // A single header is part of a database, and has a test of its own.
  if (file.endsWith('.header')) continue
  test(`reads ${file}`, async () => {
    const { packages, distribution, problems } = await readImage([
      filesOf({ [pathOf(file)]: contentOf(file) }),
    ])
    if (file.startsWith('os-release/')) {
      assert.equal(distribution?.id, expected.ID ?? 'linux')
      assert.equal(distribution?.versionId, expected.VERSION_ID ?? '')
      return
    }
    assert.equal(packages.length, expected.packages ?? expected.installed)
    if (expected.origins !== undefined)
      assert.equal(new Set(packages.flatMap(({ origin }) => origin?.name ?? [])).size, expected.origins)
    if (expected.packages === 0) return
    assert.deepEqual(problems, [])
    const names = packages.map(({ name, version, architecture }) =>
      file.startsWith('rpm/') && !file.includes('manifest')
        ? `${name}-${version}.${architecture}`
        : `${name}${file.startsWith('rpm/') ? '-' : ' '}${version}`,
    )
    if (expected.last !== undefined) names.sort()
    if (packages.length > 0) assert.equal(names[0], expected.first)
    if (expected.last !== undefined) assert.equal(names.at(-1), expected.last)
  })
}
