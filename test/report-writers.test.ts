import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ImagePackage } from '@berth/image-contents/contents.ts'
import { readScannerReport } from '@berth/image-contents/reports/read-scanner-report.ts'
import type { ReportedVulnerability, ScannerReport } from '@berth/image-contents/reports/scanner-report.ts'
import { readSbom } from '@berth/image-contents/sbom/read-sbom.ts'
import { writeCycloneDxReport } from '@berth/image-contents/writers/write-cyclonedx-report.ts'
import { writeSarif } from '@berth/image-contents/writers/write-sarif.ts'
import type { WrittenFinding, WrittenReport } from '@berth/image-contents/writers/written-report.ts'
import fc from 'fast-check'
import { sbomProblems } from './support/contents/sbom-schemas.ts'

/** What is written as SARIF and as CycloneDX is valid, and is read again to the same findings. */

const image = {
  repository: 'registry.example/acme/app',
  digest: `sha256:${'ab'.repeat(32)}`,
  created: new Date('2026-03-04T05:06:07.000Z'),
  tool: { name: 'berth', version: '0.6.0' },
}

const packageOf = (name: string, path: string): ImagePackage => ({
  purl: `pkg:npm/${name}@1.0.0`,
  type: 'npm',
  namespace: '',
  name,
  version: '1.0.0',
  architecture: '',
  origin: undefined,
  license: '',
  path,
  layer: '',
})

const packages = [
  packageOf('a', 'app/node_modules/a/package.json'),
  packageOf('b', 'app/50% off/b #1/package.json'),
  packageOf('b', 'srv/b/package.json'),
  packageOf('c', ''),
]

const vectors = [
  { score: 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H', version: '3.1' },
  { score: 'CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N', version: '4.0' },
  { score: 'AV:N/AC:L/Au:N/C:C/I:C/A:C', version: '2.0' },
] as const

/** One line that is shown as it is. */
const line = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
  .filter((text) => text === text.trim() && /^[^\p{C}\p{Zl}\p{Zp}]+$/u.test(text))

/** What is known of a vulnerability, whatever package has it. */
const vulnerability = fc.record({
  id: fc.constantFrom('CVE-2024-0001', 'CVE-2024-12345', 'GHSA-2222-3333-4444', 'GO-2024-1111', 'CGA-x'),
  aliases: fc.constantFrom([], ['GHSA-5555-6666-7777'], ['ALPINE-CVE-2024-0001', 'PYSEC-2024-1']),
  description: fc.oneof(fc.constant(''), line),
  details: fc.oneof(fc.constant(''), line, fc.constant('Two\nlines')),
  severity: fc.constantFrom('critical', 'high', 'medium', 'low', 'none', 'unknown'),
  score: fc.option(
    fc.integer({ min: 0, max: 100 }).map((tenths) => tenths / 10),
    { nil: undefined },
  ),
  cvss: fc.subarray([...vectors]),
  cwes: fc.subarray(['CWE-20', 'CWE-79']),
  isKnownExploited: fc.boolean(),
  epss: fc.constantFrom(undefined, 0, 0.00045, 1),
  relatedUrls: fc.constantFrom([], ['https://example.com/1', 'https://example.com/2?a=b']),
} as const)

const perPackage = fc.record({
  purl: fc.constantFrom(...packages.map(({ purl }) => purl)),
  state: fc.constantFrom(
    'affected',
    'affected',
    'not-affected',
    'pending-upstream',
    'under-investigation',
    'unknown',
  ),
  fixedVersion: fc.constantFrom('', '1.0.1', '2.0.0'),
  willNotFix: fc.boolean(),
  justification: fc.oneof(
    fc.constantFrom('', 'vulnerable code not in execution path', 'component_not_present'),
    line,
  ),
} as const)

const findingsOfImages: fc.Arbitrary<WrittenFinding[]> = fc
  .uniqueArray(
    fc.tuple(vulnerability, fc.uniqueArray(perPackage, { selector: ({ purl }) => purl, minLength: 1 })),
    { selector: ([{ id }]) => id },
  )
  .map((all) =>
    all.flatMap(([known, those]) =>
      those.map((one) => {
        const isFixed = one.state === 'affected' && one.fixedVersion !== ''
        return {
          ...known,
          // A score has a severity.
          ...(known.severity === 'unknown' && { score: undefined, cvss: [] }),
          ...one,
          version: '1.0.0',
          fixedVersion: isFixed ? one.fixedVersion : '',
          willNotFix: one.willNotFix && one.state === 'affected' && !isFixed,
        }
      }),
    ),
  )

const reportOf = (findings: readonly WrittenFinding[], isCurrent = true): WrittenReport => ({
  image,
  contents: { distribution: undefined, packages, problems: [] },
  findings,
  databaseBuilt: new Date('2026-03-01T00:00:00Z'),
  uncovered: [{ ecosystem: 'PyPI', packages: 3 }],
  isCurrent,
})

const severityNames = {
  critical: 'CRITICAL',
  high: 'HIGH',
  medium: 'MEDIUM',
  low: 'LOW',
  none: 'NEGLIGIBLE',
  unknown: 'UNKNOWN',
} as const

/** One entry for each package, in a stable order. CycloneDX joins packages; SARIF does not. */
function perPackageOf({ vulnerabilities }: ScannerReport): ReportedVulnerability[] {
  return vulnerabilities
    .flatMap((one) => one.purls.map((purl) => ({ ...one, purls: [purl] })))
    .map((one) => ({
      ...one,
      locations: one.locations.filter((path) => pathsOf(one.purls[0]).includes(path)),
      cvss: one.cvss.toSorted((a, b) => (a.version < b.version ? -1 : 1)),
    }))
    .sort((a, b) => (`${a.id} ${a.purls[0]}` < `${b.id} ${b.purls[0]}` ? -1 : 1))
}

const pathsOf = (purl: string | undefined) =>
  packages.filter((each) => each.purl === purl && each.path !== '').map(({ path }) => path)

function expected(findings: readonly WrittenFinding[], describe: (text: string, id: string) => string) {
  const vulnerabilities = findings
    .filter(({ state }) => state !== 'not-affected')
    .map((finding): ReportedVulnerability => {
      const { id, aliases, purl, description, details, severity, cvss, relatedUrls, fixedVersion } = finding
      return {
        id,
        aliases,
        purls: [purl],
        description: describe(description, id),
        details,
        severity: severityNames[severity],
        cvss,
        fix:
          fixedVersion === ''
            ? { state: finding.willNotFix ? 'WONT_FIX' : 'UNKNOWN', versions: [] }
            : { state: 'FIXED', versions: [fixedVersion] },
        relatedUrls,
        locations: pathsOf(purl),
      }
    })
  return perPackageOf({ vulnerabilities } as unknown as ScannerReport)
}

test('SARIF is valid, and is read again as it was', () => {
  fc.assert(
    fc.property(findingsOfImages, (findings) => {
      const written = writeSarif(reportOf(findings))
      assert.equal(sbomProblems('sarif-2.1.0', written), '')
      assert.equal(writeSarif(structuredClone(reportOf(findings))), written)
      const { runs } = JSON.parse(written)
      const ids = runs[0].tool.driver.rules.map(({ id }: { id: string }) => id)
      assert.deepEqual(ids, [...new Set(findings.map(({ id }) => id))])
      const read = readScannerReport(Buffer.from(written))
      assert.deepEqual(
        perPackageOf(read),
        expected(findings, (text, id) => text || id),
      )
      assert.deepEqual(read.scanner, {
        name: 'berth',
        version: '0.6.0',
        databaseBuilt: new Date('2026-03-01T00:00:00Z'),
      })
      assert.deepEqual(read.created, image.created)
    }),
    { numRuns: 150 },
  )
})

test('CycloneDX is valid, has the packages, and is read again as it was', () => {
  fc.assert(
    fc.property(findingsOfImages, (findings) => {
      const written = writeCycloneDxReport(reportOf(findings))
      assert.equal(sbomProblems('cyclonedx-1.6', written), '')
      assert.equal(writeCycloneDxReport(structuredClone(reportOf(findings))), written)
      const read = readScannerReport(Buffer.from(written))
      const one = (report: ScannerReport) =>
        perPackageOf(report).map((each) => ({ ...each, relatedUrls: [] }))
      assert.deepEqual(
        one(read),
        expected(findings, (text) => text).map((each) => ({ ...each, relatedUrls: [] })),
      )
      assert.deepEqual(read.scanner.databaseBuilt, new Date('2026-03-01T00:00:00Z'))
      assert.deepEqual(readSbom(Buffer.from(written)).contents.packages, packages)
    }),
    { numRuns: 150 },
  )
})

const finding: WrittenFinding = {
  id: 'CVE-2024-0001',
  aliases: [],
  purl: 'pkg:npm/a@1.0.0',
  version: '1.0.0',
  state: 'affected',
  severity: 'high',
  score: 9.8,
  cvss: [],
  cwes: ['CWE-79', 'CWE-917'],
  isKnownExploited: true,
  epss: 0.94358,
  fixedVersion: '2.0.0',
  willNotFix: false,
  justification: '',
  description: 'Overflow',
  details: '',
  relatedUrls: ['https://example.com/1'],
}

test('code scanning gets a score of the same severity, a file with a line, and suppressed results', () => {
  const scoreOf = (change: Partial<WrittenFinding>) =>
    JSON.parse(writeSarif(reportOf([{ ...finding, ...change }]))).runs[0].tool.driver.rules[0].properties[
      'security-severity'
    ]
  // CVSS 2 has no critical severity.
  assert.equal(scoreOf({}), '8.9')
  assert.equal(scoreOf({ score: undefined }), '7.0')
  assert.equal(scoreOf({ severity: 'critical' }), '9.8')
  assert.equal(scoreOf({ severity: 'none', score: 0 }), '0.0')
  assert.equal(scoreOf({ severity: 'unknown', score: undefined }), undefined)
  const resultOf = (change: Partial<WrittenFinding>) =>
    JSON.parse(writeSarif(reportOf([{ ...finding, ...change }]))).runs[0].results[0]
  const { locations, level, message, partialFingerprints } = resultOf({})
  assert.deepEqual(locations[0].physicalLocation, {
    artifactLocation: { uri: 'app/node_modules/a/package.json', uriBaseId: 'IMAGE' },
    region: { startLine: 1 },
  })
  assert.equal(level, 'error')
  assert.equal(
    message.text,
    'pkg:npm/a@1.0.0 is affected by CVE-2024-0001 (severity high). Version 2.0.0 fixes it.',
  )
  // Without a path, the image itself.
  assert.equal(
    resultOf({ purl: 'pkg:npm/c@1.0.0' }).locations[0].physicalLocation.artifactLocation.uri,
    'app',
  )
  const suppressed = resultOf({ state: 'not-affected', justification: 'not reachable' })
  assert.deepEqual(suppressed.suppressions, [
    { kind: 'external', status: 'accepted', justification: 'not reachable' },
  ])
  assert.deepEqual(suppressed.partialFingerprints, partialFingerprints)
})

test('both formats state that advisories have changed since', () => {
  const sarif = (isCurrent: boolean) =>
    JSON.parse(writeSarif(reportOf([finding], isCurrent))).runs[0].invocations[0].toolExecutionNotifications
  assert.equal(sarif(true).length, 1)
  assert.match(sarif(false)[1].message.text, /^Advisories have changed and are not matched/)
  const cyclonedx = (isCurrent: boolean) =>
    JSON.parse(writeCycloneDxReport(reportOf([finding], isCurrent))).metadata.properties
  assert.equal(cyclonedx(true).length, 2)
  assert.deepEqual(cyclonedx(false)[2], { name: 'berth:advisories:outdated', value: 'true' })
})

test('both formats state weaknesses and what is known of the exploitation', () => {
  const { tags, epss } = JSON.parse(writeSarif(reportOf([finding]))).runs[0].tool.driver.rules[0].properties
  assert.deepEqual(tags, [
    'security',
    'vulnerability',
    'high',
    'known-exploited',
    'external/cwe/cwe-79',
    'external/cwe/cwe-917',
  ])
  assert.equal(epss, 0.94358)
  const [{ cwes, properties }] = JSON.parse(writeCycloneDxReport(reportOf([finding]))).vulnerabilities
  assert.deepEqual(cwes, [79, 917])
  assert.deepEqual(
    properties.filter(({ name }: { name: string }) => name !== 'berth:finding:state'),
    [
      { name: 'berth:finding:known_exploited', value: 'true' },
      { name: 'berth:finding:epss', value: '0.94358' },
    ],
  )
  const unknown = { ...finding, cwes: [], isKnownExploited: false, epss: undefined }
  const [plain] = JSON.parse(writeCycloneDxReport(reportOf([unknown]))).vulnerabilities
  assert.deepEqual([plain.cwes, plain.properties.length], [undefined, 1])
})

test('what is not covered is stated, and a report without findings is a report', () => {
  const none = reportOf([])
  const sarif = JSON.parse(writeSarif(none))
  assert.match(
    sarif.runs[0].invocations[0].toolExecutionNotifications[0].message.text,
    /Vulnerabilities of 3 packages of PyPI are unknown/,
  )
  const cyclonedx = writeCycloneDxReport(none)
  assert.deepEqual(JSON.parse(cyclonedx).metadata.properties, [
    { name: 'berth:advisories:time', value: '2026-03-01T00:00:00.000Z' },
    { name: 'berth:advisories:missing', value: 'PyPI 3' },
  ])
  assert.deepEqual(readScannerReport(Buffer.from(cyclonedx)).vulnerabilities, [])
})

test('CycloneDX states why a package is not affected, and what is undecided', () => {
  const analysisOf = (change: Partial<WrittenFinding>) =>
    JSON.parse(writeCycloneDxReport(reportOf([{ ...finding, fixedVersion: '', ...change }])))
      .vulnerabilities[0].analysis
  const reasons = [
    ['vulnerable code not in execution path', 'code_not_reachable'],
    ['vulnerable_code_not_in_execute_path', 'code_not_reachable'],
    ['component vulnerability mismatch', 'code_not_present'],
    ['inline_mitigations_already_exist', 'protected_by_mitigating_control'],
    ['something else', undefined],
  ] as const
  for (const [justification, known] of reasons)
    assert.deepEqual(analysisOf({ state: 'not-affected', justification }), {
      state: 'not_affected',
      ...(known === undefined ? {} : { justification: known }),
      detail: justification,
    })
  assert.deepEqual(analysisOf({ state: 'under-investigation' }), { state: 'in_triage' })
  assert.deepEqual(analysisOf({ willNotFix: true }), { response: ['will_not_fix'] })
  assert.equal(analysisOf({}), undefined)
})

test('results of SARIF whose suppression was rejected or waits for a decision count', () => {
  const read = (status: string | undefined) => {
    const document = JSON.parse(writeSarif(reportOf([finding])))
    document.runs[0].results[0].suppressions = [{ kind: 'external', status }]
    return readScannerReport(Buffer.from(JSON.stringify(document))).vulnerabilities.length
  }
  assert.deepEqual(['accepted', undefined, 'rejected', 'underReview'].map(read), [0, 0, 1, 1])
})
