import assert from 'node:assert/strict'
import { test } from 'node:test'
import { derivePurl } from './ecosystems.ts'
import { imagePath, layerDigest } from './package-collector.ts'
import {
  distributionId,
  distributionOf,
  isImagePurl,
  originOf,
  packageParts,
  parsePurl,
  versionOf,
  withVersion,
} from './package-urls.ts'

function parsed(text: string) {
  const url = parsePurl(text)
  assert.ok(url !== undefined, text)
  return url
}

test('the source package of a package URL', () => {
  const cases = [
    ['pkg:deb/debian/libgcc-s1@12.2.0-14?upstream=gcc-12', { name: 'gcc-12', version: '12.2.0-14' }],
    [
      'pkg:deb/debian/gcc-12-base@12.2.0-14%2Bb1?upstream=gcc-12%4012.2.0-14',
      { name: 'gcc-12', version: '12.2.0-14' },
    ],
    ['pkg:apk/wolfi/unbound-libs@1.23-r0?origin=unbound', { name: 'unbound', version: '1.23-r0' }],
    [
      'pkg:rpm/rhel/bash@5.1-2.el9?epoch=1&upstream=bash-5.1-2.el9.src.rpm',
      { name: 'bash', version: '5.1-2.el9' },
    ],
    [
      'pkg:rpm/sles/libgcc_s1@11.2.1?upstream=gcc11-c%2B%2B-11.2.1%2Bgit610-1.3.9.nosrc.rpm',
      { name: 'gcc11-c++', version: '11.2.1+git610-1.3.9' },
    ],
    ['pkg:rpm/fedora/a@1?upstream=a', { name: 'a', version: '' }],
    ['pkg:npm/a@1?upstream=b', undefined],
    ['pkg:apk/alpine/musl@1', undefined],
  ] as const
  for (const [text, origin] of cases) assert.deepEqual(originOf(parsed(text)), origin, text)
})

test('the distribution of a package URL', () => {
  const cases = [
    ['pkg:deb/debian/a@1?distro=debian-12', { id: 'debian', versionId: '12' }],
    ['pkg:rpm/opensuse/a@1?distro=opensuse-leap-15.4', { id: 'opensuse-leap', versionId: '15.4' }],
    ['pkg:apk/alpine/a@1?distro=3.16.0', { id: 'alpine', versionId: '3.16.0' }],
    ['pkg:apk/wolfi/a@1?distro=wolfi', { id: 'wolfi', versionId: '' }],
    ['pkg:rpm/redhat/a@1?distro=redhat-9.4', { id: 'rhel', versionId: '9.4' }],
    ['pkg:bitnami/a@1?distro=debian-12', undefined],
    ['pkg:deb/debian/a@1', undefined],
  ] as const
  for (const [text, found] of cases) {
    const expected = found === undefined ? undefined : { ...found, name: '' }
    assert.deepEqual(distributionOf(parsed(text)), expected, text)
  }
  assert.deepEqual(['Debian', 'Amazon', 'suse linux enterprise server', 'constructor'].map(distributionId), [
    'debian',
    'amzn',
    'sles',
    'constructor',
  ])
})

test('versions have the epoch of rpm', () => {
  assert.equal(versionOf(parsed('pkg:rpm/rhel/bash@5.1-2?epoch=1')), '1:5.1-2')
  assert.equal(versionOf(parsed('pkg:rpm/rhel/bash@5.1-2?epoch=0')), '5.1-2')
  assert.equal(versionOf(parsed('pkg:deb/debian/bash@1%3A5.1')), '1:5.1')
  assert.equal(
    withVersion(parsed('pkg:rpm/rhel/bash?epoch=1'), '1:5.1-2')?.toString(),
    'pkg:rpm/rhel/bash@5.1-2?epoch=1',
  )
})

test('versions of Go programs need not be semantic', () => {
  for (const version of ['v1', 'vmain-2', '(devel)', 'v1.2.3+incompatible']) {
    const url = withVersion(parsed('pkg:golang/example.com/a'), version)?.toString() ?? ''
    assert.equal(versionOf(parsed(url)), version)
  }
})

test('parts of a package URL', () => {
  assert.deepEqual(packageParts(parsed('pkg:alpine/musl@1.2-r0?arch=x86_64')), {
    purl: 'pkg:apk/alpine/musl@1.2-r0?arch=x86_64',
    type: 'apk',
    namespace: 'alpine',
    name: 'musl',
    version: '1.2-r0',
    architecture: 'x86_64',
  })
  assert.ok(isImagePurl(parsed('pkg:oci/app@sha256:1')) && !isImagePurl(parsed('pkg:npm/oci@1')))
})

const named = { ecosystem: '', group: '', name: 'a', version: '1' }

test('package URLs are derived only if the ecosystem is stated', () => {
  const debian = { id: 'debian', versionId: '12', name: '' }
  const cases = [
    [{}, undefined, 'pkg:generic/a@1'],
    [{ ecosystem: 'unheard-of' }, debian, 'pkg:generic/a@1'],
    [{ ecosystem: 'deb' }, debian, 'pkg:deb/debian/a@1?distro=debian-12'],
    [{ ecosystem: 'debian' }, { ...debian, versionId: '' }, 'pkg:deb/debian/a@1?distro=debian'],
    [{ ecosystem: 'deb' }, undefined, 'pkg:generic/a@1'],
    [{ ecosystem: 'rpm', version: '1:2-3' }, { ...debian, id: 'rhel' }, 'pkg:rpm/rhel/a@2-3?distro=rhel-12'],
    [{ ecosystem: 'npm', name: '@scope/a' }, undefined, 'pkg:npm/%40scope/a@1'],
    [{ ecosystem: 'npm', group: '@scope' }, undefined, 'pkg:npm/%40scope/a@1'],
    [{ ecosystem: 'go-module', name: 'golang.org/x/text' }, undefined, 'pkg:golang/golang.org/x/text@1'],
    [{ ecosystem: 'python', name: 'Flask_Login' }, undefined, 'pkg:pypi/flask-login@1'],
    [{ ecosystem: 'java-archive' }, undefined, 'pkg:generic/a@1'],
    [{ ecosystem: 'java-archive', group: 'org.x' }, undefined, 'pkg:maven/org.x/a@1'],
    [{ ecosystem: 'jar', name: 'org.x:a' }, undefined, 'pkg:maven/org.x/a@1'],
  ] as const
  for (const [rest, distribution, expected] of cases)
    assert.equal(derivePurl({ ...named, ...rest }, distribution)?.toString(), expected)
})

test('paths and digests', () => {
  assert.deepEqual(['/a/b', './a', 'a', '././/a', ''].map(imagePath), ['a/b', 'a', 'a', 'a', ''])
  const digest = `sha256:${'0a'.repeat(32)}`
  assert.deepEqual([digest, `${digest}g`, 'sha256:redacted', 'md5:00'].map(layerDigest), [digest, '', '', ''])
})
