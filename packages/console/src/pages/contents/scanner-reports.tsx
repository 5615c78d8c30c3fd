import type { ScannerReport } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { scannerComparisonQuery, scannerReportsQuery } from '../../api/queries/contents/findings.ts'
import { Badge } from '../../components/badge.tsx'
import { NotLoaded } from '../../components/loaded.tsx'
import { type PlainColumn, PlainTable } from '../../components/plain-table.tsx'
import { formatNumber } from '../../components/quantity.tsx'
import { severityName, toneOfSeverity } from '../../components/severity.ts'
import { Time } from '../../components/time.tsx'

interface ScannerReportsProps {
  readonly repo: string
  readonly digest: string
  /** Changes when the findings of the server may have changed. */
  readonly version: string
}

/** Reports of other scanners that are attached to an image. Nothing if there are none, as for most images. */
export function ScannerReports({ repo, digest, version }: ScannerReportsProps) {
  const query = useQuery(scannerReportsQuery(repo, digest))
  const { data: reports = [], error } = query
  if (query.data === undefined && error !== null)
    return <NotLoaded what="the reports of other scanners" query={query} />
  if (reports.length === 0) return null
  const isLatest = (report: ScannerReport) =>
    reports.find(({ scanner }) => scanner === report.scanner) === report
  const columns: readonly PlainColumn<ScannerReport>[] = [
    {
      id: 'scanner',
      title: 'Scanner',
      cell: ({ scanner, scannerVersion }) => (
        <>
          <bdi className="package-name">{scanner}</bdi>
          {scannerVersion !== '' && <bdi className="second">{scannerVersion}</bdi>}
        </>
      ),
    },
    { id: 'time', title: 'Report of', cell: ({ createTime }) => <Time value={createTime} isRelative /> },
    { id: 'findings', title: 'Findings', cell: (report) => <ReportCounts report={report} /> },
    {
      id: 'difference',
      title: 'Compared with Berth',
      cell: (report) =>
        isLatest(report) ? (
          <Difference repo={repo} digest={digest} scanner={report.scanner} version={version} />
        ) : (
          <span className="muted">Replaced by a later report</span>
        ),
    },
  ]
  return (
    <section>
      <h2>Reports of other scanners</h2>
      <PlainTable
        label="Reports of other scanners"
        items={reports}
        columns={columns}
        keyOf={({ manifestDigest }, index) => `${manifestDigest} ${index}`}
      />
    </section>
  )
}

function ReportCounts({ report: { counts } }: { readonly report: ScannerReport }) {
  if (counts.length === 0) return <span className="muted">none</span>
  return (
    <>
      {counts.map(({ severity, count }) => (
        <span key={severity}>
          <Badge tone={toneOfSeverity(severityName(severity))}>
            {formatNumber(Number(count))} {severityName(severity)}
          </Badge>{' '}
        </span>
      ))}
    </>
  )
}

/** IDs that a cell names; `berth images reports` lists all. */
const IDS_MAX = 5

function Difference(props: {
  readonly repo: string
  readonly digest: string
  readonly scanner: string
  readonly version: string
}) {
  const { repo, digest, scanner, version } = props
  const query = useQuery(scannerComparisonQuery(repo, digest, scanner, version))
  if (query.data === undefined) return <NotLoaded what="the comparison" query={query} />
  const { onlyInReport, onlyInServer, notAffected, commonCount } = query.data
  const differences = [
    ['Only in the report', onlyInReport],
    ['Only in Berth', onlyInServer],
    ['Not affected according to Berth', notAffected],
  ] as const
  return (
    <>
      <span>{formatNumber(Number(commonCount))} in both</span>
      {differences.map(([title, ids]) =>
        ids.length === 0 ? null : (
          <span key={title} className="second long-words">
            {title}: <bdi>{ids.slice(0, IDS_MAX).join(', ')}</bdi>
            {ids.length > IDS_MAX && ` and ${formatNumber(ids.length - IDS_MAX)} more`}
          </span>
        ),
      )}
    </>
  )
}
