import { useQuery } from '@tanstack/react-query'
import type { AddressState } from '../../address-query.ts'
import { useAccess } from '../../api/access.ts'
import { whoAmI } from '../../api/queries/groups.ts'
import { lazyPart } from '../../components/lazy-part.tsx'
import { NoPermission } from '../../components/no-permission.tsx'
import { PageTabs, preloadTab, type TabParts } from '../../components/page-tabs.tsx'
import { Title } from '../../components/title.tsx'
import { Accounts } from './accounts.tsx'

/** The installation as a whole, for operators. */

/** Tabs other than the first are loaded when they are opened. */
const tabs: TabParts<object> = [
  ['accounts', 'Accounts', Accounts],
  [
    'organizations',
    'Organizations',
    lazyPart(async () => (await import('./organizations.tsx')).Organizations),
  ],
  ['sessions', 'Sessions', lazyPart(async () => (await import('./sessions.tsx')).Sessions)],
  ['keys', 'Keys', lazyPart(async () => (await import('./keys.tsx')).Keys)],
  ['storage', 'Storage', lazyPart(async () => (await import('./storage.tsx')).Storage)],
  ['jobs', 'Jobs', lazyPart(async () => (await import('./jobs.tsx')).Jobs)],
  ['runs', 'Runs', lazyPart(async () => (await import('./runs.tsx')).Runs)],
  ['nodes', 'Nodes', lazyPart(async () => (await import('./nodes.tsx')).Nodes)],
  ['check', 'Check', lazyPart(async () => (await import('./check.tsx')).Check)],
]

export const preload = (_uid: string, state: AddressState): readonly Promise<void>[] =>
  preloadTab(tabs, state)

export function OperatorPage() {
  const access = useAccess()
  const { data } = useQuery(whoAmI)
  const missing = access.missing('', 'operator.get')
  return (
    <>
      <Title text="Operator" />
      {missing !== undefined ? (
        <NoPermission
          label="The installation"
          reason={`${missing}. Someone with access to the server grants it with: berth admin operators add`}
        />
      ) : data === undefined ? (
        <p className="muted" role="status">
          Loading…
        </p>
      ) : (
        <PageTabs
          label="Operator"
          tabs={tabs.map(([id, title, Tab]) => ({ id, title, content: () => <Tab /> }))}
        />
      )}
    </>
  )
}
