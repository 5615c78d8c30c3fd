import { TimestampSchema } from '@berth/contract/gen/google/protobuf/timestamp_pb.js'
import { type CelInput, CelScalar, celEnv, isCelError, parse, plan } from '@bufbuild/cel'
import { create } from '@bufbuild/protobuf'
import type { Timestamp } from '@bufbuild/protobuf/wkt'
import { timestampOf } from '../../api/messages.ts'
import { limits } from '../../config/limits.ts'
import { compilePattern } from '../../tokens/trust/patterns.ts'
import type { FactName, ImageFacts } from '../facts/image-facts.ts'
import type { ParameterDeclaration, Parameters, ParameterValue } from '../rules/parameters.ts'
import type { PolicyRule } from '../rules/policy-rule.ts'
import { countedList, countedMap, withBudget } from './budget.ts'
import { checkExpression } from './checks.ts'
import { type Diagnostic, readSource } from './source.ts'

/**
 * Policies in CEL (ADR 55): an expression with the variables `image` (facts), `params` (parameters of the binding) and `now`, which is true for
 * an image that may be pulled. Its size, its depth and its steps are bounded, and its patterns are matched in linear time.
 */

const env = celEnv({
  variables: { image: CelScalar.DYN, params: CelScalar.DYN, now: CelScalar.DYN },
  re2: { compile: compileSearch },
})

/** Returns a matcher of a part of a text, as CEL defines `matches`. Throws an Error for an invalid pattern. */
function compileSearch(pattern: string) {
  const compiled = compilePattern(`[\\s\\S]*(?:${pattern})[\\s\\S]*`)
  if ('error' in compiled) throw new Error(`the pattern ${compiled.error}`)
  return compiled
}

/**
 * Compiles an expression, or returns its problems. It can use some parameters that it does not declare. `compiled.ts` loads this module, and
 * the library with it, when the first expression is needed.
 */
export function compile(
  text: string,
  more: readonly ParameterDeclaration[],
): PolicyRule | readonly Diagnostic[] {
  const source = readSource(text)
  if (!('code' in source)) return source
  const declared = [...source.parameters, ...more]
  const tooDeep = findDeepBracket(source.code)
  if (tooDeep !== undefined)
    return [
      {
        ...positionOf(source.code, tooDeep),
        message: `brackets are nested deeper than ${limits.policyExpressionDepthMax} levels`,
      },
    ]
  const parsed = parseCode(source.code)
  if ('message' in parsed) return [parsed]
  const { expr, positions } = parsed
  const names = new Set(declared.map(({ name }) => name))
  const { problems, facts } = checkExpression(expr, env, names)
  const diagnose = (id: bigint | undefined, message: string): Diagnostic => {
    const offset = id === undefined ? undefined : positions[String(id)]
    const position = offset === undefined ? { line: 0, column: 0 } : positionOf(source.code, offset)
    return { ...position, message }
  }
  if (problems.length > 0)
    return problems
      .slice(0, limits.policyDiagnosticsMax)
      .map(({ id, message }) => diagnose(id, message))
      .toSorted((a, b) => a.line - b.line || a.column - b.column)
  const needed = [...facts]
  const run = plan(env, expr)
  const runExpression = (values: Partial<ImageFacts>, parameters: Parameters, nowMs: number) =>
    withBudget(() =>
      run({ image: imageOf(values, needed), params: paramsOf(parameters), now: timeOf(nowMs) } as never),
    )
  const tried = tryExample(runExpression, declared)
  if (tried !== undefined) return [diagnose(tried.id, tried.message)]
  return {
    parameters: source.parameters,
    needs: () => needed,
    evaluate(values, parameters, nowMs) {
      const result = runExpression(values, parameters, nowMs)
      if (isCelError(result)) throw new Error(result.message)
      if (typeof result !== 'boolean') throw new Error('the expression is not true or false')
      return result ? undefined : 'its expression is false'
    },
  }
}

interface Parsed {
  readonly expr: ReturnType<typeof parse>['expr']
  /** Offsets in the text by the ids of expressions. */
  readonly positions: Readonly<Record<string, number>>
}

function parseCode(code: string): Parsed | Diagnostic {
  try {
    const { expr, sourceInfo } = parse(code)
    return { expr, positions: sourceInfo?.positions ?? {} }
  } catch (error) {
    const { location, rawMessage } = error as {
      readonly location?: { readonly start: { readonly line: number; readonly column: number } }
      readonly rawMessage?: string
    }
    if (location === undefined)
      return { line: 0, column: 0, message: `is not a CEL expression: ${(error as Error).message}` }
    const { line, column } = location.start
    return { line, column, message: rawMessage ?? 'syntax error' }
  }
}

/** Finds the bracket that is nested too deep: the parser recurses. Brackets in texts count too. */
function findDeepBracket(code: string): number | undefined {
  let depth = 0
  for (let at = 0; at < code.length; at++) {
    const char = code[at] as string
    if ('([{'.includes(char) && ++depth > limits.policyExpressionDepthMax) return at
    if (')]}'.includes(char)) depth--
  }
  return undefined
}

function positionOf(code: string, offset: number): Pick<Diagnostic, 'line' | 'column'> {
  const before = code.slice(0, offset)
  return { line: before.split('\n').length, column: offset - before.lastIndexOf('\n') }
}

function timeOf(ms: number): Timestamp {
  return create(TimestampSchema, timestampOf(ms))
}

/** The facts in the types of CEL. */
const celFacts: { readonly [N in FactName]: (value: ImageFacts[N]) => unknown } = {
  repository: (value) => value,
  tag: (value) => value,
  tags: (value) => countedList(value),
  digest: (value) => value,
  pushed: timeOf,
  annotations: (value) => countedMap(value),
  signers: (value) => countedList([...new Set(value.map(({ name }) => name))]),
  created: timeOf,
  labels: (value) => countedMap(value),
  platform: (value) => value,
  base_name: (value) => value,
  base_digest: (value) => value,
  contents_known: (value) => value,
  packages: (value) => countedMap([...value].map(([name, versions]) => [name, countedList(versions)])),
  licenses: (value) => countedList(value),
  vulnerabilities: (value) =>
    countedList(
      value.map(
        ({ id, severity, fixed, days, epss }) =>
          new Map<string, unknown>([
            ['id', id],
            ['severity', severity],
            ['fixed', fixed],
            ['days', BigInt(Math.floor(days))],
            // Without a catalog, an expression that uses it cannot be evaluated.
            ...(epss === undefined ? [] : [['epss', epss] as const]),
          ]),
      ),
    ),
  known_exploited: (value) => countedList([...new Set(value.map(({ id }) => id))]),
  distribution: (value) => value,
  end_of_life: timeOf,
}

function imageOf(facts: Partial<ImageFacts>, needed: readonly FactName[]): CelInput {
  return new Map(
    needed.map((name) => [name, (celFacts[name] as (value: unknown) => CelInput)(facts[name])]),
  ) as CelInput
}

function paramsOf(parameters: Parameters): CelInput {
  return new Map(Object.entries(parameters).map(([name, value]) => [name, celParameter(value)])) as CelInput
}

function celParameter(value: ParameterValue): CelInput {
  if (typeof value === 'number') return BigInt(value)
  return typeof value === 'object' ? countedList(value) : value
}

/** An image with a value for each fact. */
const exampleFacts: ImageFacts = {
  repository: 'tools/app',
  tag: 'v1.0.0',
  tags: ['v1.0.0'],
  digest: `sha256:${'0'.repeat(64)}`,
  pushed: 0,
  annotations: new Map([['a', 'b']]),
  signers: [{ name: 'release@example.com', verifier: '' }],
  created: 0,
  labels: new Map([['a', 'b']]),
  platform: 'linux/amd64',
  base_name: 'docker.io/library/debian:12',
  base_digest: `sha256:${'0'.repeat(64)}`,
  contents_known: true,
  packages: new Map([['a', ['1']]]),
  licenses: ['MIT'],
  vulnerabilities: [{ id: 'CVE-2026-0001', severity: 'low', fixed: true, days: 1, epss: 0.5 }],
  known_exploited: [{ id: 'CVE-2026-0001', days: 1 }],
  distribution: 'debian:12',
  end_of_life: 0,
}

const exampleParameters: Readonly<Record<ParameterDeclaration['type'], ParameterValue>> = {
  string: 'a',
  integer: 1,
  string_list: ['a'],
  boolean: true,
}

/** Evaluates the expression once, and returns an error that no other image would avoid: of types, or a value that is not a boolean. */
function tryExample(
  evaluate: (facts: ImageFacts, parameters: Parameters, nowMs: number) => unknown,
  declared: readonly ParameterDeclaration[],
): { readonly id: bigint | undefined; readonly message: string } | undefined {
  const parameters = Object.fromEntries(
    declared.map(({ name, type, default: initial }) => [name, initial ?? exampleParameters[type]]),
  )
  try {
    const result = evaluate(exampleFacts, parameters, 0)
    if (!isCelError(result))
      return typeof result === 'boolean'
        ? undefined
        : { id: undefined, message: 'the expression must be true or false' }
    return /no matching overload|unbound function|type mismatch/.test(result.message)
      ? { id: result.exprId, message: result.message }
      : undefined
  } catch (error) {
    return { id: undefined, message: `cannot be evaluated: ${(error as Error).message}` }
  }
}
