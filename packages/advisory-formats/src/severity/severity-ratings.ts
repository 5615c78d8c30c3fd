import type * as calculator from 'ae-cvss-calculator'

/** Severity ratings from CVSS vectors. Runs in browsers too: the caller loads the calculator. */

/** The part of `ae-cvss-calculator` that is used. */
export type CvssCalculator = Pick<typeof calculator, 'Cvss2' | 'Cvss3P0' | 'Cvss3P1' | 'Cvss4P0'>

export const severityLabels = ['critical', 'high', 'medium', 'low', 'none'] as const
export type SeverityLabel = (typeof severityLabels)[number]

export interface Rating {
  readonly score: number
  readonly label: SeverityLabel
  readonly vector: string
}

/** A severity of an advisory: the type is the name or the number of the scoring method. */
export interface ScoredSeverity {
  readonly type: string | number
  readonly score: string
}

export interface SeverityRater {
  /** Returns the base score of a vector; undefined if it is invalid. */
  rateVector(vector: string): Rating | undefined
  /** Returns the highest rating of the newest CVSS version. */
  worstRating(severities: readonly ScoredSeverity[]): Rating | undefined
}

const RATED_MAX = 10_000

/** `load` is called with the first vector. */
export function createSeverityRater(load: () => CvssCalculator): SeverityRater {
  const rated = new Map<string, Rating | undefined>()

  function rateVector(vector: string): Rating | undefined {
    if (!rated.has(vector)) {
      // Vectors come from documents.
      if (rated.size >= RATED_MAX) rated.clear()
      rated.set(vector, calculateRating(load(), vector))
    }
    return rated.get(vector)
  }

  function worstRating(severities: readonly ScoredSeverity[]): Rating | undefined {
    const newestFirst = Object.entries(Object.groupBy(severities, ({ type }) => type)).sort(([a], [b]) =>
      a < b ? 1 : -1,
    )
    for (const [, ofVersion = []] of newestFirst) {
      const ratings = ofVersion.flatMap(({ score }) => rateVector(score) ?? [])
      if (ratings.length > 0) return ratings.reduce((worst, one) => (one.score > worst.score ? one : worst))
    }
    return undefined
  }

  return { rateVector, worstRating }
}

function calculateRating(
  { Cvss2, Cvss3P0, Cvss3P1, Cvss4P0 }: CvssCalculator,
  vector: string,
): Rating | undefined {
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
function severityLabel(score: number, isSecond: boolean): SeverityLabel {
  if (score >= 9 && !isSecond) return 'critical'
  if (score >= 7) return 'high'
  if (score >= 4) return 'medium'
  return score > 0 || isSecond ? 'low' : 'none'
}
