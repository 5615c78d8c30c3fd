import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { constants, createZstdCompress, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { readLayers } from '@berth/image-contents/layers/read-layers.ts'
import { elfOf, inlineBuildInfo, pointerBuildInfo } from '../support/images/executables.ts'
import { filesOf, layerOfBytes, readImage, type TestEntry, tarOf } from '../support/images/layers.ts'
import { zip } from '../support/images/zip.ts'

/** Which packages an image contains, by its layers. */

const packageJson = (name: string, version = '1.0.0') => JSON.stringify({ name, version, license: 'MIT' })
const osRelease = (id: string, version: string) => `ID=${id}\nVERSION_ID="${version}"\n`
const link = (name: string, linkname: string): TestEntry => ({ name, type: 'symlink', linkname })
const hardLink = (name: string, linkname: string): TestEntry => ({ name, type: 'link', linkname })
const folder = (name: string): TestEntry => ({ name, type: 'directory' })

async function purlsOf(...layers: readonly (readonly TestEntry[])[]): Promise<string[]> {
  const { packages, problems } = await readImage(layers)
  assert.deepEqual(problems, [])
  return packages.map(({ purl }) => purl).sort()
}

describe('layers', () => {
  const base = filesOf({
    'app/node_modules/a/package.json': packageJson('a'),
    'app/node_modules/b/package.json': packageJson('b'),
    'app/node_modules/b/node_modules/c/package.json': packageJson('c'),
  })
  const [a, b, c] = ['pkg:npm/a@1.0.0', 'pkg:npm/b@1.0.0', 'pkg:npm/c@1.0.0']

  test('a later layer adds and replaces files', async () => {
    assert.deepEqual(
      await purlsOf(base, filesOf({ 'app/node_modules/a/package.json': packageJson('a', '2.0.0') })),
      ['pkg:npm/a@2.0.0', b, c],
    )
  })

  test('a whiteout deletes a file, and a folder with what is in it', async () => {
    assert.deepEqual(await purlsOf(base, filesOf({ 'app/node_modules/a/.wh.package.json': '' })), [b, c])
    assert.deepEqual(await purlsOf(base, filesOf({ 'app/node_modules/.wh.b': '' })), [a])
    assert.deepEqual(await purlsOf(base, filesOf({ '.wh.app': '' })), [])
  })

  test('an opaque whiteout deletes what earlier layers have in a folder, wherever it is in its layer', async () => {
    const added = filesOf({ 'app/node_modules/d/package.json': packageJson('d') })
    const opaque = filesOf({ 'app/node_modules/.wh..wh..opq': '' })
    for (const layer of [
      [...added, ...opaque],
      [...opaque, ...added],
    ])
      assert.deepEqual(await purlsOf(base, layer), ['pkg:npm/d@1.0.0'])
  })

  test('a whiteout does not delete what its own layer adds', async () => {
    assert.deepEqual(
      await purlsOf(base, [
        ...filesOf({ 'app/node_modules/a/package.json': packageJson('a', '3.0.0') }),
        ...filesOf({ 'app/node_modules/.wh.a': '' }),
      ]),
      ['pkg:npm/a@3.0.0', b, c],
    )
  })

  test('a file that was deleted can be added again', async () => {
    assert.deepEqual(await purlsOf(base, filesOf({ '.wh.app': '' }), base), [a, b, c])
  })

  test('a file, link or folder takes the place of what was there', async () => {
    assert.deepEqual(await purlsOf(base, filesOf({ app: 'a file' })), [])
    assert.deepEqual(await purlsOf(base, [link('app', 'elsewhere')]), [])
    assert.deepEqual(await purlsOf(base, [folder('app')]), [a, b, c])
  })

  test('entries below a link are where it leads', async () => {
    const { packages } = await readImage([
      [link('lib', 'usr/lib'), link('usr/lib/node', '/opt/node')],
      filesOf({ 'lib/node/a/package.json': packageJson('a') }),
    ])
    assert.deepEqual(
      packages.map(({ path }) => path),
      ['opt/node/a/package.json'],
    )
    // The same file by its other name.
    assert.deepEqual(
      await purlsOf(
        [link('lib', 'usr/lib')],
        filesOf({ 'lib/a/package.json': packageJson('a') }),
        filesOf({ 'usr/lib/a/.wh.package.json': '' }),
      ),
      [],
    )
  })

  test('a hard link is a further name of a file, which stays when the first is deleted', async () => {
    const linked = [...base, hardLink('copy/package.json', 'app/node_modules/a/package.json')]
    assert.deepEqual(await purlsOf(linked), [a, b, c])
    assert.deepEqual(await purlsOf(linked, filesOf({ '.wh.app': '' })), [a])
  })

  test('a file that is known by the name of a hard link only', async () => {
    const objects = [
      ...filesOf({ 'objects/12ab': packageJson('a') }),
      hardLink('app/package.json', 'objects/12ab'),
    ]
    assert.deepEqual(await purlsOf(objects), [a])
    assert.deepEqual(await purlsOf(objects, filesOf({ 'app/.wh.package.json': '' })), [])
  })

  test('a database behind links', async () => {
    const { distribution, packages, problems } = await readImage([
      filesOf({ 'store/release': osRelease('nixos', '24.05'), 'data/installed': 'P:musl\nV:1.2.5-r0\n' }),
      [link('etc/os-release', '/store/release'), link('lib/apk/db', '../../data')],
    ])
    assert.deepEqual(problems, [])
    assert.equal(distribution?.id, 'nixos')
    assert.deepEqual(
      packages.map(({ purl, path }) => [purl, path]),
      [['pkg:apk/nixos/musl@1.2.5-r0?distro=nixos-24.05', 'lib/apk/db/installed']],
    )
  })

  test('each package has the digest of the layer with its file', async () => {
    const layers = await Promise.all(
      [base, filesOf({ 'x/package.json': packageJson('x') })].map(async (entries) =>
        layerOfBytes(await tarOf(entries)),
      ),
    )
    const { packages } = await readLayers(layers)
    assert.equal(packages.find(({ name }) => name === 'a')?.layer, layers[0]?.digest)
    assert.equal(packages.find(({ name }) => name === 'x')?.layer, layers[1]?.digest)
  })

  test('zstd in many frames, as zstd:chunked has, in chunks of any size', async () => {
    const tar = await tarOf(base)
    const parts = Array.from({ length: Math.ceil(tar.length / 700) }, (_, at) =>
      tar.subarray(700 * at, 700 * (at + 1)),
    )
    const checksum = { params: { [constants.ZSTD_c_checksumFlag]: 1 } }
    const streamed = async (part: Buffer) => buffer(Readable.from([part]).pipe(createZstdCompress()))
    const skipped = Buffer.from('5a2a4d1805000000ffffffffff', 'hex')
    const forms = {
      plain: await Promise.all(parts.map((part) => zstdCompressSync(part))),
      checksums: parts.map((part) => zstdCompressSync(part, checksum)),
      'of unknown size': await Promise.all(parts.map(streamed)),
      'with frames to skip': parts.flatMap((part) => [skipped, zstdCompressSync(part), skipped]),
      'an empty frame': [zstdCompressSync(''), zstdCompressSync(tar), Buffer.from('502a4d1800000000', 'hex')],
    }
    for (const [form, frames] of Object.entries(forms))
      for (const size of [1, 7, 64 * 1024]) {
        const bytes = Buffer.concat(frames)
        const layer = layerOfBytes(bytes)
        const open = async function* () {
          for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
        }
        const { packages, problems } = await readLayers([{ ...layer, open }])
        assert.deepEqual(problems, [], form)
        assert.deepEqual(packages.map(({ purl }) => purl).sort(), [a, b, c], form)
      }
  })

  for (const [name, compress] of [
    ['gzip', gzipSync],
    ['zstd', zstdCompressSync],
    [
      'two members of gzip',
      (tar: Buffer) => Buffer.concat([gzipSync(tar.subarray(0, 700)), gzipSync(tar.subarray(700))]),
    ],
  ] as const)
    test(`${name}, whatever the media type says`, async () => {
      const { packages, problems } = await readLayers([layerOfBytes(compress(await tarOf(base)))])
      assert.deepEqual(problems, [])
      assert.equal(packages.length, 3)
    })

  test('a layer that cannot be opened does not hide the others', async () => {
    const missing = {
      digest: 'sha256:missing',
      mediaType: 'application/vnd.oci.image.layer.v1.tar',
      // biome-ignore lint/correctness/useYield: it fails before its first bytes
      async *open(): AsyncGenerator<Uint8Array> {
        throw new Error('the blob is gone')
      },
    }
    const encrypted = { ...missing, digest: 'sha256:secret', mediaType: `${missing.mediaType}+encrypted` }
    const { packages, problems } = await readLayers([missing, encrypted, layerOfBytes(await tarOf(base))])
    assert.equal(packages.length, 3)
    assert.deepEqual(
      problems.map(({ reason }) => reason),
      [
        'layer sha256:missing could not be read to its end: the blob is gone',
        'layer sha256:secret is encrypted',
      ],
    )
  })

  test('an aborted signal ends reading', async () => {
    const layers = [layerOfBytes(await tarOf(base))]
    await assert.rejects(readLayers(layers, { signal: AbortSignal.abort(new Error('stop')) }), /stop/)
  })
})

describe('packages of distributions', () => {
  test('apk', async () => {
    const { packages } = await readImage([
      filesOf({
        'etc/os-release': osRelease('alpine', '3.20.1'),
        'lib/apk/db/installed':
          'C:Q1\nP:libcrypto3\nV:3.3.1-r0\nA:x86_64\nL:Apache-2.0\no:openssl\nF:lib\nR:x\n\n',
      }),
    ])
    assert.deepEqual(packages[0], {
      purl: 'pkg:apk/alpine/libcrypto3@3.3.1-r0?arch=x86_64&distro=alpine-3.20.1&upstream=openssl',
      type: 'apk',
      namespace: 'alpine',
      name: 'libcrypto3',
      version: '3.3.1-r0',
      architecture: 'x86_64',
      origin: { name: 'openssl', version: '3.3.1-r0' },
      license: 'Apache-2.0',
      path: 'lib/apk/db/installed',
      layer: packages[0]?.layer,
    })
  })

  test('dpkg, with the source package and the licences of the copyright file', async () => {
    const { packages } = await readImage([
      [
        ...filesOf({
          'usr/lib/os-release': osRelease('debian', '12'),
          'var/lib/dpkg/status': [
            'Package: libc6\nStatus: install ok installed\nArchitecture: amd64\nSource: glibc (2.36-9)\nVersion: 2.36-9+b1\nDescription: x\n Package: y\n',
            'Package: gone\nStatus: deinstall ok config-files\nVersion: 1\n',
          ].join('\n'),
          'usr/share/doc/libc6/copyright': 'Files: *\nLicense: LGPL-2.1+\n\nFiles: x\nLicense: MIT or BSD\n',
        }),
        link('etc/os-release', '../usr/lib/os-release'),
      ],
    ])
    assert.equal(packages.length, 1)
    const [found] = packages
    assert.equal(
      found?.purl,
      'pkg:deb/debian/libc6@2.36-9+b1?arch=amd64&distro=debian-12&upstream=glibc%402.36-9',
    )
    assert.deepEqual(found?.origin, { name: 'glibc', version: '2.36-9' })
    assert.equal(found?.license, 'LGPL-2.1+ AND (MIT or BSD)')
  })

  test('distroless parts, without checksums and scripts', async () => {
    const part = 'Package: netbase\nVersion: 6.4\nArchitecture: all\n'
    assert.deepEqual(
      await purlsOf(
        filesOf({
          'etc/os-release': osRelease('debian', '12'),
          'var/lib/dpkg/status.d/netbase': part,
          'var/lib/dpkg/status.d/netbase.md5sums': part,
        }),
      ),
      ['pkg:deb/debian/netbase@6.4?arch=all&distro=debian-12'],
    )
  })

  test('without os-release, package URLs have no distribution', async () => {
    assert.deepEqual(await purlsOf(filesOf({ 'lib/apk/db/installed': 'P:a\nV:1\n' })), ['pkg:apk/a@1'])
  })
})

describe('packages of languages', async () => {
  const cases: readonly (readonly [string, string, string | Buffer, readonly string[]])[] = [
    ['npm with a scope', 'a/package.json', packageJson('@scope/name'), ['pkg:npm/%40scope/name@1.0.0']],
    ['npm without a version', 'a/package.json', '{"name":"a"}', []],
    [
      'Python',
      'x/Foo_Bar-1.0.dist-info/METADATA',
      'Metadata-Version: 2.1\nName: Foo_Bar\nVersion: 1.0\n\nName: body\n',
      ['pkg:pypi/foo-bar@1.0'],
    ],
    ['Python eggs', 'x/a.egg-info/PKG-INFO', 'Name: a\nVersion: 2\n', ['pkg:pypi/a@2']],
    ['Python egg files', 'x/a-2.egg-info', 'Name: a\nVersion: 2\n', ['pkg:pypi/a@2']],
    [
      'Ruby',
      'gems/specifications/rack-2.2.gemspec',
      'Gem::Specification.new do |s|\n  s.name = "rack".freeze\n  s.version = "2.2.9"\n  s.licenses = ["MIT".freeze]\nend\n',
      ['pkg:gem/rack@2.2.9'],
    ],
    [
      'Composer 1',
      'vendor/composer/installed.json',
      '[{"name":"psr/log","version":"1.1.4"}]',
      ['pkg:composer/psr/log@1.1.4'],
    ],
    [
      '.NET',
      'app.deps.json',
      '{"libraries":{"Serilog/3.1.1":{"type":"package"},"x/1":{"type":"reference"}}}',
      ['pkg:nuget/Serilog@3.1.1'],
    ],
    [
      '.NET, without packages of which the program has no files',
      'app.deps.json',
      JSON.stringify({
        targets: {
          '.NETCoreApp,Version=v8.0': {},
          '.NETCoreApp,Version=v8.0/linux-x64': {
            'Program/1.0.0': { dependencies: { Analyzer: '1.0.0' }, runtime: { 'Program.dll': {} } },
            'Analyzer/1.0.0': {},
            'Reference/2.0.0': { compile: { 'ref/Reference.dll': {} }, dependencies: { Native: '3.0.0' } },
            'Native/3.0.0': { native: { 'runtimes/linux-x64/native/libnative.so': {} } },
            'Texts/4.0.0': { resources: { 'lib/de/Texts.resources.dll': {} } },
            'Any/5.0.0': { runtimeTargets: { 'runtimes/unix/lib/Any.dll': { rid: 'unix' } } },
          },
        },
        libraries: {
          'Program/1.0.0': { type: 'project' },
          'Analyzer/1.0.0': { type: 'package' },
          'Reference/2.0.0': { type: 'package' },
          'Native/3.0.0': { type: 'package' },
          'Texts/4.0.0': { type: 'package' },
          'Any/5.0.0': { type: 'package' },
          'Other/6.0.0': { type: 'package' },
        },
      }),
      [
        'pkg:nuget/Any@5.0.0',
        'pkg:nuget/Native@3.0.0',
        'pkg:nuget/Other@6.0.0',
        'pkg:nuget/Program@1.0.0',
        'pkg:nuget/Texts@4.0.0',
      ],
    ],
    [
      'Go',
      'app',
      elfOf([
        {
          name: '.go.buildinfo',
          content: inlineBuildInfo('go1.22.1', [
            'path\texample.org/app',
            'mod\texample.org/app\t(devel)\t',
            'dep\tgithub.com/a/b\tv1.2.3\th1:x=',
            'dep\tgithub.com/old/c\tv1.0.0\t',
            '=>\tgithub.com/new/c\tv1.1.0\th1:y=',
            'build\tvcs.revision=0123456789abcdef0123',
            'build\tvcs.time=2024-05-06T07:08:09Z',
          ]),
        },
      ]),
      [
        'pkg:golang/example.org/app@v0.0.0-20240506070809-0123456789ab',
        'pkg:golang/github.com/a/b@v1.2.3',
        'pkg:golang/github.com/new/c@v1.1.0',
        'pkg:golang/stdlib@1.22.1',
      ],
    ],
    [
      'Go before 1.18',
      'app',
      pointerBuildInfo('go1.16.5', ['dep\tgithub.com/a/b\tv1.2.3']),
      ['pkg:golang/github.com/a/b@v1.2.3', 'pkg:golang/stdlib@1.16.5'],
    ],
    [
      'Rust, without crates of build scripts',
      'tool',
      elfOf([
        {
          name: '.dep-v0',
          content: deflateSync(
            JSON.stringify({
              packages: [
                { name: 'serde', version: '1.0.200', source: 'crates.io' },
                { name: 'cc', version: '1.0.0', source: 'crates.io', kind: 'build' },
              ],
            }),
          ),
        },
      ]),
      ['pkg:cargo/serde@1.0.200'],
    ],
    [
      'Java with files of Maven',
      'opt/log4j-core-2.17.1.jar',
      await zip({
        'META-INF/maven/g/a/pom.properties':
          'groupId=org.apache.logging.log4j\nartifactId=log4j-core\nversion=2.17.1\n',
      }),
      ['pkg:maven/org.apache.logging.log4j/log4j-core@2.17.1'],
    ],
    [
      'Go without modules',
      'app',
      elfOf([
        { name: '.go.buildinfo', content: inlineBuildInfo('go1.19.8', ['path\tgithub.com/a/b/cmd/c']) },
      ]),
      ['pkg:golang/github.com/a/b/cmd/c', 'pkg:golang/stdlib@1.19.8'],
    ],
    [
      'Java with a copy of another project',
      'opt/guice.jar',
      await zip({
        'META-INF/MANIFEST.MF': 'Bundle-SymbolicName: com.google.inject\nBundle-Version: 4.2.3\n',
        'META-INF/maven/cglib/cglib/pom.properties': 'groupId=cglib\nartifactId=cglib\nversion=3.2.12\n',
        'com/google/inject/A.class': '',
      }),
      ['pkg:maven/cglib/cglib@3.2.12', 'pkg:maven/com.google.inject/guice@4.2.3'],
    ],
    [
      'Java archives within an archive',
      'opt/shop.war',
      await zip({
        'META-INF/MANIFEST.MF': 'Implementation-Version: 3\n',
        'WEB-INF/lib/spring-web-5.3.20.jar': await zip({
          'org/springframework/web/A.class': '',
          'org/springframework/http/B.class': '',
        }),
      }),
      ['pkg:maven/org.springframework/spring-web@5.3.20', 'pkg:maven/shop/shop@3'],
    ],
  ]
  for (const [name, path, content, purls] of cases)
    test(name, async () => {
      assert.deepEqual(await purlsOf(filesOf({ [path]: content })), purls)
    })

  test('SBOMs within the image are returned as they are', async () => {
    const path = 'var/lib/db/sbom/a-1.spdx.json'
    const { embeddedSboms } = await readImage([filesOf({ [path]: '{"x":1}' })])
    assert.deepEqual(
      embeddedSboms.map((sbom) => [sbom.path, Buffer.from(sbom.bytes).toString()]),
      [[path, '{"x":1}']],
    )
  })
})
