import { type ParseErrorCode, printParseErrorCode, visit } from 'jsonc-parser'
import { DocumentProblem, type Entries, type Fields, type Scalar, type Value } from './source-value.ts'
import { createTreeBuilder } from './tree-builder.ts'

/**
 * Parses strict JSON. Throws a DocumentProblem for malformed text, a duplicate name in an object, a number that would lose digits,
 * and for more depth or values than the limits allow, before it goes deeper.
 */
export function parseJson(text: string): Value {
  const open: (Entries | Fields)[] = []
  const builder = createTreeBuilder()
  let root: Value | undefined
  let name = ''

  const add = <V extends Value>(value: V): V => {
    root ??= value
    return builder.add(value)
  }
  const position = (at: number) => {
    const parent = open.at(-1)
    return { at, parent, name: parent?.kind === 'list' ? String(parent.items.length) : name }
  }
  const openContainer = (value: Entries | Fields) => {
    open.push(add(value))
    builder.checkDepth(open.length, value.at)
  }
  const closeContainer = () => {
    open.pop()
  }
  const scalar = (at: number, kind: Scalar['kind'], written: string) => {
    add({ ...position(at), kind, text: written, isRead: false })
  }

  visit(
    text,
    {
      onObjectBegin: (at) =>
        openContainer({ ...position(at), kind: 'fields', byName: new Map(), isDictionary: false }),
      onObjectEnd: closeContainer,
      onArrayBegin: (at) => openContainer({ ...position(at), kind: 'list', items: [] }),
      onArrayEnd: closeContainer,
      onObjectProperty: (property, at) => {
        builder.checkName(open.at(-1) as Fields, property, at)
        name = property
      },
      onLiteralValue: (value: unknown, at, length) => {
        if (typeof value === 'string') return scalar(at, 'text', value)
        const written = text.slice(at, at + length)
        if (typeof value === 'number') {
          if (losesPrecision(written)) {
            throw new DocumentProblem(
              at,
              `the number ${written.slice(0, 40)} would lose digits: write it as a string`,
            )
          }
          return scalar(at, 'number', written)
        }
        scalar(at, value === null ? 'null' : 'boolean', written)
      },
      onError: (code, at) => {
        throw new DocumentProblem(at, `the document is not JSON: ${describeError(code)}`)
      },
    },
    { disallowComments: true, allowTrailingComma: false },
  )
  // Without a value the parser reports an error.
  return root as unknown as Value
}

/** Turns `ValueExpected` into words. */
function describeError(code: ParseErrorCode): string {
  return printParseErrorCode(code)
    .replace(/(?<=[a-z])(?=[A-Z])/g, ' ')
    .toLowerCase()
}

/** Whether a number changes when it is parsed as a double, as JSON parsers do. */
function losesPrecision(written: string): boolean {
  if (/^-?\d{1,15}(?:\.\d{1,6})?$/.test(written) && written.length <= 16) return false
  const number = Number(written)
  return !Number.isFinite(number) || significand(written) !== significand(String(number))
}

/** Returns the digits without leading and trailing zeros, sign, point and exponent. */
function significand(written: string): string {
  const [mantissa = ''] = written.toLowerCase().split('e')
  return mantissa.replace(/[-+.]/g, '').replace(/^0+|0+$/g, '')
}
