import type { CelEnv, parse } from '@bufbuild/cel'
import { limits } from '../../config/limits.ts'
import { compilePattern } from '../../tokens/trust/patterns.ts'
import { type FactName, factNames, isFactName } from '../facts/image-facts.ts'

/**
 * Checks the syntax tree of an expression before it can run: names, functions, and its size. The library has no public type checker, so what
 * these checks leave is found by evaluating an example (expression.ts). Pure.
 */

type Expr = ReturnType<typeof parse>['expr']

export interface Problem {
  readonly id: bigint
  readonly message: string
}

export interface ExpressionUse {
  readonly problems: readonly Problem[]
  readonly facts: ReadonlySet<FactName>
}

/** Names that are types in expressions such as `type(x) == string`. */
const typeNames: ReadonlySet<string> = new Set([
  'bool',
  'bytes',
  'double',
  'int',
  'list',
  'map',
  'null_type',
  'string',
  'type',
  'uint',
])

interface Place {
  readonly expr: Expr
  readonly depth: number
  /** Comprehensions around it. */
  readonly loops: number
  /** Variables of those. */
  readonly variables: readonly string[]
}

/** `parameters`: the names after `params.` that the policy has. */
export function checkExpression(root: Expr, env: CelEnv, parameters: ReadonlySet<string>): ExpressionUse {
  const problems: Problem[] = []
  const facts = new Set<FactName>()
  const report = (expr: Expr, message: string) => problems.push({ id: expr.id, message })
  const stack: Place[] = [{ expr: root, depth: 1, loops: 0, variables: [] }]
  let nodes = 0

  /** Checks `image.x` and `params.x`; returns whether the operand is one of these variables. */
  const checkMember = (expr: Expr, owner: string, field: string): boolean => {
    if (owner === 'image') {
      if (isFactName(field)) facts.add(field)
      else report(expr, `image.${field} is unknown: images have ${factNames.join(', ')}`)
      return true
    }
    if (owner !== 'params') return false
    if (!parameters.has(field))
      report(expr, `the parameter ${field} is not declared: add a line such as // param ${field}: string`)
    return true
  }

  for (let place = stack.pop(); place !== undefined; place = stack.pop()) {
    const { expr, depth, loops, variables } = place
    if (++nodes > limits.policyExpressionNodesMax) {
      report(root, `the expression has more than ${limits.policyExpressionNodesMax} operations and values`)
      break
    }
    if (depth > limits.policyExpressionDepthMax) {
      report(expr, `the expression is nested deeper than ${limits.policyExpressionDepthMax} levels`)
      break
    }
    const visit = (child: Expr | undefined, more: Partial<Place> = {}) => {
      if (child !== undefined) stack.push({ expr: child, depth: depth + 1, loops, variables, ...more })
    }
    const { case: kind, value } = expr.exprKind
    switch (kind) {
      case 'constExpr':
        break
      case 'identExpr': {
        const { name } = value
        if (name === 'image' || name === 'params')
          report(expr, `${name} can only be used with a member: ${name}.name`)
        else if (!variables.includes(name) && name !== 'now' && !typeNames.has(name))
          report(expr, `${name} is unknown: expressions have image, params and now`)
        break
      }
      case 'selectExpr': {
        const { operand, field } = value
        const owner = operand?.exprKind.case === 'identExpr' ? operand.exprKind.value.name : ''
        if (variables.includes(owner) || !checkMember(expr, owner, field)) visit(operand)
        break
      }
      case 'callExpr': {
        const { function: name, target, args } = value
        if (/^[a-z]/i.test(name) && env.funcs.find(name) === undefined)
          report(expr, `the function ${name} is unknown`)
        if (name === 'matches') checkPatternOf(args.at(-1), report)
        visit(target)
        for (const arg of args) visit(arg)
        break
      }
      case 'listExpr':
        for (const element of value.elements) visit(element)
        break
      case 'structExpr':
        if (value.messageName !== '') report(expr, `the type ${value.messageName} is unknown`)
        for (const entry of value.entries) {
          if (entry.keyKind.case === 'mapKey') visit(entry.keyKind.value)
          visit(entry.value)
        }
        break
      case 'comprehensionExpr': {
        const { accuVar, accuInit, iterVar, iterRange, loopCondition, loopStep, result } = value
        if (accuInit?.exprKind.case === 'listExpr')
          report(expr, 'map and filter are not supported: use all, exists or exists_one')
        if (iterVar === 'image' || iterVar === 'params' || iterVar === 'now')
          report(expr, `${iterVar} cannot be the variable of a loop`)
        if (loops >= limits.policyExpressionLoopsMax)
          report(expr, `loops can be nested in at most ${limits.policyExpressionLoopsMax} levels`)
        visit(iterRange)
        visit(accuInit)
        const inside = { loops: loops + 1, variables: [...variables, iterVar, accuVar] }
        for (const part of [loopCondition, loopStep, result]) visit(part, inside)
        break
      }
      default:
        report(expr, 'is not a CEL expression')
    }
  }
  return { problems, facts }
}

/** Patterns must be constant, so that their size is known. */
function checkPatternOf(arg: Expr | undefined, report: (expr: Expr, message: string) => void): void {
  if (arg === undefined) return
  const constant = arg.exprKind.case === 'constExpr' ? arg.exprKind.value.constantKind : undefined
  if (constant?.case !== 'stringValue') {
    report(arg, 'the pattern of matches must be a text constant')
    return
  }
  const compiled = compilePattern(constant.value)
  if ('error' in compiled) report(arg, `the pattern ${compiled.error}`)
}
