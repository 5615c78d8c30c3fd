import type { OperatorOrganization, OrganizationUsage } from '@berth/client'
import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { AddressState } from '../../address-query.ts'
import { useAddressState } from '../../address-state.ts'
import { useAccess } from '../../api/access.ts'
import { api } from '../../api/client.ts'
import { organizationsQuery } from '../../api/queries/operator.ts'
import { violationOf } from '../../api/query-client.ts'
import { Badge } from '../../components/badge.tsx'
import { Equivalent, quoted } from '../../components/copy.tsx'
import { Field, SelectField } from '../../components/field.tsx'
import { FilterBar, SelectFilter, TextFilter } from '../../components/filter-bar.tsx'
import { PageList } from '../../components/page-list.tsx'
import { formatBytes, formatNumber } from '../../components/quantity.tsx'
import { RowAction } from '../../components/row-action.tsx'
import { Time } from '../../components/time.tsx'
import { titleOf } from '../settings/kinds.ts'
import { ChangeDialog } from './change-dialog.tsx'

/** Organizations with owners, usage and limits. */

type OpenDialog = { readonly kind: 'limits' | 'status'; readonly organization: OperatorOrganization }

export function Organizations() {
  const [state] = useAddressState()
  const access = useAccess()
  const missing = access.missing('', 'operator.update')
  const [dialog, setDialog] = useState<OpenDialog | undefined>()
  const close = () => setDialog(undefined)
  return (
    <>
      <FilterBar>
        <TextFilter label="Search" name="q" placeholder="Name or uid" />
        <SelectFilter label="State" name="suspended" choices={[{ id: 'yes', name: 'Suspended' }]} />
      </FilterBar>
      <PageList
        label="Organizations"
        query={organizationsQuery(state)}
        keyOf={({ uid }) => uid}
        columns={[
          { id: 'name', title: 'Name', cell: (organization) => <Name organization={organization} /> },
          { id: 'owners', title: 'Owners', cell: ({ owners }) => <Owners owners={owners} /> },
          { id: 'repos', title: 'Repositories', cell: ({ usage }) => <Usage usage={usage} kind="repos" /> },
          {
            id: 'people',
            title: 'Identities',
            cell: ({ usage }) => <Usage usage={usage} kind="identities" />,
          },
          {
            id: 'storage',
            title: 'Storage',
            cell: ({ usage }) => <Usage usage={usage} kind="storage_mib" />,
          },
          {
            id: 'created',
            title: 'Created',
            cell: ({ createTime }) => <Time value={createTime} isRelative />,
          },
          {
            id: 'actions',
            title: 'Actions',
            cell: (organization) => (
              <Actions
                organization={organization}
                missing={missing}
                onOpen={(kind) => setDialog({ kind, organization })}
              />
            ),
          },
        ]}
        empty={<p>No organizations match. Remove a filter to see others.</p>}
      />
      <p className="muted note">
        Default limits come from BERTH_RESOURCE_LIMITS in the configuration of the server.
      </p>
      <Equivalent command={listCommandOf(state)} />
      {dialog?.kind === 'status' && <StatusDialog organization={dialog.organization} onClose={close} />}
      {dialog?.kind === 'limits' && <LimitDialog organization={dialog.organization} onClose={close} />}
    </>
  )
}

function listCommandOf({ q = '', suspended = '' }: AddressState): string {
  const column = /^[0-9a-f]{40}$/.test(q) ? 'uid' : 'name'
  return [
    'berth admin organizations list',
    ...(q === '' ? [] : [`--filter ${quoted(`${column}~${q}`)}`]),
    ...(suspended === 'yes' ? ['--filter status=suspended'] : []),
  ].join(' ')
}

function Name({ organization: { uid, name, suspended } }: { readonly organization: OperatorOrganization }) {
  return (
    <span className="named">
      <Link to="/folders/$" params={{ _splat: uid }} search={{}}>
        {name}
      </Link>
      {suspended && <Badge tone="bad">suspended</Badge>}
    </span>
  )
}

function Owners({ owners }: Pick<OperatorOrganization, 'owners'>) {
  if (owners.length === 0) return <span className="muted">none</span>
  return owners.map(({ name, email, uid }) => name || email || uid).join(', ')
}

/** Share of a limit from which it is marked. */
const NEARLY = 0.9
const MIB = 1024 * 1024

function Usage({ usage, kind }: { readonly usage: readonly OrganizationUsage[]; readonly kind: string }) {
  const { used = '0', max, own = false } = usage.find((one) => one.kind === kind) ?? {}
  const format = (n: string) => (kind === 'storage_mib' ? formatBytes(Number(n) * MIB) : formatNumber(n))
  if (max === undefined) return format(used)
  const text = `${format(used)} of ${format(max)}`
  const title = own ? 'Limit of this organization' : 'Default limit'
  return Number(used) >= Number(max) * NEARLY ? (
    <Badge tone="warn" title={title}>
      {text}
    </Badge>
  ) : (
    <span title={title}>{text}</span>
  )
}

interface ActionsProps {
  readonly organization: OperatorOrganization
  readonly missing: string | undefined
  readonly onOpen: (kind: OpenDialog['kind']) => void
}

function Actions({ organization: { name, suspended }, missing, onOpen }: ActionsProps) {
  return (
    <span className="action">
      <RowAction label="Limits" object={`of ${name}`} missing={missing} onPress={() => onOpen('limits')} />
      <RowAction
        label={suspended ? 'Activate' : 'Suspend'}
        object={`the organization ${name}`}
        missing={missing}
        onPress={() => onOpen('status')}
      />
    </span>
  )
}

interface DialogProps {
  readonly organization: OperatorOrganization
  readonly onClose: () => void
}

function useRefresh() {
  const queries = useQueryClient()
  return () => queries.invalidateQueries({ queryKey: ['operator', 'organizations'] })
}

function StatusDialog({ organization: { uid, name, suspended }, onClose }: DialogProps) {
  const refresh = useRefresh()
  const verb = suspended ? 'Activate' : 'Suspend'
  return (
    <ChangeDialog
      title={`${verb} ${name}`}
      action={`${verb} the organization`}
      isDangerous={!suspended}
      entered={null}
      onClose={onClose}
      submit={async () => {
        await (suspended
          ? api.operatorOrganizations.activateOrganization({ uid })
          : api.operatorOrganizations.suspendOrganization({ uid }))
        await refresh()
      }}
    >
      <p>
        {suspended
          ? 'Its members get their access back.'
          : 'Its members lose their access, also to images, until you activate it. Its data is kept.'}
      </p>
      <Equivalent
        command={`berth admin organization ${quoted(name)} --status ${suspended ? 'ready' : 'suspended'}`}
      />
    </ChangeDialog>
  )
}

const limitKinds = [
  'account_associations',
  'advisories',
  'advisory_feeds',
  'external_group_role_mappings',
  'group_invites',
  'groups',
  'identities',
  'idps',
  'manifests',
  'repos',
  'role_bindings',
  'roles',
  'storage_mib',
  'tags',
] as const

function LimitDialog({ organization: { uid, name, usage }, onClose }: DialogProps) {
  const refresh = useRefresh()
  const [kind, setKind] = useState<string>('repos')
  const current = usage.find((one) => one.kind === kind)
  const [max, setMax] = useState(current?.own === true ? (current.max ?? '') : '')
  const choose = (next: string) => {
    const known = usage.find((one) => one.kind === next)
    setKind(next)
    setMax(known?.own === true ? (known.max ?? '') : '')
  }
  return (
    <ChangeDialog
      title={`Limits of ${name}`}
      action="Save the limit"
      isDisabled={!/^\d*$/.test(max)}
      entered={{ kind, max }}
      onClose={onClose}
      submit={async () => {
        await api.operatorOrganizations.setOrganizationLimits({
          uid,
          limits: [{ kind, ...(max === '' ? {} : { max }) }],
        })
        await refresh()
      }}
    >
      {(failure) => (
        <>
          <SelectField
            label="Kind"
            choices={limitKinds.map((id) => ({ id, name: titleOf(id) }))}
            value={kind}
            onChange={choose}
          />
          <Field
            label="Maximum"
            inputMode="numeric"
            value={max}
            onChange={setMax}
            hint={`Used now: ${formatNumber(current?.used ?? '0')}. Empty: the default limit applies.`}
            problem={violationOf(failure, 'max')}
          />
          <Equivalent
            command={`berth admin organization ${quoted(name)} --limit ${kind}=${max === '' ? 'none' : max}`}
          />
        </>
      )}
    </ChangeDialog>
  )
}
