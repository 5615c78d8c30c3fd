import { type Invocation, UsageError } from './invocation.ts'

/** Reads an option with a number from 0 to `max`; undefined if it is not given. `flag`: such as `--min-score`. */
export function readNumber(invocation: Invocation, flag: string, max: number): number | undefined {
  const name = flag.slice(2).replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())
  const text = invocation.option(name)
  if (text === '') return undefined
  const value = Number(text)
  if (!(value >= 0 && value <= max)) throw new UsageError(`${flag} must be a number from 0 to ${max}`)
  return value
}
