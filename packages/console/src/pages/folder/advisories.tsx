import { useAccess } from '../../api/access.ts'
import { lazyPart } from '../../components/lazy-part.tsx'
import { NoPermission } from '../../components/no-permission.tsx'
import { type Section, Sections } from '../../components/sections.tsx'
import { AdvisoryOverview } from './advisories/overview.tsx'
import type { FolderTabProps } from './folder.tsx'
import '../../styles/pages/advisories.css'

const sections: readonly Section<FolderTabProps>[] = [
  ['overview', 'Overview', AdvisoryOverview],
  ['search', 'Search', lazyPart(async () => (await import('./advisories/search.tsx')).SearchTexts)],
  ['documents', 'Documents', lazyPart(async () => (await import('./advisories/documents.tsx')).Documents)],
  ['import', 'Import', lazyPart(async () => (await import('./advisories/import.tsx')).Import)],
  ['feeds', 'Feeds', lazyPart(async () => (await import('./advisories/feeds.tsx')).Feeds)],
  [
    'publication',
    'Publication',
    lazyPart(async () => (await import('./advisories/publication.tsx')).Publication),
  ],
]

/** The advisories of a folder: counts, search, documents, import, feeds and publication. */
export function Advisories(props: FolderTabProps) {
  const missing = useAccess().missing(props.uid, 'advisories.list')
  if (missing !== undefined) return <NoPermission label="Advisories" reason={missing} />
  return <Sections label="Advisories of this folder" tab="advisories" sections={sections} partProps={props} />
}
