import { documentLimits } from '../documents/document-limits.ts'
import { DocumentProblem } from '../documents/document-problem.ts'
import {
  identifyingText,
  type JsonObject,
  numberIn,
  rawText,
  shown,
  shownText,
} from '../documents/json-values.ts'
import type { ReportedCvss, ReportedSeverity, ReportedVulnerability } from './scanner-report.ts'

const {
  reportCharsMax,
  reportFindingsMax,
  reportListMax,
  reportTextCharsMax,
  sbomNameCharsMax,
  sbomPurlCharsMax,
} = documentLimits

const severities: Readonly<Record<string, ReportedSeverity>> = {
  critical: 'CRITICAL',
  high: 'HIGH',
  important: 'HIGH',
  medium: 'MEDIUM',
  moderate: 'MEDIUM',
  low: 'LOW',
  negligible: 'NEGLIGIBLE',
  info: 'NEGLIGIBLE',
  none: 'NEGLIGIBLE',
}

export function severityOf(text: string): ReportedSeverity {
  const name = text.trim().toLowerCase()
  return Object.hasOwn(severities, name) ? (severities[name] as ReportedSeverity) : 'UNKNOWN'
}

/** The qualitative scale of CVSS 3 and 4. */
export function severityOfScore(score: number): ReportedSeverity {
  if (score >= 9) return 'CRITICAL'
  if (score >= 7) return 'HIGH'
  if (score >= 4) return 'MEDIUM'
  return score > 0 ? 'LOW' : 'NEGLIGIBLE'
}

/** Returns the score of a vector, with the version that the vector states, else the given one; none if the vector is none. */
export function cvssOf(vector: string, version = ''): ReportedCvss[] {
  const text = shown(vector, sbomNameCharsMax)
  const stated = /^CVSS:(\d\.\d)\//.exec(text)?.[1]
  if (stated !== undefined) return [{ score: text, version: stated }]
  return /^\(?AV:[LAN]\/AC:[LMH]\/Au:[MSN]\//.test(text)
    ? [{ score: text.replace(/^\(|\)$/g, ''), version: version || '2.0' }]
    : []
}

/** Returns an id of a vulnerability. Fails with a DocumentProblem if it is absent or not one line. */
export function requireId(object: JsonObject, name: string): string {
  const id = identifyingText(object, name, sbomNameCharsMax)
  if (id === '') throw new DocumentProblem(`a finding has no ${name}`)
  return id
}

export function descriptionIn(object: JsonObject | undefined, name: string): string {
  return shownText(object, name, reportTextCharsMax)
}

/** Returns text of several lines; '' if it is longer than the limit. */
export function detailsIn(object: JsonObject | undefined, name: string): string {
  return rawText(object, name)
    .split('\n')
    .map((line) => shown(line, reportTextCharsMax))
    .join('\n')
    .slice(0, reportTextCharsMax)
}

/** Distinct texts that are shown, without empty ones. */
export function distinctTexts(texts: readonly string[]): string[] {
  // A report can repeat a long text by reference: equal texts are checked one time.
  const lines = [...new Set(texts.slice(0, reportListMax))].map((text) => shown(text, sbomPurlCharsMax))
  return [...new Set(lines.filter((text) => text !== ''))]
}

/** Web addresses: reports are shown with links. */
export function webAddresses(texts: readonly string[]): string[] {
  return distinctTexts(texts).filter((text) => /^https?:\/\/\S+$/.test(text))
}

/** Ids other than that of the finding. */
export function aliasesOf(id: string, ids: readonly string[]): string[] {
  return distinctTexts(ids).filter((alias) => alias !== id)
}

/** A number between 0 and 10; undefined for others. */
export function scoreIn(object: JsonObject | undefined, name: string): number | undefined {
  const score = numberIn(object, name)
  return score !== undefined && score >= 0 && score <= 10 ? score : undefined
}

/** Collects findings. Fails with a DocumentProblem for too many, or too much text in all of them. */
export function createFindings() {
  const found: ReportedVulnerability[] = []
  let chars = 0
  return {
    found,
    add: (finding: ReportedVulnerability) => {
      if (found.length === reportFindingsMax) {
        throw new DocumentProblem(`the report has more than ${reportFindingsMax} findings`)
      }
      chars += charsOf(finding)
      if (chars > reportCharsMax) {
        throw new DocumentProblem(`the findings have more than ${reportCharsMax} characters together`)
      }
      found.push(finding)
    },
  }
}

function charsOf(finding: ReportedVulnerability): number {
  const { id, description, details, aliases, purls, relatedUrls, locations, fix, cvss } = finding
  const lists = [aliases, purls, relatedUrls, locations, fix.versions, cvss.map(({ score }) => score)]
  return [id, description, details, ...lists.flat()].reduce((sum, text) => sum + text.length, 0)
}
