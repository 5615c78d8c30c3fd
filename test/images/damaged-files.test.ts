import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { deflateSync, gunzipSync } from 'node:zlib'
import { writeZip } from '@berth/advisory-formats/archives/write-zip.ts'
import fc from 'fast-check'
import { elfOf, inlineBuildInfo, pointerBuildInfo } from '../support/images/executables.ts'
import { filesOf, readImage } from '../support/images/layers.ts'

/** Files with damage at any place: each is read or is a problem, and never hides the rest of the image. */

const DATA = 'test/package-databases'

async function jar(): Promise<Buffer> {
  const parts: Buffer[] = []
  const pom = Buffer.from('groupId=g\nartifactId=a\nversion=1\n')
  const entries = [
    { name: 'META-INF/MANIFEST.MF', content: Buffer.from('Bundle-Version: 1\n'), modifiedMs: 0 },
    { name: 'META-INF/maven/g/a/pom.properties', content: pom, modifiedMs: 0 },
  ]
  for await (const part of writeZip(entries)) parts.push(part)
  return Buffer.concat(parts)
}

const files: Readonly<Record<string, Buffer>> = {
  'lib/apk/db/installed': readFileSync(`${DATA}/apk/apko-wolfi-base`),
  'var/lib/dpkg/status': readFileSync(`${DATA}/dpkg/syft-coreutils-relationships`),
  'var/lib/rpm/rpmdb.sqlite': readFileSync(`${DATA}/rpm/go-rpmdb-cbl-mariner-2.0-24.sqlite`),
  'usr/lib/sysimage/rpm/Packages.db': gunzipSync(
    readFileSync(`${DATA}/rpm/go-rpmdb-sle15-bci-Packages.db.gz`),
  ),
  'var/lib/rpm/Packages': readFileSync(`${DATA}/rpm/syft-Packages`),
  'bin/go': elfOf([{ name: '.go.buildinfo', content: inlineBuildInfo('go1.22.1', ['dep\ta.b/c\tv1.0.0']) }]),
  'bin/old-go': pointerBuildInfo('go1.16', ['dep\ta.b/c\tv1.0.0']),
  'bin/rust': elfOf([{ name: '.dep-v0', content: deflateSync('{"packages":[{"name":"a","version":"1"}]}') }]),
  'a.jar': await jar(),
}

/** Places as shares of the length; the start of a file has most of its structure. */
const place = fc.oneof(
  fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
  fc.double({ min: 0, max: 0.02, noNaN: true }),
)
const damage = fc.record({
  changes: fc.array(fc.record({ place, byte: fc.nat(255) }), { maxLength: 20 }),
  end: fc.option(place),
})

for (const [path, content] of Object.entries(files))
  test(`damage in ${path}`, async () => {
    assert.ok((await readImage([filesOf({ [path]: content })])).packages.length > 0)
    await fc.assert(
      fc.asyncProperty(damage, async ({ changes, end }) => {
        const damaged = Buffer.from(content)
        for (const change of changes) damaged[Math.floor(change.place * damaged.length)] = change.byte
        const { packages } = await readImage([
          filesOf({
            [path]: end === null ? damaged : damaged.subarray(0, end * damaged.length),
            'other/package.json': '{"name":"other","version":"1.0.0"}',
          }),
        ])
        assert.ok(packages.some(({ purl }) => purl === 'pkg:npm/other@1.0.0'))
      }),
      { numRuns: 60 },
    )
  })
