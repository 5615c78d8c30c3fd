import { limits } from '../../config/limits.ts'

/**
 * The parameters of an OAuth request, from a query or a form. An empty one counts as omitted, unknown ones are ignored, and only the
 * repeatable may occur twice (RFC 6749 sections 3.1 and 3.2), because two readers could choose different values.
 */
export interface OAuthParameters {
  /** '' if it is omitted. */
  get(name: string): string
  /** All values of a repeatable parameter. */
  all(name: string): readonly string[]
  /** What is wrong with the request as a whole, as text; undefined if it is valid. */
  readonly problem: string | undefined
}

/** Control characters are in no valid name or value. */
const CONTROL = /\p{Cc}/u

export function readParameters(
  sent: URLSearchParams,
  {
    repeatable = [],
    charsMax = limits.oauthParameterCharsMax,
  }: { readonly repeatable?: readonly string[]; readonly charsMax?: number } = {},
): OAuthParameters {
  const values = new Map<string, string[]>()
  let problem: string | undefined
  for (const [name, value] of sent) {
    if (CONTROL.test(name) || CONTROL.test(value)) problem ??= 'a parameter contains control characters'
    if (name.length > charsMax || value.length > charsMax) problem ??= 'a parameter is too long'
    if (value === '') continue
    const earlier = values.get(name)
    if (earlier === undefined) values.set(name, [value])
    else if (earlier.push(value) > 1 && !repeatable.includes(name))
      // The response does not repeat the name, which can be any text.
      problem ??= 'a parameter is repeated'
  }
  return {
    get: (name) => values.get(name)?.[0] ?? '',
    all: (name) => values.get(name) ?? [],
    problem,
  }
}
