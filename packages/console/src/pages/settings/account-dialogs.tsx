import { type AccountAssociationInput, BerthError } from '@berth/client'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { NOT_FOUND } from '../../api/http-status.ts'
import { violationOf } from '../../api/query-client.ts'
import { Field, SelectField } from '../../components/field.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import { FolderPicker } from '../../components/pickers.tsx'

/** Links an account to an organization or a folder. A group has one link, with an account at each cloud provider. */

type Cloud = 'amazon' | 'google' | 'azure'

const clouds = [
  { id: 'amazon', name: 'Amazon Web Services' },
  { id: 'google', name: 'Google Cloud' },
  { id: 'azure', name: 'Microsoft Azure' },
]

interface AccountForm {
  readonly account: string
  readonly projectId: string
  readonly projectNumber: string
  readonly tenantId: string
  readonly clientIds: string
}

const emptyForm: AccountForm = { account: '', projectId: '', projectNumber: '', tenantId: '', clientIds: '' }

const required: Readonly<Record<Cloud, readonly (keyof AccountForm)[]>> = {
  amazon: ['account'],
  google: ['projectId', 'projectNumber'],
  azure: ['tenantId', 'clientIds'],
}

function partOf(cloud: Cloud, form: AccountForm): Partial<AccountAssociationInput> {
  const { account, projectId, projectNumber, tenantId, clientIds } = form
  if (cloud === 'amazon') return { amazon: { account } }
  if (cloud === 'google') return { google: { projectId, projectNumber } }
  const pairs = clientIds
    .split(/[\s,]+/)
    .filter((text) => text !== '')
    .map((text) => text.split('='))
  return {
    azure: { tenantId, clientIds: Object.fromEntries(pairs.map(([name = '', id = '']) => [name, id])) },
  }
}

interface LinkAccountDialogProps {
  readonly organization: string
  readonly onClose: () => void
}

export function LinkAccountDialog({ organization, onClose }: LinkAccountDialogProps) {
  const queries = useQueryClient()
  const [place, setPlace] = useState(organization)
  const [cloud, setCloud] = useState<Cloud>('amazon')
  const [form, setForm] = useState(emptyForm)
  const set = (part: Partial<AccountForm>) => setForm({ ...form, ...part })
  return (
    <FormDialog
      title="Link a cloud account"
      action="Link the account"
      isDisabled={place === '' || required[cloud].some((field) => form[field].trim() === '')}
      entered={{ place, cloud, form }}
      onClose={onClose}
      submit={async () => {
        const part = partOf(cloud, form)
        await api.accountAssociations
          .update(place, part, { updateMask: [cloud] })
          .catch((failure: unknown) => {
            if (!(failure instanceof BerthError) || failure.status !== NOT_FOUND) throw failure
            return api.accountAssociations.create(place, { name: 'accounts', ...part })
          })
        await queries.invalidateQueries({ queryKey: ['account-associations', organization] })
      }}
    >
      {(failure) => (
        <>
          <FolderPicker
            label="Organization or folder"
            organization={organization}
            value={place}
            onChange={setPlace}
            problem={violationOf(failure, 'parent')}
          />
          <SelectField
            label="Cloud provider"
            choices={clouds}
            value={cloud}
            onChange={(id) => setCloud(id as Cloud)}
            hint="An account that is already linked at this provider is replaced."
          />
          {cloud === 'amazon' && (
            <Field
              label="Account number"
              inputMode="numeric"
              value={form.account}
              onChange={(account) => set({ account })}
              hint="12 digits"
              problem={violationOf(failure, 'account')}
            />
          )}
          {cloud === 'google' && (
            <>
              <Field
                label="Project ID"
                value={form.projectId}
                onChange={(projectId) => set({ projectId })}
                problem={violationOf(failure, 'projectId')}
              />
              <Field
                label="Project number"
                inputMode="numeric"
                value={form.projectNumber}
                onChange={(projectNumber) => set({ projectNumber })}
                problem={violationOf(failure, 'projectNumber')}
              />
            </>
          )}
          {cloud === 'azure' && (
            <>
              <Field
                label="Tenant ID"
                value={form.tenantId}
                onChange={(tenantId) => set({ tenantId })}
                problem={violationOf(failure, 'tenantId')}
              />
              <Field
                label="Client IDs"
                value={form.clientIds}
                onChange={(clientIds) => set({ clientIds })}
                hint="Component and application ID, for example scanner=00000000-0000-0000-0000-000000000000"
                problem={violationOf(failure, 'clientIds')}
              />
            </>
          )}
        </>
      )}
    </FormDialog>
  )
}
