import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  compareVersions,
  type VersionScheme,
  versionSchemes,
} from '@berth/package-versions/compare-versions.ts'
import { versionLimits } from '@berth/package-versions/limits.ts'
import fc from 'fast-check'

/** The rules of version orders that test/version-comparison/ has no pairs for, from the documentation of each ecosystem. */

/** Versions in order, oldest first; versions of one line that are separated by ` = ` are equal. */
const ascending: Readonly<Partial<Record<VersionScheme, readonly (readonly string[])[]>>> = {
  apk: [
    // Suffixes, in the order of apk-package(5).
    [
      ...[
        '1.2_alpha',
        '1.2_alpha1',
        '1.2_alpha2',
        '1.2_alpha10',
        '1.2_beta',
        '1.2_beta1',
        '1.2_pre',
        '1.2_pre1',
      ],
      ...[
        '1.2_rc',
        '1.2_rc1',
        '1.2_rc2',
        '1.2',
        '1.2-r0',
        '1.2_cvs',
        '1.2_cvs1',
        '1.2_svn',
        '1.2_git',
        '1.2_hg',
      ],
      ...['1.2_p', '1.2_p1', '1.2_p2', '1.2_p10', '1.2a', '1.2b', '1.2.0', '1.2.1', '1.3'],
    ],
    // Several suffixes.
    ['1_alpha_pre', '1_alpha', '1_alpha_p1', '1_beta', '1_p1_alpha', '1_p1', '1_p1_p1', '1_p2'],
    // The letter, with a suffix and with a revision.
    ['1.0.2_rc1', '1.0.2', '1.0.2a_rc1', '1.0.2a', '1.0.2a-r1', '1.0.2a_p1', '1.0.2b', '1.0.2z', '1.0.2.1'],
    // The revision is a number.
    ['1.0', '1.0-r0', '1.0-r1', '1.0-r2', '1.0-r10', '1.0-r100', '1.0.1'],
    ['1.0_rc1-r9', '1.0-r0', '1.0_p0-r0'],
    // Leading zeros: the first number ignores them; a later number with one is a fraction.
    ['09.1', '10.1', '11.1'],
    ['1.0', '1.001', '1.01', '1.010', '1.011', '1.02', '1.09', '1.1', '1.9', '1.10', '1.100'],
    ['1.0', '1.0.0', '1.0.1', '1.00', '1.1'],
    // The hash of a commit.
    [
      '1.0_git20230717',
      '1.0_git20230717-r1',
      '1.0_git20230717~1a2b',
      '1.0_git20230717~2a2b',
      '1.0_git20230718',
    ],
    ['1.0', '1.0~0abc-r0', '1.0~0abc-r1', '1.0~1abc-r0'],
    // More digits than a number of JavaScript has.
    ['1.99999999999999999998', '1.99999999999999999999', '1.100000000000000000000'],
  ],
  rpm: [
    // `~` is before everything, even the end; `^` is after the end and before everything else.
    ['1.0~', '1.0', '1.0^', '1.0a', '1.0.1'],
    ['1.0~rc1', '1.0~rc2', '1.0', '1.0^git1', '1.0^git2', '1.0.1'],
    ['1.0~rc1~git123', '1.0~rc1', '1.0~rc1^git1', '1.0~rc2'],
    ['1.0^git1~pre', '1.0^git1', '1.0^git1^2', '1.0^git2'],
    ['1.0~~', '1.0~', '1.0~a', '1.0'],
    ['1.0^20160101', '1.0^20160101^git1', '1.0^20160102', '1.01'],
    // In the release too.
    ['1.0-1~rc1', '1.0-1', '1.0-1^git1', '1.0-1.1', '1.0-2'],
    // Epochs are before everything else, and none is 0.
    ['0:1.0-1 = 1.0-1 = 00:1.0-1', '2.0-1', '1:0.5-1', '1:1.0~rc1-1', '1:1.0-1', '2:0.1-1', '10:0.1-1'],
    // Letters are before digits; digits are numbers; everything else only separates.
    [
      '1.a',
      '1.b',
      '1.0',
      '1.1',
      '1.9',
      '1.10 = 1.010 = 1_10',
      '1.99999999999999999999',
      '1.100000000000000000000',
    ],
    ['2.28-1.el8', '2.28-1.el8_1 = 2.28-1.el8.1', '2.28-1.el8.1.a = 2.28-1.el8_1_a', '2.28-1.el8.1.1'],
    ['1.0', '1.0-0', '1.0-1.el8', '1.0-1.el9', '1.0-1.el10', '1.0-2'],
  ],
  deb: [
    ['1.0~~', '1.0~~a', '1.0~', '1.0 = 1.0- = 1.0-0', '1.0a', '1.0+b1', '1.0.1'],
    ['1.0-1~bpo1', '1.0-1', '1.0-1+b1', '1.0-1.1', '1.0-2', '1.0-10', '1:0.1', '10:0.1'],
    ['1.2-rc-1', '1.2-rc-2'],
    ['1.99999999999999999999', '1.100000000000000000000'],
  ],
  semver: [
    [
      '1.0.0-alpha',
      '1.0.0-alpha.1',
      '1.0.0-alpha.beta',
      '1.0.0-beta',
      '1.0.0-beta.2',
      '1.0.0-beta.11',
      '1.0.0-rc.1',
    ],
    ['1.0.0-rc.1', '1.0.0 = v1.0.0 = 1.0 = 1 = 1.0.0+build = 1.0.0.4', '1.0.1-0', '1.0.1'],
    ['0.0.0-20190101000000-abcdef123456', '0.0.0-20200101000000-abcdef123456', '0.0.0'],
    ['1.0.0beta1', '1.0.0rc1', '1.0.0'],
    ['2.0.0 = 2.0.0+incompatible', '2.0.1'],
  ],
  pypi: [
    [
      '1.0.dev1',
      '1.0a1.dev1',
      '1.0a1 = 1.0-alpha.1',
      '1.0a2',
      '1.0b1',
      '1.0rc1 = 1.0c1 = 1.0.pre.1',
      '1.0 = 1 = 1.0.0 = v1.0',
    ],
    [
      '1.0',
      '1.0+abc.5',
      '1.0+abc.7',
      '1.0+5',
      '1.0.post1.dev1',
      '1.0.post1 = 1.0-1 = 1.0.r1',
      '1.1.dev1',
      '1.1',
      '1!0.5',
    ],
    ['1.99999999999999999999', '1.100000000000000000000'],
  ],
  maven: [
    [
      '1-alpha-1 = 1a1',
      '1-beta-1',
      '1-milestone-1 = 1m1',
      '1-rc-1 = 1-cr-1',
      '1-snapshot',
      '1 = 1.0 = 1-ga = 1.final',
      '1-sp',
      '1-abc',
      '1-1',
      '1.1',
    ],
  ],
  gem: [
    ['1.0.a', '1.0.a.2', '1.0.b1', '1.0.rc1', '1.0 = 1 = 1.0.0', '1.0.1', '1.9', '1.10'],
    ['1.0-1', '1.0'],
  ],
  nuget: [
    [
      '1.0.0-alpha',
      '1.0.0-Beta.2',
      '1.0.0-beta.11',
      '1.0.0 = 1.0 = 1.0.0.0 = 1.0.0+meta',
      '1.0.0.1',
      '1.0.1',
    ],
  ],
  composer: [
    [
      '1.0.0-dev',
      '1.0.0-alpha1',
      '1.0.0-beta1 = v1.0.0-b1',
      '1.0.0-RC1',
      '1.0.0 = v1.0.0',
      '1.0.0-p1',
      '1.0.1',
    ],
  ],
}

for (const [scheme, chains] of Object.entries(ascending) as [VersionScheme, string[][]][]) {
  test(`${scheme}: versions are in the documented order`, () => {
    for (const chain of chains) {
      const ranked = chain.flatMap((equal, rank) => equal.split(' = ').map((version) => ({ version, rank })))
      for (const a of ranked)
        for (const b of ranked)
          assert.equal(
            Math.sign(compareVersions(scheme, a.version, b.version) ?? Number.NaN),
            Math.sign(a.rank - b.rank),
            `${a.version}, ${b.version}`,
          )
    }
  })
}

/** Text that is no version of any scheme, and of some. */
test('what is no version of the scheme has no order', () => {
  for (const scheme of versionSchemes)
    for (const text of ['', ' ', '1.0 2.0', '\n', '1'.repeat(versionLimits.versionCharsMax + 1)])
      assert.equal(compareVersions(scheme, text, '1.0'), undefined, `${scheme} ${text.slice(0, 20)}`)
  const invalid: Readonly<Partial<Record<VersionScheme, readonly string[]>>> = {
    semver: ['latest', 'main', 'x', '.1', '1.0.0 beta'],
    npm: ['*', '^1.0', '>=1', '<none>'],
    golang: ['(devel)', 'unknown'],
    deb: ['a:1.0', ':1.0'],
    gem: ['a', '1..0', '1.0_1'],
    nuget: ['1.2.3.4.5', 'x'],
    composer: ['dev-main', 'main', ''],
    cran: ['1.x', '1..2'],
    hackage: ['1.x'],
  }
  for (const [scheme, texts] of Object.entries(invalid) as [VersionScheme, string[]][])
    for (const text of texts) {
      assert.equal(compareVersions(scheme, text, '1.0'), undefined, `${scheme} ${text}`)
      assert.equal(compareVersions(scheme, '1.0', text), undefined, `${scheme} ${text}`)
    }
})

/** Strings that look like versions, valid or not. Version orders that pad missing parts are total only over plausible ones. */
const part = fc.constantFrom(
  ...[
    '0',
    '1',
    '2',
    '10',
    '01',
    '007',
    'a',
    'b',
    'rc',
    'alpha',
    'beta',
    'pre',
    'dev',
    'p',
    'x',
    'git',
    'RC',
    'ga',
  ],
)
const separator = fc.constantFrom('', '.', '-', '_', '+', '~', '^', ':', '-r', '_p', '_rc')
const anyVersion = fc
  .tuple(
    fc.constantFrom('1', '2', '0', '10', '1:1', 'v1'),
    fc.array(fc.tuple(separator, part), { maxLength: 5 }),
  )
  .map(([first, rest]) => first + rest.flat().join(''))
/** Maven pads the shorter version with values like those of the longer one, so only versions of the usual form have a total order. */
const mavenVersion = fc
  .tuple(
    fc.array(fc.constantFrom('0', '1', '2', '10'), { minLength: 3, maxLength: 3 }),
    fc.constantFrom(
      '',
      '-alpha-1',
      '-beta-2',
      '-rc1',
      '-SNAPSHOT',
      '.Final',
      '-jre',
      '-android',
      '-sp1',
      '-1',
    ),
  )
  .map(([numbers, qualifier]) => numbers.join('.') + qualifier)

for (const scheme of versionSchemes) {
  const version = scheme === 'maven' ? mavenVersion : anyVersion

  test(`${scheme}: the order is antisymmetric, reflexive and transitive`, () => {
    fc.assert(
      fc.property(version, version, version, (a, b, c) => {
        const [ab, ba, bc, ac] = [
          compareVersions(scheme, a, b),
          compareVersions(scheme, b, a),
          compareVersions(scheme, b, c),
          compareVersions(scheme, a, c),
        ]
        if (compareVersions(scheme, a, a) !== undefined) assert.equal(compareVersions(scheme, a, a), 0)
        if (ab === undefined || ba === undefined) return assert.equal(ab, ba)
        assert.equal(Math.sign(ab), 0 - Math.sign(ba))
        if (bc === undefined || ac === undefined) return
        if (ab <= 0 && bc <= 0) assert.ok(ac <= 0, `${a} <= ${b} <= ${c}`)
        if (ab === 0 && bc === 0) assert.equal(ac, 0)
      }),
      { numRuns: 2000 },
    )
  })
}

test('any text is compared or not, without an error and in linear time', () => {
  const max = versionLimits.versionCharsMax
  const hostile = [
    ...['1', '.', '-', '1.', '1-', 'a', '1a', '~', '^', '_rc1', '_', '0', '1.0-', '+', '\u0000', 'β', '1:'],
  ].flatMap((text) => [text.repeat(max / text.length), `1.0${text.repeat((max - 3) / text.length)}`])
  for (const scheme of versionSchemes) {
    for (const a of hostile) {
      const order = compareVersions(scheme, a, `${a.slice(0, -1)}1`)
      assert.ok(order === undefined || Number.isFinite(order))
    }
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 40 }), fc.string({ maxLength: 40 }), (a, b) => {
        const order = compareVersions(scheme, a, b)
        assert.ok(order === undefined || Number.isFinite(order))
      }),
    )
  }
})
