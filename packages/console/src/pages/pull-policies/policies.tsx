import type { Policy } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useAccess } from '../../api/access.ts'
import { api } from '../../api/client.ts'
import { organizationOf, parentOf } from '../../api/queries/groups.ts'
import { isSystemPolicy, policiesQuery } from '../../api/queries/pull-policies.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { Badge } from '../../components/badge.tsx'
import { Equivalent } from '../../components/copy.tsx'
import { DeleteDialog } from '../../components/form-dialog.tsx'
import { NotLoaded } from '../../components/loaded.tsx'
import { LongText } from '../../components/long-text.tsx'
import { NoPermission } from '../../components/no-permission.tsx'
import { PlainTable } from '../../components/plain-table.tsx'
import { RowAction } from '../../components/row-action.tsx'
import { refreshPolicies } from './override-dialog.tsx'
import { PolicyDialog } from './policy-dialog.tsx'
import { Owner, parameterTitle } from './policy-texts.tsx'
import type { PullPolicyProps } from './pull-policies.tsx'

type OpenDialog = { readonly kind: 'create' } | { readonly kind: 'edit' | 'delete'; readonly policy: Policy }

/** The system policies, and the custom policies of the organization that the user can read. */
export function Policies({ uid, path }: PullPolicyProps) {
  const access = useAccess()
  const missing = access.missing(uid, 'policies.policy.list')
  const query = useQuery({ ...policiesQuery(organizationOf(uid)), enabled: missing === undefined })
  const [dialog, setDialog] = useState<OpenDialog | undefined>()
  if (missing !== undefined) return <NoPermission label="Policies" reason={missing} />
  if (query.data === undefined) return <NotLoaded what="the policies" query={query} />
  const custom = query.data.filter((policy) => !isSystemPolicy(policy))
  const close = () => setDialog(undefined)
  return (
    <>
      <div className="tab-actions">
        <ActionButton
          label="Create a policy"
          missing={access.missing(uid, 'policies.policy.create')}
          onPress={() => setDialog({ kind: 'create' })}
        />
      </div>
      <section>
        <h2>Custom policies</h2>
        {custom.length === 0 ? (
          <div className="empty">
            <p>
              There are none yet. A custom policy is an expression in CEL that is true for an image that may
              be pulled, such as <code>image.labels["tier"] == "production"</code>.
            </p>
          </div>
        ) : (
          <PlainTable
            label="Custom policies"
            items={custom}
            keyOf={({ id }) => id}
            columns={[
              { id: 'name', title: 'Name', cell: (policy) => <Name policy={policy} /> },
              {
                id: 'expression',
                title: 'Expression',
                cell: ({ expression }) => <LongText text={expression} />,
              },
              { id: 'owner', title: 'Folder', cell: ({ id }) => <Owner uid={parentOf(id)} here={uid} /> },
              {
                id: 'actions',
                title: 'Actions',
                cell: (policy) => (
                  <span className="row-actions">
                    <RowAction
                      label="Edit"
                      object={`the policy ${policy.name}`}
                      missing={access.missing(policy.id, 'policies.policy.update')}
                      onPress={() => setDialog({ kind: 'edit', policy })}
                    />
                    <RowAction
                      label="Delete"
                      object={`the policy ${policy.name}`}
                      missing={access.missing(policy.id, 'policies.policy.delete')}
                      onPress={() => setDialog({ kind: 'delete', policy })}
                    />
                  </span>
                ),
              },
            ]}
          />
        )}
      </section>
      <section>
        <h2>System policies</h2>
        <PlainTable
          label="System policies"
          items={query.data.filter(isSystemPolicy)}
          keyOf={({ id }) => id}
          columns={[
            { id: 'name', title: 'Name', cell: (policy) => <Name policy={policy} /> },
            {
              id: 'parameters',
              title: 'Parameters',
              cell: ({ parameterSchemas }) =>
                parameterSchemas.map(({ name, required }) => (
                  <span key={name} className="second">
                    {parameterTitle(name)}
                    {required && <Badge>required</Badge>}
                  </span>
                )),
            },
          ]}
        />
      </section>
      <Equivalent command="berth policies list" />
      {dialog?.kind === 'create' && <PolicyDialog uid={uid} path={path} onClose={close} />}
      {dialog?.kind === 'edit' && (
        <PolicyDialog uid={uid} path={path} policy={dialog.policy} onClose={close} />
      )}
      {dialog?.kind === 'delete' && (
        <DeleteDialog
          kind="policy"
          name={dialog.policy.name}
          onClose={close}
          submit={async () => {
            await api.policies.delete(dialog.policy.id)
            await refreshPolicies()
          }}
        >
          A policy that is applied, or that has overrides, cannot be deleted.
        </DeleteDialog>
      )}
    </>
  )
}

function Name({ policy: { name, description } }: { readonly policy: Policy }) {
  return (
    <>
      <bdi className="package-name">{name}</bdi>
      {description !== '' && <bdi className="second long-words">{description}</bdi>}
    </>
  )
}
