import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useAddressState } from '../../address-state.ts'
import { useAccess } from '../../api/access.ts'
import { TREND_DAYS, topReposQuery, usageHistoryQuery } from '../../api/queries/organization.ts'
import { Chart } from '../../components/chart.tsx'
import { SelectField } from '../../components/field.tsx'
import { NotLoaded } from '../../components/loaded.tsx'
import { NoPermission } from '../../components/no-permission.tsx'
import { formatBytes, formatNumber } from '../../components/quantity.tsx'

/** What an organization used over time, and which repositories most. */

const numberOf = (text: string | undefined) => (text === undefined ? undefined : Number(text))

const periods = [
  { id: '30', name: '30 days' },
  { id: '90', name: '90 days' },
  { id: '180', name: '180 days' },
]
const PERIOD = String(TREND_DAYS)
/** What the history of an organization requires. */
const needed = ['groups.list', 'repo.list', 'tag.list', 'manifest.list']

interface TrendsProps {
  readonly uid: string
  readonly storedBytesLimit: string | undefined
}

export function Trends({ uid, storedBytesLimit }: TrendsProps) {
  const [{ days }, change] = useAddressState()
  const period = periods.find(({ id }) => id === days)?.id ?? PERIOD
  const access = useAccess()
  const missing = needed
    .map((capability) => access.missing(uid, capability))
    .find((text) => text !== undefined)
  return (
    <section aria-labelledby="trends">
      <div className="section-head">
        <h2 id="trends">Trends</h2>
        <SelectField
          label="Period"
          choices={periods}
          value={period}
          onChange={(id) => change({ days: id === PERIOD ? '' : id })}
        />
      </div>
      {missing === undefined ? (
        <History uid={uid} days={Number(period)} storedBytesLimit={storedBytesLimit} />
      ) : (
        <NoPermission label="Trends" reason={missing} />
      )}
    </section>
  )
}

function History({ uid, days, storedBytesLimit }: TrendsProps & { readonly days: number }) {
  const query = useQuery(usageHistoryQuery(uid, days))
  const { data } = query
  if (data === undefined) return <NotLoaded what="trends" query={query} />
  const points = data.map(({ date, storedBytes, manifests, tags, repos, pulls, pushes }) => ({
    date,
    values: {
      bytes: numberOf(storedBytes),
      manifests: numberOf(manifests),
      tags: numberOf(tags),
      repos: numberOf(repos),
      pulls: Number(pulls),
      pushes: Number(pushes),
    },
  }))
  const limit = numberOf(storedBytesLimit)
  return (
    <div className="charts">
      <Chart
        title="Stored bytes"
        kind="area"
        series={[{ id: 'bytes', title: 'Stored bytes' }]}
        points={points}
        format={formatBytes}
        isBinary
        limit={limit === undefined ? undefined : { value: limit, title: `Limit ${formatBytes(limit)}` }}
      />
      <Chart
        title="Pulls and pushes"
        kind="stacked-bar"
        series={[
          { id: 'pulls', title: 'Pulls' },
          { id: 'pushes', title: 'Pushes' },
        ]}
        points={points}
        format={formatNumber}
      />
      <Chart
        title="Images"
        kind="line"
        series={[
          { id: 'manifests', title: 'Manifests' },
          { id: 'tags', title: 'Tags' },
          { id: 'repos', title: 'Repositories' },
        ]}
        points={points}
        format={formatNumber}
      />
      <TopRepos uid={uid} days={days} />
    </div>
  )
}

function TopRepos({ uid, days }: { readonly uid: string; readonly days: number }) {
  const [{ top }, change] = useAddressState()
  const orderBy = top === 'pushes' ? 'pushes' : 'pulls'
  const { data: repos, error } = useQuery(topReposQuery(uid, days, orderBy))
  return (
    <section className="chart" aria-labelledby="top">
      <div className="chart-head">
        <h3 id="top" className="chart-title">
          Most used repositories
        </h3>
        <SelectField
          label="Order"
          choices={[
            { id: 'pulls', name: 'by pulls' },
            { id: 'pushes', name: 'by pushes' },
          ]}
          value={orderBy}
          onChange={(id) => change({ top: id === 'pulls' ? '' : id })}
        />
      </div>
      {error !== null && <p className="hint">The list is not available.</p>}
      {repos?.length === 0 && <p className="muted">No {orderBy} in this period.</p>}
      {repos !== undefined && repos.length > 0 && (
        <table className="plain-table">
          <thead>
            <tr>
              <th scope="col">Repository</th>
              <th scope="col" className="number">
                Pulls
              </th>
              <th scope="col" className="number">
                Pushes
              </th>
            </tr>
          </thead>
          <tbody>
            {repos.map((repo) => (
              <tr key={repo.uid}>
                <th scope="row">
                  <Link to="/repos/$" params={{ _splat: repo.uid }}>
                    {repo.path}
                  </Link>
                </th>
                <td className="number">{formatNumber(repo.pulls)}</td>
                <td className="number">{formatNumber(repo.pushes)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}
