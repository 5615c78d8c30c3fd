import { isCwe } from '@berth/advisory-formats/reading/cwe-ids.ts'
import type { OptionDeclaration } from './command-declaration.ts'
import { type Invocation, UsageError } from './invocation.ts'

/** Options that filter vulnerabilities. They are read before the first request. */

export const minScoreOption: OptionDeclaration = {
  flags: '--min-score <score>',
  summary: 'only those with this CVSS score or a higher one, 0 to 10',
}

export const cweOption: OptionDeclaration = {
  flags: '--cwe <id>',
  summary: 'only those with one of these kinds of weaknesses, such as CWE-79',
  repeatable: true,
}

/** Reads an option with a number from 0 to `max`; undefined if it is not given. `flag`: such as `--min-score`. */
export function readNumber(invocation: Invocation, flag: string, max: number): number | undefined {
  const name = flag.slice(2).replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())
  const text = invocation.option(name)
  if (text === '') return undefined
  const value = Number(text)
  if (!/^\d*\.?\d+$/.test(text) || value > max)
    throw new UsageError(`${flag} must be a number from 0 to ${max}`)
  return value
}

/** Reads `--cwe`, in any case. */
export function readCwes(invocation: Invocation): string[] {
  return invocation.optionValues('cwe').map((text) => {
    const cwe = text.toUpperCase()
    if (!isCwe(cwe)) throw new UsageError(`--cwe: ${JSON.stringify(text)} must be an ID such as CWE-79`)
    return cwe
  })
}
