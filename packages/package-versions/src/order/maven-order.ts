import { compareDigits, compareText, isDigits } from './compare-parts.ts'
import type { VersionOrder } from './version-order.ts'

/** Maven, by the "Version Order Specification" of its POM reference. */
export const mavenOrder: VersionOrder<readonly Token[]> = {
  parse(text) {
    if (text === '' || /\s/.test(text)) return undefined
    return withoutTrailingNulls(tokensOf(text.toLowerCase()))
  },
  compare(a, b) {
    for (let at = 0; at < Math.max(a.length, b.length); at++) {
      const order = compareTokens(a[at] ?? nullLike(b[at]), b[at] ?? nullLike(a[at]))
      if (order !== 0) return order
    }
    return 0
  },
}

interface Token {
  /** `-` also where digits and letters meet. */
  readonly separator: '.' | '-'
  readonly text: string
}

/** Qualifiers before, equal to and after the release, oldest first. Others are after all of them, in alphabetic order. */
const qualifiers = ['alpha', 'beta', 'milestone', 'rc', 'snapshot', '', 'sp']
const nullQualifiers = new Set(['', 'final', 'ga', 'release'])
/** Letters that stand for qualifiers if a number follows directly. */
const shortNames: Readonly<Record<string, string>> = { a: 'alpha', b: 'beta', m: 'milestone' }

function tokensOf(version: string): Token[] {
  const tokens: Token[] = []
  let separator: Token['separator'] = '-'
  for (const part of version.split(/([.-])/)) {
    if (part === '.' || part === '-') {
      separator = part
      continue
    }
    // An empty part between two separators is 0.
    const runs = part === '' ? ['0'] : (part.match(/\d+|\D+/g) ?? [])
    for (const [at, run] of runs.entries()) {
      const isBeforeNumber = at + 1 < runs.length
      const text = isBeforeNumber ? (shortNames[run] ?? run) : run
      tokens.push({ separator: at === 0 ? separator : '-', text: text === 'cr' ? 'rc' : text })
    }
  }
  return tokens
}

function isNull({ text }: Token): boolean {
  return /^0*$/.test(text) || nullQualifiers.has(text)
}

/** Removes the null values at the end, and those before each hyphen. */
function withoutTrailingNulls(tokens: readonly Token[]): Token[] {
  const kept: Token[] = []
  for (const token of tokens) {
    if (token.separator === '-') dropNulls(kept)
    kept.push(token)
  }
  dropNulls(kept)
  return kept
}

/** The first token stays, even if it is 0. */
function dropNulls(tokens: Token[]): void {
  for (
    let last = tokens.at(-1);
    tokens.length > 1 && last !== undefined && isNull(last);
    last = tokens.at(-1)
  )
    tokens.pop()
}

/** Returns the null value that takes the place of a missing token. */
function nullLike(other: Token | undefined): Token {
  return { separator: other?.separator ?? '-', text: isDigits(other?.text ?? '') ? '0' : '' }
}

function compareTokens(a: Token, b: Token): number {
  const [isNumber, isOtherNumber] = [isDigits(a.text), isDigits(b.text)]
  if (isNumber !== isOtherNumber) return isNumber ? 1 : -1
  if (!isNumber) return compareQualifiers(a.text, b.text)
  return a.separator === b.separator ? compareDigits(a.text, b.text) : a.separator === '.' ? 1 : -1
}

function compareQualifiers(a: string, b: string): number {
  const [rank, otherRank] = [rankOf(a), rankOf(b)]
  return rank - otherRank || (rank === qualifiers.length ? compareText(a, b) : 0)
}

function rankOf(text: string): number {
  const rank = qualifiers.indexOf(nullQualifiers.has(text) ? '' : text)
  return rank < 0 ? qualifiers.length : rank
}
