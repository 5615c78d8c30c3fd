import type { FindingCount } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useAccess } from '../../api/access.ts'
import { missingToReadFindings } from '../../api/queries/contents/findings.ts'
import { repoFindingsQuery, tagFindingsQuery } from '../../api/queries/contents/summaries.ts'
import { Badge } from '../../components/badge.tsx'
import { formatNumber, plural } from '../../components/quantity.tsx'
import { NotPermitted } from '../../components/reasons.tsx'
import { countBySeverity, severities, toneOfSeverity } from '../../components/severity.ts'

/** Numbers of vulnerabilities in rows of lists. */

interface RepoFindingsProps {
  readonly folder: string
  readonly repo: string
}

/** Of the images with a tag. */
export function RepoFindings({ folder, repo }: RepoFindingsProps) {
  const missing = missingToReadFindings(useAccess(), repo)
  const { data, error } = useQuery({ ...repoFindingsQuery(folder, repo), enabled: missing === undefined })
  if (missing !== undefined) return <NotPermitted what="Vulnerabilities" missing={missing} />
  if (error !== null) return <span className="muted">not available</span>
  if (data === undefined || data === null) return null
  const unread = Number(data.unreadImageCount)
  if (Number(data.imageCount) === unread)
    return <span className="muted">{unread === 0 ? 'no images' : 'not read yet'}</span>
  return (
    <>
      <Counts counts={data.counts} isMatched={data.matched} />
      {Number(data.knownExploitedCount) > 0 && (
        <span className="second">{formatNumber(data.knownExploitedCount)} known to be exploited</span>
      )}
      {unread > 0 && <span className="second">{plural(unread, 'image')} not read</span>}
    </>
  )
}

interface TagFindingsProps {
  readonly repo: string
  readonly tag: string
  readonly digest: string
}

export function TagFindings({ repo, tag, digest }: TagFindingsProps) {
  const missing = missingToReadFindings(useAccess(), repo)
  const { data, error } = useQuery({
    ...tagFindingsQuery(repo, tag, digest),
    enabled: missing === undefined && digest !== '',
  })
  if (missing !== undefined) return <NotPermitted what="Vulnerabilities" missing={missing} />
  if (error !== null) return <span className="muted">not available</span>
  if (data === undefined || data === null) return null
  if (data.contentsState === 'none') return <span className="muted">no image</span>
  if (data.contentsState !== 'read')
    return (
      <span className="muted">{data.contentsState === 'pending' ? 'not read yet' : 'cannot be read'}</span>
    )
  return (
    <Link to="/manifests/$" params={{ _splat: `${repo}/${digest}` }} search={{ tab: 'vulnerabilities' }}>
      <Counts counts={data.counts} isMatched={data.matched} />
    </Link>
  )
}

/** The highest severities, and how many more there are. */
const SHOWN = 2

function Counts({
  counts,
  isMatched,
}: {
  readonly counts: readonly FindingCount[]
  readonly isMatched: boolean
}) {
  const sums = countBySeverity(counts)
  const found = severities.flatMap((name) => {
    const count = sums.get(name) ?? 0
    return count === 0 ? [] : [{ name, count }]
  })
  const rest = found.slice(SHOWN).reduce((sum, { count }) => sum + count, 0)
  return (
    <span className="badges">
      {found.slice(0, SHOWN).map(({ name, count }) => (
        <Badge key={name} tone={toneOfSeverity(name)}>
          {formatNumber(count)} {name}
        </Badge>
      ))}
      {rest > 0 && <span className="muted">{formatNumber(rest)} more</span>}
      {found.length === 0 && <span className="muted">{isMatched ? 'none known' : 'being matched'}</span>}
    </span>
  )
}
