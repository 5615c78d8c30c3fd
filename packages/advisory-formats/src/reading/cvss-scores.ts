import { Severity_Type as SeverityType } from '@berth/contract/gen/chainguard/platform/vulnerabilities/v2beta1/advisories_pb.js'
import type { Score } from '../advisory-record.ts'
import { formatLimits } from '../limits.ts'
import { type Fields, problemWith } from '../syntax/source-value.ts'
import { field, markRead, objectsIn, peek, readName, requireField } from '../syntax/value-fields.ts'

/** Reads CVSS vectors. The schema has no other scoring methods; their scores stay unread. */

const osvTypes = new Map([
  ['CVSS_V2', SeverityType.CVSS_V2],
  ['CVSS_V3', SeverityType.CVSS_V3],
  ['CVSS_V4', SeverityType.CVSS_V4],
])

/** Reads the `severity` of an OSV record or of one of its `affected` entries. */
export function osvScores(fields: Fields): Score[] {
  const severities = objectsIn(fields, 'severity')
  const tooMany = severities[formatLimits.advisoryScoresMax]
  if (tooMany !== undefined)
    throw problemWith(tooMany, `exceeds the limit of ${formatLimits.advisoryScoresMax} scores`)
  return distinctScores(
    severities.flatMap((severity) => {
      const type = osvTypes.get(peek(severity, 'type'))
      if (type === undefined) return []
      markRead(field(severity, 'type'))
      return [{ type, score: readName(requireField(severity, 'score')) }]
    }),
  )
}

const csafMembers = [
  ['cvss_v2', SeverityType.CVSS_V2],
  ['cvss_v3', SeverityType.CVSS_V3],
  ['cvss_v4', SeverityType.CVSS_V4],
] as const

/** Reads one of the `scores` of a CSAF vulnerability. */
export function csafScores(score: Fields): Score[] {
  return csafMembers.flatMap(([name, type]) => {
    const cvss = field(score, name)
    if (cvss?.kind !== 'fields') return []
    return [{ type, score: readName(requireField(cvss, 'vectorString')) }]
  })
}

export function distinctScores(scores: readonly Score[]): Score[] {
  return [...new Map(scores.map((score) => [`${score.type} ${score.score}`, score])).values()]
}
