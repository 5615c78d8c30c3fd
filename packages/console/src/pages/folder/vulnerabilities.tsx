import { useQuery } from '@tanstack/react-query'
import { useAccess } from '../../api/access.ts'
import { findingSummaryQuery } from '../../api/queries/contents/finding-history.ts'
import { missingToReadFindings } from '../../api/queries/contents/findings.ts'
import { usePath } from '../../components/breadcrumbs.tsx'
import { quoted } from '../../components/copy.tsx'
import { Facts } from '../../components/facts.tsx'
import { formatNumber } from '../../components/quantity.tsx'
import { SummaryHistory } from '../contents/finding-history.tsx'
import type { FolderTabProps } from './folder.tsx'

/** The vulnerabilities of all images in a folder or an organization, over time. */
export function Vulnerabilities({ uid, name }: FolderTabProps) {
  const path = usePath(uid, name)
  const missing = missingToReadFindings(useAccess(), uid)
  const { data } = useQuery({ ...findingSummaryQuery(uid), enabled: missing === undefined })
  return (
    <>
      {data !== undefined && (
        <>
          <p className="muted">
            Different vulnerabilities of all images with a tag in {name} and the folders below it.
          </p>
          <Facts
            facts={[
              ['Images with a tag', formatNumber(data.imageCount)],
              ['Not read', formatNumber(data.unreadImageCount)],
              ['Matched with advisories', data.matched ? 'yes' : 'not all packages yet'],
            ]}
          />
        </>
      )}
      <SummaryHistory uid={uid} scope={`--parent ${quoted(path)}`} />
    </>
  )
}
