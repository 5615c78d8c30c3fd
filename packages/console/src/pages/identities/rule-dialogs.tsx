import type { Identity } from '@berth/client'
import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { identityQuery } from '../../api/queries/iam/identities.ts'
import type { Versioned } from '../../api/queries/pages.ts'
import { violationOf } from '../../api/query-client.ts'
import { CheckboxField, Field, TextAreaField } from '../../components/field.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import { addKeys, customRule, defaultExpiry, readKeys, valuesOfRule } from './rule.ts'
import { RuleFields } from './rule-fields.tsx'

/** Dialogs that change who can assume an identity. */

interface RuleDialogProps {
  readonly identity: Versioned<Identity>
  readonly onClose: () => void
}

async function reread(queries: QueryClient, uid: string): Promise<void> {
  await queries.invalidateQueries({ queryKey: ['identity', uid] })
  await queries.invalidateQueries({ queryKey: ['identities'] })
}

export function RuleDialog({ identity, onClose }: RuleDialogProps) {
  const queries = useQueryClient()
  const { uid } = identity.value
  const [edited, setEdited] = useState(identity)
  const initial = valuesOfRule(identity.value)
  const [values, setValues] = useState(initial?.values ?? {})
  const kind = initial?.kind ?? 'oidc'
  const read = customRule(kind, values)
  return (
    <FormDialog
      title="Change the rule"
      action="Save"
      isDisabled={'problems' in read}
      entered={values}
      onClose={onClose}
      submit={async () => {
        if ('problems' in read) return
        await api.identities.update(uid, read.rule, {
          ifMatch: edited.etag,
          // The rule as a whole: what is no longer in it is removed.
          updateMask: Object.keys(read.rule),
        })
        await reread(queries, uid)
      }}
      reload={async () => {
        const current = await queries.fetchQuery({ ...identityQuery(uid), staleTime: 0 })
        setEdited(current)
        setValues(valuesOfRule(current.value)?.values ?? {})
      }}
    >
      {(failure) => (
        <RuleFields
          kind={kind}
          values={values}
          onChange={(change) => setValues({ ...values, ...change })}
          problems={'problems' in read ? read.problems : {}}
          failure={failure}
        />
      )}
    </FormDialog>
  )
}

export function KeysDialog({ identity, onClose }: RuleDialogProps) {
  const queries = useQueryClient()
  const { uid, staticKeys } = identity.value
  const existing = readKeys(staticKeys?.issuerKeys ?? '') ?? []
  const [edited, setEdited] = useState(identity)
  const [text, setText] = useState('')
  const [expires, setExpires] = useState(defaultExpiry)
  const [keepsExisting, setKeepsExisting] = useState(true)
  const stored = edited.value.staticKeys
  return (
    <FormDialog
      title="Add or replace keys"
      action={keepsExisting ? 'Add the keys' : 'Replace the keys'}
      isDisabled={text.trim() === '' || expires === ''}
      entered={{ text, expires, keepsExisting }}
      onClose={onClose}
      submit={async () => {
        const issuerKeys = keepsExisting ? addKeys(stored?.issuerKeys ?? '', text) : text
        const rule = {
          issuer: stored?.issuer ?? '',
          subject: stored?.subject ?? '',
          audiences: stored?.audiences ?? [],
          issuerKeys,
          expirationTime: new Date(expires).toISOString(),
        }
        await api.identities.update(
          uid,
          { staticKeys: rule },
          { ifMatch: edited.etag, updateMask: ['staticKeys'] },
        )
        await reread(queries, uid)
      }}
      reload={async () => setEdited(await queries.fetchQuery({ ...identityQuery(uid), staleTime: 0 }))}
    >
      {(failure) => (
        <>
          <TextAreaField
            label="Public keys"
            hint="A JSON Web Key Set. Private keys are rejected."
            value={text}
            onChange={setText}
            isMonospace
            problem={violationOf(failure, 'issuerKeys')}
            isFirst
          />
          {existing.length > 0 && (
            <CheckboxField isSelected={keepsExisting} onChange={setKeepsExisting}>
              Keep the {existing.length === 1 ? 'existing key' : `${existing.length} existing keys`}, so that
              tokens of both are accepted
            </CheckboxField>
          )}
          <Field
            label="Keys expire"
            type="datetime-local"
            hint="All keys of the identity. At most 365 days after the identity was created."
            value={expires}
            onChange={setExpires}
            problem={violationOf(failure, 'expirationTime')}
          />
        </>
      )}
    </FormDialog>
  )
}
