import { secondsIn } from '../../core/durations.ts'
import { UsageError } from './invocation.ts'

/** A duration as `--ttl` takes it, in seconds. */
export function seconds(option: string, text: string): number {
  const found = secondsIn(text)
  if (found === undefined)
    throw new UsageError(`${option}: ${JSON.stringify(text)} must be a duration such as 30m, 168h or 7d`)
  return found
}
