import { limits } from '../../config/limits.ts'
import {
  checkParameter,
  type ParameterDeclaration,
  type ParameterValue,
  parameterNamePattern,
} from '../rules/parameters.ts'

/** The text of a policy: comment lines, which may declare parameters, and a CEL expression. Pure. */

/** A problem in the text. `line` and `column` count from 1; 0: the whole text, or the whole line. */
export interface Diagnostic {
  readonly line: number
  readonly column: number
  readonly message: string
}

export interface ExpressionSource {
  /** The text with spaces instead of comments, so that positions stay. */
  readonly code: string
  readonly parameters: readonly ParameterDeclaration[]
}

const declarationPattern = /^\/\/ param ([^\s:=]+): *([a-z_]+)(?: *= *(.+?))?(?: +-- (.*))?$/

const parameterTypes: readonly string[] = ['string', 'integer', 'string_list', 'boolean']

/** Returns the parts of a policy, or its problems. Lines that start with `//` are comments. */
export function readSource(text: string): ExpressionSource | readonly Diagnostic[] {
  const { policyExpressionCharsMax: charsMax } = limits
  const whole = (message: string) => [{ line: 0, column: 0, message }]
  if (text.trim() === '') return whole('the expression is empty')
  if (text.length > charsMax) return whole(`the expression has more than ${charsMax} characters`)
  if (/[^\P{Cc}\t\n\r]/u.test(text)) return whole('the expression has control characters')
  const parameters: ParameterDeclaration[] = []
  const problems: Diagnostic[] = []
  const lines = text.split('\n').map((line, at) => {
    if (!line.trimStart().startsWith('//')) return line
    const declaration = readDeclaration(line.trim())
    if (typeof declaration === 'string') problems.push({ line: at + 1, column: 0, message: declaration })
    else if (declaration !== undefined) parameters.push(declaration)
    return ' '.repeat(line.length)
  })
  const names = parameters.map(({ name }) => name)
  if (new Set(names).size < names.length) problems.push(...whole('a parameter is declared twice'))
  if (names.length > limits.policyParametersMax)
    problems.push(...whole(`the expression has more than ${limits.policyParametersMax} parameters`))
  if (problems.length > 0) return problems
  return { code: lines.join('\n'), parameters }
}

/** Reads `// param days: integer = 30 -- age in days`. Returns a problem as text, and undefined for other comments. */
function readDeclaration(line: string): ParameterDeclaration | string | undefined {
  if (!/^\/\/\s*param\s/.test(line)) return undefined
  const [, name = '', type = '', initial, description = ''] = declarationPattern.exec(line) ?? []
  if (name === '')
    return 'a parameter is declared as: // param NAME: TYPE = DEFAULT -- DESCRIPTION, where the default and the description are optional'
  if (!parameterNamePattern.test(name))
    return `the name of a parameter must match ${parameterNamePattern.source}`
  if (name === 'allow_unknown') return 'every policy has the parameter allow_unknown'
  if (!parameterTypes.includes(type)) return `the type of a parameter must be ${parameterTypes.join(', ')}`
  const declaration = { name, type: type as ParameterDeclaration['type'], description }
  if (initial === undefined) return declaration
  const value = parseDefault(initial)
  const problem = checkParameter(declaration, value)
  if (problem !== undefined || value === undefined)
    return `the default of ${name} ${problem ?? 'must be JSON'}`
  return { ...declaration, default: value }
}

function parseDefault(text: string): ParameterValue | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value
    return Array.isArray(value) && value.every((one) => typeof one === 'string') ? value : undefined
  } catch {
    return undefined
  }
}
