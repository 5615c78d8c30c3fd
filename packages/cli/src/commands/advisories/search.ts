import type { FindingSeverity, VulnerabilityRecord } from '@berth/client/berth.ts'
import { cweOption, minScoreOption, readCwes, readNumber } from '../../invocation/filter-options.ts'
import { listCommand } from '../../invocation/list-command.ts'
import { resolveGroupUid } from '../../invocation/resource-lookup.ts'
import { enumName } from '../../output/enum-names.ts'
import type { View } from '../../output/output.ts'
import { numberOrNone, severities } from '../images/vulns.ts'

const recordView: View<VulnerabilityRecord> = {
  id: ({ vulnerability }) => vulnerability,
  columns: [
    { title: 'ID', kind: 'name', value: ({ vulnerability }) => vulnerability },
    { title: 'SEVERITY', value: ({ severity }) => enumName(severity, 'SEVERITY_') },
    {
      title: 'SCORE',
      value: ({ score }) => String(numberOrNone(score) ?? ''),
      sortValue: ({ score }) => numberOrNone(score) ?? -1,
    },
    { title: 'PACKAGES', value: ({ packages }) => packages.slice(0, 3).join(' ') },
    { title: 'SUMMARY', value: ({ summary, excerpt }) => summary || excerpt },
    { title: 'CHANGED', kind: 'time', value: ({ modifyTime = '' }) => modifyTime },
    { title: 'SOURCE', value: ({ format, documentId }) => `${format} ${documentId}`, wide: true },
    { title: 'WEAKNESSES', value: ({ cwes }) => cwes.join(' '), wide: true },
    { title: 'ALIASES', value: ({ aliases }) => aliases.join(' '), wide: true },
  ],
  empty: 'no records match',
}

export const searchCommand = listCommand<VulnerabilityRecord>({
  name: 'search',
  summary: 'Search what imported documents say about vulnerabilities',
  parameters: [{ name: 'WORD', summary: 'words that must all occur', variadic: true }],
  options: [
    { flags: '--parent <group>', summary: 'organization or folder, including its subfolders' },
    {
      flags: '--severity <severities>',
      summary: `severities: ${severities.join(', ')}`,
      choices: severities,
      repeatable: true,
    },
    minScoreOption,
    cweOption,
  ],
  notes:
    'Words are found in IDs, summaries, details, notes and names of packages, in any case and as parts of words. Of several documents about a vulnerability, each is listed.',
  examples: [
    'berth advisories search denial service parser --parent my-org',
    'berth advisories search --severity critical --cwe CWE-502 --parent my-org',
    "berth advisories search openssl --min-score 7 --sort 'score desc' --limit 20 -o json",
  ],
  view: () => recordView,
  serverSort: { changed: 'modify_time', score: 'score', id: 'vulnerability' },
  defaultLimit: 100,
  async *items(invocation, { orderBy = '' }) {
    const minScore = readNumber(invocation, '--min-score', 10)
    const cwes = readCwes(invocation)
    const client = await invocation.client()
    const uid = await resolveGroupUid(invocation, invocation.option('parent'), '--parent')
    yield* client.vulnerabilityRecords.all({
      uid,
      query: invocation.variadicArgument(0).join(' '),
      severities: invocation
        .optionValues('severity')
        .map((name) => `SEVERITY_${name.toUpperCase()}` as FindingSeverity),
      ...(minScore !== undefined && { minScore }),
      cwes,
      orderBy,
    })
  },
})
