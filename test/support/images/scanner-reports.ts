/** Reports of vulnerability scanners, as they are attached to images. */

export const reportTypes = {
  sarif: 'application/sarif+json',
  grype: 'application/vnd.anchore.grype+json',
  trivy: 'application/vnd.aquasec.trivy.report+json',
  cyclonedx: 'application/vnd.cyclonedx+json',
  dsse: 'application/vnd.dsse.envelope.v1+json',
  statement: 'application/vnd.in-toto+json',
} as const

export interface ReportedOne {
  readonly id: string
  readonly severity: string
  readonly aliases?: readonly string[]
  readonly name?: string
  readonly fixed?: string
}

const purlOf = ({ name = 'left-pad' }: ReportedOne) => `pkg:npm/${name}@1.0.0`

export const trivyReport = (found: readonly ReportedOne[], more: object = {}) => ({
  SchemaVersion: 2,
  ArtifactName: 'app',
  CreatedAt: '2026-02-03T04:05:06Z',
  Trivy: { Version: '0.57.1' },
  Results: [
    {
      Target: 'Node.js',
      Class: 'lang-pkgs',
      Vulnerabilities: found.map((one) => ({
        VulnerabilityID: one.id,
        VendorIDs: one.aliases,
        PkgName: one.name,
        PkgIdentifier: { PURL: purlOf(one) },
        Severity: one.severity.toUpperCase(),
        FixedVersion: one.fixed,
        Title: `about ${one.id}`,
      })),
    },
  ],
  ...more,
})

export const grypeReport = (found: readonly ReportedOne[], more: object = {}) => ({
  matches: found.map((one) => ({
    vulnerability: {
      id: one.id,
      severity: one.severity,
      fix: one.fixed ? { state: 'fixed', versions: [one.fixed] } : { state: 'not-fixed', versions: [] },
    },
    relatedVulnerabilities: (one.aliases ?? []).map((id) => ({ id })),
    artifact: { name: one.name, purl: purlOf(one), locations: [{ path: '/app/package.json' }] },
  })),
  descriptor: {
    name: 'grype',
    version: '0.92.0',
    timestamp: '2026-02-04T00:00:00Z',
    db: { status: { built: '2026-02-03T01:00:00Z' } },
  },
  ...more,
})

export const sarifReport = (found: readonly ReportedOne[], name = 'Snyk Container') => ({
  version: '2.1.0',
  runs: [
    {
      tool: {
        driver: {
          name,
          version: '1.2',
          rules: found.map(({ id }) => ({ id, shortDescription: { text: `about ${id}` } })),
        },
      },
      results: found.map(({ id, severity }) => ({
        ruleId: id,
        level: severity === 'high' ? 'error' : 'warning',
        message: { text: id },
      })),
    },
  ],
})

export const cycloneDxVdr = (found: readonly ReportedOne[]) => ({
  bomFormat: 'CycloneDX',
  specVersion: '1.6',
  version: 1,
  metadata: {
    timestamp: '2026-02-05T00:00:00Z',
    tools: { components: [{ type: 'application', name: 'dtrack', version: '4' }] },
  },
  vulnerabilities: found.map((one) => ({
    id: one.id,
    ratings: [{ severity: one.severity }],
    affects: [{ ref: purlOf(one) }],
  })),
})

/** The predicate of `cosign attest --type vuln`. */
export const vulnPredicate = (report: unknown) => ({
  invocation: { uri: '' },
  scanner: {
    uri: 'pkg:github/aquasecurity/trivy@0.57.1',
    version: '0.57.1',
    db: { uri: '', lastUpdate: '2026-02-01T00:00:00Z' },
    result: report,
  },
  metadata: { scanStartedOn: '2026-02-06T00:00:00Z', scanFinishedOn: '2026-02-06T00:01:00Z' },
})

export function statementOf(digest: string, predicateType: string, predicate: unknown) {
  return {
    _type: 'https://in-toto.io/Statement/v1',
    predicateType,
    subject: [{ name: 'app', digest: { sha256: digest.replace('sha256:', '') } }],
    predicate,
  }
}

export function envelopeOf(statement: unknown) {
  return {
    payloadType: 'application/vnd.in-toto+json',
    payload: Buffer.from(JSON.stringify(statement)).toString('base64'),
    signatures: [{ sig: 'MEUCIQ==' }],
  }
}

export const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))
