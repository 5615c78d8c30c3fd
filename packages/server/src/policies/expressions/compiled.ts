import { LRUCache } from 'lru-cache'
import { limits } from '../../config/limits.ts'
import type { ParameterDeclaration } from '../rules/parameters.ts'
import type { PolicyRule } from '../rules/policy-rule.ts'
import type { Diagnostic } from './source.ts'

/** Compiled expressions, by their text. The library of CEL is loaded with the first one, because a start would spend 3 % of its time on it. */
const compiled = new LRUCache<string, PolicyRule | readonly Diagnostic[]>({
  max: limits.policyExpressionsCachedMax,
})

/** Compiles an expression, or returns its problems. */
export async function compileExpression(text: string): Promise<PolicyRule | readonly Diagnostic[]> {
  const known = compiled.get(text)
  if (known !== undefined) return known
  const result = await compile(text, [])
  compiled.set(text, result)
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

async function compile(text: string, more: readonly ParameterDeclaration[]) {
  const library = await import('./expression.ts')
  return library.compile(text, more)
}

export function isRule(result: PolicyRule | readonly Diagnostic[]): result is PolicyRule {
  return !Array.isArray(result)
}
