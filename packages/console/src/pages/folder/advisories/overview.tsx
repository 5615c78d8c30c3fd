import { stateOfFilter } from '@berth/advisory-formats/history/advisory-states.ts'
import type { AdvisorySummary, AdvisorySummaryRating, AdvisorySummarySeverityCount } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { summaryQuery } from '../../../api/queries/advisories.ts'
import { Badge } from '../../../components/badge.tsx'
import { usePath } from '../../../components/breadcrumbs.tsx'
import { Chart } from '../../../components/chart.tsx'
import { Equivalent, quoted } from '../../../components/copy.tsx'
import { Problem } from '../../../components/problem.tsx'
import { formatNumber, plural } from '../../../components/quantity.tsx'
import { toneOfSeverity } from '../../../components/severity.ts'
import { Time } from '../../../components/time.tsx'
import { StateBadge } from '../../advisories/states.tsx'
import type { FolderTabProps } from '../folder.tsx'

/** How many advisories a folder has, by state, severity and month. */
export function AdvisoryOverview({ uid, name }: FolderTabProps) {
  const path = usePath(uid, name)
  const { data, error, refetch } = useQuery(summaryQuery(uid))
  if (data === undefined)
    return error === null ? (
      <p className="muted" role="status">
        Counting advisories…
      </p>
    ) : (
      <Problem title="Counts not available" failure={error} onRetry={() => void refetch()} />
    )
  return (
    <>
      {data.totalCount === '0' ? (
        <div className="empty">
          <p>
            There are no advisories in this folder and the folders in it. Import documents, or add a feed that
            keeps them up to date.
          </p>
          <p>
            <SectionLink uid={uid} section="import" text="Import documents" />{' '}
            <SectionLink uid={uid} section="feeds" text="Add a feed" />
          </p>
        </div>
      ) : (
        <Counts summary={data} />
      )}
      <Equivalent command={`berth advisories summary --parent ${quoted(path)}`} />
    </>
  )
}

function SectionLink({
  uid,
  section,
  text,
}: {
  readonly uid: string
  readonly section: string
  readonly text: string
}) {
  return (
    <Link to="/folders/$" params={{ _splat: uid }} search={{ tab: 'advisories', section }} className="button">
      {text}
    </Link>
  )
}

function Counts({ summary }: { readonly summary: AdvisorySummary }) {
  const { uid, totalCount, states, severities, months, severityTime, outdated } = summary
  return (
    <>
      <p>
        <Link to="/advisories" search={{ group: uid }}>
          {plural(totalCount, 'advisory', 'advisories')}
        </Link>{' '}
        in this folder and the folders in it
      </p>
      <div className="counts">
        <table>
          <caption>By state</caption>
          <thead>
            <tr>
              <th scope="col">State</th>
              <th scope="col">Advisories</th>
            </tr>
          </thead>
          <tbody>
            {states.map(({ latestEventType, count }) => {
              const state = stateOfFilter(latestEventType)
              return (
                <tr key={latestEventType}>
                  <td>
                    <StateBadge state={state} />
                  </td>
                  <td>
                    <Link to="/advisories" search={{ group: uid, ...(state !== undefined && { state }) }}>
                      {formatNumber(count)}
                    </Link>
                  </td>
                </tr>
              )
            })}
          </tbody>
        </table>
        <table>
          <caption>By severity</caption>
          <thead>
            <tr>
              <th scope="col">Severity</th>
              <th scope="col">Advisories</th>
            </tr>
          </thead>
          <tbody>
            {severities.map(({ rating, count }) => (
              <tr key={rating}>
                <td>
                  <Badge tone={toneOfSeverity(nameOf(rating))}>
                    {rating === 'RATING_UNKNOWN' ? 'no score' : nameOf(rating)}
                  </Badge>
                </td>
                <td>{formatNumber(count)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p className="muted note" role="status">
        {severityTime === undefined && 'Severities are being counted…'}
        {severityTime !== undefined && outdated && (
          <>
            Severities as of <Time value={severityTime} isRelative />; newer ones are being counted…
          </>
        )}
      </p>
      {months.length > 0 && <Months months={months} />}
    </>
  )
}

const nameOf = (rating: AdvisorySummaryRating) => rating.replace('RATING_', '').toLowerCase()

/** From the bottom of a bar to its top. */
const ratings = [
  ['RATING_UNKNOWN', 'No score', 'unknown'],
  ['RATING_NONE', 'None', 'unknown'],
  ['RATING_LOW', 'Low', 'low'],
  ['RATING_MEDIUM', 'Medium', 'medium'],
  ['RATING_HIGH', 'High', 'high'],
  ['RATING_CRITICAL', 'Critical', 'critical'],
] as const

const countOf = (counts: readonly AdvisorySummarySeverityCount[], rating: AdvisorySummaryRating) =>
  counts.find((one) => one.rating === rating)?.count ?? '0'

function Months({ months }: { readonly months: AdvisorySummary['months'] }) {
  const shown = ratings.filter(([rating]) =>
    months.some(({ severities }) => countOf(severities, rating) !== '0'),
  )
  return (
    <section>
      <Chart
        title="By month of creation"
        kind="stacked-bar"
        period="month"
        series={shown.map(([id, title, tone]) => ({ id, title, tone }))}
        points={months.map(({ month, severities }) => ({
          date: `${month}-01`,
          values: Object.fromEntries(shown.map(([rating]) => [rating, Number(countOf(severities, rating))])),
        }))}
      />
    </section>
  )
}
