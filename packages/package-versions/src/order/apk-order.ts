import { compareDigits, compareLists, compareText } from './compare-parts.ts'
import type { VersionOrder } from './version-order.ts'

/**
 * The order of apk: `1.2.3b_rc1_p2~abcdef-r4`. Numbers, a letter, suffixes with numbers, a commit hash and the revision of the package.
 * Malformed text is compared too, as apk does: from the malformed part on, it is older than everything else.
 */
export const apkOrder: VersionOrder<readonly Token[]> = {
  parse: (text) => (text === '' || /\s/.test(text) ? undefined : tokensOf(text)),
  compare: (a, b) => compareLists(a, b, { kind: 'end', text: '' }, compareTokens),
}

/** Kinds of parts, oldest first: where two versions differ in the kind of a part, the later kind is newer. */
const kinds = [
  'malformed',
  'emptyNumber',
  'preSuffix',
  'end',
  'revision',
  'hash',
  'suffixNumber',
  'postSuffix',
  'letter',
  'number',
] as const

interface Token {
  readonly kind: (typeof kinds)[number]
  readonly text: string
  /** The first number, whose leading zeros have no meaning. */
  readonly isFirst?: boolean
}

/** Suffixes of versions before and after the version without a suffix, oldest first. */
const preSuffixes = ['alpha', 'beta', 'pre', 'rc']
const postSuffixes = ['cvs', 'svn', 'git', 'hg', 'p']

/** Expressions for what may follow, in the order in which it may follow. */
const LETTER = /[a-z](\d*)/y
const SUFFIX = /_([a-z]+)(\d*)/y
const HASH = /~([0-9a-f]+)/y
const REVISION = /-r(\d+|(?=-|$))/y

function tokensOf(text: string): Token[] {
  const tokens: Token[] = []
  let at = 0
  const next = (expression: RegExp): RegExpExecArray | undefined => {
    expression.lastIndex = at
    const found = expression.exec(text)
    if (found === null) return undefined
    at = expression.lastIndex
    return found
  }
  const numbers = next(/\d*(?:\.\d*)*/y)?.[0] ?? ''
  for (const [index, digits] of numbers.split('.').entries())
    tokens.push({ kind: digits === '' ? 'emptyNumber' : 'number', text: digits, isFirst: index === 0 })
  const letter = next(LETTER)
  if (letter !== undefined) {
    tokens.push({ kind: 'letter', text: letter[0].slice(0, 1) })
    if (letter[1] !== '') tokens.push({ kind: 'number', text: letter[1] ?? '', isFirst: true })
  }
  for (let found = next(SUFFIX); found !== undefined; found = next(SUFFIX)) {
    const [, name = '', digits = ''] = found
    const kind = preSuffixes.includes(name)
      ? 'preSuffix'
      : postSuffixes.includes(name)
        ? 'postSuffix'
        : 'malformed'
    tokens.push({ kind, text: name })
    if (kind === 'malformed') return tokens
    if (digits !== '') tokens.push({ kind: 'suffixNumber', text: digits })
  }
  const hash = next(HASH)
  if (hash !== undefined) tokens.push({ kind: 'hash', text: hash[1] ?? '' })
  const revision = next(REVISION)
  if (revision !== undefined) tokens.push({ kind: 'revision', text: revision[1] ?? '' })
  if (at < text.length) tokens.push({ kind: 'malformed', text: '' })
  return tokens
}

function compareTokens(a: Token, b: Token): number {
  if (a.kind !== b.kind) return kinds.indexOf(a.kind) - kinds.indexOf(b.kind)
  switch (a.kind) {
    case 'number':
      return a.isFirst || !(a.text.startsWith('0') || b.text.startsWith('0'))
        ? compareDigits(a.text, b.text)
        : compareText(a.text, b.text)
    case 'suffixNumber':
    case 'revision':
      return compareDigits(a.text, b.text)
    case 'preSuffix':
      return preSuffixes.indexOf(a.text) - preSuffixes.indexOf(b.text)
    case 'postSuffix':
      return postSuffixes.indexOf(a.text) - postSuffixes.indexOf(b.text)
    case 'letter':
    case 'hash':
      return compareText(a.text, b.text)
    default:
      return 0
  }
}
