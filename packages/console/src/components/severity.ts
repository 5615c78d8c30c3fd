import type { FindingCount, FindingSeverity } from '@berth/client'
import type { Tone } from './badge.tsx'

/** Severities as users read them. */

/** Names of severities, the highest first. */
export const severities = ['critical', 'high', 'medium', 'low', 'none', 'unknown'] as const

export type SeverityName = (typeof severities)[number]

export const severityChoices = severities.map((id) => ({
  id,
  name: `${id.charAt(0).toUpperCase()}${id.slice(1)}`,
}))

export const toneOfSeverity = (label: string): Tone =>
  label === 'critical' || label === 'high' ? 'bad' : label === 'medium' ? 'warn' : 'plain'

/** The name of a severity of the API; `unknown` for one that this page does not know. */
export const severityName = (severity: FindingSeverity | undefined): SeverityName =>
  severities.find((name) => `SEVERITY_${name.toUpperCase()}` === severity) ?? 'unknown'

/** Sums numbers of findings by severity, those that do not affect the image left out. */
export function countBySeverity(counts: readonly FindingCount[]): ReadonlyMap<SeverityName, number> {
  const sums = new Map<SeverityName, number>()
  for (const { state, severity, count } of counts) {
    if (state === 'STATE_NOT_AFFECTED') continue
    const name = severityName(severity)
    sums.set(name, (sums.get(name) ?? 0) + Number(count))
  }
  return sums
}
