import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readDocument } from '@berth/advisory-formats/read-document.ts'
import { lookupNamesOf, packageNamesOf } from '@berth/server/advisories/packages/package-names.ts'
import { hashRecord, toAdvisoryRow } from '@berth/server/advisories/storage/stored-advisory.ts'
import { type MatchedPackage, toCandidate } from '@berth/server/findings/matching/candidate.ts'
import { type Finding, matchPackage } from '@berth/server/findings/matching/match.ts'

/** Packages against documents in each format. */

const GROUP = '0123456789abcdef0123456789abcdef01234567'

/** Reads documents as an import does. */
function readAll(documents: readonly unknown[]) {
  return documents.map((document, at) => {
    const text = typeof document === 'string' ? document : JSON.stringify(document)
    const read = readDocument(
      `${at}.${typeof document === 'string' ? 'yaml' : 'json'}`,
      '',
      Buffer.from(text),
    )
    assert.ok('document' in read, JSON.stringify(read))
    return read.document
  })
}

const onNothing = {
  namespace: '',
  distributionId: '',
  distributionVersion: '',
  originName: '',
  originVersion: '',
}
const npm = (name: string, version: string): MatchedPackage => ({ ...onNothing, type: 'npm', name, version })
const apk = (name: string, version: string, originName = '', distribution = 'wolfi'): MatchedPackage => ({
  ...onNothing,
  type: 'apk',
  namespace: distribution,
  name,
  version,
  originName,
  distributionId: distribution,
  distributionVersion: distribution === 'alpine' ? '3.19.1' : '20230201',
})
const deb = (
  name: string,
  version: string,
  originName = '',
  originVersion = '',
  release = '12',
): MatchedPackage => ({
  ...onNothing,
  type: 'deb',
  namespace: 'debian',
  name,
  version,
  originName,
  originVersion,
  distributionId: 'debian',
  distributionVersion: release,
})

const osv = (id: string, ecosystem: string, name: string, events: object[], rest: object = {}) => ({
  schema_version: '1.6.0',
  id,
  modified: '2024-01-02T00:00:00Z',
  affected: [{ package: { ecosystem, name }, ranges: [{ type: 'ECOSYSTEM', events }] }],
  ...rest,
})
const until = (fixed: string) => [{ introduced: '0' }, { fixed }]

const secdb = (
  packages: Readonly<Record<string, Readonly<Record<string, string[]>>>>,
  urlprefix: string,
  distroversion = '',
) => ({
  apkurl: '{{urlprefix}}/{{distroversion}}/{{reponame}}/{{arch}}/{{pkg.name}}-{{pkg.ver}}.apk',
  archs: ['x86_64'],
  reponame: distroversion === '' ? 'os' : 'main',
  urlprefix,
  ...(distroversion !== '' && { distroversion }),
  packages: Object.entries(packages).map(([name, secfixes]) => ({ pkg: { name, secfixes } })),
})

const wolfi = (name: string, ...advisories: readonly string[]) => `schema-version: 2.0.2

package:
  name: ${name}

advisories:
${advisories.join('\n')}
`
const event = (id: string, aliases: readonly string[], ...events: readonly string[]) => `  - id: ${id}
    aliases:
${aliases.map((alias) => `      - ${alias}`).join('\n')}
    events:
${events.join('\n')}`
const at = (
  day: number,
  type: string,
  data = '',
) => `      - timestamp: 2024-01-${String(day).padStart(2, '0')}T00:00:00Z
        type: ${type}${
          data === ''
            ? ''
            : `\n        data:\n${data
                .split('\n')
                .map((line) => `          ${line}`)
                .join('\n')}`
        }`

const openvex = (statements: object[]) => ({
  '@context': 'https://openvex.dev/ns/v0.2.0',
  '@id': 'https://example.com/vex-1',
  author: 'Example',
  timestamp: '2024-02-01T00:00:00Z',
  version: 1,
  statements,
})

/** A finding in one line: `CVE-1 affected 1.2.3 high`. */
const line = ({ vulnerability, state, fixedVersion, severity }: Finding) =>
  [vulnerability, state, fixedVersion, severity === 'unknown' ? '' : severity]
    .filter((part) => part !== '')
    .join(' ')

function findings(pkg: MatchedPackage, ...documents: readonly unknown[]): Finding[] {
  const read = readAll(documents)
  const candidates = read.flatMap(({ advisories }, at) =>
    advisories.map((record, index) => {
      const uid = `${GROUP}/${String(at * 100 + index).padStart(16, '0')}`
      return toCandidate(toAdvisoryRow(uid, record, hashRecord(record), { now: 0, before: undefined }))
    }),
  )
  const scores = Map.groupBy(
    read.flatMap((document) => document.scores),
    ({ alias }) => alias,
  )
  const names = new Set(lookupNamesOf(pkg))
  // Only what the index finds is matched.
  return matchPackage(
    pkg,
    candidates.filter((candidate) => packageNamesOf(candidate).some((name) => names.has(name))),
    new Map(
      [...scores].map(([alias, its]) => [
        alias,
        {
          severities: its.flatMap(({ severities }) => severities),
          cwes: its.flatMap(({ cwes }) => cwes),
        },
      ]),
    ),
  )
}

type Case = readonly [
  about: string,
  pkg: MatchedPackage,
  documents: readonly unknown[],
  expected: readonly string[],
]

const cases: readonly Case[] = [
  [
    'a package before the fix',
    npm('left-pad', '1.0.0'),
    [osv('GHSA-2222-3333-4444', 'npm', 'left-pad', until('1.2.0'), { aliases: ['CVE-2024-0001'] })],
    ['CVE-2024-0001 affected 1.2.0'],
  ],
  [
    'the fixed version',
    npm('left-pad', '1.2.0'),
    [osv('GHSA-2222-3333-4444', 'npm', 'left-pad', until('1.2.0'))],
    [],
  ],
  [
    'another package',
    npm('right-pad', '1.0.0'),
    [osv('GHSA-2222-3333-4444', 'npm', 'left-pad', until('1.2.0'))],
    [],
  ],
  [
    'the same name in another ecosystem',
    npm('left-pad', '1.0.0'),
    [osv('GHSA-2222-3333-4444', 'PyPI', 'left-pad', until('1.2.0'))],
    [],
  ],
  [
    'no fix',
    npm('left-pad', '9.0.0'),
    [osv('GHSA-2222-3333-4444', 'npm', 'left-pad', [{ introduced: '0' }])],
    ['GHSA-2222-3333-4444 affected'],
  ],
  [
    'a namespace',
    { ...npm('core', '1.0.0'), namespace: '@scope' },
    [
      osv('GHSA-2222-3333-4444', 'npm', '@scope/core', until('2.0.0')),
      osv('GHSA-2222-3333-5555', 'npm', 'core', until('2.0.0')),
    ],
    ['GHSA-2222-3333-4444 affected 2.0.0'],
  ],
  [
    'another spelling',
    { ...npm('zope.interface', '1.0'), type: 'pypi' },
    [osv('PYSEC-2024-1', 'PyPI', 'Zope_Interface', until('2.0'))],
    ['PYSEC-2024-1 affected 2.0'],
  ],
  [
    'aliases of two sources are one vulnerability',
    { ...npm('django', '4.0'), type: 'pypi' },
    [
      osv('GHSA-2222-3333-4444', 'PyPI', 'django', until('4.1'), { aliases: ['CVE-2024-0001'] }),
      osv('PYSEC-2024-1', 'PyPI', 'django', until('4.2'), { aliases: ['GHSA-2222-3333-4444'] }),
    ],
    ['CVE-2024-0001 affected 4.2'],
  ],
  [
    'aliases without a CVE',
    { ...npm('django', '4.0'), type: 'pypi' },
    [
      osv('PYSEC-2024-1', 'PyPI', 'django', until('4.2'), { aliases: ['GHSA-2222-3333-4444'] }),
      osv('GHSA-2222-3333-4444', 'PyPI', 'django', until('4.2')),
    ],
    ['GHSA-2222-3333-4444 affected 4.2'],
  ],
  [
    'an advisory about several vulnerabilities',
    deb('zlib1g', '1:1.2-1', 'zlib', '1:1.2-1'),
    [
      osv('DSA-1234-1', 'Debian:12', 'zlib', until('1:1.3-1'), {
        upstream: ['CVE-2024-0001', 'CVE-2024-0002'],
      }),
    ],
    ['CVE-2024-0001 affected 1:1.3-1', 'CVE-2024-0002 affected 1:1.3-1'],
  ],
  [
    'the source package decides in Debian',
    deb('libz', '1.0-1', 'zlib', '1:1.2-1'),
    [osv('CVE-2024-0001', 'Debian:12', 'zlib', until('1:1.3-1'))],
    ['CVE-2024-0001 affected 1:1.3-1'],
  ],
  [
    'a binary package with the name of another source',
    deb('zlib', '1.0-1', 'other', '1.0-1'),
    [osv('CVE-2024-0001', 'Debian:12', 'zlib', until('2.0-1'))],
    [],
  ],
  [
    'another release of the distribution',
    deb('zlib', '1.0-1'),
    [osv('CVE-2024-0001', 'Debian:11', 'zlib', until('2.0-1'))],
    [],
  ],
  [
    'the fixed version of the own release',
    deb('zlib', '1.0-1'),
    [
      osv('CVE-2024-0001', 'Debian:11', 'zlib', until('1.0-1~deb11u1')),
      osv('DEBIAN-CVE-2024-0001', 'Debian:12', 'zlib', until('1.0-1+deb12u1'), {
        upstream: ['CVE-2024-0001'],
      }),
    ],
    ['CVE-2024-0001 affected 1.0-1+deb12u1'],
  ],
  [
    'a severity in CVSS',
    npm('left-pad', '1.0.0'),
    [
      osv('CVE-2024-0001', 'npm', 'left-pad', until('1.2.0'), {
        severity: [{ type: 'CVSS_V3', score: 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H' }],
      }),
    ],
    ['CVE-2024-0001 affected 1.2.0 critical'],
  ],
  [
    'a severity in words',
    npm('left-pad', '1.0.0'),
    [
      osv('CVE-2024-0001', 'npm', 'left-pad', until('1.2.0'), {
        database_specific: { severity: 'MODERATE' },
      }),
    ],
    ['CVE-2024-0001 affected 1.2.0 medium'],
  ],
  ...(
    [
      ['of Ubuntu', { severity: [{ type: 'Ubuntu', score: 'negligible' }] }, {}, 'low'],
      ['of Bitnami', { database_specific: { severity: 'Critical' } }, {}, 'critical'],
      ['of Debian', {}, { ecosystem_specific: { urgency: 'high' } }, 'high'],
      ['that Debian has not decided', {}, { ecosystem_specific: { urgency: 'not yet assigned' } }, ''],
      ['of one package', {}, { database_specific: { severity: 'Important' } }, 'high'],
      [
        'the highest of them',
        { database_specific: { severity: 'low' } },
        { ecosystem_specific: { severity: 'moderate' } },
        'medium',
      ],
      ['that no source uses', { database_specific: { severity: 'constructor' } }, {}, ''],
    ] as const
  ).map(([name, record, entry, severity]): Case => {
    const { affected, ...whole } = osv('CVE-2024-0001', 'npm', 'left-pad', until('1.2.0'), record)
    const entries = (affected as readonly object[]).map((one) => ({ ...one, ...entry }))
    const found = `CVE-2024-0001 affected 1.2.0 ${severity}`.trim()
    return [
      `a severity in words ${name}`,
      npm('left-pad', '1.0.0'),
      [{ ...whole, affected: entries }],
      [found],
    ]
  }),
  [
    'commits only',
    npm('left-pad', '1.0.0'),
    [
      {
        ...osv('CVE-2024-0001', 'npm', 'left-pad', until('abc')),
        affected: [
          {
            package: { ecosystem: 'npm', name: 'left-pad' },
            ranges: [{ type: 'GIT', repo: 'https://example.com/x', events: until('abcdef') }],
          },
        ],
      },
    ],
    ['CVE-2024-0001 unknown'],
  ],
  [
    'a version that cannot be compared',
    npm('left-pad', 'latest'),
    [osv('CVE-2024-0001', 'npm', 'left-pad', until('1.2.0'))],
    ['CVE-2024-0001 unknown'],
  ],
  [
    'a security database before the fix',
    apk('libcrypto3', '3.1.4-r4', 'openssl', 'alpine'),
    [secdb({ openssl: { '3.1.4-r5': ['CVE-2024-0001'] } }, 'https://dl-cdn.alpinelinux.org/alpine', 'v3.19')],
    ['CVE-2024-0001 affected 3.1.4-r5'],
  ],
  [
    'a security database with the fix',
    apk('libcrypto3', '3.1.4-r5', 'openssl', 'alpine'),
    [secdb({ openssl: { '3.1.4-r5': ['CVE-2024-0001'] } }, 'https://dl-cdn.alpinelinux.org/alpine', 'v3.19')],
    [],
  ],
  [
    'a security database of another release',
    apk('libcrypto3', '3.1.4-r4', 'openssl', 'alpine'),
    [secdb({ openssl: { '3.1.4-r5': ['CVE-2024-0001'] } }, 'https://dl-cdn.alpinelinux.org/alpine', 'v3.18')],
    [],
  ],
  [
    'a security database of another distribution',
    apk('libcrypto3', '3.1.4-r4', 'openssl', 'alpine'),
    [secdb({ openssl: { '3.1.4-r5': ['CVE-2024-0001'] } }, 'https://packages.wolfi.dev')],
    [],
  ],
  [
    'two fixes in a security database',
    apk('openssl', '3.1.4-r3', '', 'wolfi'),
    [
      secdb(
        { openssl: { '3.1.4-r5': ['CVE-2024-0001'], '3.1.4-r2': ['CVE-2024-0001'] } },
        'https://packages.wolfi.dev',
      ),
    ],
    ['CVE-2024-0001 affected 3.1.4-r5'],
  ],
  [
    'version 0 in a security database',
    apk('openssl', '3.1.4-r3', '', 'wolfi'),
    [secdb({ openssl: { '0': ['CVE-2024-0001'] } }, 'https://packages.wolfi.dev')],
    ['CVE-2024-0001 not-affected'],
  ],
  [
    'the history of a Wolfi advisory',
    apk('git', '2.39.0-r0'),
    [
      wolfi(
        'git',
        event(
          'CGA-2222-3333-4444',
          ['CVE-2024-0001'],
          at(1, 'detection', 'type: manual'),
          at(2, 'fixed', 'fixed-version: 2.39.1-r0'),
        ),
      ),
    ],
    ['CVE-2024-0001 affected 2.39.1-r0'],
  ],
  [
    'the fixed version of a Wolfi advisory',
    apk('git', '2.39.1-r0'),
    [
      wolfi(
        'git',
        event('CGA-2222-3333-4444', ['CVE-2024-0001'], at(2, 'fixed', 'fixed-version: 2.39.1-r0')),
      ),
    ],
    [],
  ],
  [
    'a sub-package',
    apk('git-daemon', '2.39.0-r0', 'git'),
    [
      wolfi(
        'git',
        event('CGA-2222-3333-4444', ['CVE-2024-0001'], at(2, 'fixed', 'fixed-version: 2.39.1-r0')),
      ),
    ],
    ['CVE-2024-0001 affected 2.39.1-r0'],
  ],
  [
    'a Wolfi advisory and a package of Alpine',
    apk('git', '2.39.0-r0', '', 'alpine'),
    [
      wolfi(
        'git',
        event('CGA-2222-3333-4444', ['CVE-2024-0001'], at(2, 'fixed', 'fixed-version: 2.39.1-r0')),
      ),
    ],
    [],
  ],
  [
    'a false positive',
    apk('git', '2.39.0-r0'),
    [
      wolfi(
        'git',
        event(
          'CGA-2222-3333-4444',
          ['CVE-2024-0001'],
          at(1, 'detection', 'type: manual'),
          at(
            2,
            'false-positive-determination',
            'type: vulnerable-code-not-included-in-package\nnote: not built',
          ),
        ),
      ),
    ],
    ['CVE-2024-0001 not-affected'],
  ],
  [
    'a pending fix',
    apk('git', '2.39.0-r0'),
    [
      wolfi(
        'git',
        event('CGA-2222-3333-4444', ['CVE-2024-0001'], at(2, 'pending-upstream-fix', 'note: waits')),
      ),
    ],
    ['CVE-2024-0001 pending-upstream'],
  ],
  [
    'no planned fix',
    apk('git', '2.39.0-r0'),
    [
      wolfi(
        'git',
        event('CGA-2222-3333-4444', ['CVE-2024-0001'], at(2, 'fix-not-planned', 'note: end of life')),
      ),
    ],
    ['CVE-2024-0001 affected'],
  ],
  [
    'a detection',
    apk('git', '2.39.0-r0'),
    [wolfi('git', event('CGA-2222-3333-4444', ['CVE-2024-0001'], at(2, 'detection', 'type: manual')))],
    ['CVE-2024-0001 under-investigation'],
  ],
  [
    'VEX counts more than ranges',
    npm('left-pad', '1.0.0'),
    [
      osv('CVE-2024-0001', 'npm', 'left-pad', until('1.2.0')),
      openvex([
        {
          vulnerability: { name: 'CVE-2024-0001' },
          products: [{ '@id': 'pkg:npm/left-pad@1.0.0' }],
          status: 'not_affected',
          justification: 'vulnerable_code_not_in_execute_path',
        },
      ]),
    ],
    ['CVE-2024-0001 not-affected'],
  ],
  [
    'VEX of another version',
    npm('left-pad', '1.1.0'),
    [
      osv('CVE-2024-0001', 'npm', 'left-pad', until('1.2.0')),
      openvex([
        {
          vulnerability: { name: 'CVE-2024-0001' },
          products: [{ '@id': 'pkg:npm/left-pad@1.0.0' }],
          status: 'not_affected',
          justification: 'vulnerable_code_not_in_execute_path',
        },
      ]),
    ],
    ['CVE-2024-0001 affected 1.2.0'],
  ],
  [
    'VEX of another distribution',
    apk('git', '2.39.0-r0', '', 'alpine'),
    [
      openvex([
        {
          vulnerability: { name: 'CVE-2024-0001' },
          products: [{ '@id': 'pkg:apk/wolfi/git@2.39.0-r0' }],
          status: 'affected',
          action_statement: 'update',
        },
      ]),
    ],
    [],
  ],
  [
    'VEX about an image is not about its packages',
    npm('left-pad', '1.0.0'),
    [
      openvex([
        {
          vulnerability: { name: 'CVE-2024-0001' },
          products: [{ '@id': 'pkg:oci/app', subcomponents: [{ '@id': 'pkg:npm/left-pad@1.0.0' }] }],
          status: 'affected',
          action_statement: 'update',
        },
      ]),
    ],
    [],
  ],
]

for (const [about, pkg, documents, expected] of cases)
  test(`matching: ${about}`, () => {
    assert.deepEqual(findings(pkg, ...documents).map(line), expected)
    // The order of advisories does not matter.
    assert.deepEqual(findings(pkg, ...documents.toReversed()).map(line), expected)
  })

test('a finding has all IDs, the justification and the advisory that decides', () => {
  const [found] = findings(
    apk('git', '2.39.0-r0'),
    wolfi(
      'git',
      event(
        'CGA-2222-3333-4444',
        ['CVE-2024-0001', 'GHSA-2222-3333-4444'],
        at(
          2,
          'false-positive-determination',
          'type: vulnerable-code-not-included-in-package\nnote: not built',
        ),
      ),
    ),
  )
  assert.deepEqual(found, {
    vulnerability: 'CVE-2024-0001',
    aliases: ['GHSA-2222-3333-4444'],
    state: 'not-affected',
    severity: 'unknown',
    score: undefined,
    cwes: [],
    fixedVersion: '',
    justification: 'vulnerable code not included in package',
    advisory: `${GROUP}/0000000000000000`,
  })
})
