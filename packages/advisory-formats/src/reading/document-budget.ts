import { formatLimits } from '../limits.ts'
import { problemWith, type Value } from '../syntax/source-value.ts'

/**
 * Limits how much a document expands to: one statement about many products becomes an event of each, with its note and all its
 * aliases. Throws a DocumentProblem before a limit is exceeded.
 */
export interface DocumentBudget {
  /** Counts an advisory. */
  readonly advisory: (source: Value) => void
  /** Counts an event. */
  readonly event: (noteChars: number, source: Value) => void
  /** Counts an annotation of a product. */
  readonly annotation: (source: Value) => void
  /** Counts the ids that scores apply to. */
  readonly scores: (count: number, source: Value) => void
  /** Returns the distinct aliases of one advisory, in the order of the document. */
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
    `exceeds the limit of ${formatLimits.advisoriesPerDocumentMax} advisories in one document`,
  )
  const events = total(
    formatLimits.advisoryDocumentEventsMax,
    `exceeds the limit of ${formatLimits.advisoryDocumentEventsMax} events in one document`,
  )
  const chars = total(
    formatLimits.advisoryDocumentNoteCharsMax,
    `exceeds the limit of ${formatLimits.advisoryDocumentNoteCharsMax} characters of notes in one document`,
  )
  const names = total(
    formatLimits.advisoryDocumentNamesMax,
    `exceeds the limit of ${formatLimits.advisoryDocumentNamesMax} aliases, scores and annotations in one document`,
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
