import type { OptionDeclaration } from './command-declaration.ts'
import { parseTimeOption } from './durations.ts'
import type { Invocation } from './invocation.ts'

/** The options of a list of runs by the time at which they started. */
export const startTimeOptions: readonly OptionDeclaration[] = [
  { flags: '--since <time>', summary: 'earliest start: a time, or a duration before now such as 24h' },
  { flags: '--until <time>', summary: 'latest start: a time, or a duration before now' },
]

/** Returns the values of these options as RFC 3339 timestamps. */
export const readStartTimes = ({ option }: Pick<Invocation, 'option'>) => ({
  since: parseTimeOption('--since', option('since')),
  until: parseTimeOption('--until', option('until')),
})
