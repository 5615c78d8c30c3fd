import type { PatternNode } from './pattern-syntax.ts'

/** Possible position of a match in an issuer. */
type State =
  | { readonly at: 'scheme'; readonly text: string }
  /**
   * `tail` is the literal end of the host so far: the whole host unless `open`, which means that the text before it varies.
   */
  | { readonly at: 'host'; readonly open: boolean; readonly tail: string }
  | { readonly at: 'port' }
  | { readonly at: 'path' }

const schemes = ['https://', 'http://']
/** Bounds the combinations of alternatives. */
const STATES_MAX = 256
const HOST_CHARS_MAX = 255

/** A domain of two labels or more: a varying part before fewer labels could match the domain of another owner. */
const fixedDomain = /\.[^.]+\.[^.]+$/

/**
 * Returns why an issuer pattern does not fix the domain of the hosts that it matches; undefined if it does: each match starts with `https://`
 * (or `http://`), nothing in the host can match a slash (R4), and a varying part of the host is followed by a literal domain. Conservative:
 * rejects patterns that it cannot analyze. `charsOf` returns the ASCII characters that a node matches.
 */
export function checkIssuerPattern(
  root: PatternNode,
  charsOf: (node: PatternNode & { kind: 'char' }) => string,
): string | undefined {
  let rejection: string | undefined

  function reject(reason: string): State[] {
    rejection ??= reason
    return []
  }

  function walk(node: PatternNode, states: readonly State[]): readonly State[] {
    if (rejection !== undefined || states.length === 0) return []
    switch (node.kind) {
      case 'assertion':
        return states
      case 'char': {
        const chars = charsOf(node)
        return distinct(states.flatMap((state) => step(state, chars)))
      }
      case 'sequence':
        return node.nodes.reduce((reached, it) => walk(it, reached), states)
      case 'choice':
        return distinct(node.nodes.flatMap((it) => walk(it, states)))
      case 'repeat':
        return repeat(node, states)
    }
  }

  function repeat({ node, min, max }: PatternNode & { kind: 'repeat' }, states: readonly State[]) {
    if (max === 0) return states
    const first = walk(node, states)
    let reached = distinct(min === 0 ? [...states, ...first] : first)
    if (max === 1) return reached
    // Text that is literal in one iteration varies over several, so later iterations start without a literal tail.
    for (let before = -1; before !== reached.length && rejection === undefined; ) {
      before = reached.length
      reached = distinct([...reached, ...walk(node, distinct(reached.map(forgetTail)))])
    }
    return reached
  }

  function step(state: State, chars: string): State[] {
    // Matches no ASCII character, and an issuer contains no others.
    if (chars === '') return []
    const literal = chars.length === 1 || (chars.length === 2 && sameLetter(chars)) ? chars.at(-1) : undefined
    switch (state.at) {
      case 'scheme':
        return stepScheme(state.text, literal)
      case 'host':
        return stepHost(state, chars, literal)
      case 'port':
        if (literal === '/') return [{ at: 'path' }]
        return /^[0-9]+$/.test(chars) ? [state] : reject('must have digits only as the port, e.g. :[0-9]+')
      case 'path':
        return [state]
    }
  }

  function stepScheme(before: string, literal: string | undefined): State[] {
    const text = before + (literal ?? '')
    if (literal === undefined || !schemes.some((scheme) => scheme.startsWith(text))) {
      return reject('must start with https:// as literal text')
    }
    return schemes.includes(text) ? [{ at: 'host', open: false, tail: '' }] : [{ at: 'scheme', text }]
  }

  function stepHost(state: State & { at: 'host' }, chars: string, literal: string | undefined): State[] {
    const inBrackets = state.tail.startsWith('[') && !state.tail.includes(']')
    if (literal === '/') return leaveHost(state, { at: 'path' })
    if (literal === ':' && !inBrackets) return leaveHost(state, { at: 'port' })
    if (chars.includes('/')) {
      return reject(
        'must not be able to match / within the host: write \\. for a dot, and [a-z0-9-]+ or [^/]+ for a varying part',
      )
    }
    if (literal === undefined) return [{ at: 'host', open: true, tail: '' }]
    if (state.tail.length === HOST_CHARS_MAX) return reject('must have a shorter host')
    return [{ at: 'host', open: state.open, tail: state.tail + literal }]
  }

  function leaveHost({ open, tail }: State & { at: 'host' }, next: State): State[] {
    if (tail === '' && !open) return reject('must name a host')
    if (open && !fixedDomain.test(tail)) {
      return reject('must have a fixed domain at the end of the host, such as \\.example\\.com')
    }
    return [next]
  }

  function distinct(states: readonly State[]): readonly State[] {
    const found = [...new Map(states.map((state) => [JSON.stringify(state), state])).values()]
    return found.length > STATES_MAX ? reject('has too many alternatives: use several identities') : found
  }

  const ends = walk(root, [{ at: 'scheme', text: '' }])
  for (const state of ends) {
    if (state.at === 'scheme') reject('must start with https:// as literal text')
    if (state.at === 'host') leaveHost(state, { at: 'path' })
  }
  if (rejection === undefined && ends.length === 0) return 'must be able to match an issuer'
  return rejection
}

function forgetTail(state: State): State {
  return state.at === 'host' ? { at: 'host', open: true, tail: '' } : state
}

/** A letter in both cases, as under the flag i. Upper case comes first in ASCII. */
function sameLetter(chars: string): boolean {
  return chars[0] !== chars[1] && chars[0]?.toLowerCase() === chars[1]
}
