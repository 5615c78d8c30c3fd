import { nameOf, stableId } from './written-image.ts'
import {
  outdatedSentence,
  pathsByPurl,
  problemSentence,
  uncoveredSentence,
  type WrittenFinding,
  type WrittenReport,
} from './written-report.ts'

/**
 * Writes SARIF 2.1.0 with a rule for each vulnerability and a result for each package that has it. Findings that do not affect the image
 * are suppressed results. Reading it again returns the same vulnerabilities.
 */
export function writeSarif(report: WrittenReport): string {
  const { image, contents, findings, databaseBuilt, uncovered, isCurrent } = report
  const byId = Map.groupBy(findings, ({ id }) => id)
  const indexes = new Map([...byId.keys()].map((id, at) => [id, at]))
  const paths = pathsByPurl(contents)
  return JSON.stringify({
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: {
            name: image.tool.name,
            version: image.tool.version,
            rules: [...byId].map(([id, its]) => ruleOf(id, its)),
          },
        },
        // Results of different images in one repository do not replace each other.
        automationDetails: { id: `${image.tool.name}/${image.repository}/` },
        columnKind: 'utf16CodeUnits',
        originalUriBaseIds: { [ROOT]: { uri: 'file:///' } },
        invocations: [
          {
            executionSuccessful: true,
            endTimeUtc: image.created.toISOString(),
            toolExecutionNotifications: [
              ...uncovered.map(uncoveredSentence),
              ...contents.problems.map(problemSentence),
              ...(isCurrent ? [] : [outdatedSentence]),
            ].map((text) => ({ level: 'warning', message: { text } })),
          },
        ],
        results: findings.map((finding) =>
          resultOf(finding, {
            index: indexes.get(finding.id) ?? -1,
            paths: paths.get(finding.purl) ?? [],
            repository: image.repository,
          }),
        ),
        properties: {
          image: `${image.repository}@${image.digest}`,
          advisoriesTime: databaseBuilt?.toISOString() ?? '',
        },
      },
    ],
  })
}

/** The root of the image. */
const ROOT = 'IMAGE'

function ruleOf(id: string, findings: readonly WrittenFinding[]): object {
  const severity = severities.find((one) => findings.some((finding) => finding.severity === one)) ?? 'unknown'
  const first = findings.find((finding) => finding.severity === severity)
  const description = findings.find((finding) => finding.description !== '')?.description ?? id
  const details = findings.find((finding) => finding.details !== '')?.details
  const urls = findings.flatMap(({ relatedUrls }) => relatedUrls)
  const cvss = findings.flatMap((finding) => finding.cvss)
  const vectorOf = (start: string) => cvss.find(({ version }) => version.startsWith(start))?.score
  const score = securityScore(severity, first?.score)
  const cwes = [...new Set(findings.flatMap((finding) => finding.cwes))]
  const { isKnownExploited = false, epss } = first ?? {}
  return {
    id,
    name: 'Vulnerability',
    shortDescription: { text: description },
    ...(details === undefined ? {} : { fullDescription: { text: details } }),
    ...(urls[0] === undefined ? {} : { helpUri: urls[0] }),
    help: {
      text: [description, ...(details === undefined ? [] : [details]), ...new Set(urls)].join('\n\n'),
    },
    defaultConfiguration: { level: levels[severity] },
    properties: {
      ...(score === undefined ? {} : { 'security-severity': score }),
      precision: 'very-high',
      tags: [
        'security',
        'vulnerability',
        severity,
        ...(isKnownExploited ? ['known-exploited'] : []),
        // As code scanning shows them.
        ...cwes.map((cwe) => `external/cwe/${cwe.toLowerCase()}`),
      ],
      ...(epss === undefined ? {} : { epss }),
      aliases: [...new Set(findings.flatMap(({ aliases }) => aliases))],
      relatedUrls: [...new Set(urls)],
      ...(vectorOf('4') === undefined ? {} : { cvssV4_vector: vectorOf('4') }),
      ...(vectorOf('3') === undefined ? {} : { cvssV3_vector: vectorOf('3') }),
      ...(vectorOf('2') === undefined ? {} : { cvssV2_vector: vectorOf('2') }),
    },
  }
}

interface ResultContext {
  readonly index: number
  readonly paths: readonly string[]
  readonly repository: string
}

function resultOf(finding: WrittenFinding, { index, paths, repository }: ResultContext): object {
  const { id, purl, version, state, severity, fixedVersion, justification } = finding
  const name = purl.split(/[?#]/, 1)[0] ?? purl
  return {
    ruleId: id,
    ruleIndex: index,
    level: levels[severity],
    message: { text: messageOf(finding, name) },
    locations: (paths.length === 0 ? [''] : paths).map((path) => ({
      physicalLocation: {
        // Code scanning shows only results with a file and a line.
        artifactLocation:
          path === ''
            ? { uri: nameOf(repository) }
            : { uri: path.split('/').map(encodeURIComponent).join('/'), uriBaseId: ROOT },
        region: { startLine: 1 },
      },
      logicalLocations: [{ fullyQualifiedName: name, kind: 'package' }],
    })),
    // Equal for other versions of the package: an upgrade does not open the result again.
    partialFingerprints: {
      primaryLocationLineHash: `${stableId(id, name.replace(/@[^/@]*$/, ''), paths[0] ?? '')}:1`,
    },
    ...(state === 'not-affected'
      ? { suppressions: [{ kind: 'external', status: 'accepted', justification }] }
      : {}),
    properties: {
      purls: [purl],
      version,
      state,
      severity,
      fixedVersions: fixedVersion === '' ? [] : [fixedVersion],
      ...(finding.willNotFix ? { fixState: 'wont-fix' } : {}),
    },
  }
}

function messageOf(
  { id, state, severity, fixedVersion, justification }: WrittenFinding,
  name: string,
): string {
  const because = justification === '' ? '' : `: ${justification}`
  switch (state) {
    case 'not-affected':
      return `${name} is not affected by ${id}${because}.`
    case 'under-investigation':
      return `Whether ${name} is affected by ${id} (severity ${severity}) is not decided${because}.`
    case 'unknown':
      return `Whether ${name} is affected by ${id} (severity ${severity}) is unknown${because}.`
    case 'pending-upstream':
      return `${name} is affected by ${id} (severity ${severity}). The fix waits for its authors${because}.`
    case 'affected':
      return fixedVersion === ''
        ? `${name} is affected by ${id} (severity ${severity}). No fix is known${because}.`
        : `${name} is affected by ${id} (severity ${severity}). Version ${fixedVersion} fixes it.`
  }
}

/** The highest first. */
const severities = ['critical', 'high', 'medium', 'low', 'none', 'unknown'] as const

const levels: Readonly<Record<WrittenFinding['severity'], string>> = {
  critical: 'error',
  high: 'error',
  medium: 'warning',
  low: 'note',
  none: 'note',
  unknown: 'warning',
}

/** Scores from which code scanning derives severities. CVSS 2 has no critical ones. */
const bounds: Readonly<Record<string, readonly [min: number, max: number]>> = {
  critical: [9, 10],
  high: [7, 8.9],
  medium: [4, 6.9],
  low: [0.1, 3.9],
}

function securityScore(severity: string, score: number | undefined): string | undefined {
  const bound = bounds[severity]
  if (bound === undefined) return severity === 'none' ? '0.0' : undefined
  const [min, max] = bound
  return Math.min(Math.max(score ?? min, min), max).toFixed(1)
}
