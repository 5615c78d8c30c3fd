import { stateOfFilter } from '@berth/advisory-formats/history/advisory-states.ts'
import type { AdvisorySummary } from '@berth/client/berth.ts'
import type { CommandDeclaration } from '../../invocation/command-declaration.ts'
import { resolveGroupUid } from '../../invocation/resource-lookup.ts'
import type { View } from '../../output/output.ts'

interface CountRow {
  readonly by: string
  readonly what: string
  readonly count: string
}

const view: View<CountRow> = {
  columns: [
    { title: 'BY', kind: 'name', value: ({ by }) => by },
    { title: 'VALUE', kind: 'name', value: ({ what }) => what },
    { title: 'ADVISORIES', value: ({ count }) => count },
  ],
  id: ({ what }) => what,
  empty: 'no advisories',
}

const severityOf = (rating: string) => rating.replace('RATING_', '').toLowerCase()

function countRows({ totalCount, states, severities, months }: AdvisorySummary): CountRow[] {
  return [
    { by: 'all', what: '', count: totalCount },
    ...states.map(({ latestEventType, count }) => ({
      by: 'state',
      what: stateOfFilter(latestEventType) ?? '',
      count,
    })),
    ...severities.map(({ rating, count }) => ({ by: 'severity', what: severityOf(rating), count })),
    ...months.map(({ month, severities: ofMonth }) => ({
      by: 'month',
      what: month,
      count: String(ofMonth.reduce((sum, { count }) => sum + BigInt(count), 0n)),
    })),
  ]
}

export const summaryCommand: CommandDeclaration = {
  name: 'summary',
  summary: 'Count the advisories of a group by state, severity and month',
  options: [{ flags: '--parent <group>', summary: 'organization or folder, including its subfolders' }],
  examples: [
    'berth advisories summary --parent my-org',
    'berth advisories summary --parent my-org/security --json',
  ],
  async run(invocation) {
    const group = await resolveGroupUid(invocation, invocation.option('parent'), '--parent')
    const client = await invocation.client()
    const summary = await client.advisorySummaries.getAdvisorySummary({ uid: group })
    const { output } = invocation
    if (output.format === 'json') output.line(JSON.stringify(summary, undefined, 2))
    else await output.list(countRows(summary), view)
    if (!output.isForPeople) return
    if (summary.severityTime === undefined)
      output.notice('severities are being counted; run the command again')
    else if (summary.outdated) output.notice(`severities as of ${summary.severityTime}`)
  },
}
