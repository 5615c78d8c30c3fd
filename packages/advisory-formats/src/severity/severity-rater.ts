import { createRequire } from 'node:module'
import { type CvssCalculator, createSeverityRater } from './severity-ratings.ts'

/** The ratings of severities in Node. The calculator is loaded on use. */
export const severityRater = createSeverityRater(
  () => createRequire(import.meta.url)('ae-cvss-calculator') as CvssCalculator,
)
