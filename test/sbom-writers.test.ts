import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ImageContents, ImagePackage } from '@berth/image-contents/contents.ts'
import { createPurl, packageParts, parsePurl } from '@berth/image-contents/sbom/package-urls.ts'
import { readSbom } from '@berth/image-contents/sbom/read-sbom.ts'
import { isLicenseExpression } from '@berth/image-contents/writers/license-text.ts'
import { writeCycloneDx } from '@berth/image-contents/writers/write-cyclonedx.ts'
import { writeSpdx } from '@berth/image-contents/writers/write-spdx.ts'
import type { WrittenImage } from '@berth/image-contents/writers/written-image.ts'
import fc from 'fast-check'
import { readDocumentFile, sbomDocuments } from './support/contents/sbom-documents.ts'
import { sbomProblems } from './support/contents/sbom-schemas.ts'

const image: WrittenImage = {
  repository: 'registry.example/acme/app',
  digest: `sha256:${'ab'.repeat(32)}`,
  created: new Date('2026-03-04T05:06:07.890Z'),
  tool: { name: 'berth', version: '0.6.0' },
  namespace: 'https://registry.example/sboms',
}

const writers = [
  ['spdx-2.3', writeSpdx],
  ['cyclonedx-1.6', writeCycloneDx],
] as const

const word = fc.stringMatching(/^[a-z][a-z0-9._+-]{0,20}[a-z0-9]$/)
/** Names and paths with any characters but control characters, as file systems allow. */
const line = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 30 })
  .filter((text) => text === text.trim() && /^[^\p{C}\p{Z}]+$/u.test(text))
const license = fc.oneof(
  fc.constantFrom(
    '',
    'MIT',
    'GPL-2.0-or-later WITH Classpath-exception-2.0',
    '(MIT OR Apache-2.0) AND BSD-3-Clause',
  ),
  fc.constantFrom('GPLv2+ and MIT', 'see /usr/share/doc', 'custom: Mozilla "x"'),
)

const imagePackage: fc.Arbitrary<ImagePackage> = fc
  .record({
    system: fc.constantFrom('apk', 'deb', 'rpm', 'npm', 'pypi', 'golang', 'maven', 'gem', 'cargo', 'generic'),
    namespace: word,
    name: fc.oneof(word, line),
    version: fc.oneof(
      fc.constant(''),
      word,
      fc.stringMatching(/^\d{1,3}(\.\d{1,3}){0,2}([~^+-][a-z0-9]{1,5})?$/),
    ),
    epoch: fc.constantFrom('', '1', '12'),
    architecture: fc.constantFrom('', 'x86_64', 'noarch'),
    upstream: fc.boolean(),
    origin: fc.option(
      fc.record({ name: word, version: fc.constantFrom('', '1.2-3') }, { noNullPrototype: true }),
      { nil: undefined },
    ),
    license,
    path: fc.oneof(
      fc.constant(''),
      line.filter((text) => !/^[./]/.test(text)),
    ),
    layer: fc.constantFrom('', `sha256:${'1'.repeat(64)}`, `sha256:${'2'.repeat(64)}`),
    times: fc.constantFrom(
      {},
      { builtMs: 1_655_134_784_000 },
      { builtMs: 1000, endOfLifeMs: 253_402_300_799_000 },
    ),
  })
  .map(({ system, namespace, name, version, epoch, architecture, upstream, origin, times, ...rest }) => {
    const qualifiers = {
      ...(architecture === '' ? {} : { arch: architecture }),
      ...(system === 'rpm' && epoch !== '' ? { epoch } : {}),
      ...(upstream && origin !== undefined ? { upstream: origin.name } : {}),
    }
    const url = createPurl({ type: system, namespace, name, version, qualifiers })
    return url === undefined ? undefined : { ...packageParts(url), origin, ...rest, ...times }
  })
  .filter((each) => each !== undefined)

const contentsOfImages: fc.Arbitrary<ImageContents> = fc.record({
  distribution: fc.option(
    fc.record(
      {
        id: fc.constantFrom('alpine', 'debian', 'wolfi', 'rhel'),
        versionId: fc.constantFrom('', '12', '3.20.1'),
        name: fc.constantFrom('', 'Debian GNU/Linux 12 (bookworm)'),
      },
      { noNullPrototype: true },
    ),
    { nil: undefined },
  ),
  packages: fc.uniqueArray(imagePackage, {
    maxLength: 12,
    selector: ({ purl, path, layer }) => [purl, path, layer].join('\n'),
  }),
  problems: fc.constantFrom([], [{ path: 'lib/apk/db/installed', reason: 'it is truncated' }]),
})

for (const [format, write] of writers) {
  test(`${format}: what is written is valid, deterministic, and reads as it was`, () => {
    fc.assert(
      fc.property(contentsOfImages, (contents) => {
        const written = write(image, contents)
        assert.equal(write(image, structuredClone(contents)), written)
        assert.equal(sbomProblems(format, written), '')
        const read = readSbom(Buffer.from(written))
        assert.deepEqual(read.contents.packages, contents.packages)
        // Without an operating system, package URLs may name one.
        if (contents.distribution !== undefined)
          assert.deepEqual(read.contents.distribution, contents.distribution)
        assert.deepEqual(read.subject?.digests, [image.digest])
        assert.deepEqual(read.tools, ['berth 0.6.0'])
        assert.equal(read.created?.toISOString(), '2026-03-04T05:06:07.000Z')
      }),
      { numRuns: 150 },
    )
  })

  test(`${format}: real documents are written as valid ones, with the same packages`, () => {
    let packages = 0
    for (const [path] of sbomDocuments()) {
      if (path.includes('guac-invalid')) continue
      const { contents } = readSbom(readDocumentFile(path))
      const written = write(image, contents)
      assert.equal(sbomProblems(format, written), '', path)
      const read = readSbom(Buffer.from(written)).contents
      assert.deepEqual(read.packages, contents.packages, path)
      assert.deepEqual(read.distribution, contents.distribution, path)
      packages += read.packages.length
    }
    assert.ok(packages > 2400, `${packages} packages`)
  })
}

test('an incomplete SBOM says so', () => {
  const contents = { distribution: undefined, packages: [], problems: [{ path: 'x', reason: 'y' }] }
  assert.match(writeSpdx(image, contents), /"comment":"Incomplete: 1 files could not be read\."/)
  assert.match(writeCycloneDx(image, contents), /"aggregate":"incomplete"/)
})

test('licence expressions by their form', () => {
  const cases = [
    ['MIT', true],
    ['(MIT OR Apache-2.0) AND GPL-2.0+', true],
    ['GPL-2.0-only WITH Classpath-exception-2.0', true],
    ['LicenseRef-x', true],
    ['', false],
    ['MIT AND', false],
    ['MIT Apache-2.0', false],
    ['(MIT', false],
    ['MIT)', false],
    ['()', false],
    ['MIT (OR BSD)', false],
    ['GPLv2+ and MIT', false],
    ['MIT/X11', false],
  ] as const
  for (const [text, expected] of cases) assert.equal(isLicenseExpression(text), expected, text)
})

test('names are those of the ecosystem', () => {
  const purls = [
    'pkg:npm/%40hapi/pez@6',
    'pkg:golang/golang.org/x/text@v1',
    'pkg:maven/org.x/a@1',
    'pkg:deb/debian/b@1',
  ]
  const packages = purls.map((purl) => ({
    ...packageParts(parsePurl(purl)!),
    origin: undefined,
    license: '',
    path: '',
    layer: '',
  }))
  const names = ['@hapi/pez', 'golang.org/x/text', 'a', 'b']
  const contents = { distribution: undefined, packages, problems: [] }
  assert.deepEqual(
    JSON.parse(writeSpdx(image, contents))
      .packages.slice(1)
      .map(({ name }: { name: string }) => name),
    names,
  )
  assert.deepEqual(
    JSON.parse(writeCycloneDx(image, contents)).components.map(({ name }: { name: string }) => name),
    names,
  )
})
