import type { Role, RoleBinding } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useAccess } from '../../api/access.ts'
import { organizationOf, parentOf } from '../../api/queries/groups.ts'
import { roleBindingsQuery, roleQuery, roleUsesQuery } from '../../api/queries/iam/members.ts'
import type { Versioned } from '../../api/queries/pages.ts'
import { Breadcrumbs } from '../../components/breadcrumbs.tsx'
import { Equivalent, Id } from '../../components/copy.tsx'
import { Facts } from '../../components/facts.tsx'
import { PageList } from '../../components/page-list.tsx'
import { PageTabs } from '../../components/page-tabs.tsx'
import { ResourceHead } from '../../components/resource-head.tsx'
import { ResourcePage } from '../../components/resource-page.tsx'
import { Time } from '../../components/time.tsx'
import { useLeave } from '../../use-page.ts'
import { CapabilityList } from './capability-list.tsx'
import { CompareRoles } from './compare.tsx'
import { blockersOf, DeleteRoleDialog, EditRoleDialog } from './role-dialogs.tsx'
import '../../styles/pages/access.css'

/** A role: what it permits, how it compares to managed roles, and who has it. */
export function RolePage() {
  const { _splat: uid = '' } = useParams({ strict: false })
  return (
    <ResourcePage kind="role" query={roleQuery(uid)}>
      {(role) => <RoleDetails key={uid} role={role} />}
    </ResourcePage>
  )
}

const MANAGED = 'Managed roles come with Berth and do not change'

function RoleDetails({ role }: { readonly role: Versioned<Role> }) {
  const { uid, name, description, capabilities, createTime, updateTime } = role.value
  const leave = useLeave()
  const access = useAccess()
  const [dialog, setDialog] = useState<'edit' | 'delete' | undefined>()
  const close = () => setDialog(undefined)
  const isManaged = !uid.includes('/')
  const folder = parentOf(uid)
  const { data: uses } = useQuery({
    ...roleUsesQuery(folder),
    enabled: !isManaged && access.holds(folder, 'role_bindings.list'),
  })
  const use = uses?.get(uid)
  return (
    <>
      {!isManaged && <Breadcrumbs uid={uid} name={name} />}
      <ResourceHead
        name={name}
        missing={{
          edit: isManaged ? MANAGED : access.missing(folder, 'roles.update'),
          delete: isManaged ? MANAGED : access.missing(folder, 'roles.delete'),
        }}
        onAction={setDialog}
      />
      {description !== '' && (
        <p className="description">
          <bdi>{description}</bdi>
        </p>
      )}
      <Facts
        facts={[
          ['Kind', isManaged ? 'managed' : 'custom'],
          ['Uid', <Id key="uid" value={uid} label={`the uid of ${name}`} />],
          ['Used by', isManaged || uses === undefined ? undefined : blockersOf(use).join(', ') || 'nothing'],
          ['Created', isManaged ? undefined : <Time key="created" value={createTime} />],
          ['Changed', isManaged ? undefined : <Time key="changed" value={updateTime} />],
        ]}
      />
      <PageTabs
        label={`About ${name}`}
        tabs={[
          {
            id: 'capabilities',
            title: `Capabilities (${capabilities.length})`,
            content: () => <CapabilityList capabilities={capabilities} />,
          },
          { id: 'compare', title: 'Compare', content: () => <CompareRoles role={role.value} /> },
          { id: 'holders', title: 'Who has it', content: () => <Holders uid={uid} /> },
        ]}
      />
      <Equivalent command={`berth iam roles describe ${uid}`} />
      {dialog === 'edit' && <EditRoleDialog role={role} onClose={close} />}
      {dialog === 'delete' && (
        <DeleteRoleDialog
          role={role}
          use={use}
          onClose={close}
          onDeleted={() =>
            void leave({ to: '/folders/$', params: { _splat: folder }, search: { tab: 'roles' } })
          }
        />
      )}
    </>
  )
}

/** Bindings in all folders that the user can read. */
function Holders({ uid }: { readonly uid: string }) {
  return (
    <PageList
      label="Holders"
      query={roleBindingsQuery(uid)}
      keyOf={(binding) => binding.uid}
      columns={[
        { id: 'who', title: 'Name', cell: (binding) => <Holder binding={binding} /> },
        {
          id: 'folder',
          title: 'Folder',
          cell: ({ group, uid: binding }) => (
            <Link
              to="/folders/$"
              params={{ _splat: group?.uid ?? organizationOf(binding) }}
              search={{ tab: 'people' }}
            >
              <bdi>{group?.name || group?.uid}</bdi>
            </Link>
          ),
        },
        { id: 'since', title: 'Since', cell: ({ createTime }) => <Time value={createTime} /> },
      ]}
      empty={<p>No one has this role in the folders whose members you can read.</p>}
    />
  )
}

function Holder({ binding: { identity, identityUid } }: { readonly binding: RoleBinding }) {
  return (
    <>
      <bdi>{identity?.name || identity?.email || identityUid}</bdi>
      {identity?.email && (
        <span className="second">
          <bdi>{identity.email}</bdi>
        </span>
      )}
    </>
  )
}
