import type { Override, Policy } from '@berth/client'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { queryClient, violationOf } from '../../api/query-client.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Equivalent, quoted } from '../../components/copy.tsx'
import { shortDigest } from '../../components/digest.tsx'
import { Field, SelectField, TextAreaField } from '../../components/field.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'

/** Dialogs that create and delete an override: a digest that passes a policy. */

export const refreshPolicies = async () => {
  for (const key of ['pull-policies', 'policy-bindings', 'policy-overrides', 'policy-decisions'])
    await queryClient.invalidateQueries({ queryKey: [key] })
}

interface CreateOverrideProps {
  /** uid of the folder or repository in which it counts. */
  readonly uid: string
  readonly path: string
  readonly policies: readonly Policy[]
  /** What is known already; '' if the user chooses. */
  readonly policyId: string
  readonly digest: string
  readonly onClose: () => void
}

export function CreateOverrideDialog({ uid, path, policies, onClose, ...known }: CreateOverrideProps) {
  const [policyId, setPolicy] = useState(known.policyId)
  const [digest, setDigest] = useState(known.digest)
  const [reason, setReason] = useState('')
  const policy = policies.find(({ id }) => id === policyId)
  return (
    <FormDialog
      title="Create an override"
      action="Create the override"
      isDisabled={policyId === '' || digest === '' || reason.trim() === ''}
      entered={{ policyId, digest, reason }}
      onClose={onClose}
      submit={async () => {
        await api.overrides.create(uid, { policyId, digest: digest.trim(), reason: reason.trim() })
        await refreshPolicies()
      }}
    >
      {(failure) => (
        <>
          <p className="dialog-text">
            The digest passes the policy in {path} until the override is deleted. The digest of an index
            covers its images.
          </p>
          <SelectField
            label="Policy"
            choices={policies.map(({ id, name }) => ({ id, name }))}
            value={policyId}
            onChange={setPolicy}
            hint={policies.length === 0 ? 'No policy is applied here: apply one first.' : ''}
            problem={violationOf(failure, 'policyId')}
          />
          <Field
            label="Digest"
            value={digest}
            onChange={setDigest}
            hint="sha256: and 64 hexadecimal digits"
            problem={violationOf(failure, 'digest')}
          />
          <TextAreaField
            label="Reason"
            value={reason}
            onChange={setReason}
            rows={2}
            hint="Why the image may be pulled. Everyone who can read policies sees it."
            problem={violationOf(failure, 'reason')}
            isFirst={known.digest !== ''}
          />
          {policy !== undefined && digest !== '' && (
            <Equivalent
              command={`berth policies overrides create ${quoted(path)} --policy ${quoted(policy.name)} --digest ${quoted(digest.trim())} --reason ${quoted(reason.trim() || 'TEXT')}`}
            />
          )}
        </>
      )}
    </FormDialog>
  )
}

export function DeleteOverrideDialog({
  override,
  policy,
  onClose,
}: {
  readonly override: Override
  /** Its name. */
  readonly policy: string
  readonly onClose: () => void
}) {
  return (
    <ConfirmDialog
      title="Delete the override"
      action="Delete the override"
      isDangerous
      onClose={onClose}
      submit={async () => {
        await api.overrides.delete(override.id)
        await refreshPolicies()
      }}
    >
      <p>
        The policy <bdi>{policy}</bdi> applies to {shortDigest(override.digest)} again, from the next pull on.
      </p>
    </ConfirmDialog>
  )
}
