import type { Repo } from '@berth/client'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import type { AddressState } from '../../address-query.ts'
import { useAccess } from '../../api/access.ts'
import type { Versioned } from '../../api/queries/pages.ts'
import { visibilityQuery } from '../../api/queries/registry/policies.ts'
import { repoQuery } from '../../api/queries/registry/repos.ts'
import { everyTag, tagsQuery } from '../../api/queries/registry/tags.ts'
import { AboutLinks } from '../../components/about-links.tsx'
import { Badge } from '../../components/badge.tsx'
import { Breadcrumbs, usePath } from '../../components/breadcrumbs.tsx'
import { Id } from '../../components/copy.tsx'
import { Disclosure } from '../../components/disclosure.tsx'
import { lazyPart } from '../../components/lazy-part.tsx'
import { PageTabs, preloadTab, type TabParts } from '../../components/page-tabs.tsx'
import { ResourcePage } from '../../components/resource-page.tsx'
import { Title } from '../../components/title.tsx'
import { Tags } from './tags.tsx'
import { repoCommands, Usage } from './usage.tsx'
import '../../styles/pages/repo.css'

/** A repository: how to use it, what is in it, and its settings. */
export function RepoPage() {
  const { _splat: uid = '' } = useParams({ strict: false })
  return (
    <ResourcePage kind="repository" query={repoQuery(uid)}>
      {(repo) => <Repository key={uid} repo={repo} />}
    </ResourcePage>
  )
}

export interface RepoTabProps {
  readonly repo: Versioned<Repo>
  /** As the command line has it. */
  readonly path: string
}

/** Tabs other than the first are loaded when they are opened. */
const tabs: TabParts<RepoTabProps> = [
  ['tags', 'Tags', Tags],
  ['images', 'Images', lazyPart(async () => (await import('./images.tsx')).Images)],
  ['policy', 'Policy', lazyPart(async () => (await import('./policy.tsx')).Policy)],
  [
    'pull-policies',
    'Pull policies',
    lazyPart(async () => (await import('./pull-policies-tab.tsx')).PullPoliciesTab),
  ],
  ['activity', 'Activity', lazyPart(async () => (await import('./activity.tsx')).RepoActivity)],
  ['readme', 'README', lazyPart(async () => (await import('./readme-tab.tsx')).ReadmeTab)],
  ['settings', 'Settings', lazyPart(async () => (await import('./settings.tsx')).Settings)],
]

export const preload = (_uid: string, state: AddressState): readonly Promise<void>[] =>
  preloadTab(tabs, state)

function Repository({ repo }: { readonly repo: Versioned<Repo> }) {
  const { uid, name, description } = repo.value
  const path = usePath(uid, name)
  return (
    <>
      <Breadcrumbs uid={uid} name={name} />
      <div className="page-head">
        <div className="title-row">
          <Title text={name} />
          <Visibility uid={uid} />
        </div>
        <div className="page-actions">
          <AboutLinks uid={uid} access={{ place: uid }} />
        </div>
      </div>
      {description !== '' && <p className="description">{description}</p>}
      <Id value={uid} label={`the uid of ${name}`} />
      <Commands uid={uid} path={path} />
      <PageTabs
        label={`Contents of ${name}`}
        tabs={tabs.map(([id, title, Content]) => ({
          id,
          title,
          content: () => <Content repo={repo} path={path} />,
        }))}
      />
    </>
  )
}

function Visibility({ uid }: { readonly uid: string }) {
  const { data } = useQuery(visibilityQuery(uid))
  if (data === undefined) return null
  return data.public ? (
    <Badge tone="warn" title="Anyone can pull without a token">
      public
    </Badge>
  ) : (
    <Badge title="Only identities with a role can pull">private</Badge>
  )
}

/** Open until there is a tag. */
function Commands({ uid, path }: { readonly uid: string; readonly path: string }) {
  const access = useAccess()
  const { data } = useInfiniteQuery({
    ...tagsQuery(uid, everyTag),
    enabled: access.holds(uid, 'tag.list'),
  })
  const isEmpty = data?.pages[0]?.items.length === 0
  return (
    <Disclosure key={String(isEmpty)} summary="Pull and push commands" isOpen={isEmpty}>
      <Usage uid={uid} path={path} commands={repoCommands} />
    </Disclosure>
  )
}
