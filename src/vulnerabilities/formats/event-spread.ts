import { limits } from '../../core/limits.ts'
import { problemWith, type Value } from './source-value.ts'

/**
 * One statement about many products becomes an event of each, with its note: a small document can say very much. Counts what it
 * grows to, and throws a DocumentProblem before that is too much.
 */
export type EventSpread = (noteChars: number, source: Value) => void

export function eventSpread(): EventSpread {
  let events = 0
  let chars = 0
  return (noteChars, source) => {
    events++
    chars += noteChars
    if (events > limits.advisoryDocumentEventsMax) {
      throw problemWith(
        source,
        `makes more than the ${limits.advisoryDocumentEventsMax} events that a document may have`,
      )
    }
    if (chars > limits.advisoryDocumentNoteCharsMax) {
      throw problemWith(
        source,
        `repeats notes to more than ${limits.advisoryDocumentNoteCharsMax} characters`,
      )
    }
  }
}
