import { formatLimits } from '../limits.ts'
import { DocumentProblem, type Fields, type Value } from './source-value.ts'

/** Checks that apply to the trees of every syntax: number of values, depth, and names of fields. */
export interface TreeBuilder {
  /** Adds a value to its parent, if it has one. */
  readonly add: <V extends Value>(value: V) => V
  readonly checkDepth: (depth: number, at: number) => void
  readonly checkName: (fields: Fields, name: string, at: number) => void
}

export function createTreeBuilder(): TreeBuilder {
  let values = 0
  return {
    add: (value) => {
      if (++values > formatLimits.advisoryValuesMax) {
        throw new DocumentProblem(
          value.at,
          `the document has more than ${formatLimits.advisoryValuesMax} values: split it`,
        )
      }
      if (value.parent?.kind === 'list') value.parent.items.push(value)
      else value.parent?.byName.set(value.name, value)
      return value
    },
    checkDepth: (depth, at) => {
      if (depth > formatLimits.advisoryDepthMax) {
        throw new DocumentProblem(
          at,
          `the document is nested deeper than ${formatLimits.advisoryDepthMax} levels`,
        )
      }
    },
    checkName: (fields, name, at) => {
      if (name.length > formatLimits.advisoryNameCharsMax) {
        throw new DocumentProblem(
          at,
          `the name of a field has more than ${formatLimits.advisoryNameCharsMax} characters`,
        )
      }
      // Later code that creates plain objects from the document must not change their prototype.
      if (name === '__proto__') throw new DocumentProblem(at, 'a field must not be named __proto__')
      if (name.includes('\0') || !name.isWellFormed()) {
        throw new DocumentProblem(at, 'the name of a field is not Unicode text without U+0000')
      }
      if (fields.byName.has(name))
        throw new DocumentProblem(at, `the field ${JSON.stringify(name)} occurs twice`)
    },
  }
}
