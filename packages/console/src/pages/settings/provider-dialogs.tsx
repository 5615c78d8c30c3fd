import type { IdentityProvider, IdentityProviderInput } from '@berth/client'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { providerQuery } from '../../api/queries/organization.ts'
import type { Versioned } from '../../api/queries/pages.ts'
import { violationOf } from '../../api/query-client.ts'
import { CheckboxField, Field, SelectField } from '../../components/field.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import { NameFields } from '../../components/name-fields.tsx'
import { RolePicker } from '../../components/pickers.tsx'
import { useIsShown } from '../../use-is-shown.ts'

/** Dialogs that create and change an OpenID provider. */

interface ProviderForm {
  readonly name: string
  readonly description: string
  readonly defaultRole: string
  readonly issuer: string
  readonly clientId: string
  /** Empty keeps the stored one: the server never returns it. */
  readonly clientSecret: string
  readonly scopes: string
  readonly groupsClaim: string
  readonly usesPkce: boolean
  readonly rule: string
}

const SUBJECT = 'CORRELATION_RULE_SUB_EQUALS_EXTERNAL_ID'
const OBJECT = 'CORRELATION_RULE_OID_EQUALS_EXTERNAL_ID'

const emptyForm: ProviderForm = {
  name: '',
  description: '',
  defaultRole: '',
  issuer: '',
  clientId: '',
  clientSecret: '',
  scopes: 'email',
  groupsClaim: '',
  usesPkce: true,
  rule: SUBJECT,
}

function formOf({ name, description, defaultRole, oidc }: IdentityProvider): ProviderForm {
  return {
    ...emptyForm,
    name,
    description,
    defaultRole,
    issuer: oidc?.issuer ?? '',
    clientId: oidc?.clientId ?? '',
    scopes: oidc?.additionalScopes.join(' ') ?? '',
    groupsClaim: oidc?.groupsClaim ?? '',
    usesPkce: oidc?.pkceEnabled ?? false,
    rule: oidc?.correlationRule === OBJECT ? OBJECT : SUBJECT,
  }
}

const messageOfForm = (form: ProviderForm): IdentityProviderInput => ({
  name: form.name,
  description: form.description,
  defaultRole: form.defaultRole,
  oidc: {
    issuer: form.issuer.trim(),
    clientId: form.clientId.trim(),
    clientSecret: form.clientSecret,
    additionalScopes: form.scopes.split(/[\s,]+/).filter((scope) => scope !== ''),
    groupsClaim: form.groupsClaim.trim(),
    correlationRule: form.rule as typeof SUBJECT,
    pkceEnabled: form.usesPkce,
  },
})

const isComplete = ({ name, issuer, clientId, defaultRole }: ProviderForm) =>
  [name, issuer, clientId, defaultRole].every((text) => text !== '')

interface CreateProviderDialogProps {
  readonly organization: string
  readonly onClose: () => void
  readonly onCreated: (uid: string) => void
}

export function CreateProviderDialog({ organization, onClose, onCreated }: CreateProviderDialogProps) {
  const queries = useQueryClient()
  const isShown = useIsShown()
  const [form, setForm] = useState(emptyForm)
  return (
    <FormDialog
      title="Add an identity provider"
      action="Add the identity provider"
      isDisabled={!isComplete(form)}
      entered={form}
      onClose={onClose}
      submit={async () => {
        const { uid } = await api.identityProviders.create(organization, messageOfForm(form))
        await queries.invalidateQueries({ queryKey: ['identity-providers', organization] })
        if (isShown.current) onCreated(uid)
      }}
    >
      {(failure) => (
        <ProviderFields form={form} onChange={setForm} organization={organization} failure={failure} isNew />
      )}
    </FormDialog>
  )
}

interface EditProviderDialogProps {
  readonly provider: Versioned<IdentityProvider>
  readonly organization: string
  readonly onClose: () => void
}

export function EditProviderDialog({ provider, organization, onClose }: EditProviderDialogProps) {
  const queries = useQueryClient()
  const { uid } = provider.value
  const [edited, setEdited] = useState(provider)
  const [form, setForm] = useState(formOf(provider.value))
  return (
    <FormDialog
      title="Edit the identity provider"
      action="Save"
      isDisabled={!isComplete(form)}
      entered={form}
      onClose={onClose}
      submit={async () => {
        await api.identityProviders.update(uid, messageOfForm(form), { ifMatch: edited.etag })
        await queries.invalidateQueries({ queryKey: ['identity-provider', uid] })
        await queries.invalidateQueries({ queryKey: ['identity-providers', organization] })
      }}
      reload={async () => {
        const current = await queries.fetchQuery({ ...providerQuery(uid), staleTime: 0 })
        setEdited(current)
        setForm(formOf(current.value))
      }}
    >
      {(failure) => (
        <ProviderFields form={form} onChange={setForm} organization={organization} failure={failure} />
      )}
    </FormDialog>
  )
}

interface ProviderFieldsProps {
  readonly form: ProviderForm
  readonly onChange: (form: ProviderForm) => void
  readonly organization: string
  readonly failure: unknown
  readonly isNew?: boolean
}

function ProviderFields({ form, onChange, organization, failure, isNew = false }: ProviderFieldsProps) {
  const set = (part: Partial<ProviderForm>) => onChange({ ...form, ...part })
  const problem = (field: string) => violationOf(failure, field)
  return (
    <>
      <NameFields
        value={form}
        onChange={(naming) => set(naming)}
        hint="Lowercase letters, digits, spaces, and . _ -"
        failure={failure}
      />
      <Field
        label="Issuer"
        type="url"
        value={form.issuer}
        onChange={(issuer) => set({ issuer })}
        hint="For example https://accounts.google.com. Its discovery document is read from there."
        problem={problem('issuer')}
      />
      <Field
        label="Client ID"
        value={form.clientId}
        onChange={(clientId) => set({ clientId })}
        problem={problem('clientId')}
      />
      <Field
        label="Client secret"
        type="password"
        value={form.clientSecret}
        onChange={(clientSecret) => set({ clientSecret })}
        hint={isNew ? 'It is never shown again.' : 'Empty keeps the stored secret, which is never shown.'}
        problem={problem('clientSecret')}
      />
      <RolePicker
        label="Role of new users"
        organization={organization}
        value={form.defaultRole}
        onChange={(defaultRole) => set({ defaultRole })}
        hint="Users receive it at their first sign-in."
        problem={problem('defaultRole')}
      />
      <Field
        label="Additional scopes"
        value={form.scopes}
        onChange={(scopes) => set({ scopes })}
        hint="Separated by spaces. openid is always requested."
        problem={problem('additionalScopes')}
      />
      <Field
        label="Groups claim (optional)"
        value={form.groupsClaim}
        onChange={(groupsClaim) => set({ groupsClaim })}
        hint="The claim with the groups of the user, for group mappings: often groups."
        problem={problem('groupsClaim')}
      />
      <SelectField
        label="SCIM accounts match by"
        choices={[
          { id: SUBJECT, name: 'sub', description: 'most providers' },
          { id: OBJECT, name: 'oid', description: 'Microsoft Entra ID' },
        ]}
        value={form.rule}
        onChange={(rule) => set({ rule })}
        isDisabled={!isNew}
        hint="It cannot be changed later."
        problem={problem('correlationRule')}
      />
      <CheckboxField isSelected={form.usesPkce} onChange={(usesPkce) => set({ usesPkce })}>
        Use PKCE
      </CheckboxField>
    </>
  )
}
