import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ImagePackage } from '@berth/image-contents/contents.ts'
import { documentLimits } from '@berth/image-contents/documents/document-limits.ts'
import { parsePurl } from '@berth/image-contents/sbom/package-urls.ts'
import { readSbom } from '@berth/image-contents/sbom/read-sbom.ts'
import type { SbomDocument } from '@berth/image-contents/sbom/sbom-document.ts'
import { readDocumentFile, sbomDocuments } from './support/contents/sbom-documents.ts'

/** Real SBOMs of other tools, against counts that were made without an SBOM library. */

/** Documents that break a rule of their format on purpose. */
const rejected: Readonly<Record<string, string>> = {
  'cyclonedx-json/guac-invalid-cyclonedx.json': 'the document is neither SPDX nor CycloneDX',
  'spdx-json/guac-invalid-spdx.json':
    'the document is SPDX and has no version as text: supported versions are 2.2, 2.3, 3.0',
}

function read(path: string): SbomDocument {
  return readSbom(readDocumentFile(path))
}

test('every document has the counted elements', () => {
  const documents = sbomDocuments()
  assert.equal(documents.length, 197)
  for (const [path, expected] of documents) {
    const reason = rejected[path]
    if (reason !== undefined) {
      assert.throws(() => read(path), { name: 'DocumentProblem', message: reason })
      continue
    }
    const { format, version, elements } = read(path)
    const counted = {
      spec: `${format}-${version}`,
      packages: elements.packages,
      withPurl: elements.packagesWithPurl,
      // Counted for SPDX only.
      files: expected.kind === 'cdx' ? undefined : elements.files,
      relationships: elements.relationships,
      vulnerabilities: expected.kind === 'cdx' ? elements.vulnerabilities : undefined,
    }
    assert.deepEqual(
      counted,
      {
        spec: expected.spec,
        packages: expected.packages ?? expected.components_all,
        withPurl: expected.with_purl,
        files: expected.files,
        relationships: expected.relationships ?? expected.dependencies,
        vulnerabilities: expected.vulnerabilities,
      },
      path,
    )
  }
})

/** Package URLs of images, of sources that packages were built from, and texts that are none. */
const notInImage = [
  /^pkg:(oci|docker)\//,
  /^pkg:github\/(wolfi-dev\/os|elastic\/logstash|nlnetlabs\/unbound)@/,
  /^(a-purl-\d|pkg:invalid|invalid-purl-format)$/,
]

test('every package URL is that of a package, but for images, sources and invalid ones', () => {
  let total = 0
  for (const [path] of sbomDocuments()) {
    if (rejected[path] !== undefined) continue
    const { packages } = read(path).contents
    const purls = new Set(packages.map(({ purl }) => withoutVersion(purl)))
    total += packages.length
    const missing = purlsOf(JSON.parse(readDocumentFile(path).toString()))
      .filter((text) => !notInImage.some((pattern) => pattern.test(text)))
      .filter((text) => !purls.has(withoutVersion(canonical(text))))
    assert.deepEqual(missing, [], path)
  }
  assert.ok(total > 2400, `${total} packages`)
})

test('relations are between packages of the document, or the image', () => {
  const counts = new Map<string, number>()
  for (const [path] of sbomDocuments()) {
    if (rejected[path] !== undefined) continue
    const { format, version, relations, contents } = read(path)
    const ends = new Set(['', ...contents.packages.map(({ purl }) => purl)])
    for (const { from, to } of relations) assert.ok(from !== to && ends.has(from) && ends.has(to), path)
    for (const { kind } of relations) {
      const key = `${format} ${version.split('.')[0]} ${kind}`
      counts.set(key, (counts.get(key) ?? 0) + 1)
    }
  }
  assert.deepEqual(
    ['SPDX 2 contains', 'SPDX 2 dependsOn', 'SPDX 3 contains', 'CycloneDX 1 dependsOn'].filter(
      (key) => (counts.get(key) ?? 0) === 0,
    ),
    [],
    JSON.stringify([...counts]),
  )
})

test('SPDX of both versions states the same relations', () => {
  const purlOf = (name: string) => `pkg:npm/${name}@1`
  const names = ['a', 'b', 'c', 'd']
  const second = {
    spdxVersion: 'SPDX-2.3',
    packages: [
      { SPDXID: 'image', name: 'image', primaryPackagePurpose: 'CONTAINER' },
      ...names.map((name) => ({
        SPDXID: name,
        name,
        externalRefs: [{ referenceType: 'purl', referenceLocator: purlOf(name) }],
      })),
    ],
    relationships: [
      ['SPDXRef-DOCUMENT', 'DESCRIBES', 'image'],
      ['image', 'CONTAINS', 'a'],
      ['b', 'CONTAINED_BY', 'image'],
      ['a', 'DEPENDS_ON', 'b'],
      ['c', 'DEPENDENCY_OF', 'b'],
      ['d', 'RUNTIME_DEPENDENCY_OF', 'c'],
      ['b', 'GENERATED_FROM', 'c'],
      ['d', 'GENERATES', 'c'],
      ['a', 'DEPENDS_ON', 'unknown'],
      ['a', 'VARIANT_OF', 'b'],
    ].map(([spdxElementId, relationshipType, relatedSpdxElement]) => ({
      spdxElementId,
      relationshipType,
      relatedSpdxElement,
    })),
  }
  const relationOf = (from: string, relationshipType: string, ...to: readonly string[]) => ({
    type: 'Relationship',
    from,
    relationshipType,
    to,
  })
  const third = {
    '@context': 'https://spdx.org/rdf/3.0.1/spdx-context.jsonld',
    '@graph': [
      { type: 'SpdxDocument', spdxId: 'document', rootElement: ['image'] },
      { type: 'software_Package', spdxId: 'image', name: 'image', software_primaryPurpose: 'container' },
      ...names.map((name) => ({
        type: 'software_Package',
        spdxId: name,
        name,
        software_packageUrl: purlOf(name),
      })),
      relationOf('image', 'contains', 'a', 'b'),
      relationOf('a', 'dependsOn', 'b', 'unknown'),
      relationOf('b', 'dependsOn', 'c'),
      relationOf('c', 'dependsOn', 'd'),
      relationOf('c', 'generates', 'b'),
      relationOf('d', 'generates', 'c'),
      relationOf('a', 'hasVariant', 'b'),
    ],
  }
  const expected = [
    ['', 'contains', 'a'],
    ['', 'contains', 'b'],
    ['a', 'dependsOn', 'b'],
    ['b', 'dependsOn', 'c'],
    ['c', 'dependsOn', 'd'],
    ['b', 'generatedFrom', 'c'],
    ['c', 'generatedFrom', 'd'],
  ].map(([from = '', kind, to = '']) => ({ kind, from: from && purlOf(from), to: purlOf(to) }))
  for (const document of [second, third])
    assert.deepEqual(readSbom(Buffer.from(JSON.stringify(document))).relations, expected)
})

test('of many relations the first are kept (sbomRelationsMax)', () => {
  const { sbomRelationsMax: max } = documentLimits
  const components = Array.from({ length: 200 }, (_, at) => ({
    type: 'library',
    'bom-ref': `p${at}`,
    name: `p${at}`,
    version: '1',
  }))
  const ids = components.map((component) => component['bom-ref'])
  const dependencies = ids.map((ref) => ({ ref, dependsOn: ids }))
  const document = { bomFormat: 'CycloneDX', specVersion: '1.6', components, dependencies }
  assert.equal(readSbom(Buffer.from(JSON.stringify(document))).relations.length, max)
})

interface Element {
  readonly purl?: string
  readonly software_packageUrl?: string
  readonly components?: readonly Element[]
  readonly externalRefs?: readonly { readonly referenceType: string; readonly referenceLocator: string }[]
}

function purlsOf(root: {
  readonly components?: readonly Element[]
  readonly packages?: readonly Element[]
  readonly '@graph'?: readonly Element[]
}): string[] {
  const nested = (element: Element): Element[] => [element, ...(element.components ?? []).flatMap(nested)]
  const elements = [...(root.components ?? []), ...(root.packages ?? []), ...(root['@graph'] ?? [])]
  return elements
    .flatMap(nested)
    .flatMap(({ purl, software_packageUrl, externalRefs = [] }) =>
      [
        purl ?? '',
        software_packageUrl ?? '',
        ...externalRefs.filter((each) => each.referenceType === 'purl').map((each) => each.referenceLocator),
      ].filter((text) => text !== ''),
    )
}

/** Text that is no package URL stays as it is, and so is missing. */
function canonical(text: string): string {
  return parsePurl(text)?.toString() ?? text
}

/** Packages whose URL has no version get that of their element. */
function withoutVersion(purl: string): string {
  return purl.replace(/@[^?#/]*/, '')
}

/** Finds a package by name. */
function packageOf(path: string, name: string): ImagePackage {
  const found = read(path).contents.packages.find((each) => each.name === name)
  assert.ok(found !== undefined, `${path} has no package ${name}`)
  return found
}

test('packages have origin, licence, path and layer', () => {
  assert.deepEqual(packageOf('cyclonedx-json/trivy-bom.json', 'musl'), {
    purl: 'pkg:apk/alpine/musl@1.2.3-r0?distro=3.16.0',
    type: 'apk',
    namespace: 'alpine',
    name: 'musl',
    version: '1.2.3-r0',
    architecture: '',
    origin: { name: 'musl', version: '1.2.3-r0' },
    license: 'MIT',
    path: '',
    layer: 'sha256:dd565ff850e7003356e2b252758f9bdc1ff2803f61e995e24c7844f6297f8fc3',
  })
})

test('SPDX of syft: distribution, source package, files with evidence', () => {
  const { tools, authors, created, contents, id } = read('spdx-json/guac-alpine-small-spdx.json')
  assert.deepEqual(tools, ['syft 0.57.0'])
  assert.deepEqual(authors, ['Anchore, Inc'])
  assert.equal(created?.toISOString(), '2022-09-24T17:27:55.556Z')
  assert.match(id, /^https:\/\/anchore\.com\/syft\/image\/alpine-latest-/)
  assert.deepEqual(contents.distribution, { id: 'alpine', versionId: '3.16.2', name: '' })
  assert.deepEqual(
    contents.packages.map(({ purl, origin, architecture }) => [purl.split('?')[0], origin, architecture]),
    ['alpine-baselayout', 'alpine-baselayout-data', 'alpine-keys'].map((name) => {
      const version = name === 'alpine-keys' ? '2.4-r1' : '3.2.0-r22'
      const origin = { name: name.replace('-data', ''), version }
      return [`pkg:apk/alpine/${name}@${version}`, origin, 'x86_64']
    }),
  )
})

test('SPDX of apko and melange: sources that packages were built from are not in the image', () => {
  const { contents, subject } = read('spdx-json/apko-unbound-package-dedupe.spdx.json')
  assert.deepEqual(
    contents.packages.map(({ purl, license }) => [purl, license]),
    ['unbound-libs', 'unbound', 'unbound-config'].map((name) => [
      `pkg:apk/wolfi/${name}@1.23.0-r0?arch=x86_64`,
      'BSD-3-Clause',
    ]),
  )
  assert.equal(subject?.purl, 'pkg:oci/image?mediaType=&os=linux')
})

test('SPDX of trivy: source package from the words, path from the only file', () => {
  assert.deepEqual(packageOf('spdx-json/trivy-ca-certificates.spdx.json', 'ca-certificates').origin, {
    name: 'ca-certificates',
    version: '20230311',
  })
  assert.equal(
    packageOf('spdx-json/trivy-conda-spdx.json', 'pip').path,
    'miniconda3/envs/testenv/conda-meta/pip-22.2.2-py38h06a4308_0.json',
  )
  assert.equal(
    packageOf('spdx-json/trivy-sbom-without-app-component.spdx.json', 'lifecycle').path,
    'launcher',
  )
})

test('the image that a document describes is its subject', () => {
  const { subject } = read('spdx-json/syft-TestSPDXJSONImageEncoder.json')
  assert.deepEqual(subject?.digests, [
    'sha256:2731251dc34951c0e50fcc643b4c5f74922dad1a5d98f302b504cf46cd5d9368',
  ])
  assert.equal(read('cyclonedx-json/trivy-bom.json').subject?.name, 'maven-test-project')
})

test('SPDX 3: licence by relation', () => {
  const path = 'spdx3-json/spdx-examples-spdx3.0-sbom.spdx3.json'
  assert.equal(packageOf(path, 'pretty_env_logger').license, '(MIT OR Apache-2.0)')
  assert.deepEqual(read(path).tools, ['sigs.k8s.io/bom/pkg/spdx'])
})

test('a package without a package URL is generic, unless its ecosystem is stated', () => {
  const path = 'cyclonedx-json/syft-TestCycloneDxImageEncoder.json'
  assert.equal(packageOf(path, 'package-1').purl, 'pkg:pypi/package-1@1.0.1')
  assert.equal(packageOf(path, 'package-1').path, 'somefile-1.txt')
  assert.equal(
    packageOf('spdx-json/syft-TestSPDXJSONImageEncoder.json', 'package-1').purl,
    'pkg:generic/package-1@1.0.1',
  )
  assert.deepEqual(read(path).contents.problems, [
    { path: '', reason: 'component 1 has an invalid package URL' },
  ])
})

test('a document with many invalid packages reports the first ones and the number of the others', () => {
  const components = Array.from({ length: documentLimits.problemsMax + 5 }, () => ({
    type: 'library',
    name: 7,
  }))
  const bytes = Buffer.from(JSON.stringify({ bomFormat: 'CycloneDX', specVersion: '1.6', components }))
  const { problems } = readSbom(bytes).contents
  assert.equal(problems.length, documentLimits.problemsMax + 1)
  assert.deepEqual(problems.at(-1), { path: '', reason: '5 more elements are invalid' })
})

test('a placeholder is no version', () => {
  const packages = ['UNKNOWN', 'NOASSERTION', 'NONE', '1.0'].map((versionInfo, index) => ({
    SPDXID: `SPDXRef-${index}`,
    name: 'a',
    versionInfo,
    externalRefs: index === 0 ? [{ referenceType: 'purl', referenceLocator: 'pkg:golang/cmd/go' }] : [],
  }))
  const { contents } = readSbom(Buffer.from(JSON.stringify({ spdxVersion: 'SPDX-2.3', packages })))
  assert.deepEqual(
    contents.packages.map(({ purl, version }) => [purl, version]),
    [
      ['pkg:golang/cmd/go', ''],
      ['pkg:generic/a@1.0', '1.0'],
    ],
  )
})
