import type { Binding, Policy } from '@berth/client'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { violationOf } from '../../api/query-client.ts'
import { Equivalent, quoted } from '../../components/copy.tsx'
import { SelectField } from '../../components/field.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import { refreshPolicies } from './override-dialog.tsx'
import { draftOf, type ParameterDraft, ParameterFields, valuesOf } from './parameter-fields.tsx'
import { modeChoices, modeId, modeOf } from './policy-texts.tsx'

interface BindDialogProps {
  /** uid of the folder or repository. */
  readonly uid: string
  readonly path: string
  readonly policies: readonly Policy[]
  /** What is edited; a new binding without. */
  readonly binding?: Binding
  readonly onClose: () => void
}

/** Applies a policy with its parameters, or changes how it applies. */
export function BindDialog({ uid, path, policies, binding, onClose }: BindDialogProps) {
  const [policyId, setPolicyId] = useState(binding?.policy ?? '')
  const [mode, setMode] = useState<string>(binding === undefined ? 'dry-run' : modeId(binding.mode))
  const policy = policies.find(({ id }) => id === policyId)
  const schemas = policy?.parameterSchemas ?? []
  const [draft, setDraft] = useState<ParameterDraft>(draftOf(schemas, binding?.parameters ?? {}))
  // A policy that the user cannot read has no fields here.
  const parameters = policy === undefined ? (binding?.parameters ?? {}) : valuesOf(schemas, draft)
  // A policy applies where it is defined, and below.
  const choices = policies.filter(({ id }) => !id.includes('/') || isAbove(id, uid))
  return (
    <FormDialog
      title={binding === undefined ? 'Apply a policy' : `Edit ${policy?.name ?? 'the policy'}`}
      action={binding === undefined ? 'Apply the policy' : 'Save'}
      isDisabled={policyId === ''}
      entered={{ policyId, mode, draft }}
      onClose={onClose}
      submit={async () => {
        const values = { policy: policyId, mode: modeOf(mode), parameters }
        if (binding === undefined) await api.bindings.create(uid, values)
        else await api.bindings.update({ id: binding.id, ...values })
        await refreshPolicies()
      }}
    >
      {(failure) => (
        <>
          {binding === undefined && (
            <SelectField
              label="Policy"
              choices={choices.map(({ id, name, description }) => ({ id, name, description }))}
              value={policyId}
              onChange={(id) => {
                setPolicyId(id)
                setDraft({})
              }}
              hint={policy?.description ?? 'A policy of the server, or of a folder that contains this one'}
              problem={violationOf(failure, 'policy')}
            />
          )}
          <SelectField
            label="Mode"
            choices={modeChoices}
            value={mode}
            onChange={setMode}
            hint={
              mode === 'enforced'
                ? 'Denies pulls, also of images whose facts are not known, from the next pull on.'
                : 'All pulls succeed. Decisions show what would be denied.'
            }
            problem={violationOf(failure, 'mode')}
          />
          {binding !== undefined && policy === undefined && (
            <p className="hint">You cannot read this policy: its parameters stay as they are.</p>
          )}
          <ParameterFields schemas={schemas} draft={draft} onChange={setDraft} failure={failure} />
          {policy !== undefined && binding === undefined && (
            <Equivalent command={commandOf(policy.name, path, mode, parameters)} />
          )}
        </>
      )}
    </FormDialog>
  )
}

/** Whether a custom policy is defined in a folder above. `id`: that of its folder and 16 digits. */
function isAbove(id: string, uid: string): boolean {
  const folder = id.slice(0, id.lastIndexOf('/'))
  return uid === folder || uid.startsWith(`${folder}/`)
}

function commandOf(policy: string, path: string, mode: string, parameters: object): string {
  const options = Object.entries(parameters).map(
    ([name, value]) =>
      ` --parameter ${quoted(`${name}=${Array.isArray(value) ? value.join(',') : String(value)}`)}`,
  )
  return `berth policies bind ${quoted(policy)} ${quoted(path)} --mode ${mode}${options.join('')}`
}
