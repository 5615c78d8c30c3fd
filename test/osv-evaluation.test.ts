import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { VersionScheme } from '@berth/package-versions/compare-versions.ts'
import { type AffectedEntry, evaluateAffected } from '@berth/package-versions/osv/affected-versions.ts'
import {
  comparableName,
  ecosystemOfPackage,
  ecosystemRules,
  isEcosystemOf,
  osvNameOf,
} from '@berth/package-versions/osv/ecosystems.ts'

/** The evaluation of affected versions of OSV records, and which records are about a package. */

type Events = readonly Readonly<Record<string, string>>[]
const range = (events: Events, type = 'ECOSYSTEM') => ({ ranges: [{ type, events }] })
const zero = { introduced: '0' }

/** An expected state: `fixed in X`, `affected`, `not affected`, `unknown`. */
const cases: readonly (readonly [
  about: string,
  scheme: VersionScheme,
  entries: readonly AffectedEntry[],
  expected: Readonly<Record<string, string>>,
])[] = [
  [
    'from the first version to the fix',
    'npm',
    [range([zero, { fixed: '1.2.3' }], 'SEMVER')],
    {
      '0.0.1': 'fixed in 1.2.3',
      '1.2.2': 'fixed in 1.2.3',
      '1.2.3': 'not affected',
      '1.2.3-rc.1': 'fixed in 1.2.3',
    },
  ],
  [
    'without a fix',
    'npm',
    [range([{ introduced: '1.0.0' }])],
    { '0.9.0': 'not affected', '1.0.0': 'affected', '99.0.0': 'affected' },
  ],
  [
    'last affected version',
    'pypi',
    [range([zero, { last_affected: '2.0' }])],
    {
      '1.9': 'affected',
      '2.0': 'affected',
      '2.0.0': 'affected',
      '2.0.post1': 'not affected',
      '2.1': 'not affected',
    },
  ],
  [
    'several pairs in one range, in any order',
    'golang',
    [range([{ fixed: '1.20.5' }, { introduced: '1.20.0-0' }, { fixed: '1.19.10' }, zero], 'SEMVER')],
    {
      '1.19.9': 'fixed in 1.19.10',
      '1.19.10': 'not affected',
      '1.20.0-rc1': 'fixed in 1.20.5',
      '1.20.4': 'fixed in 1.20.5',
      '1.20.5': 'not affected',
    },
  ],
  [
    'several ranges',
    'maven',
    [
      {
        ranges: [
          ...range([{ introduced: '1.0' }, { fixed: '1.5' }]).ranges,
          ...range([{ introduced: '2.0' }, { fixed: '2.3' }]).ranges,
        ],
      },
    ],
    { '1.4': 'fixed in 1.5', '1.6': 'not affected', '2.0': 'fixed in 2.3', '2.3.0': 'not affected' },
  ],
  [
    'several entries',
    'gem',
    [range([{ introduced: '1.0' }, { fixed: '1.5' }]), range([{ introduced: '1.2' }, { fixed: '1.7' }])],
    { '1.1': 'fixed in 1.5', '1.4': 'fixed in 1.7', '1.6': 'fixed in 1.7', '1.7': 'not affected' },
  ],
  [
    'listed versions only',
    'pypi',
    [{ versions: ['1.0', '1.1'] }],
    { '1.0': 'affected', '1.1': 'affected', '1.2': 'not affected' },
  ],
  [
    'a listed version outside of the ranges',
    'pypi',
    [{ versions: ['0.1'], ...range([{ introduced: '1.0' }, { fixed: '1.5' }]) }],
    { '0.1': 'fixed in 1.5', '0.2': 'not affected', '1.0': 'fixed in 1.5' },
  ],
  [
    'a limit',
    'semver',
    [range([zero, { limit: '2.0.0' }])],
    { '1.9.9': 'affected', '2.0.0': 'not affected', '3.0.0': 'not affected' },
  ],
  ['the limit of all versions', 'semver', [range([zero, { limit: '*' }])], { '9.9.9': 'affected' }],
  [
    'the higher of two limits counts',
    'semver',
    [range([zero, { limit: '1.0.0' }, { limit: '2.0.0' }])],
    { '1.5.0': 'affected', '2.5.0': 'not affected' },
  ],
  [
    'introduced and fixed in the same version',
    'semver',
    [range([{ introduced: '1.0.0' }, { fixed: '1.0.0' }])],
    { '1.0.0': 'not affected' },
  ],
  ['commits only', 'golang', [range([zero, { fixed: 'abc' }], 'GIT')], { '1.0.0': 'unknown' }],
  [
    'commits beside versions',
    'golang',
    [
      {
        ranges: [
          { type: 'GIT', events: [zero] },
          { type: 'SEMVER', events: [zero, { fixed: '1.1.0' }] },
        ],
      },
    ],
    { '1.0.0': 'fixed in 1.1.0', '1.1.0': 'not affected' },
  ],
  [
    'commits beside listed versions',
    'pypi',
    [{ versions: ['1.0'], ...range([zero], 'GIT') }],
    { '1.0': 'affected', '2.0': 'not affected' },
  ],
  ['nothing', 'npm', [{}], { '1.0.0': 'unknown' }],
  [
    'a version without an order',
    'npm',
    [range([zero, { fixed: '2.0.0' }])],
    { latest: 'unknown', '': 'unknown' },
  ],
  ['an event without an order', 'npm', [range([zero, { fixed: 'main' }])], { '1.0.0': 'unknown' }],
  [
    'affected counts more than unknown',
    'npm',
    [range([zero, { fixed: 'main' }]), range([zero, { fixed: '2.0.0' }])],
    { '1.0.0': 'fixed in 2.0.0', '2.0.0': 'unknown' },
  ],
  [
    'values of other types',
    'npm',
    [{ versions: 5, ranges: [null, 'x', { type: 'SEMVER', events: { fixed: 1 } }] }, { ranges: {} }],
    { '1.0.0': 'unknown' },
  ],
  [
    'epochs of Debian',
    'deb',
    [range([zero, { fixed: '1:1.2.13.dfsg-1+deb12u1' }])],
    { '1:1.2.13.dfsg-1': 'fixed in 1:1.2.13.dfsg-1+deb12u1', '2:1.0-1': 'not affected' },
  ],
  [
    'revisions of Alpine',
    'apk',
    [range([zero, { fixed: '3.1.4-r5' }])],
    { '3.1.4-r4': 'fixed in 3.1.4-r5', '3.1.4-r10': 'not affected', '3.1.4_rc1-r9': 'fixed in 3.1.4-r5' },
  ],
]

for (const [about, scheme, entries, expected] of cases)
  test(`affected versions: ${about}`, () => {
    for (const [version, state] of Object.entries(expected)) {
      const result = evaluateAffected(entries, scheme, version)
      const text =
        result.state === 'affected' && result.fixedVersion !== ''
          ? `fixed in ${result.fixedVersion}`
          : result.state
      assert.equal(text, state, version)
    }
  })

const onDistribution = (
  type: string,
  distributionId: string,
  distributionVersion: string,
  namespace = distributionId,
) => ({
  type,
  namespace,
  distributionId,
  distributionVersion,
})

test('the ecosystem of a package follows from its type and distribution', () => {
  for (const [pkg, ecosystem] of [
    [onDistribution('apk', 'alpine', '3.19.1'), 'Alpine'],
    [onDistribution('apk', 'wolfi', '20230201'), 'Wolfi'],
    [onDistribution('apk', 'chainguard', '20230214'), 'Chainguard'],
    [onDistribution('deb', 'debian', '12'), 'Debian'],
    [onDistribution('deb', 'ubuntu', '22.04'), 'Ubuntu'],
    [onDistribution('rpm', 'rhel', '9.3', 'redhat'), 'Red Hat'],
    [onDistribution('rpm', 'almalinux', '9.3'), 'AlmaLinux'],
    [onDistribution('rpm', 'opensuse-leap', '15.5', 'opensuse'), 'openSUSE'],
    // Without os-release, the namespace.
    [onDistribution('deb', '', '', 'debian'), 'Debian'],
    // A distribution that OSV does not have, and one of other packages.
    [onDistribution('rpm', 'fedora', '40'), undefined],
    [onDistribution('rpm', 'debian', '12'), undefined],
    [onDistribution('deb', 'constructor', '1'), undefined],
    // Packages of languages have the same ecosystem everywhere.
    [onDistribution('npm', 'alpine', '3.19.1', '@scope'), 'npm'],
    [onDistribution('golang', '', '', 'github.com/x'), 'Go'],
    [onDistribution('composer', '', ''), 'Packagist'],
    [onDistribution('generic', '', ''), undefined],
  ] as const)
    assert.equal(ecosystemOfPackage(pkg), ecosystem)
})

test('records of a release are about packages of that release', () => {
  for (const [ecosystem, pkg, expected] of [
    ['Alpine:v3.19', onDistribution('apk', 'alpine', '3.19.1'), true],
    ['Alpine:v3.1', onDistribution('apk', 'alpine', '3.19.1'), false],
    ['Alpine:v3.20', onDistribution('apk', 'alpine', '3.19.1'), false],
    ['Alpine', onDistribution('apk', 'alpine', '3.19.1'), true],
    ['Wolfi', onDistribution('apk', 'wolfi', '20230201'), true],
    ['Wolfi', onDistribution('apk', 'chainguard', '20230214'), false],
    ['Debian:12', onDistribution('deb', 'debian', '12'), true],
    ['Debian:11', onDistribution('deb', 'debian', '12'), false],
    ['Debian:12', onDistribution('deb', 'debian', ''), false],
    ['Ubuntu:22.04:LTS', onDistribution('deb', 'ubuntu', '22.04'), true],
    ['Ubuntu:Pro:22.04:LTS', onDistribution('deb', 'ubuntu', '22.04'), false],
    ['AlmaLinux:9', onDistribution('rpm', 'almalinux', '9.3'), true],
    ['Rocky Linux:8', onDistribution('rpm', 'rocky', '9.3'), false],
    ['Red Hat:enterprise_linux:9::baseos', onDistribution('rpm', 'rhel', '9.3'), true],
    ['Red Hat:enterprise_linux:8::baseos', onDistribution('rpm', 'rhel', '9.3'), false],
    ['Red Hat:rhel_eus:9.2::appstream', onDistribution('rpm', 'rhel', '9.3'), false],
    ['SUSE:Linux Enterprise Server 15 SP5', onDistribution('rpm', 'sles', '15.5'), true],
    ['SUSE:Linux Enterprise Server 15 SP4', onDistribution('rpm', 'sles', '15.5'), false],
    ['openSUSE:Leap 15.5', onDistribution('rpm', 'opensuse-leap', '15.5'), true],
    ['openSUSE:Tumbleweed', onDistribution('rpm', 'opensuse-tumbleweed', ''), true],
    ['openEuler:22.03-LTS-SP3', onDistribution('rpm', 'openEuler', '22.03'), true],
    ['Azure Linux:3', onDistribution('rpm', 'azurelinux', '3.0'), true],
    ['npm', onDistribution('npm', 'debian', '12'), true],
    ['PyPI', onDistribution('npm', 'debian', '12'), false],
    ['Maven:https://repo.example.com', onDistribution('maven', '', ''), true],
  ] as const)
    assert.equal(
      isEcosystemOf(ecosystem, pkg),
      expected,
      `${ecosystem} ${pkg.distributionId} ${pkg.distributionVersion}`,
    )
})

test('names are compared as their ecosystem does', () => {
  assert.equal(comparableName('pypi', 'Zope.Interface_x'), 'zope-interface-x')
  assert.equal(comparableName('nuget', 'Newtonsoft.Json'), 'newtonsoft.json')
  assert.equal(comparableName('npm', '@Scope/Name'), '@Scope/Name')
  assert.equal(osvNameOf({ type: 'npm', namespace: '@scope', name: 'name' }), '@scope/name')
  assert.equal(osvNameOf({ type: 'maven', namespace: 'org.example', name: 'core' }), 'org.example:core')
  assert.equal(osvNameOf({ type: 'deb', namespace: 'debian', name: 'zlib' }), 'zlib')
  assert.equal(ecosystemRules('Debian:12')?.scheme, 'deb')
  assert.equal(ecosystemRules('OSS-Fuzz'), undefined)
})
