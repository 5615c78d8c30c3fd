import type { Group } from '@berth/client'
import { useParams } from '@tanstack/react-router'
import type { AddressState } from '../../address-query.ts'
import { folderQuery } from '../../api/queries/groups.ts'
import type { Versioned } from '../../api/queries/pages.ts'
import { Breadcrumbs } from '../../components/breadcrumbs.tsx'
import { Id } from '../../components/copy.tsx'
import { lazyPart } from '../../components/lazy-part.tsx'
import { PageTabs, preloadTab, type TabParts } from '../../components/page-tabs.tsx'
import { ResourcePage } from '../../components/resource-page.tsx'
import { Title } from '../../components/title.tsx'
import { Folders } from './folders.tsx'

/** A folder or an organization: what is in it, and who has roles in it. */
export function FolderPage() {
  const { _splat: uid = '' } = useParams({ strict: false })
  return (
    <ResourcePage kind="folder" query={folderQuery(uid)}>
      {(folder) => <Folder key={uid} folder={folder} />}
    </ResourcePage>
  )
}

export interface FolderTabProps {
  readonly uid: string
  readonly name: string
}

/** Tabs other than the first are loaded when they are opened. */
const tabs: TabParts<FolderTabProps> = [
  ['folders', 'Folders', Folders],
  ['repositories', 'Repositories', lazyPart(async () => (await import('./repositories.tsx')).Repositories)],
  [
    'vulnerabilities',
    'Vulnerabilities',
    lazyPart(async () => (await import('./vulnerabilities.tsx')).Vulnerabilities),
  ],
  ['people', 'People', lazyPart(async () => (await import('./people.tsx')).People)],
  ['roles', 'Roles', lazyPart(async () => (await import('./roles.tsx')).Roles)],
  ['invites', 'Invites', lazyPart(async () => (await import('./invites.tsx')).Invites)],
  ['identities', 'Identities', lazyPart(async () => (await import('./identities.tsx')).Identities)],
  ['pull-tokens', 'Pull tokens', lazyPart(async () => (await import('./pull-tokens.tsx')).PullTokens)],
  ['advisories', 'Advisories', lazyPart(async () => (await import('./advisories.tsx')).Advisories)],
  [
    'pull-policies',
    'Pull policies',
    lazyPart(async () => (await import('./policies-tab.tsx')).PullPoliciesTab),
  ],
  ['audit', 'Audit', lazyPart(async () => (await import('./audit.tsx')).Audit)],
  ['settings', 'Settings', lazyPart(async () => (await import('./settings.tsx')).Settings)],
]

export const preload = (_uid: string, state: AddressState): readonly Promise<void>[] =>
  preloadTab(tabs, state)

function Folder({ folder }: { readonly folder: Versioned<Group> }) {
  const { uid, name, description, status } = folder.value
  return (
    <>
      <Breadcrumbs uid={uid} name={name} />
      <div className="page-head">
        <Title text={name} />
      </div>
      {status === 'ORG_STATUS_SUSPENDED' && (
        <p className="alert" role="alert">
          The operator has suspended this organization.
        </p>
      )}
      {description !== '' && <p className="description">{description}</p>}
      <Id value={uid} label={`the uid of ${name}`} />
      <PageTabs
        label={`Contents of ${name}`}
        tabs={tabs.map(([id, title, Content]) => ({
          id,
          title,
          content: () => <Content uid={uid} name={name} />,
        }))}
      />
    </>
  )
}
