import { limits } from '../../config/limits.ts'

/**
 * The parameters of an OAuth request, from a query or a form. One that is empty counts as left out, unknown ones are passed over,
 * and none but the repeatable may come twice (RFC 6749 sections 3.1 and 3.2): two readers could each believe another one.
 */
export interface OAuthParameters {
  /** '' when it is not there. */
  get(name: string): string
  /** All of a parameter that may be repeated. */
  all(name: string): readonly string[]
  /** What is wrong with the request as a whole, in words; undefined when nothing is. */
  readonly problem: string | undefined
}

/** Neither names nor values of ours have control characters; what has them is meant for another reader. */
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
    if (CONTROL.test(name) || CONTROL.test(value)) problem ??= 'a parameter holds control characters'
    if (name.length > charsMax || value.length > charsMax) problem ??= 'a parameter is too long'
    if (value === '') continue
    const earlier = values.get(name)
    if (earlier === undefined) values.set(name, [value])
    else if (earlier.push(value) > 1 && !repeatable.includes(name))
      // Its name may be anything, and goes into no answer.
      problem ??= 'a parameter comes more than once'
  }
  return {
    get: (name) => values.get(name)?.[0] ?? '',
    all: (name) => values.get(name) ?? [],
    problem,
  }
}
