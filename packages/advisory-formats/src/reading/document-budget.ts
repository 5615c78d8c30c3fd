import { formatLimits } from '../limits.ts'
import { problemWith, type Value } from '../syntax/source-value.ts'

/**
 * One statement about many products becomes an event of each, with its note and all its aliases: a small document can say very
 * much. Counts what it grows to, and throws a DocumentProblem before that is too much.
 */
export interface DocumentBudget {
  /** Another advisory. */
  readonly advisory: (source: Value) => void
  /** Another event of one of them. */
  readonly event: (noteChars: number, source: Value) => void
  /** Something said beside the status of one product. */
  readonly annotation: (source: Value) => void
  /** Scores of so many ids. */
  readonly scores: (count: number, source: Value) => void
  /** The aliases of one advisory: each once, in the order of the document. */
  readonly aliases: (aliases: readonly string[], source: Value) => string[]
}

export function createDocumentBudget(): DocumentBudget {
  const total = (max: number, problem: string) => {
    let sum = 0
    return (count: number, source: Value) => {
      sum += count
      if (sum > max) throw problemWith(source, problem)
    }
  }
  const advisories = total(
    formatLimits.advisoriesPerDocumentMax,
    `is more than the ${formatLimits.advisoriesPerDocumentMax} advisories that a document may have`,
  )
  const events = total(
    formatLimits.advisoryDocumentEventsMax,
    `makes more than the ${formatLimits.advisoryDocumentEventsMax} events that a document may have`,
  )
  const chars = total(
    formatLimits.advisoryDocumentNoteCharsMax,
    `repeats notes to more than ${formatLimits.advisoryDocumentNoteCharsMax} characters`,
  )
  const names = total(
    formatLimits.advisoryDocumentNamesMax,
    `repeats ids and remarks for more than ${formatLimits.advisoryDocumentNamesMax} products`,
  )
  return {
    advisory: (source) => advisories(1, source),
    event: (noteChars, source) => {
      events(1, source)
      chars(noteChars, source)
    },
    annotation: (source) => names(1, source),
    scores: names,
    aliases: (aliases, source) => {
      names(aliases.length, source)
      const distinct = [...new Set(aliases)]
      if (distinct.length > formatLimits.advisoryAliasesMax) {
        throw problemWith(source, `has more than ${formatLimits.advisoryAliasesMax} aliases`)
      }
      return distinct
    },
  }
}
