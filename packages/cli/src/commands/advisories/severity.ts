import { createRequire } from 'node:module'
import type { Severity } from '@berth/client/berth.ts'

/** Severity ratings from CVSS vectors. */

export interface Rating {
  readonly score: number
  /** `critical`, `high`, `medium`, `low` or `none`. */
  readonly label: string
  readonly vector: string
}

/** Loaded on use. */
const loadCalculator = () =>
  createRequire(import.meta.url)('ae-cvss-calculator') as typeof import('ae-cvss-calculator')

const rated = new Map<string, Rating | undefined>()

/** Returns the base score of a vector; undefined if it is invalid. */
export function rateVector(vector: string): Rating | undefined {
  if (!rated.has(vector)) rated.set(vector, calculateRating(vector))
  return rated.get(vector)
}

function calculateRating(vector: string): Rating | undefined {
  const { Cvss2, Cvss3P0, Cvss3P1, Cvss4P0 } = loadCalculator()
  const isSecond = !vector.startsWith('CVSS:')
  const Version = isSecond
    ? Cvss2
    : vector.startsWith('CVSS:4.0/')
      ? Cvss4P0
      : vector.startsWith('CVSS:3.1/')
        ? Cvss3P1
        : Cvss3P0
  try {
    const { base } = new Version(vector).calculateScores()
    if (base === undefined || !Number.isFinite(base)) return undefined
    const score = base + 0 // never -0
    return { score, label: severityLabel(score, isSecond), vector }
  } catch {
    return undefined
  }
}

/** CVSS v2 has no severity above high. */
function severityLabel(score: number, isSecond: boolean): string {
  if (score >= 9 && !isSecond) return 'critical'
  if (score >= 7) return 'high'
  if (score >= 4) return 'medium'
  return score > 0 || isSecond ? 'low' : 'none'
}

/** Returns the highest rating of the newest CVSS version. */
export function worstRating(severities: readonly Severity[]): Rating | undefined {
  const newestFirst = Object.entries(Object.groupBy(severities, ({ type }) => type)).sort(([a], [b]) =>
    a < b ? 1 : -1,
  )
  for (const [, ofVersion = []] of newestFirst) {
    const ratings = ofVersion.flatMap(({ score }) => rateVector(score) ?? [])
    if (ratings.length > 0) return ratings.reduce((worst, one) => (one.score > worst.score ? one : worst))
  }
  return undefined
}
