import type { CommandDeclaration } from '@berth/cli/invocation/command-declaration.ts'
import type { Invocation } from '@berth/cli/invocation/invocation.ts'
import { readStartTimes, startTimeOptions } from '@berth/cli/invocation/start-times.ts'
import type { View } from '@berth/cli/output/output.ts'
import { rootOf } from '../../api/uid.ts'
import {
  listOperatorRuns,
  type OperatorRun,
  readRunNames,
  runKinds,
  runStates,
} from '../../operator/job-runs.ts'
import { requireOrganization } from '../../operator/organization-settings.ts'
import { jsonOption } from '../options.ts'
import { installationList } from '../with-installation.ts'

/** Latest runs that the command lists. */
const LISTED_RUNS_MAX = 1000

interface RunLine {
  readonly id: string
  readonly kind: string
  readonly organization: string
  readonly resource: string
  readonly resourceUid: string
  readonly state: string
  readonly actor: string
  readonly startTime: string
  readonly endTime: string
  readonly counts: Readonly<Record<string, number>>
  readonly error: string
}

const view: View<RunLine> = {
  columns: [
    { title: 'STARTED', kind: 'time', value: ({ startTime }) => startTime },
    { title: 'ENDED', kind: 'time', value: ({ endTime }) => endTime },
    { title: 'KIND', value: ({ kind }) => kind },
    { title: 'STATE', kind: 'name', value: ({ state }) => state },
    { title: 'ORGANIZATION', kind: 'name', value: ({ organization }) => organization },
    { title: 'RESOURCE', kind: 'name', value: ({ resource, resourceUid }) => resource || resourceUid },
    { title: 'BY', kind: 'name', value: ({ actor }) => actor },
    {
      title: 'RESULT',
      kind: 'long',
      value: ({ counts }) =>
        Object.entries(counts)
          .map(([name, count]) => `${count} ${name}`)
          .join(', '),
    },
    { title: 'ERROR', kind: 'long', value: ({ error }) => error },
    { title: 'ID', value: ({ id }) => id, wide: true },
  ],
  id: ({ id }) => id,
  empty: 'no runs recorded',
}

/** `berth admin runs`: runs of feeds, retention, garbage collection and scrub. */
export const runsCommand: CommandDeclaration = installationList(
  {
    name: 'runs',
    summary: `List runs of feeds, retention, garbage collection and scrub, newest first (at most ${LISTED_RUNS_MAX})`,
    options: [
      { flags: '--kind <kind>', summary: 'kind of the runs', choices: runKinds },
      { flags: '--state <state>', summary: 'state of the runs', choices: runStates },
      { flags: '--organization <organization>', summary: 'uid or name of the organization of the runs' },
      ...startTimeOptions,
      jsonOption,
    ],
    examples: [
      'berth admin runs --state failed --since 7d',
      'berth admin runs --organization my-org',
      'berth admin runs --kind retention --json',
    ],
    view: () => view,
  },
  async ({ store: { db, clock } }, invocation: Invocation) => {
    const { option } = invocation
    const { since, until } = readStartTimes(invocation)
    const organization = option('organization')
    const resourceUid = organization === '' ? '' : await requireOrganization(db, organization)
    const filters = {
      ...{ kind: option('kind'), state: option('state'), resourceUid },
      sinceMs: since === undefined ? undefined : Date.parse(since),
      untilMs: until === undefined ? undefined : Date.parse(until),
    }
    const runs = await listOperatorRuns(db, filters, { max: LISTED_RUNS_MAX }, clock())
    const names = await readRunNames(db, runs)
    return runs.map((run) => toLine(run, names))
  },
)

function toLine(run: OperatorRun, names: ReadonlyMap<string, string>): RunLine {
  const { uid, kind, resource, state, actor, startedMs, endedMs, counts, error } = run
  return {
    ...{ id: uid, kind, state, actor, error },
    organization: names.get(rootOf(resource)) ?? '',
    resource: names.get(resource) ?? '',
    resourceUid: resource,
    startTime: new Date(startedMs).toISOString(),
    endTime: endedMs === 0 ? '' : new Date(endedMs).toISOString(),
    counts: Object.fromEntries(counts.flatMap(({ name, count }) => (count > 0 ? [[name, count]] : []))),
  }
}
