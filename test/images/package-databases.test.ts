import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { withEndOfLife } from '@berth/image-contents/end-of-life.ts'
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

/** Packages with a time of their build, and one of them: name and time. Counted as `expectations.json` is. */
const builds = [
  ['apk/apko-installed', 14, 'alpine-baselayout-data', 1_655_134_784],
  ['apk/scalibr-cache', 4, 'libcurl', 1_763_033_837],
  ['apk/trivy-apk', 15, 'alpine-baselayout', 1_466_181_584],
  ['rpm/go-rpmdb-cbl-mariner-2.0-24.sqlite', 24, 'bzip2-libs', 1_643_073_602],
  ['rpm/go-rpmdb-sle15-bci-Packages.db.gz', 35, 'bash', 1_628_264_708],
  ['rpm/syft-container-manifest-2', 5, 'glibc', 1_653_628_955],
  ['dpkg/trivy-valid.status', 0, '', 0],
] as const

for (const [file, count, name, seconds] of builds)
  test(`reads when packages were built: ${file}`, async () => {
    const { packages } = await readImage([filesOf({ [pathOf(file)]: contentOf(file) })])
    const built = packages.filter(({ builtMs }) => builtMs !== undefined)
    assert.equal(built.length, count)
    assert.equal(built.find((one) => one.name === name)?.builtMs ?? 0, seconds * 1000)
    assert.ok(packages.every(({ endOfLifeMs }) => endOfLifeMs === undefined))
  })

test('packages of the distribution have its end of support, others have none', async () => {
  const rpm = 'rpm/go-rpmdb-cbl-mariner-2.0-24.sqlite'
  const endsOf = async (osRelease: string | Buffer) => {
    const { packages } = withEndOfLife(
      await readImage([
        filesOf({
          'etc/os-release': osRelease,
          [pathOf(rpm)]: contentOf(rpm),
          'app/node_modules/a/package.json': '{"name":"a","version":"1.0.0"}',
        }),
      ]),
    )
    return ['rpm', 'npm'].map((wanted) => [
      ...new Set(packages.flatMap(({ type, endOfLifeMs }) => (type === wanted ? [endOfLifeMs] : []))),
    ])
  }
  const fedora = contentOf('os-release/syft-fedora-os-release')
  assert.deepEqual(await endsOf(fedora), [[Date.UTC(2023, 4, 16)], [undefined]])
  for (const day of ['2023-02-30', '2023', 'never', '99999-01-01', '0001-01-01', ''])
    assert.deepEqual(await endsOf(`ID=fedora\nSUPPORT_END=${day}\n`), [[undefined], [undefined]], day)
})

test('times of builds that are no times are left out', async () => {
  for (const time of ['0', '-1', '1e9', '999999999999', '1234567890123456', 'now', ''])
    assert.deepEqual(
      (await readImage([filesOf({ 'lib/apk/db/installed': `P:a\nV:1\nt:${time}\n` })])).packages.map(
        ({ builtMs }) => builtMs,
      ),
      [undefined],
      time,
    )
})
