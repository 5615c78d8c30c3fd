import type { Override } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useAccess } from '../../api/access.ts'
import { organizationOf, parentOf } from '../../api/queries/groups.ts'
import {
  bindingsQuery,
  overridablePolicies,
  overridesQuery,
  policiesQuery,
} from '../../api/queries/pull-policies.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { folderPathOf } from '../../components/breadcrumbs.tsx'
import { Equivalent, Id, quoted } from '../../components/copy.tsx'
import { NotLoaded } from '../../components/loaded.tsx'
import { PageList } from '../../components/page-list.tsx'
import { RowAction } from '../../components/row-action.tsx'
import { Time } from '../../components/time.tsx'
import { CreateOverrideDialog, DeleteOverrideDialog } from './override-dialog.tsx'
import { Owner, policyName } from './policy-texts.tsx'
import type { PullPolicyProps } from './pull-policies.tsx'

/** Digests that pass a policy although it denies them, in a folder or repository and everything in it. */
export function Overrides({ uid, path, isRepo }: PullPolicyProps) {
  const access = useAccess()
  const organization = organizationOf(uid)
  const unreadable = access.missing(uid, 'policies.policy.list')
  const policyList = useQuery({ ...policiesQuery(organization), enabled: unreadable === undefined })
  const bindingList = useQuery({
    ...bindingsQuery(organization),
    enabled: access.missing(uid, 'policies.binding.list') === undefined,
  })
  const [dialog, setDialog] = useState<'create' | Override | undefined>()
  for (const query of [policyList, bindingList])
    if (query.isEnabled && query.data === undefined) return <NotLoaded what="the policies" query={query} />
  const policies = policyList.data ?? []
  const bindings = bindingList.data
  const close = () => setDialog(undefined)
  return (
    <>
      <div className="tab-actions">
        <ActionButton
          label="Create an override"
          // Which policy it is for is chosen from a list.
          missing={access.missing(uid, 'policies.override.create') ?? unreadable}
          onPress={() => setDialog('create')}
        />
      </div>
      <PageList
        label="Overrides"
        query={overridesQuery(uid)}
        missing={access.missing(uid, 'policies.override.list')}
        keyOf={({ id }) => id}
        columns={[
          {
            id: 'digest',
            title: 'Digest',
            cell: ({ digest }) => <Id value={digest} label="the digest" />,
          },
          {
            id: 'policy',
            title: 'Policy',
            cell: ({ policyId }) => <bdi className="package-name">{policyName(policies, policyId)}</bdi>,
          },
          { id: 'reason', title: 'Reason', cell: ({ reason }) => <bdi className="long-words">{reason}</bdi> },
          { id: 'owner', title: 'Counts in', cell: ({ id }) => <Owner uid={parentOf(id)} here={uid} /> },
          {
            id: 'created',
            title: 'Created',
            cell: ({ createdAt, createdBy }) => (
              <>
                <Time value={createdAt} isRelative />
                <span className="second">
                  by <Owner uid={createdBy} here="" />
                </span>
              </>
            ),
          },
          {
            id: 'actions',
            title: 'Actions',
            cell: (override) => (
              <RowAction
                label="Delete"
                object={`the override of ${override.digest}`}
                missing={access.missing(override.id, 'policies.override.delete')}
                onPress={() => setDialog(override)}
              />
            ),
          },
        ]}
        empty={
          <p>
            There are no overrides. An override lets one digest pass a policy, with a reason that others can
            read.
          </p>
        }
      />
      <Equivalent
        command={`berth policies overrides list --parent ${quoted(isRepo ? folderPathOf(path) : path)}`}
      />
      {dialog === 'create' && (
        <CreateOverrideDialog
          uid={uid}
          path={path}
          policies={bindings === undefined ? policies : overridablePolicies(policies, bindings, uid)}
          policyId=""
          digest=""
          onClose={close}
        />
      )}
      {dialog !== undefined && dialog !== 'create' && (
        <DeleteOverrideDialog
          override={dialog}
          policy={policyName(policies, dialog.policyId)}
          onClose={close}
        />
      )}
    </>
  )
}
