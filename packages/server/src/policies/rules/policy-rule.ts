import type { FactName, ImageFacts } from '../facts/image-facts.ts'
import type { ParameterDeclaration, Parameters } from './parameters.ts'

/** What a policy decides: the same for system policies and for expressions. */
export interface PolicyRule {
  /** Besides `allow_unknown`. */
  readonly parameters: readonly ParameterDeclaration[]
  /** The facts that it needs to evaluate. */
  needs(parameters: Parameters): readonly FactName[]
  /** Returns why the image may not be pulled; undefined if it may. Throws an Error if it cannot tell. */
  evaluate(facts: Partial<ImageFacts>, parameters: Parameters, nowMs: number): string | undefined
}
