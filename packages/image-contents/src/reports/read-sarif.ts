import { documentLimits } from '../documents/document-limits.ts'
import { timeIn } from '../documents/document-time.ts'
import {
  type JsonObject,
  looseObjectsIn,
  looseTextsIn,
  numberIn,
  objectIn,
  objectsIn,
  rawText,
  shown,
  shownText,
} from '../documents/json-values.ts'
import { imagePath } from '../sbom/package-collector.ts'
import {
  createFindings,
  cvssOf,
  descriptionIn,
  detailsIn,
  distinctTexts,
  requireId,
  scoreIn,
  severityOf,
  severityOfScore,
  webAddresses,
} from './report-values.ts'
import type {
  ReportedCvss,
  ReportedFix,
  ReportedSeverity,
  ReportedVulnerability,
  ScannerReport,
} from './scanner-report.ts'

const { reportFindingsMax, reportListMax, reportTextCharsMax, sbomNameCharsMax } = documentLimits

/** Reads SARIF 2.1.0 of a vulnerability scanner. The tool of the first run is the scanner. Fails with a DocumentProblem. */
export function readSarif(root: JsonObject): ScannerReport {
  const runs = objectsIn(root, 'runs', reportListMax)
  const findings = createFindings()
  const readRule = createRuleReader()
  for (const run of runs) {
    const rules = looseObjectsIn(driverOf(run), 'rules', reportFindingsMax)
    const byId = new Map(rules.map((rule) => [rawText(rule, 'id'), rule]))
    for (const result of objectsIn(run, 'results', reportFindingsMax)) {
      if (!isSuppressed(result)) findings.add(readResult(result, readRule(ruleOf(result, rules, byId))))
    }
  }
  const driver = driverOf(runs[0])
  const [invocation] = looseObjectsIn(runs[0], 'invocations', 1)
  return {
    scanner: {
      name: shownText(driver, 'name', sbomNameCharsMax).toLowerCase(),
      version:
        shownText(driver, 'version', sbomNameCharsMax) ||
        shownText(driver, 'semanticVersion', sbomNameCharsMax),
      databaseBuilt: timeIn(objectIn(runs[0], 'properties'), 'advisoriesTime'),
    },
    created: timeIn(invocation, 'endTimeUtc'),
    vulnerabilities: findings.found,
  }
}

/** A suppression counts unless it waits for a decision or was rejected. */
function isSuppressed(result: JsonObject): boolean {
  return looseObjectsIn(result, 'suppressions', reportListMax).some((suppression) =>
    ['', 'accepted'].includes(rawText(suppression, 'status')),
  )
}

function driverOf(run: JsonObject | undefined): JsonObject | undefined {
  return objectIn(objectIn(run, 'tool'), 'driver')
}

function ruleOf(
  result: JsonObject,
  rules: readonly JsonObject[],
  byId: ReadonlyMap<string, JsonObject>,
): JsonObject | undefined {
  const index = numberIn(result, 'ruleIndex') ?? numberIn(objectIn(result, 'rule'), 'index') ?? -1
  return byId.get(ruleIdOf(result)) ?? rules[index]
}

function ruleIdOf(result: JsonObject): string {
  return rawText(result, 'ruleId') || rawText(objectIn(result, 'rule'), 'id')
}

/** Ids at the start of a rule id: grype appends the name of the package. */
const KNOWN_ID =
  /^(?:CVE-\d{4}-\d{4,}|GHSA(?:-[a-z0-9]{4}){3}|[A-Z]{2,10}-\d{4}[-:]\d+|RUSTSEC-\d{4}-\d{4}|PYSEC-\d{4}-\d+|GO-\d{4}-\d+|ELSA-\d{4}-\d+)/

/** What a rule states about all its results. */
interface RuleValues {
  readonly id: string
  readonly aliases: readonly string[]
  readonly purls: readonly string[]
  readonly description: string
  readonly details: string
  readonly score: number | undefined
  readonly cvss: readonly ReportedCvss[]
  readonly relatedUrls: readonly string[]
}

/** Reads each rule once, however many results refer to it. */
function createRuleReader(): (rule: JsonObject | undefined) => RuleValues {
  const known = new Map<JsonObject | undefined, RuleValues>()
  return (rule) => {
    const values = known.get(rule) ?? ruleValues(rule)
    known.set(rule, values)
    return values
  }
}

function ruleValues(rule: JsonObject | undefined): RuleValues {
  const properties = objectIn(rule, 'properties')
  return {
    id: rawText(rule, 'id'),
    aliases: distinctTexts(looseTextsIn(properties, 'aliases', reportListMax)),
    purls: distinctTexts(looseTextsIn(properties, 'purls', reportListMax)),
    description: descriptionIn(objectIn(rule, 'shortDescription'), 'text'),
    details: detailsIn(objectIn(rule, 'fullDescription'), 'text'),
    score: scoreIn(properties, 'security-severity'),
    cvss: ['cvssV4', 'cvssV3', 'cvssV2'].flatMap((name) =>
      cvssOf(rawText(properties, name) || rawText(properties, `${name}_vector`)),
    ),
    relatedUrls: webAddresses([
      rawText(rule, 'helpUri'),
      ...looseTextsIn(properties, 'relatedUrls', reportListMax),
    ]),
  }
}

function readResult(result: JsonObject, rule: RuleValues): ReportedVulnerability {
  const ruleId = requireId({ ruleId: ruleIdOf(result) || rule.id }, 'ruleId')
  const message = rawText(objectIn(result, 'message'), 'text').slice(0, reportTextCharsMax)
  const properties = objectIn(result, 'properties')
  const own = distinctTexts(looseTextsIn(properties, 'purls', reportListMax))
  return {
    id: KNOWN_ID.exec(ruleId)?.[0] ?? ruleId,
    aliases: rule.aliases,
    purls: own.length === 0 ? rule.purls : [...new Set([...rule.purls, ...own])],
    description: rule.description || shown(message, reportTextCharsMax),
    details: rule.details,
    severity: severityIn(result, rule.score, message),
    cvss: rule.cvss,
    fix: fixOf(properties, message),
    relatedUrls: rule.relatedUrls,
    locations: distinctTexts(
      looseObjectsIn(result, 'locations', reportListMax).map((location) =>
        pathOf(rawText(objectIn(objectIn(location, 'physicalLocation'), 'artifactLocation'), 'uri')),
      ),
    ),
  }
}

/** Tools that write paths as they are may have a percent sign in them. */
function pathOf(uri: string): string {
  try {
    return imagePath(decodeURIComponent(uri))
  } catch {
    return imagePath(uri)
  }
}

/** Stated by this server, or in the words of trivy; else `security-severity` (a CVSS score), else the level, which is coarser. */
function severityIn(result: JsonObject, score: number | undefined, message: string): ReportedSeverity {
  const own = rawText(objectIn(result, 'properties'), 'severity')
  if (own === 'unknown') return 'UNKNOWN'
  const stated = severityOf(own || (/^Severity: (\w+)$/m.exec(message)?.[1] ?? ''))
  if (stated !== 'UNKNOWN') return stated
  if (score !== undefined) return severityOfScore(score)
  const levels: Readonly<Record<string, ReportedSeverity>> = { error: 'HIGH', warning: 'MEDIUM', note: 'LOW' }
  const level = rawText(result, 'level')
  return Object.hasOwn(levels, level) ? (levels[level] as ReportedSeverity) : 'UNKNOWN'
}

/** Stated by this server, or in the words of trivy. */
function fixOf(properties: JsonObject | undefined, message: string): ReportedFix {
  const versions = distinctTexts([
    ...looseTextsIn(properties, 'fixedVersions', reportListMax),
    ...(/^Fixed Version: (.+)$/m.exec(message)?.[1] ?? '').split(',').map((each) => each.trim()),
  ])
  if (versions.length > 0) return { state: 'FIXED', versions }
  return { state: rawText(properties, 'fixState') === 'wont-fix' ? 'WONT_FIX' : 'UNKNOWN', versions }
}
