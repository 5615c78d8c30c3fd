import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { AdvisoryRecord, EventRecord } from '@berth/advisory-formats/advisory-record.ts'
import {
  AdvisoryEvent_FalsePositiveDetermination_Type as FalsePositiveType,
  Severity_Type as SeverityType,
} from '@berth/contract/gen/chainguard/platform/vulnerabilities/v2beta1/advisories_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import fc from 'fast-check'
import { stringify } from 'yaml'
import { readOrThrow } from './support/advisories/advisory-documents.ts'

/** How the fields of each format are mapped, in edge cases of real and constructed documents. */

const real = (path: string) => readOrThrow(path, readFileSync(`test/advisories/${path}`))

/** An event in a line: `2023-01-08T18:02:03.647Z fixed 2.39.0-r1`. */
function line({ timeMs, type }: EventRecord): string {
  return [timeMs === 0 ? 'untimed' : new Date(timeMs).toISOString(), ...wordsOf(type)].join(' ')
}

function wordsOf(type: EventRecord['type']): string[] {
  switch (type.case) {
    case 'detection':
      return [`detection/${type.value.type.case}`]
    case 'fixed':
      return ['fixed', type.value.fixedVersion, ...(type.value.note === '' ? [] : [`(${type.value.note})`])]
    case 'falsePositiveDetermination':
      return [
        'false-positive',
        FalsePositiveType[type.value.type],
        ...(type.value.note === '' ? [] : [`(${type.value.note})`]),
      ]
    case undefined:
    case 'patched':
      return ['none']
    default:
      return [type.case, ...(type.value.note === '' ? [] : [`(${type.value.note})`])]
  }
}

/** The fields of a record that say something, its events as lines, without what OSV alone has (advisory-osv-carried.test.ts). */
function summaryOf(record: AdvisoryRecord | undefined): Record<string, unknown> {
  const { events = [], osv: _, ...fields } = record ?? {}
  const said = Object.entries(fields).filter(
    ([, value]) => value !== '' && value !== undefined && String(value) !== '',
  )
  return { ...Object.fromEntries(said), events: events.map(line) }
}

const unmappedOf = (text: string) =>
  Object.fromEntries(readOrThrow('made', text).unmapped.map(({ path, count }) => [path, count]))

test('wolfi: the first scan determines artifact and component, and ids that look like numbers stay text', () => {
  const { advisories } = real('wolfi/current/linkerd2.advisories.yaml')
  const ids = advisories.flatMap(({ events }) =>
    events.flatMap(({ type }) =>
      type.case === 'detection' && type.value.type.case === 'scanv1'
        ? [type.value.type.value.componentId]
        : [],
    ),
  )
  assert.ok(ids.length > 0 && ids.every((id) => /^[0-9a-f]{16}$/.test(id)), ids.join())
  assert.ok(
    ids.some((id) => Number.isFinite(Number(id)) || Number(id) === Infinity),
    'one looks like a number',
  )
  const [inSubpackage] = real('wolfi/current/gitlab-runner-17.11.advisories.yaml').advisories
  assert.deepEqual(
    [inSubpackage?.artifactName, inSubpackage?.origin, inSubpackage?.componentType],
    ['gitlab-docker-machine-17.11', 'gitlab-runner-17.11', 'go-module'],
  )
})

test('wolfi: events are ordered by time, those of the same time as in the document', () => {
  const record = (...events: string[]) =>
    readOrThrow(
      'made',
      `schema-version: "2"\npackage:\n  name: a\nadvisories:\n  - id: CGA-2222-2222-2222\n    events:\n${events
        .map((event) => {
          const [timestamp, version] = event.split(' ')
          return `      - {timestamp: ${timestamp}, type: fixed, data: {fixed-version: ${version}}}\n`
        })
        .join('')}`,
    ).advisories[0]
  const timed = record(
    '2024-01-02T00:00:00Z 3',
    '2024-01-01T00:00:00.0019Z 2',
    '2024-01-01T02:00:00.0011+02:00 1',
    '2024-01-02T00:00:00Z 4',
  )
  assert.deepEqual(timed?.events.map(line), [
    '2024-01-01T00:00:00.001Z fixed 1',
    '2024-01-01T00:00:00.001Z fixed 2',
    '2024-01-02T00:00:00.000Z fixed 3',
    '2024-01-02T00:00:00.000Z fixed 4',
  ])
  assert.equal(record('2024-01-01T00:00:00Z 1', '2024-01-01T00:00:00Z 1')?.events.length, 1)
})

test('wolfi: in the first form a fix may have no version', () => {
  const fixed = '    - {timestamp: 2023-01-08T13:02:03Z, status: fixed}\n'
  const [advisory] = readOrThrow(
    'a.yaml',
    `package: {name: git}\nadvisories:\n  CVE-2023-10000:\n${fixed}`,
  ).advisories
  assert.deepEqual(advisory?.events.map(line), ['2023-01-08T13:02:03.000Z fixed '])
})

test('wolfi: documents with ids of vulnerabilities, and of the first form', () => {
  assert.deepEqual(summaryOf(real('wolfi/earlier/2024-01-cve-ids/expat.advisories.yaml').advisories[0]), {
    key: 'wolfi:expat:CVE-2022-40674',
    legacyAdvisoryId: 'CVE-2022-40674',
    artifactName: 'expat',
    artifactType: 'apk',
    origin: 'expat',
    aliases: ['CVE-2022-40674', 'GHSA-2vq2-xc55-3j5m'],
    createdMs: Date.parse('2022-09-21T16:05:50Z'),
    updatedMs: Date.parse('2022-09-21T16:05:50Z'),
    events: ['2022-09-21T16:05:50.000Z fixed 2.4.9-r0'],
  })
  assert.deepEqual(summaryOf(real('wolfi/earlier/2023-07-format-v1/gcc-6.advisories.yaml').advisories[1]), {
    key: 'wolfi:gcc-6:CVE-2019-15847',
    legacyAdvisoryId: 'CVE-2019-15847',
    artifactName: 'gcc-6',
    artifactType: 'apk',
    origin: 'gcc-6',
    aliases: ['CVE-2019-15847'],
    createdMs: Date.parse('2023-04-28T18:46:17.894Z'),
    updatedMs: Date.parse('2023-04-28T19:00:50.022Z'),
    events: [
      '2023-04-28T18:46:17.894Z detection/manual',
      "2023-04-28T19:00:50.022Z false-positive VULNERABLE_CODE_NOT_INCLUDED_IN_PACKAGE (We don't support POWER.)",
    ],
  })
})

test('wolfi: additions of a later revision are reported as unmapped', () => {
  const document = real('wolfi/schema-fixtures/future.advisories.yaml')
  assert.deepEqual(document.advisories[0]?.aliases, [
    'CVE-2000-0001',
    'GHSA-xxxx-xxxx-xxx9',
    'GO-2000-0001',
    'DSA-2000-0001',
  ])
  assert.deepEqual(document.advisories[0]?.events.map(line), [
    '2000-01-01T00:00:00.000Z false-positive UNSPECIFIED (Something something false positive.)',
  ])
  assert.deepEqual(Object.fromEntries(document.unmapped.map(({ path, count }) => [path, count])), {
    'advisories[].events[].type=future-event-type': 1,
    'advisories[].events[].data.type=future-detection-type': 1,
    'advisories[].events[].data.type=future-false-positive-type': 1,
    'advisories[].events[].timestamp': 2,
    'advisories[].events[].data.peanut-butter': 1,
    'advisories[].events[].data.data.butterflies[]': 2,
  })
})

test('osv: an advisory for each package, with versions rather than commits', () => {
  const { advisories, scores, revisionMs } = real('osv/loopback/lbsa-20201130.osv.json')
  const ms = Date.parse('2022-03-07T13:53:00Z')
  assert.equal(revisionMs, ms)
  assert.deepEqual(advisories.map(summaryOf), [
    {
      key: 'osv:LBSA-20201130#npm/@loopback/rest',
      legacyAdvisoryId: 'LBSA-20201130',
      artifactName: '@loopback/rest',
      artifactType: 'npm',
      componentName: '@loopback/rest',
      componentType: 'npm',
      product: 'pkg:npm/%40loopback/rest',
      aliases: ['LBSA-20201130', 'CVE-2020-4988'],
      createdMs: ms,
      updatedMs: ms,
      events: ['2022-03-07T13:53:00.000Z detection/manual', '2022-03-07T13:53:00.000Z fixed 9.0.0'],
    },
  ])
  const severities = [
    { type: SeverityType.CVSS_V3, score: 'CVSS:3.0/AV:N/AC:L/PR:N/UI:N/S:U/C:L/I:L/A:L/RL:O/E:U/RC:C' },
  ]
  assert.deepEqual(scores, [
    { alias: 'LBSA-20201130', component: '', severities, cwes: [] },
    { alias: 'CVE-2020-4988', component: '', severities, cwes: [] },
  ])
})

test('osv: an entry without a package is about its repository', () => {
  const [record] = real('osv/psf/PSF-2014-7.json').advisories
  assert.deepEqual(summaryOf(record), {
    key: 'osv:PSF-2014-7#git/github.com/python/cpython',
    legacyAdvisoryId: 'PSF-2014-7',
    artifactName: 'github.com/python/cpython',
    artifactType: 'git',
    componentName: 'github.com/python/cpython',
    componentType: 'git',
    product: 'https://github.com/python/cpython',
    aliases: ['PSF-2014-7', 'CVE-2014-9365'],
    createdMs: Date.parse('2014-12-12T11:00:00Z'),
    updatedMs: Date.parse('2018-01-04T19:57:01Z'),
    events: [
      '2014-12-12T11:00:00.000Z detection/manual',
      '2018-01-04T19:57:01.000Z fixed 4ffb0752710f0c0720d4f2af0c4b7ce1ebb9d2bd',
      '2018-01-04T19:57:01.000Z fixed e3e7d40514e5dd0c3847682a719577efcfae1d8f',
    ],
  })
})

test('osv: a withdrawn record gives no scores', () => {
  const { advisories, scores } = real('osv/rustsec/RUSTSEC-2020-0053.json')
  assert.ok(advisories.length > 0 && advisories.every(({ withdrawnMs }) => withdrawnMs !== undefined))
  assert.deepEqual(scores, [])
})

const osv = (fields: object) =>
  JSON.stringify({ id: 'DSA-2024-1', modified: '2024-02-01T00:00:00Z', ...fields })
const vector = (version: string) => `CVSS:${version}/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H`

test('osv: scores apply to the id and its aliases, scores of an affected entry only to it, and unknown methods are ignored', () => {
  const text = osv({
    aliases: ['CVE-2024-10000'],
    upstream: ['CVE-2024-20000'],
    severity: [
      { type: 'CVSS_V3', score: vector('3.1') },
      { type: 'CVSS_V3', score: vector('3.1') },
      { type: 'Ubuntu', score: 'low' },
    ],
    affected: [
      {
        package: { ecosystem: 'Debian:12', name: 'a', purl: 'pkg:deb/debian/a?arch=source' },
        severity: [{ type: 'CVSS_V4', score: vector('4.0') }],
        ranges: [{ type: 'ECOSYSTEM', events: [{ introduced: '0' }, { fixed: '1:2' }] }],
      },
      {
        package: { ecosystem: 'Debian:12', name: 'a' },
        ranges: [{ type: 'ECOSYSTEM', events: [{ fixed: '1:3' }] }],
      },
      { package: { ecosystem: 'Debian:13', name: 'a' } },
    ],
  })
  const { advisories, scores } = readOrThrow('made', text)
  assert.deepEqual(
    advisories.map(({ key, artifactType, artifactArchitecture, aliases, events }) => [
      key,
      artifactType,
      artifactArchitecture,
      aliases.join(),
      events.map(({ type }) => wordsOf(type).join(' ')).join(),
    ]),
    [
      [
        'osv:DSA-2024-1#Debian:12/a',
        'deb',
        'source',
        'DSA-2024-1,CVE-2024-10000,CVE-2024-20000',
        'detection/manual,fixed 1:2,fixed 1:3',
      ],
      [
        'osv:DSA-2024-1#Debian:13/a',
        'Debian:13',
        '',
        'DSA-2024-1,CVE-2024-10000,CVE-2024-20000',
        'detection/manual',
      ],
    ],
  )
  assert.deepEqual(
    scores.map(({ alias, component, severities }) => [
      alias,
      component,
      ...severities.map(({ score }) => score),
    ]),
    [
      ['DSA-2024-1', '', vector('3.1')],
      ['CVE-2024-10000', '', vector('3.1')],
      ['DSA-2024-1', 'a', vector('4.0')],
      ['CVE-2024-10000', 'a', vector('4.0')],
    ],
  )
  assert.equal(unmappedOf(text)['severity[].score'], 1)
})

test('osv: an id of the platform is not an alias, and keeps its own scores', () => {
  const severity = [{ type: 'CVSS_V2', score: 'AV:N/AC:L/Au:N/C:P/I:P/A:P' }]
  const affected = [{ package: { ecosystem: 'Wolfi', name: 'a' } }]
  const [record] = readOrThrow('made', osv({ id: 'CGA-2222-2222-2222', severity, affected })).advisories
  assert.equal(record?.advisoryId, 'CGA-2222-2222-2222')
  assert.deepEqual(record?.aliases, [])
  assert.deepEqual(record?.severities, [{ type: SeverityType.CVSS_V2, score: 'AV:N/AC:L/Au:N/C:P/I:P/A:P' }])
})

test('osv: the year 1 is not a time, and nothing is fixed before it was published', () => {
  const affected = [
    {
      package: { ecosystem: 'Go', name: 'a' },
      ranges: [{ type: 'SEMVER', events: [{ introduced: '0' }, { fixed: '2' }] }],
    },
  ]
  const lines = (fields: object) => {
    const document = readOrThrow('made', osv({ affected, ...fields }))
    return [document.revisionMs, ...document.advisories.flatMap(({ events }) => events.map(line))]
  }
  assert.deepEqual(lines({ modified: '0001-01-01T00:00:00Z', published: '2024-01-01T00:00:00Z' }), [
    undefined,
    '2024-01-01T00:00:00.000Z detection/manual',
    '2024-01-01T00:00:00.000Z fixed 2',
  ])
  assert.deepEqual(lines({ modified: '0001-01-01T00:00:00Z' }), [
    undefined,
    'untimed detection/manual',
    'untimed fixed 2',
  ])
  assert.deepEqual(lines({ published: '2024-03-01T00:00:00Z' }), [
    Date.parse('2024-02-01T00:00:00Z'),
    '2024-03-01T00:00:00.000Z detection/manual',
    '2024-03-01T00:00:00.000Z fixed 2',
  ])
})

test('secdb: an advisory for each package and id, in any order; other text is reported as unmapped', () => {
  const text = JSON.stringify({
    urlprefix: 'https://dl-cdn.alpinelinux.org/alpine',
    distroversion: 'v3.19',
    reponame: 'main',
    archs: ['x86_64'],
    packages: [
      {
        pkg: {
          name: 'a',
          secfixes: { '1.10-r0': ['CVE-2019-2389 XSA-123 (+ regression fix)'], '1.9-r0': ['CVE-2019-2389'] },
        },
      },
      { pkg: { name: 'b', secfixes: null } },
      { pkg: { name: 'c', secfixes: { '1-r0': null } } },
      {
        pkg: {
          name: 'a',
          secfixes: { '0': ['CVE-2020-1234'], '0-r0': ['CVE-2020-12', 'CGA-2222-2222-2222'] },
        },
      },
    ],
  })
  const { id, revisionMs, advisories } = readOrThrow('made', text)
  const database = 'https://dl-cdn.alpinelinux.org/alpine/v3.19/main'
  assert.equal(id, `${database}#made`)
  assert.equal(revisionMs, undefined)
  const of = (name: string, events: string[], rest = {}) => ({
    key: `secdb:${database}:a:${name}`,
    artifactName: 'a',
    artifactType: 'apk',
    artifactArchitecture: 'x86_64',
    origin: 'a',
    ...(name.startsWith('CGA') ? {} : { aliases: [name] }),
    events,
    ...rest,
  })
  assert.deepEqual(advisories.map(summaryOf), [
    of('CVE-2019-2389', ['untimed fixed 1.10-r0', 'untimed fixed 1.9-r0']),
    of('XSA-123', ['untimed fixed 1.10-r0']),
    of('CVE-2020-1234', ['untimed false-positive UNSPECIFIED']),
    of('CGA-2222-2222-2222', ['untimed false-positive UNSPECIFIED'], { advisoryId: 'CGA-2222-2222-2222' }),
  ])
  assert.deepEqual(unmappedOf(text), { 'packages[].pkg.secfixes.*[] (no id)': 4 })
})

test('openvex: both generations, with times of any offset cut to milliseconds', () => {
  assert.deepEqual(summaryOf(real('openvex/go-vex-v0.0.1.json').advisories[0]), {
    key: 'openvex:pkg:apk/wolfi/git@2.39.0-r1?arch=armv7||CVE-2023-12345',
    author: 'Wolfi J Inkinson',
    artifactName: 'git',
    artifactType: 'apk',
    artifactArchitecture: 'armv7',
    product: 'pkg:apk/wolfi/git@2.39.0-r1?arch=armv7',
    aliases: ['CVE-2023-12345'],
    createdMs: Date.parse('2023-01-09T00:02:03.647Z'),
    updatedMs: Date.parse('2023-01-09T00:02:03.647Z'),
    events: ['2023-01-09T00:02:03.647Z fixed 2.39.0-r1'],
  })
  const { advisories } = real('openvex/go-vex-v0.2.0.json')
  const image = 'pkg:oci/alpine@sha256%3A124c7d2707904eea7431fffe91522a01e5a861a624ee31d03372cc1d138a3126'
  assert.deepEqual(summaryOf(advisories[6]), {
    key: `openvex:${image}|pkg:apk/alpine/libssl3@3.0.8-r3|CVE-2023-3446`,
    author: 'The OpenVEX Project <openvex@openssf.org>',
    artifactName: 'alpine',
    artifactType: 'oci',
    componentName: 'libssl3',
    componentType: 'apk',
    product: image,
    componentProduct: 'pkg:apk/alpine/libssl3@3.0.8-r3',
    aliases: ['CVE-2023-3446'],
    createdMs: Date.parse('2023-07-18T00:28:47.696Z'),
    updatedMs: Date.parse('2023-07-18T00:28:47.696Z'),
    events: [
      '2023-07-18T00:28:47.696Z false-positive VULNERABLE_CODE_NOT_INCLUDED_IN_PACKAGE (affected functions were removed before packaging)',
    ],
  })
})

test('openvex: statements about one product are its history, and products may be any text', () => {
  const { id, revisionMs, advisories } = real('openvex/trivy-multiple.json')
  assert.match(id, /^sha256:[0-9a-f]{64}$/)
  assert.equal(revisionMs, Date.parse('2023-01-17T01:07:16.853Z'))
  assert.deepEqual(
    advisories.map(({ events }) => events.map(line)),
    [
      [
        '2023-01-15T07:02:03.853Z truePositiveDetermination',
        '2023-01-17T01:07:16.853Z false-positive VULNERABLE_CODE_NOT_IN_EXECUTION_PATH',
      ],
    ],
  )
  assert.deepEqual(
    real('openvex/vexctl-images.json').advisories.map(({ artifactName, artifactType }) => [
      artifactName,
      artifactType,
    ]),
    [
      ['alpine', 'oci'],
      ['nginx', ''],
      ['registry.k8s.io/kube-apiserver:v1.26.0', ''],
      ['kube-apiserver', 'oci'],
    ],
  )
})

const openvex = (...statements: object[]) =>
  JSON.stringify({ '@id': 'a', author: 'b', timestamp: '2024-01-01T00:00:00Z', statements })

test('openvex: identifiers without @id, notes of each status, and unknown values', () => {
  const text = openvex(
    {
      vulnerability: { name: 'CVE-2024-10000', aliases: ['GHSA-2222-2222-2222'] },
      products: [
        { identifiers: { cpe23: 'cpe:2.3:a:apache:log4j:2.4:*:*:*:*:*:*:*' }, hashes: { 'sha-256': 'ab' } },
        { '@id': 'our product', identifiers: { purl: 'pkg:deb/debian/curl@7.50.3-1?arch=i386' } },
        { hashes: { 'sha-256': 'cd' } },
      ],
      status: 'affected',
      action_statement: 'update',
      status_notes: 'soon',
    },
    {
      vulnerability: 'CVE-2024-10000',
      products: ['our product'],
      status: 'not_affected',
      justification: 'luck',
      impact_statement: 'no',
    },
    { vulnerability: 'CVE-2024-10000', products: ['x'], status: 'maybe' },
    { vulnerability: 'CVE-2024-10000', status: 'fixed' },
  )
  const { advisories } = readOrThrow('made', text)
  assert.deepEqual(
    advisories.map(({ artifactName, artifactType, artifactArchitecture, product, events }) => [
      artifactName,
      artifactType,
      artifactArchitecture,
      product,
      ...events.map(({ type }) => wordsOf(type).join(' ')),
    ]),
    [
      [
        'cpe:2.3:a:apache:log4j:2.4:*:*:*:*:*:*:*',
        'application',
        '',
        '',
        'truePositiveDetermination (update)',
      ],
      [
        'curl',
        'deb',
        'i386',
        'our product',
        'truePositiveDetermination (update)',
        'false-positive UNSPECIFIED (no)',
      ],
    ],
  )
  assert.deepEqual(unmappedOf(text), {
    'statements[].justification=luck': 1,
    'statements[].status=maybe': 1,
    'statements[] (no product)': 1,
    'statements[].products[].hashes.sha-256': 2,
    'statements[].products[].identifiers.purl': 1,
    'statements[].status_notes': 1,
    'statements[].vulnerability': 2,
    'statements[].products[]': 1,
  })
})

test('csaf: products are resolved through branches and relationships, by package URL, CPE or name', () => {
  const [component] = real('csaf/redhat-cve-2024-24786-trimmed.json').advisories
  assert.deepEqual(summaryOf(component), {
    key: 'csaf:https://www.redhat.com|cpe:/a:redhat:openshift:4.16::el9|pkg:rpm/redhat/cri-tools@1.29.0-3.1.el9?arch=aarch64|CVE-2024-24786',
    author: 'Red Hat Product Security',
    artifactName: 'Red Hat OpenShift Container Platform 4.16',
    artifactType: 'application',
    artifactArchitecture: 'aarch64',
    componentName: 'cri-tools',
    componentType: 'rpm',
    product: 'cpe:/a:redhat:openshift:4.16::el9',
    componentProduct: 'pkg:rpm/redhat/cri-tools@1.29.0-3.1.el9?arch=aarch64',
    aliases: ['CVE-2024-24786'],
    severities: [{ type: SeverityType.CVSS_V3, score: 'CVSS:3.1/AV:N/AC:H/PR:N/UI:N/S:U/C:N/I:N/A:H' }],
    createdMs: Date.parse('2024-03-05T00:00:00Z'),
    updatedMs: Date.parse('2025-08-13T15:14:45Z'),
    events: ['2025-08-13T15:14:45.000Z fixed 1.29.0-3.1.el9'],
  })
  const [unknown, misnamed] = real('csaf/go-vex-example.json').advisories
  assert.deepEqual([unknown?.artifactName, unknown?.product], ['ABC:CSAFPID-0002', ''])
  assert.deepEqual(
    [misnamed?.artifactName, misnamed?.product],
    ['Example Company ABC 4.2', 'pkg:maven/@1.3.4'],
  )
  assert.deepEqual(real('csaf/trivy-relationships.json').advisories[0]?.events.map(line), [
    '2024-01-04T16:17:25.000Z false-positive VULNERABLE_CODE_CANNOT_BE_CONTROLLED_BY_ADVERSARY (vulnerable_code_not_in_execute_path)',
  ])
})

const csaf = (vulnerability: object, tree: object = {}) =>
  JSON.stringify({
    document: {
      csaf_version: '2.0',
      publisher: { name: 'P', namespace: 'https://p.example' },
      tracking: {
        id: 'T-1',
        current_release_date: '2024-02-01T00:00:00Z',
        initial_release_date: '2024-01-01T00:00:00Z',
      },
    },
    product_tree: tree,
    vulnerabilities: [{ cve: 'CVE-2024-10000', ...vulnerability }],
  })

test('csaf: remediations for products and groups are notes, and a declined fix is an event', () => {
  const { id, advisories } = readOrThrow(
    'made',
    csaf(
      {
        ids: [
          { system_name: 'GitHub', text: 'GHSA-2222-2222-2222' },
          { system_name: 'Bugs', text: '12345' },
        ],
        product_status: {
          known_affected: ['a', 'b'],
          fixed: ['c'],
          first_fixed: ['c'],
          under_investigation: ['d'],
        },
        remediations: [
          { category: 'workaround', details: 'switch it off', product_ids: ['a'], group_ids: ['g'] },
          { category: 'mitigation', details: 'or hide it', product_ids: ['a'] },
          { category: 'no_fix_planned', details: 'too old', date: '2024-01-15T00:00:00Z', group_ids: ['g'] },
          { category: 'vendor_fix', details: 'update', date: '2024-01-20T00:00:00Z', product_ids: ['c'] },
        ],
      },
      {
        full_product_names: [
          {
            product_id: 'c',
            name: 'Product C',
            product_identification_helper: { purl: 'pkg:apk/wolfi/c@1-r0' },
          },
        ],
        product_groups: [{ group_id: 'g', product_ids: ['b'] }],
      },
    ),
  )
  assert.equal(id, 'https://p.example#T-1')
  assert.deepEqual(
    advisories.map(({ artifactName, aliases, events }) => [
      artifactName,
      aliases.join(),
      ...events.map(line),
    ]),
    [
      ['d', 'CVE-2024-10000,GHSA-2222-2222-2222', '2024-02-01T00:00:00.000Z detection/manual'],
      [
        'a',
        'CVE-2024-10000,GHSA-2222-2222-2222',
        '2024-02-01T00:00:00.000Z truePositiveDetermination (switch it off\n\nor hide it)',
      ],
      [
        'b',
        'CVE-2024-10000,GHSA-2222-2222-2222',
        '2024-02-01T00:00:00.000Z truePositiveDetermination (switch it off)',
        // Dated before the document: were it first, the product would be plainly affected.
        '2024-02-01T00:00:00.000Z fixNotPlanned (too old)',
      ],
      ['c', 'CVE-2024-10000,GHSA-2222-2222-2222', '2024-01-20T00:00:00.000Z fixed 1-r0 (update)'],
    ],
  )
})

test('keys of records with long names are short and distinct', () => {
  const long = (end: string) => `pkg:generic/a@${'a'.repeat(900)}${end}`
  const keys = ['1', '2'].map((end) => {
    const [record] = readOrThrow(
      'made',
      openvex({
        vulnerability: 'CVE-2024-10000',
        products: [{ '@id': long(end), subcomponents: [{ '@id': long('') }] }],
        status: 'fixed',
      }),
    ).advisories
    return record?.key ?? ''
  })
  assert.ok(
    keys.every((key) => key.length === limits.advisoryKeyBytesMax),
    keys.join(),
  )
  assert.notEqual(keys[0], keys[1])
})

test('wolfi: reads what was written', () => {
  const four = fc.string({ unit: fc.constantFrom(...'23456789cfghjmpqrvwx'), minLength: 4, maxLength: 4 })
  const text = (isFine: (text: string) => boolean) =>
    fc
      .string({ unit: 'binary', minLength: 1, maxLength: 40 })
      .filter((each) => each.isWellFormed() && isFine(each))
  const name = text((each) => !/[\p{Cc}\u2028\u2029]/u.test(each))
  const note = text((each) => !each.includes('\0'))
  /** Each with its data and with what it must become. */
  const happened = fc.oneof(
    name.map((version) => ({ type: 'fixed', data: { 'fixed-version': version }, words: ['fixed', version] })),
    note.map((said) => ({ type: 'fix-not-planned', data: { note: said }, words: ['fixNotPlanned', said] })),
    note.map((said) => ({
      type: 'pending-upstream-fix',
      data: { note: said },
      words: ['pendingUpstreamFix', said],
    })),
    fc.tuple(name, fc.string({ unit: fc.constantFrom(...'0123456789e'), minLength: 1 })).map(([pkg, id]) => ({
      type: 'detection',
      data: { type: 'scan/v1', data: { subpackageName: pkg, componentID: id } },
      words: ['detection', pkg, id],
    })),
  )
  const event = fc.tuple(fc.integer({ min: 0, max: 20 }), happened)
  const advisory = fc.record({
    id: fc.tuple(four, four, four).map((parts) => `CGA-${parts.join('-')}`),
    events: fc.array(event, { maxLength: 5 }),
  })
  const advisories = fc.uniqueArray(advisory, { selector: ({ id }) => id, maxLength: 4 })
  const time = (second: number) => `2024-01-01T00:00:${String(second).padStart(2, '0')}Z`

  const readWords = ({ timeMs, type }: EventRecord) => {
    const { value } = type
    const texts =
      type.case === 'fixed'
        ? [type.value.fixedVersion]
        : type.case === 'detection' && type.value.type.case === 'scanv1'
          ? [type.value.type.value.subpackage, type.value.type.value.componentId]
          : [value !== undefined && 'note' in value ? value.note : '']
    return [timeMs, type.case, ...texts]
  }

  fc.assert(
    fc.property(fc.tuple(name, advisories, fc.boolean()), ([pkg, written, isYaml]) => {
      const tree = {
        'schema-version': '2.0.2',
        package: { name: pkg },
        advisories: written.map(({ id, events }) => ({
          id,
          events: events.map(([second, { type, data }]) => ({ timestamp: time(second), type, data })),
        })),
      }
      const { id, advisories: records } = readOrThrow(
        'made',
        isYaml ? stringify(tree, { version: '1.1', lineWidth: 40 }) : JSON.stringify(tree),
      )
      assert.equal(id, pkg)
      assert.deepEqual(
        records.map(({ advisoryId, events }) => [advisoryId, ...events.map(readWords)]),
        written.map(({ id, events }) => {
          const inOrder = events
            .toSorted(([a], [b]) => a - b)
            .map(([second, { words }]) => [Date.parse(time(second)), ...words])
          const distinct = new Map(inOrder.map((words) => [JSON.stringify(words), words]))
          return [id, ...distinct.values()]
        }),
      )
    }),
    { numRuns: 300 },
  )
})
