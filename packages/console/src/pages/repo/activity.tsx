import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useAddressState } from '../../address-state.ts'
import { useAccess } from '../../api/access.ts'
import { repoUsageHistoryQuery } from '../../api/queries/organization.ts'
import { everyTag, tagsQuery } from '../../api/queries/registry/tags.ts'
import { Chart } from '../../components/chart.tsx'
import { datesFrom } from '../../components/chart-data.ts'
import { quoted } from '../../components/copy.tsx'
import { SelectField } from '../../components/field.tsx'
import { Problem } from '../../components/problem.tsx'
import { formatNumber } from '../../components/quantity.tsx'
import { FindingHistory, SummaryHistory } from '../contents/finding-history.tsx'
import type { RepoTabProps } from './repo.tsx'

const DAYS = 90

/** Charts about a repository. */
export function RepoActivity(props: RepoTabProps) {
  return (
    <>
      <PullsAndPushes {...props} />
      <RepoFindings {...props} />
      <TagFindings {...props} />
    </>
  )
}

/** The vulnerabilities of all tags over time. */
function RepoFindings({ repo, path }: RepoTabProps) {
  return (
    <section aria-labelledby="repo-findings">
      <h2 id="repo-findings">Vulnerabilities</h2>
      <SummaryHistory uid={repo.value.uid} scope={`--repo ${quoted(path)}`} />
    </section>
  )
}

/** The vulnerabilities of one tag over time: of that which was pushed last, until the user chooses another. */
function TagFindings({ repo, path }: RepoTabProps) {
  const { uid } = repo.value
  const missing = useAccess().missing(uid, 'tag.list')
  const [{ of }, change] = useAddressState()
  const { data } = useInfiniteQuery({ ...tagsQuery(uid, everyTag), enabled: missing === undefined })
  const names = data?.pages[0]?.items.flatMap(({ tag }) => tag?.name ?? []) ?? []
  const tag = of ?? names[0]
  if (tag === undefined) return null
  return (
    <section aria-labelledby="tag-findings">
      <div className="section-head">
        <h2 id="tag-findings">Vulnerabilities of a tag</h2>
        <SelectField
          label="Tag"
          choices={(names.includes(tag) ? names : [tag, ...names]).map((name) => ({ id: name, name }))}
          value={tag}
          onChange={(id) => change({ of: id === names[0] ? '' : id })}
        />
      </div>
      <FindingHistory key={tag} repo={uid} path={path} tag={tag} />
    </section>
  )
}

/** Pulls and pushes of a repository. The server has no record of a day without any: it has zero. */
function PullsAndPushes({ repo }: RepoTabProps) {
  const { uid } = repo.value
  const { data, error, refetch } = useQuery(repoUsageHistoryQuery(uid, DAYS))
  if (data === undefined)
    return error === null ? (
      <p className="muted" role="status">
        Loading pulls and pushes…
      </p>
    ) : (
      <Problem title="Pulls and pushes not available" failure={error} onRetry={() => void refetch()} />
    )
  const byDate = new Map(data.map((day) => [day.date, day]))
  const [first] = data
  const points =
    first === undefined
      ? []
      : datesFrom(first.date).map((date) => {
          const day = byDate.get(date)
          return { date, values: { pulls: Number(day?.pulls ?? 0), pushes: Number(day?.pushes ?? 0) } }
        })
  return (
    <Chart
      title="Pulls and pushes"
      kind="stacked-bar"
      series={[
        { id: 'pulls', title: 'Pulls' },
        { id: 'pushes', title: 'Pushes' },
      ]}
      points={points}
      format={formatNumber}
      empty={<p>No pulls or pushes in the last {DAYS} days.</p>}
    />
  )
}
