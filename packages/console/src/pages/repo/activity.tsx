import { useQuery } from '@tanstack/react-query'
import { repoUsageHistoryQuery } from '../../api/queries/organization.ts'
import { Chart } from '../../components/chart.tsx'
import { Problem } from '../../components/problem.tsx'
import { formatNumber } from '../../components/quantity.tsx'
import type { RepoTabProps } from './repo.tsx'

const DAYS = 90
const DAY_MS = 24 * 60 * 60 * 1000

/** Pulls and pushes of a repository. The server has no record of a day without any: it has zero. */
export function RepoActivity({ repo }: RepoTabProps) {
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

/** The days from a date until today, in UTC. */
function datesFrom(date: string): string[] {
  const dates: string[] = []
  for (let ms = Date.parse(`${date}T00:00:00Z`); ms <= Date.now(); ms += DAY_MS)
    dates.push(new Date(ms).toISOString().slice(0, 10))
  return dates
}
