import type { Group } from '@berth/client'
import { Link, useParams } from '@tanstack/react-router'
import type { AddressState } from '../../address-query.ts'
import { folderQuery } from '../../api/queries/groups.ts'
import type { Versioned } from '../../api/queries/pages.ts'
import { Badge } from '../../components/badge.tsx'
import { lazyPart } from '../../components/lazy-part.tsx'
import { PageTabs, preloadTab, type TabParts } from '../../components/page-tabs.tsx'
import { ResourcePage } from '../../components/resource-page.tsx'
import { Title } from '../../components/title.tsx'
import { NotFound } from '../not-found.tsx'
import '../../styles/pages/settings.css'

/** What belongs to an organization as a whole: usage, sign-in, cloud accounts, and its deletion. */
export function SettingsPage() {
  const { _splat: uid = '' } = useParams({ strict: false })
  // Folders have their settings on their own page.
  if (uid.includes('/')) return <NotFound />
  return (
    <ResourcePage kind="organization" query={folderQuery(uid)}>
      {(organization) => <OrganizationSettings key={uid} organization={organization} />}
    </ResourcePage>
  )
}

export interface SettingsTabProps {
  readonly organization: Versioned<Group>
}

const tabs: TabParts<SettingsTabProps> = [
  ['usage', 'Usage', lazyPart(async () => (await import('./usage.tsx')).Usage)],
  ['sign-in', 'Sign-in', lazyPart(async () => (await import('./sign-in.tsx')).SignIn)],
  ['mappings', 'Group mappings', lazyPart(async () => (await import('./mappings.tsx')).Mappings)],
  ['domains', 'Domains', lazyPart(async () => (await import('./domains.tsx')).Domains)],
  ['accounts', 'Cloud accounts', lazyPart(async () => (await import('./accounts.tsx')).Accounts)],
  ['danger', 'Danger zone', lazyPart(async () => (await import('./danger.tsx')).Danger)],
]

export const preload = (_uid: string, state: AddressState): readonly Promise<void>[] =>
  preloadTab(tabs, state)

function OrganizationSettings({ organization }: SettingsTabProps) {
  const { uid, name, status } = organization.value
  return (
    <>
      <nav className="breadcrumbs" aria-label="Breadcrumbs">
        <ol>
          <li>
            <Link to="/folders/$" params={{ _splat: uid }}>
              {name}
            </Link>
          </li>
          <li aria-current="page">Settings</li>
        </ol>
      </nav>
      <Title text={`Settings of ${name}`}>
        Settings of {name}
        {status === 'ORG_STATUS_SUSPENDED' && <Badge tone="bad">suspended</Badge>}
      </Title>
      <PageTabs
        label={`Settings of ${name}`}
        tabs={tabs.map(([id, title, Content]) => ({
          id,
          title,
          content: () => <Content organization={organization} />,
        }))}
      />
    </>
  )
}
