import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readAttestation } from '@berth/image-contents/attestations/read-attestation.ts'
import { readScannerReport } from '@berth/image-contents/reports/read-scanner-report.ts'
import { readDocumentFile } from './support/contents/sbom-documents.ts'

/** Reports of vulnerability scanners, in the forms that their documentation gives. */

const read = (report: unknown) => readScannerReport(Buffer.from(JSON.stringify(report)))
const VECTOR = 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H'

const grype = {
  matches: [
    {
      vulnerability: {
        id: 'GHSA-jfh8-c2jp-5v3q',
        dataSource: 'https://github.com/advisories/GHSA-jfh8-c2jp-5v3q',
        namespace: 'github:language:java',
        severity: 'Critical',
        urls: ['https://example.com/a', 'javascript:alert(1)'],
        description: 'Remote code injection',
        cvss: [{ type: 'Secondary', version: '3.1', vector: VECTOR, metrics: { baseScore: 10 } }],
        fix: { versions: ['2.15.0'], state: 'fixed' },
      },
      relatedVulnerabilities: [{ id: 'CVE-2021-44228' }],
      artifact: {
        name: 'log4j-core',
        version: '2.14.1',
        locations: [{ path: '/app/app.jar', layerID: 'sha256:1' }],
        purl: 'pkg:maven/org.apache.logging.log4j/log4j-core@2.14.1',
      },
    },
    {
      vulnerability: { id: 'CVE-2020-1', severity: 'Negligible', fix: { versions: [], state: 'wont-fix' } },
      relatedVulnerabilities: [
        { id: 'CVE-2020-1', description: 'of NVD', cvss: [{ version: '2.0', metrics: { baseScore: 5 } }] },
      ],
      artifact: { name: 'bash' },
    },
  ],
  descriptor: {
    name: 'grype',
    version: '0.92.0',
    timestamp: '2026-02-03T04:05:06.789123456Z',
    db: { status: { schemaVersion: 'v6.0.2', built: '2026-02-03T01:00:00Z' } },
  },
}

test('grype', () => {
  const { scanner, created, vulnerabilities } = read(grype)
  assert.deepEqual(scanner, {
    name: 'grype',
    version: '0.92.0',
    databaseBuilt: new Date('2026-02-03T01:00:00Z'),
  })
  assert.deepEqual(created, new Date('2026-02-03T04:05:06.789Z'))
  assert.deepEqual(vulnerabilities, [
    {
      id: 'GHSA-jfh8-c2jp-5v3q',
      aliases: ['CVE-2021-44228'],
      purls: ['pkg:maven/org.apache.logging.log4j/log4j-core@2.14.1'],
      description: 'Remote code injection',
      details: '',
      severity: 'CRITICAL',
      cvss: [{ score: VECTOR, version: '3.1' }],
      fix: { state: 'FIXED', versions: ['2.15.0'] },
      relatedUrls: ['https://github.com/advisories/GHSA-jfh8-c2jp-5v3q', 'https://example.com/a'],
      locations: ['app/app.jar'],
    },
    {
      id: 'CVE-2020-1',
      aliases: [],
      purls: [],
      description: 'of NVD',
      details: '',
      severity: 'NEGLIGIBLE',
      cvss: [{ score: '5', version: '2.0' }],
      fix: { state: 'WONT_FIX', versions: [] },
      relatedUrls: [],
      locations: [],
    },
  ])
  const older = { ...grype, descriptor: { ...grype.descriptor, db: { built: '2023-01-02T00:00:00Z' } } }
  assert.deepEqual(read(older).scanner.databaseBuilt, new Date('2023-01-02T00:00:00Z'))
})

const trivy = {
  SchemaVersion: 2,
  Trivy: { Version: '0.66.0' },
  CreatedAt: '2026-02-03T04:05:06.5+01:00',
  ArtifactName: 'registry.example/app',
  Results: [
    {
      Target: 'registry.example/app (debian 12.9)',
      Class: 'os-pkgs',
      Vulnerabilities: [
        {
          VulnerabilityID: 'CVE-2023-2',
          VendorIDs: ['DSA-1-1'],
          PkgName: 'libc6',
          PkgIdentifier: { PURL: 'pkg:deb/debian/libc6@2.36-9?arch=amd64&distro=debian-12.9' },
          FixedVersion: '2.36-10, 2.37',
          Status: 'fixed',
          Severity: 'HIGH',
          Title: 'glibc: overflow',
          Description: 'Two\nlines',
          CVSS: {
            nvd: { V2Vector: 'AV:N/AC:L/Au:N/C:P/I:P/A:P', V3Vector: VECTOR },
            redhat: { V3Vector: VECTOR },
          },
          PrimaryURL: 'https://avd.aquasec.com/nvd/cve-2023-2',
          References: ['https://example.com/r'],
        },
        { VulnerabilityID: 'CVE-2023-3', Status: 'will_not_fix', Severity: 'UNKNOWN' },
        { VulnerabilityID: 'CVE-2023-4', Status: 'affected' },
      ],
    },
    {
      Target: 'app/package-lock.json',
      Class: 'lang-pkgs',
      Vulnerabilities: [{ VulnerabilityID: 'GHSA-aaaa-bbbb-cccc' }],
    },
    { Target: 'no findings', Class: 'lang-pkgs' },
  ],
}

test('trivy', () => {
  const { scanner, created, vulnerabilities } = read(trivy)
  assert.deepEqual(scanner, { name: 'trivy', version: '0.66.0', databaseBuilt: undefined })
  assert.deepEqual(created, new Date('2026-02-03T03:05:06.500Z'))
  assert.deepEqual(vulnerabilities[0], {
    id: 'CVE-2023-2',
    aliases: ['DSA-1-1'],
    purls: ['pkg:deb/debian/libc6@2.36-9?arch=amd64&distro=debian-12.9'],
    description: 'glibc: overflow',
    details: 'Two\nlines',
    severity: 'HIGH',
    cvss: [
      { score: VECTOR, version: '3.1' },
      { score: 'AV:N/AC:L/Au:N/C:P/I:P/A:P', version: '2.0' },
    ],
    fix: { state: 'FIXED', versions: ['2.36-10', '2.37'] },
    relatedUrls: ['https://avd.aquasec.com/nvd/cve-2023-2', 'https://example.com/r'],
    locations: [],
  })
  assert.deepEqual(
    vulnerabilities
      .slice(1)
      .map(({ id, fix, severity, locations }) => [id, fix.state, severity, ...locations]),
    [
      ['CVE-2023-3', 'WONT_FIX', 'UNKNOWN'],
      ['CVE-2023-4', 'NOT_FIXED', 'UNKNOWN'],
      ['GHSA-aaaa-bbbb-cccc', 'UNKNOWN', 'UNKNOWN', 'app/package-lock.json'],
    ],
  )
  assert.deepEqual(read({ SchemaVersion: 2, ArtifactName: 'empty' }).vulnerabilities, [])
})

test('SARIF of grype and of trivy', () => {
  const sarif = (name: string, rule: object, result: object) =>
    read({
      version: '2.1.0',
      runs: [
        {
          tool: { driver: { name, version: '1.2', rules: [rule] } },
          invocations: [{ endTimeUtc: '2026-01-01T00:00:00Z' }],
          results: [result],
        },
      ],
    })
  const location = { physicalLocation: { artifactLocation: { uri: '/lib/apk/db/installed' } } }
  const ofGrype = sarif(
    'Grype',
    {
      id: 'CVE-2024-1-busybox',
      shortDescription: { text: 'CVE-2024-1 low vulnerability for busybox package' },
      helpUri: 'https://github.com/anchore/grype',
      properties: { 'security-severity': '3.1', purls: ['pkg:apk/alpine/busybox@1.36'] },
    },
    { ruleId: 'CVE-2024-1-busybox', message: { text: 'A vulnerability' }, locations: [location] },
  )
  assert.deepEqual(ofGrype.scanner, { name: 'grype', version: '1.2', databaseBuilt: undefined })
  assert.deepEqual(ofGrype.created, new Date('2026-01-01T00:00:00Z'))
  const [first] = ofGrype.vulnerabilities
  assert.deepEqual(
    [first?.id, first?.severity, first?.purls, first?.locations, first?.fix],
    [
      'CVE-2024-1',
      'LOW',
      ['pkg:apk/alpine/busybox@1.36'],
      ['lib/apk/db/installed'],
      { state: 'UNKNOWN', versions: [] },
    ],
  )
  const message = ['Package: busybox', 'Severity: CRITICAL', 'Fixed Version: 1.37, 1.38', 'Link: x'].join(
    '\n',
  )
  const [second] = sarif(
    'Trivy',
    { id: 'CVE-2024-2' },
    { ruleIndex: 0, level: 'error', message: { text: message } },
  ).vulnerabilities
  assert.deepEqual(
    [second?.id, second?.severity, second?.fix],
    ['CVE-2024-2', 'CRITICAL', { state: 'FIXED', versions: ['1.37', '1.38'] }],
  )
})

test('CycloneDX with vulnerabilities: affected ones only, with the components that references name', () => {
  const report = readScannerReport(readDocumentFile('cyclonedx-json/guac-xray-cdx-vulns.json'))
  assert.equal(report.scanner.name, 'xray')
  assert.equal(report.vulnerabilities.length, 1)
  const [found] = report.vulnerabilities
  assert.match(found?.id ?? '', /^CVE-|^XRAY-/)
  const document = (vulnerability: object) => ({
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    components: [
      {
        type: 'library',
        'bom-ref': 'a',
        name: 'a',
        purl: 'pkg:npm/a@1',
        evidence: { occurrences: [{ location: '/app/a/package.json' }] },
      },
    ],
    vulnerabilities: [vulnerability],
  })
  const affected = {
    id: 'CVE-1',
    references: [{ id: 'GHSA-1' }],
    ratings: [{ score: 7.5, method: 'CVSSv31', vector: 'AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:N/A:N' }],
    recommendation: 'Upgrade a to version 1.1, 2.0',
    affects: [{ ref: 'urn:cdx:3e671687-395b-41f5-a30f-a58921a69b79/1#a' }, { ref: 'pkg:npm/b@2' }],
  }
  const [first] = read(document(affected)).vulnerabilities
  assert.deepEqual(first, {
    id: 'CVE-1',
    aliases: ['GHSA-1'],
    purls: ['pkg:npm/a@1', 'pkg:npm/b@2'],
    description: '',
    details: '',
    severity: 'HIGH',
    cvss: [{ score: 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:N/A:N', version: '3.1' }],
    fix: { state: 'FIXED', versions: ['1.1', '2.0'] },
    relatedUrls: [],
    locations: ['app/a/package.json'],
  })
  for (const state of ['not_affected', 'false_positive', 'resolved'])
    assert.deepEqual(read(document({ ...affected, analysis: { state } })).vulnerabilities, [], state)
})

test('a list of components with an empty list of vulnerabilities is no report', () => {
  assert.throws(() => readScannerReport(readDocumentFile('cyclonedx-json/trivy-bom.json')), {
    name: 'DocumentProblem',
  })
})

test('attestations with vulnerabilities: of in-toto with ids, of cosign with the report of the scanner', () => {
  const inToto = readScannerReport(
    readAttestation(readDocumentFile('attestations/guac-certify-vuln-v02.json')).content,
  )
  assert.deepEqual(inToto.scanner, { name: 'osv.dev', version: '0.0.14', databaseBuilt: undefined })
  assert.deepEqual(inToto.created, new Date('2022-11-21T17:45:50.520Z'))
  assert.equal(inToto.vulnerabilities.length, 8)
  assert.deepEqual(inToto.vulnerabilities[1]?.cvss, [
    { score: 'CVSS:3.1/AV:N/AC:H/PR:N/UI:N/S:C/C:H/I:H/A:H', version: '3.1' },
  ])
  const cosign = read({
    invocation: {},
    scanner: {
      uri: 'pkg:github/aquasecurity/trivy@244fd47e07d1004f0aed9',
      version: '0.19.2',
      db: { uri: 'x', version: 'y', lastUpdate: '2021-08-06T17:45:50.52Z' },
      result: trivy,
    },
    metadata: { scanFinishedOn: '2021-08-06T17:50:50Z' },
  })
  assert.deepEqual(cosign.scanner, {
    name: 'trivy',
    version: '0.66.0',
    databaseBuilt: new Date('2021-08-06T17:45:50.520Z'),
  })
  assert.equal(cosign.vulnerabilities.length, 4)
})
