import { LRUCache } from 'lru-cache'
import { limits } from '../../config/limits.ts'
import type { ParameterDeclaration } from '../rules/parameters.ts'
import type { PolicyRule } from '../rules/policy-rule.ts'
import type { Diagnostic } from './source.ts'

/** A rule, or the problems of its expression. */
type Compiled = PolicyRule | readonly Diagnostic[]

/** Compiled expressions, by their text. */
const compiled = new LRUCache<string, Promise<Compiled>>({ max: limits.policyExpressionsCachedMax })

/** Compiles an expression, or returns its problems. */
export function compileExpression(text: string): Promise<Compiled> {
  const known = compiled.get(text)
  if (known !== undefined) return known
  const result = compile(text, [])
  compiled.set(text, result)
  result.catch(() => compiled.delete(text))
  return result
}

/** Returns the problems of an expression that can also use some parameters that it does not declare. */
export async function validateExpression(
  text: string,
  more: readonly ParameterDeclaration[],
): Promise<readonly Diagnostic[]> {
  const result = await compile(text, more)
  return isRule(result) ? [] : result
}

async function compile(text: string, more: readonly ParameterDeclaration[]): Promise<Compiled> {
  return (await loadExpressions()).compile(text, more)
}

/** Loads the library of CEL, for which a start would need 3 % of its time. */
export const loadExpressions = () => import('./expression.ts')

export function isRule(result: Compiled): result is PolicyRule {
  return !Array.isArray(result)
}
