import type { OptionDeclaration } from '../invocation/command-declaration.ts'
import type { Invocation } from '../invocation/invocation.ts'
import { readStartTimes, startTimeOptions } from '../invocation/start-times.ts'
import type { Column } from '../output/output.ts'

/** Options and columns of lists of runs. */

interface Run {
  readonly uid: string
  readonly state: string
  readonly actor: string
  readonly startTime?: string
  readonly endTime?: string
  readonly error: string
}

export const runOptions: readonly OptionDeclaration[] = [
  {
    flags: '--state <state>',
    summary: 'state of the runs',
    choices: ['running', 'succeeded', 'failed', 'interrupted'],
  },
  ...startTimeOptions,
]

/** Returns the filters of a list request. */
export function readRunFilters(invocation: Invocation) {
  const state = invocation.option('state')
  const { since, until } = readStartTimes(invocation)
  return {
    ...(state !== '' && { states: [`STATE_${state.toUpperCase()}` as 'STATE_FAILED'] }),
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
  }
}

/** The columns before and after what a kind of run counts. */
export const runStartColumns: readonly Column<Run>[] = [
  { title: 'STARTED', kind: 'time', value: ({ startTime = '' }) => startTime },
  { title: 'ENDED', kind: 'time', value: ({ endTime = '' }) => endTime },
  { title: 'STATE', kind: 'name', value: ({ state }) => state.replace('STATE_', '').toLowerCase() },
  { title: 'BY', kind: 'name', value: ({ actor }) => (actor === 'system' ? 'schedule' : actor) },
]

export const runEndColumns: readonly Column<Run>[] = [
  { title: 'ERROR', kind: 'long', value: ({ error }) => error },
  { title: 'ID', value: ({ uid }) => uid, wide: true },
]
