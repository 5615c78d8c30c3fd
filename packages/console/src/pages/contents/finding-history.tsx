import type { TagFindingHistoryEntry } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { useAccess } from '../../api/access.ts'
import { findingHistoryQuery, summaryHistoryQuery } from '../../api/queries/contents/finding-history.ts'
import { missingToReadFindings } from '../../api/queries/contents/findings.ts'
import { Chart } from '../../components/chart.tsx'
import { type ChartPoint, datesFrom } from '../../components/chart-data.ts'
import { Command, quoted } from '../../components/copy.tsx'
import { NotLoaded } from '../../components/loaded.tsx'
import { NoPermission } from '../../components/no-permission.tsx'

const DAYS = 90

interface FindingHistoryProps {
  /** uid of the repository. */
  readonly repo: string
  /** Path of the repository, as the command line has it. */
  readonly path: string
  readonly tag: string
}

/** How many findings the image of a tag had, by severity. */
export function FindingHistory({ repo, path, tag }: FindingHistoryProps) {
  const missing = missingToReadFindings(useAccess(), repo)
  const query = useQuery({ ...findingHistoryQuery(repo, tag, DAYS), enabled: missing === undefined })
  if (missing !== undefined) return <NoPermission label="Vulnerabilities" reason={missing} />
  if (query.data === undefined) return <NotLoaded what="the history of vulnerabilities" query={query} />
  return (
    <HistoryChart
      title="Findings by severity over time"
      // Days on which the image was not read have no values.
      points={pointsOf(query.data, ({ contentsState }) => contentsState === 'read')}
      empty={`They are recorded when the image of ${tag} is read and matched with advisories, and when they change.`}
      command={`berth images vulns-history ${quoted(`${path}:${tag}`)}`}
    />
  )
}

interface SummaryHistoryProps {
  /** Of the repository, folder or organization. */
  readonly uid: string
  /** How the command line names it, such as `--repo my-org/app`. */
  readonly scope: string
}

/** How many different vulnerabilities the tagged images of a repository, folder or organization had, by severity. */
export function SummaryHistory({ uid, scope }: SummaryHistoryProps) {
  const missing = missingToReadFindings(useAccess(), uid)
  const query = useQuery({ ...summaryHistoryQuery(uid, DAYS), enabled: missing === undefined })
  if (missing !== undefined) return <NoPermission label="Vulnerabilities" reason={missing} />
  if (query.data === undefined) return <NotLoaded what="the history of vulnerabilities" query={query} />
  return (
    <HistoryChart
      title="Vulnerabilities by severity over time"
      points={pointsOf(query.data, () => true)}
      empty="They are recorded when an image with a tag is read and matched with advisories, and when they change."
      command={`berth images vulns-history ${scope}`}
    />
  )
}

interface HistoryChartProps {
  readonly title: string
  readonly points: readonly ChartPoint[]
  /** When there are numbers. */
  readonly empty: string
  readonly command: string
}

function HistoryChart({ title, points, empty, command }: HistoryChartProps) {
  const shown = series.filter(({ id }) => points.some(({ values }) => (values[id] ?? 0) > 0))
  return (
    <>
      <Chart
        title={title}
        kind="stacked-bar"
        // Without findings, one series shows that there were none.
        series={shown.length === 0 ? series.slice(-1) : shown}
        points={points}
        empty={<p>No numbers yet. {empty}</p>}
      />
      <Command text={command} label="the command for this history" />
    </>
  )
}

/** From the bottom of a bar to its top. */
const series = [
  { id: 'unknown', title: 'Unknown', tone: 'unknown' },
  { id: 'none', title: 'None', tone: 'unknown' },
  { id: 'low', title: 'Low', tone: 'low' },
  { id: 'medium', title: 'Medium', tone: 'medium' },
  { id: 'high', title: 'High', tone: 'high' },
  { id: 'critical', title: 'Critical', tone: 'critical' },
] as const

type Entry = Pick<TagFindingHistoryEntry, 'time' | (typeof series)[number]['id']>

const dayOf = ({ time = '' }: Entry): string => time.slice(0, 10)

/** Returns what applied at the end of each day. Days on which it was not known have no values. */
function pointsOf<T extends Entry>(latestFirst: readonly T[], isKnown: (entry: T) => boolean): ChartPoint[] {
  const entries = latestFirst.toReversed()
  const [first] = entries
  if (first === undefined) return []
  return datesFrom(dayOf(first))
    .map((date) => {
      const entry = entries.findLast((one) => dayOf(one) <= date)
      return {
        date,
        values:
          entry !== undefined && isKnown(entry)
            ? Object.fromEntries(series.map(({ id }) => [id, Number(entry[id])]))
            : {},
      }
    })
    .slice(-DAYS)
}
