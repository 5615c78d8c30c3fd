import type { Binding } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useAccess } from '../../api/access.ts'
import { api } from '../../api/client.ts'
import { organizationOf, parentOf } from '../../api/queries/groups.ts'
import { bindingsOf, bindingsQuery, policiesQuery } from '../../api/queries/pull-policies.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { folderPathOf } from '../../components/breadcrumbs.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Equivalent, quoted } from '../../components/copy.tsx'
import { NotLoaded } from '../../components/loaded.tsx'
import { NoPermission } from '../../components/no-permission.tsx'
import { PlainTable } from '../../components/plain-table.tsx'
import { RowAction } from '../../components/row-action.tsx'
import { BindDialog } from './bind-dialog.tsx'
import { refreshPolicies } from './override-dialog.tsx'
import { ModeBadge, Owner, ParameterTexts, policyName } from './policy-texts.tsx'
import type { PullPolicyProps } from './pull-policies.tsx'

type OpenDialog = { readonly kind: 'bind' } | { readonly kind: 'edit' | 'delete'; readonly binding: Binding }

/** The policies that apply to a folder or repository, those of the folders above included. */
export function Bindings({ uid, path, isRepo }: PullPolicyProps) {
  const access = useAccess()
  const missing = access.missing(uid, 'policies.binding.list') ?? access.missing(uid, 'policies.policy.list')
  const organization = organizationOf(uid)
  const bindings = useQuery({ ...bindingsQuery(organization), enabled: missing === undefined })
  const policies = useQuery({ ...policiesQuery(organization), enabled: missing === undefined })
  const [dialog, setDialog] = useState<OpenDialog | undefined>()
  if (missing !== undefined) return <NoPermission label="Policies" reason={missing} />
  for (const query of [bindings, policies])
    if (query.data === undefined) return <NotLoaded what="the policies" query={query} />
  const known = policies.data ?? []
  const shown = bindingsOf(bindings.data ?? [], uid)
  const close = () => setDialog(undefined)
  return (
    <>
      <div className="tab-actions">
        <ActionButton
          label="Apply a policy"
          missing={access.missing(uid, 'policies.binding.create')}
          onPress={() => setDialog({ kind: 'bind' })}
        />
      </div>
      {shown.length === 0 ? (
        <div className="empty">
          <p>
            No policy applies here, so every pull succeeds that a role permits. Apply one in a dry run first:
            its decisions show what it would deny.
          </p>
        </div>
      ) : (
        <PlainTable
          label="Applied policies"
          items={shown}
          keyOf={({ id }) => id}
          columns={[
            {
              id: 'policy',
              title: 'Policy',
              cell: ({ policy }) => <bdi className="package-name">{policyName(known, policy)}</bdi>,
            },
            { id: 'mode', title: 'Mode', cell: ({ mode }) => <ModeBadge mode={mode} /> },
            {
              id: 'parameters',
              title: 'Parameters',
              cell: ({ parameters }) => <ParameterTexts parameters={parameters} />,
            },
            { id: 'owner', title: 'Applied in', cell: ({ id }) => <Owner uid={parentOf(id)} here={uid} /> },
            {
              id: 'actions',
              title: 'Actions',
              cell: (binding) => {
                if (parentOf(binding.id) !== uid) return <span className="hint">inherited</span>
                const object = `the policy ${policyName(known, binding.policy)}`
                return (
                  <span className="row-actions">
                    <RowAction
                      label="Edit"
                      object={object}
                      missing={access.missing(uid, 'policies.binding.update')}
                      onPress={() => setDialog({ kind: 'edit', binding })}
                    />
                    <RowAction
                      label="Remove"
                      object={object}
                      missing={access.missing(uid, 'policies.binding.delete')}
                      onPress={() => setDialog({ kind: 'delete', binding })}
                    />
                  </span>
                )
              },
            },
          ]}
        />
      )}
      <p className="hint note">Policies of folders above that you cannot read are not listed.</p>
      <Equivalent
        command={`berth policies bindings --parent ${quoted(isRepo ? folderPathOf(path) : path)}`}
      />
      {dialog?.kind === 'bind' && <BindDialog uid={uid} path={path} policies={known} onClose={close} />}
      {dialog?.kind === 'edit' && (
        <BindDialog uid={uid} path={path} policies={known} binding={dialog.binding} onClose={close} />
      )}
      {dialog?.kind === 'delete' && (
        <ConfirmDialog
          title="Remove the policy"
          action="Remove the policy"
          isDangerous
          onClose={close}
          submit={async () => {
            await api.bindings.delete(dialog.binding.id)
            await refreshPolicies()
          }}
        >
          <p>
            {policyName(known, dialog.binding.policy)} no longer applies here, from the next pull on. Its
            decisions stay.
          </p>
        </ConfirmDialog>
      )}
    </>
  )
}
