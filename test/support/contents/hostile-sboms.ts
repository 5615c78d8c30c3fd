import { documentLimits } from '@berth/image-contents/documents/document-limits.ts'
import { type HostileDocument, json, many, text } from './hostile-text.ts'

const {
  sbomFilesMax,
  sbomInvalidPurlsMax,
  sbomNameCharsMax,
  sbomPackagesCharsMax,
  sbomPackagesMax,
  sbomPathCharsMax,
  sbomPurlCharsMax,
  sbomRelationshipsMax,
  sbomVersionCharsMax,
} = documentLimits

const UNPRINTABLE = /has control characters or characters that change the direction of text$/

const spdx = (rest: object) => json({ spdxVersion: 'SPDX-2.3', SPDXID: 'SPDXRef-DOCUMENT', ...rest })
const cyclonedx = (rest: object) => json({ bomFormat: 'CycloneDX', specVersion: '1.6', ...rest })
const library = (rest: object) => ({ type: 'library', name: 'a', version: '1', ...rest })
const spdx3 = (...elements: object[]) =>
  json({
    '@context': 'https://spdx.org/rdf/3.0.1/spdx-context.jsonld',
    '@graph': [{ type: 'CreationInfo', specVersion: '3.0.1' }, ...elements],
  })
const purlReference = (purl: unknown) => [{ referenceType: 'purl', referenceLocator: purl }]
const component = (name: string, rest: object, reason: RegExp, read = 0): HostileDocument => ({
  name,
  build: () => cyclonedx({ components: [library(rest)] }),
  reason,
  read,
})
const tooLong = (field: string, max: number) =>
  new RegExp(`^component 1 is invalid: its ${field} has more than ${max} characters$`)

/** SBOMs that are JSON, but attack what reads them. */
export const hostileSboms: readonly HostileDocument[] = [
  { name: 'neither format', build: () => json({}), reason: /neither SPDX nor CycloneDX$/ },
  {
    name: 'fields of Object.prototype',
    build: () => text('{"__proto__":{"spdxVersion":"SPDX-2.3"}}'),
    reason: /neither/,
  },
  {
    name: 'an unknown version',
    build: () => json({ spdxVersion: 'SPDX-9.9' }),
    reason: /has the version "9.9": supported/,
  },
  {
    name: 'a version with escapes',
    build: () => json({ spdxVersion: '\u001b[2J\u202e' }),
    reason: /the version " \[2J "/,
  },
  {
    name: 'a version as an object',
    build: () => json({ spdxVersion: { toString: 1 } }),
    reason: /has no version as text/,
  },
  {
    name: 'a CycloneDX version of megabytes',
    build: () => json({ bomFormat: 'CycloneDX', specVersion: '1'.repeat(5_000_000) }),
    reason: /the version "1{60}…": supported/,
  },
  {
    name: 'packages as an object',
    build: () => spdx({ packages: { length: 5 } }),
    reason: /^packages is not a list$/,
  },
  {
    name: 'a package as a number',
    build: () => spdx({ packages: [1e308] }),
    reason: /^packages\[0\] is not an object$/,
  },
  {
    name: 'a package as a list',
    build: () => spdx({ packages: [[]] }),
    reason: /^packages\[0\] is not an object$/,
  },
  {
    name: 'relationships as text',
    build: () => spdx({ relationships: 'all' }),
    reason: /^relationships is not a list$/,
  },
  {
    name: 'components as text',
    build: () => cyclonedx({ components: 'all' }),
    reason: /^components is not a list$/,
  },
  {
    name: 'nested components as a number',
    build: () => cyclonedx({ components: [library({ components: 3 })] }),
    reason: /^components is not a list$/,
  },
  {
    name: 'too many packages',
    build: () => text(`{"spdxVersion":"SPDX-2.3","packages":[${many(sbomPackagesMax + 1, '{}')}]}`),
    reason: new RegExp(`packages has more than ${sbomPackagesMax} entries$`),
  },
  {
    name: 'too many relationships',
    build: () => text(`{"spdxVersion":"SPDX-2.3","relationships":[${many(sbomRelationshipsMax + 1, '{}')}]}`),
    reason: new RegExp(`relationships has more than ${sbomRelationshipsMax} entries$`),
  },
  {
    name: 'too many files',
    build: () => text(`{"spdxVersion":"SPDX-2.3","files":[${many(sbomFilesMax + 1, '{}')}]}`),
    reason: new RegExp(`files has more than ${sbomFilesMax} entries$`),
  },
  {
    name: 'too many nested components',
    build: () => {
      const inner = `{"type":"library","components":[${many(999, '{}')}]}`
      return text(`{"bomFormat":"CycloneDX","specVersion":"1.6","components":[${many(201, inner)}]}`)
    },
    reason: new RegExp(`more than ${sbomPackagesMax} components$`),
  },
  {
    name: 'too many packages of SPDX 3',
    build: () => {
      const element = '{"type":"software_Package"}'
      return text(
        `{"@context":"https://spdx.org/rdf/3.0.1/spdx-context.jsonld","@graph":[${many(sbomPackagesMax + 1, element)}]}`,
      )
    },
    reason: new RegExp(`more than ${sbomPackagesMax} packages$`),
  },
  {
    name: 'SPDX 3 of an unknown version',
    build: () => json({ '@context': 'https://spdx.org/rdf/4.0/spdx-context.jsonld', '@graph': [] }),
    reason: /is SPDX and has the version/,
  },
  {
    name: 'a graph as text',
    build: () => json({ '@context': 'https://spdx.org/rdf/3.0.1/', '@graph': 'x' }),
    reason: /^@graph is not a list$/,
  },
  component('a name of 100 MB', { name: 'a'.repeat(100_000_000) }, tooLong('name', sbomNameCharsMax)),
  component(
    'a long version',
    { version: '1'.repeat(sbomVersionCharsMax + 1) },
    tooLong('version', sbomVersionCharsMax),
  ),
  component('a long group', { group: 'g'.repeat(sbomNameCharsMax + 1) }, tooLong('group', sbomNameCharsMax)),
  component('a name as a number', { name: 1 }, /^component 1 is invalid: its name is not a string$/),
  component('NUL in a name', { name: 'a\0b' }, UNPRINTABLE),
  component('a line break in a name', { name: 'a\nb' }, UNPRINTABLE),
  component('an escape sequence in a version', { version: '1\u001b[31m' }, UNPRINTABLE),
  component('an override of direction in a name', { name: 'evil\u202egnp' }, UNPRINTABLE),
  component('an isolate of direction in a version', { version: '1\u2066' }, UNPRINTABLE),
  component('an unpaired surrogate in a name', { name: 'a\ud800' }, UNPRINTABLE),
  {
    name: 'a name of a slash',
    build: () => cyclonedx({ components: [library({ name: '/' })] }),
    read: 1,
  },
  component(
    'a long package URL',
    { purl: `pkg:npm/${'a'.repeat(sbomPurlCharsMax)}` },
    /^component 1 has an invalid package URL$/,
    1,
  ),
  component('a package URL of slashes', { purl: `pkg:npm${'/'.repeat(2000)}` }, /invalid package URL$/, 1),
  component('NUL encoded in a package URL', { purl: 'pkg:npm/a%00b@1' }, /invalid package URL$/, 1),
  component(
    'a direction encoded in a package URL',
    { purl: 'pkg:npm/a%E2%80%AEb@1' },
    /invalid package URL$/,
    1,
  ),
  component('a package URL with a bad escape', { purl: 'pkg:npm/%zz@1' }, /invalid package URL$/, 1),
  component(
    'a package URL with a host and password',
    { purl: 'pkg://u:p@npm/a@1' },
    /invalid package URL$/,
    1,
  ),
  component('a script as a package URL', { purl: 'javascript:alert(1)' }, /invalid package URL$/, 1),
  {
    name: 'huge numbers where no number belongs',
    build: () =>
      text(
        '{"bomFormat":"CycloneDX","specVersion":"1.6","version":1e400,"components":[{"type":"library","name":"a","version":1e999}]}',
      ),
    reason: /^component 1 is invalid: its version is not a string$/,
  },
  {
    name: 'too many invalid package URLs',
    build: () => {
      const invalid = '{"type":"library","purl":"pkg:%"}'
      return text(
        `{"bomFormat":"CycloneDX","specVersion":"1.6","components":[${many(sbomInvalidPurlsMax + 1, invalid)}]}`,
      )
    },
    reason: new RegExp(`^more than ${sbomInvalidPurlsMax} package URLs are invalid$`),
  },
  {
    name: 'relations in a cycle',
    build: () =>
      spdx({
        packages: ['a', 'b'].map((id) => ({ SPDXID: id, name: id, versionInfo: '1' })),
        relationships: ['CONTAINS', 'GENERATED_FROM', 'DESCRIBES', 'DEPENDS_ON'].flatMap(
          (relationshipType) => [
            { spdxElementId: 'a', relatedSpdxElement: 'b', relationshipType },
            { spdxElementId: 'b', relatedSpdxElement: 'a', relationshipType },
            { spdxElementId: 'a', relatedSpdxElement: 'a', relationshipType },
          ],
        ),
      }),
    read: 2,
  },
  {
    name: 'relations to nothing',
    build: () =>
      spdx({
        packages: [{ SPDXID: 'a', name: 'a', versionInfo: '1', hasFiles: ['x', null, 5] }],
        relationships: [{ spdxElementId: 'a', relatedSpdxElement: 'none', relationshipType: 'CONTAINS' }, {}],
        documentDescribes: ['none', null],
      }),
    read: 1,
  },
  {
    name: 'equal ids',
    build: () => spdx({ packages: ['a', 'b'].map((name) => ({ SPDXID: 'same', name, versionInfo: '1' })) }),
    read: 2,
  },
  {
    name: 'equal ids with many files and sources each',
    build: () => {
      const count = 20_000
      const packages = Array.from({ length: count }, (_, index) => ({
        SPDXID: 'same',
        name: `a${index}`,
        versionInfo: '1',
      }))
      const relationships = Array.from({ length: count }, (_, index) => ({
        spdxElementId: 'same',
        relatedSpdxElement: `f${index}`,
        relationshipType: index % 2 === 0 ? 'CONTAINS' : 'GENERATED_FROM',
      }))
      const files = Array.from({ length: count }, (_, index) => ({ SPDXID: `f${index}`, fileName: 'f' }))
      return spdx({ packages, relationships, files })
    },
    read: 20_000,
  },
  {
    name: 'one licence text in every package',
    build: () => {
      const license = 'L'.repeat(4000)
      const packages = Array.from({ length: 40_000 }, (_, index) => ({
        SPDXID: `p${index}`,
        name: `a${index}`,
        versionInfo: '1',
        licenseDeclared: 'LicenseRef-1',
      }))
      return spdx({ packages, hasExtractedLicensingInfos: [{ licenseId: 'LicenseRef-1', name: license }] })
    },
    reason: new RegExp(`^the packages have more than ${sbomPackagesCharsMax} characters together$`),
  },
  {
    name: 'licences in a cycle',
    build: () =>
      spdx3(
        { type: 'software_Package', spdxId: 'p', name: 'p', software_packageVersion: '1' },
        { type: 'Relationship', from: 'p', to: ['l'], relationshipType: 'hasDeclaredLicense' },
        {
          type: 'expandedlicensing_ConjunctiveLicenseSet',
          spdxId: 'l',
          expandedlicensing_member: ['l', 'l', 'm'],
        },
        { type: 'expandedlicensing_OrLaterOperator', spdxId: 'm', expandedlicensing_subjectLicense: 'l' },
      ),
    read: 1,
  },
  {
    name: 'licences that double at each level',
    build: () =>
      spdx3(
        { type: 'software_Package', spdxId: 'p', name: 'p', software_packageVersion: '1' },
        { type: 'Relationship', from: 'p', to: ['l0'], relationshipType: 'hasDeclaredLicense' },
        ...Array.from({ length: 60 }, (_, level) => ({
          type: 'expandedlicensing_DisjunctiveLicenseSet',
          spdxId: `l${level}`,
          expandedlicensing_member: new Array(50).fill(`l${level + 1}`),
        })),
      ),
    read: 1,
  },
  {
    name: 'a root element that refers to itself',
    build: () =>
      spdx3(
        { type: 'SpdxDocument', spdxId: 'd', rootElement: ['s'] },
        { type: 'software_Sbom', spdxId: 's', rootElement: ['s', 's', 'd'] },
      ),
  },
  {
    name: 'a long path, and one out of the root',
    build: () =>
      cyclonedx({
        components: [
          library({
            name: 'a',
            evidence: { occurrences: [{ location: `/${'a'.repeat(sbomPathCharsMax)}` }] },
          }),
          library({ name: 'b', evidence: { occurrences: [{ location: '////./../etc/passwd' }] } }),
        ],
      }),
    read: 2,
  },
  {
    name: 'package URLs of other kinds',
    build: () =>
      spdx({
        packages: [1, null, {}, []].map((purl, index) => ({
          SPDXID: `${index}`,
          name: 'a',
          versionInfo: `${index}`,
          externalRefs: purlReference(purl),
        })),
      }),
    reason: /^packages\[0\] has an invalid package URL$/,
    read: 4,
  },
  {
    name: 'fields of Object.prototype in a package',
    build: () =>
      text(
        '{"bomFormat":"CycloneDX","specVersion":"1.6","components":[{"type":"library","name":"constructor","version":"1","__proto__":{"purl":"pkg:npm/evil@1"},"properties":[{"name":"syft:package:type","value":"constructor"}]}]}',
      ),
    read: 1,
  },
]
