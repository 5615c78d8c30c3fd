import type { Role, RoleUse } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useAccess } from '../../api/access.ts'
import { customRolesQuery, managedRolesQuery, roleUsesQuery } from '../../api/queries/iam/members.ts'
import { paged } from '../../api/queries/pages.ts'
import { queryClient } from '../../api/query-client.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { usePath } from '../../components/breadcrumbs.tsx'
import { Equivalent, quoted } from '../../components/copy.tsx'
import { PageList } from '../../components/page-list.tsx'
import type { PlainColumn } from '../../components/plain-table.tsx'
import { formatNumber } from '../../components/quantity.tsx'
import { CreateRoleDialog } from '../roles/role-dialogs.tsx'
import type { FolderTabProps } from './folder.tsx'

/** Roles that can be granted in a folder: its own, and the managed ones, with the numbers of those who have them here and below. */
export function Roles({ uid, name }: FolderTabProps) {
  const access = useAccess()
  const path = usePath(uid, name)
  const [isCreating, setCreating] = useState(false)
  const isCounted = access.holds(uid, 'role_bindings.list')
  const { data: uses } = useQuery({ ...roleUsesQuery(uid), enabled: isCounted })
  const columns = columnsOf(uid, isCounted ? uses : undefined)
  return (
    <>
      <div className="tab-actions">
        <ActionButton
          label="Create a role"
          missing={access.missing(uid, 'roles.create')}
          onPress={() => setCreating(true)}
        />
      </div>
      <section>
        <h2>Custom roles</h2>
        <PageList
          label="Custom roles"
          query={customRolesQuery(uid)}
          missing={access.missing(uid, 'roles.list')}
          keyOf={(role) => role.uid}
          columns={columns}
          empty={
            <p>
              There are no custom roles in this folder. A custom role has exactly the capabilities that you
              choose, and can be granted here and in all folders below.
            </p>
          }
        />
      </section>
      <section>
        <h2>Managed roles</h2>
        <PageList
          label="Managed roles"
          query={managedRolesPage}
          keyOf={(role) => role.uid}
          columns={columns}
          empty={<p>There are no managed roles.</p>}
        />
      </section>
      <Equivalent command={`berth iam roles list --parent ${quoted(path)}`} />
      {isCreating && <CreateRoleDialog uid={uid} onClose={() => setCreating(false)} />}
    </>
  )
}

/** Managed roles are the same in every folder, and fit on one page. */
const managedRolesPage = paged(['roles', 'managed-page'], async () => ({
  items: await queryClient.fetchQuery(managedRolesQuery),
  nextPageToken: '',
}))

function columnsOf(
  folder: string,
  uses: ReadonlyMap<string, RoleUse> | undefined,
): readonly PlainColumn<Role>[] {
  const count = (role: Role, of: 'users' | 'workloads') =>
    uses === undefined ? '' : formatNumber(uses.get(role.uid)?.[of] ?? 0)
  return [
    {
      id: 'name',
      title: 'Name',
      cell: ({ uid, name, description }) => (
        <>
          <Link to="/roles/$" params={{ _splat: uid }} search={{ folder }}>
            <bdi>{name}</bdi>
          </Link>
          {description !== '' && (
            <span className="second">
              <bdi>{description}</bdi>
            </span>
          )}
        </>
      ),
    },
    { id: 'capabilities', title: 'Capabilities', cell: (role) => formatNumber(role.capabilities.length) },
    { id: 'users', title: 'People', cell: (role) => count(role, 'users') },
    { id: 'workloads', title: 'Workloads', cell: (role) => count(role, 'workloads') },
  ]
}
