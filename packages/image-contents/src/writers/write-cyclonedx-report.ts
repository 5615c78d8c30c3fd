import { reportProperties } from '../sbom/cyclonedx/cyclonedx-properties.ts'
import { createCycloneDx, properties } from './write-cyclonedx.ts'
import { creationTime, stableId, stableUuid } from './written-image.ts'
import type { FindingState, WrittenFinding, WrittenReport } from './written-report.ts'

/**
 * Writes CycloneDX 1.6 in JSON with the packages of an image and their vulnerabilities (a BOM with a VDR). Reading it again returns the
 * same vulnerabilities.
 */
export function writeCycloneDxReport(report: WrittenReport): string {
  const { image, contents, findings, databaseBuilt, uncovered, isCurrent } = report
  const { document, references } = createCycloneDx(image, contents)
  const vulnerabilities = groupFindings(findings).map((group) => vulnerabilityOf(group, references))
  const serial = stableUuid(
    ...['report', image.digest, creationTime(image), image.tool.version],
    JSON.stringify(vulnerabilities),
  )
  return JSON.stringify({
    ...document,
    serialNumber: `urn:uuid:${serial}`,
    metadata: {
      ...document.metadata,
      properties: [
        { name: reportProperties.databaseTime, value: databaseBuilt?.toISOString() ?? '' },
        ...uncovered.map(({ ecosystem, packages }) => ({
          name: reportProperties.uncovered,
          value: `${ecosystem} ${packages}`,
        })),
        ...(isCurrent ? [] : [{ name: reportProperties.outdated, value: 'true' }]),
      ],
    },
    vulnerabilities,
  })
}

type Group = readonly [WrittenFinding, ...WrittenFinding[]]

/** A vulnerability of CycloneDX has one analysis and severity for all its packages: findings that differ in them are separate. */
function groupFindings(findings: readonly WrittenFinding[]): Group[] {
  const groups = new Map<string, [WrittenFinding, ...WrittenFinding[]]>()
  for (const finding of findings) {
    const { id, state, severity, justification, fixedVersion, willNotFix } = finding
    const key = JSON.stringify([id, state, severity, justification, fixedVersion, willNotFix])
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [finding])
    else group.push(finding)
  }
  return [...groups.values()]
}

function vulnerabilityOf(group: Group, references: ReadonlyMap<string, readonly string[]>): object {
  const [first] = group
  const { id, state, severity, score, cvss, fixedVersion, justification, description, details } = first
  const { isKnownExploited, epss } = first
  const aliases = distinct(group.flatMap((finding) => finding.aliases))
  const cwes = distinct(group.flatMap((finding) => finding.cwes))
  const urls = distinct(group.flatMap(({ relatedUrls }) => relatedUrls))
  const purls = distinct(group.map(({ purl }) => purl))
  return {
    'bom-ref': `vulnerability-${stableId(id, state, severity, justification, fixedVersion, ...purls)}`,
    id,
    source: sourceOf(id),
    ...(aliases.length === 0
      ? {}
      : { references: aliases.map((alias) => ({ id: alias, source: sourceOf(alias) })) }),
    ratings: [
      { severity, ...(score === undefined ? {} : { score }) },
      ...cvss.map(({ score: vector, version }) => ({ method: methods[version] ?? 'other', vector })),
    ],
    ...(cwes.length === 0 ? {} : { cwes: cwes.map((cwe) => Number(cwe.slice('CWE-'.length))) }),
    ...(description === '' ? {} : { description }),
    ...(details === '' ? {} : { detail: details }),
    ...(fixedVersion === '' ? {} : { recommendation: `Upgrade to version ${fixedVersion}` }),
    ...(urls.length === 0 ? {} : { advisories: urls.map((url) => ({ url })) }),
    ...analysisOf(first),
    affects: purls.flatMap((purl) =>
      (references.get(purl) ?? [purl]).map((ref) => ({ ref, versions: versionsOf(group, purl) })),
    ),
    ...properties([
      [reportProperties.state, state],
      [reportProperties.knownExploited, isKnownExploited ? 'true' : ''],
      [reportProperties.epss, epss === undefined ? '' : String(epss)],
    ]),
  }
}

function versionsOf(group: Group, purl: string): object[] {
  const { version = '', state, fixedVersion = '' } = group.find((finding) => finding.purl === purl) ?? {}
  const status = statuses[state ?? 'unknown']
  return [
    ...(version === '' ? [] : [{ version, status }]),
    ...(fixedVersion === '' || fixedVersion === version
      ? []
      : [{ version: fixedVersion, status: 'unaffected' }]),
  ]
}

const statuses: Readonly<Record<FindingState, string>> = {
  affected: 'affected',
  'pending-upstream': 'affected',
  'not-affected': 'unaffected',
  'under-investigation': 'unknown',
  unknown: 'unknown',
}

const methods: Readonly<Record<string, string>> = {
  '2.0': 'CVSSv2',
  '3.0': 'CVSSv3',
  '3.1': 'CVSSv31',
  '4.0': 'CVSSv4',
}

/** The databases of the IDs; others are of the distribution that names them. */
function sourceOf(id: string): object {
  if (id.startsWith('CVE-')) return { name: 'NVD', url: `https://nvd.nist.gov/vuln/detail/${id}` }
  if (id.startsWith('GHSA-')) return { name: 'GitHub', url: `https://github.com/advisories/${id}` }
  return { name: 'OSV', url: `https://osv.dev/vulnerability/${encodeURIComponent(id)}` }
}

/** Only decided states have a state of CycloneDX: being affected does not mean being exploitable. */
function analysisOf({ state, justification, willNotFix }: WrittenFinding): object {
  const detail = justification === '' ? {} : { detail: justification }
  if (willNotFix) return { analysis: { ...detail, response: ['will_not_fix'] } }
  switch (state) {
    case 'not-affected': {
      const known = justifications[justification.toLowerCase().replaceAll('_', ' ')]
      return {
        analysis: {
          state: 'not_affected',
          ...(known === undefined ? {} : { justification: known }),
          ...detail,
        },
      }
    }
    case 'under-investigation':
    case 'unknown':
      return { analysis: { state: 'in_triage', ...detail } }
    case 'pending-upstream':
      return { analysis: { ...detail, response: ['can_not_fix'] } }
    case 'affected':
      return justification === '' ? {} : { analysis: detail }
  }
}

/** By the justifications of advisories and of OpenVEX. */
const justifications: Readonly<Record<string, string>> = {
  'vulnerability record analysis contested': 'code_not_present',
  'component vulnerability mismatch': 'code_not_present',
  'vulnerable code version not used': 'code_not_present',
  'vulnerable code not included in package': 'code_not_present',
  'vulnerable code not in execution path': 'code_not_reachable',
  'vulnerable code cannot be controlled by adversary': 'requires_environment',
  'inline mitigations exist': 'protected_by_mitigating_control',
  'component not present': 'code_not_present',
  'vulnerable code not present': 'code_not_present',
  'vulnerable code not in execute path': 'code_not_reachable',
  'inline mitigations already exist': 'protected_by_mitigating_control',
}

function distinct(texts: readonly string[]): string[] {
  return [...new Set(texts)]
}
