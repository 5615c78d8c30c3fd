import type { Decision, DecisionFilter } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { useAddressState } from '../../address-state.ts'
import { useAccess } from '../../api/access.ts'
import { organizationOf } from '../../api/queries/groups.ts'
import { decisionsQuery, policiesQuery } from '../../api/queries/pull-policies.ts'
import { folderPathOf } from '../../components/breadcrumbs.tsx'
import { Equivalent, quoted } from '../../components/copy.tsx'
import { Digest } from '../../components/digest.tsx'
import { DayFilter, FilterBar, FilterChips, SelectFilter, TextFilter } from '../../components/filter-bar.tsx'
import { PageList } from '../../components/page-list.tsx'
import type { PlainColumn } from '../../components/plain-table.tsx'
import {
  dayOf,
  dayText,
  ModeBadge,
  modeChoices,
  modeOf,
  Owner,
  policyName,
  ResultBadge,
  resultChoices,
  resultOf,
} from './policy-texts.tsx'
import type { PullPolicyProps } from './pull-policies.tsx'

/** What policies decided about pulls in a folder or repository and everything in it. */
export function Decisions({ uid, path, isRepo }: PullPolicyProps) {
  const access = useAccess()
  const { data: policies = [] } = useQuery({
    ...policiesQuery(organizationOf(uid)),
    enabled: access.holds(uid, 'policies.policy.list'),
  })
  const [{ policy = '', mode = '', result = '', digest = '', ...days }] = useAddressState()
  const [first, last] = [dayOf(days['since']), dayOf(days['until'])]
  const filter: DecisionFilter = {
    policyId: policy,
    mode: modeOf(mode),
    result: resultOf(result),
    digest,
    since: first,
    until: last,
  }
  const since = dayText(first)
  const until = dayText(last)
  const set = [
    ['policy', policy === '' ? '' : policyName(policies, policy)],
    ['mode', modeChoices.find(({ id }) => id === mode)?.name ?? ''],
    ['result', resultChoices.find(({ id }) => id === result)?.name ?? ''],
    ['digest', digest === '' ? '' : `Digest: ${digest}`],
    ['since', since === '' ? '' : `Since ${since}`],
    ['until', until === '' ? '' : `Until ${until}`],
  ] as const
  const active = set.filter(([, text]) => text !== '')
  return (
    <>
      <FilterBar>
        <SelectFilter label="Policy" name="policy" choices={policies.map(({ id, name }) => ({ id, name }))} />
        <SelectFilter label="Mode" name="mode" choices={modeChoices} />
        <SelectFilter label="Result" name="result" choices={resultChoices} />
        <TextFilter label="Digest" name="digest" placeholder="sha256:…" />
        <DayFilter label="First day" name="since" />
        <DayFilter label="Last day" name="until" />
      </FilterBar>
      <FilterChips set={active} />
      <PageList
        label="Decisions"
        query={decisionsQuery(uid, filter)}
        missing={access.missing(uid, 'policies.decision.list')}
        keyOf={({ id }) => id}
        columns={columnsOf(isRepo ? uid : '')}
        empty={
          active.length === 0 ? (
            <p>
              There are no decisions yet. Each pull that a policy evaluates is here, once a day for each
              result.
            </p>
          ) : (
            <p>No decision matches these filters.</p>
          )
        }
      />
      <Equivalent
        command={commandOf(isRepo ? folderPathOf(path) : path, filter, { mode, result, since, until })}
      />
    </>
  )
}

const columnsOf = (repo: string): readonly PlainColumn<Decision>[] => [
  {
    id: 'policy',
    title: 'Policy',
    cell: ({ policyName: name }) => <bdi className="package-name">{name}</bdi>,
  },
  {
    id: 'result',
    title: 'Result',
    cell: ({ result, mode, reason }) => (
      <>
        <ResultBadge result={result} mode={mode} />
        {reason !== '' && <bdi className="second long-words">{reason}</bdi>}
      </>
    ),
  },
  { id: 'mode', title: 'Mode', cell: ({ mode }) => <ModeBadge mode={mode} /> },
  {
    id: 'image',
    title: 'Image',
    cell: ({ repoId, digest }) => (
      <>
        {repo === '' && <Owner uid={repoId} here="" />}
        <span className={repo === '' ? 'second' : ''}>
          <Digest repo={repoId} digest={digest} object="the image" />
        </span>
      </>
    ),
  },
  { id: 'day', title: 'Day (UTC)', cell: ({ pulledOn }) => dayText(pulledOn) },
]

function commandOf(
  path: string,
  { policyId = '', digest = '' }: DecisionFilter,
  rest: Readonly<Record<'mode' | 'result' | 'since' | 'until', string>>,
): string {
  const options = Object.entries({ policy: policyId, ...rest, digest }).flatMap(([name, value]) =>
    value === '' ? [] : [` --${name} ${quoted(value)}`],
  )
  return `berth policies decisions --parent ${quoted(path)}${options.join('')}`
}
