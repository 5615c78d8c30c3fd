import type { SignatureVerifier } from '@berth/client'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { queryClient, violationOf } from '../../api/query-client.ts'
import { Equivalent, quoted } from '../../components/copy.tsx'
import { CheckboxField, Field, SelectField, TextAreaField } from '../../components/field.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import { NameFields } from '../../components/name-fields.tsx'
import { draftOf, type MethodDraft, type MethodKind, methodChoices, methodOf } from './verifier-method.ts'

/** Verifiers, and all that their change can change: results of signatures, and decisions. */
export async function refreshVerifiers() {
  for (const key of ['signature-verifiers', 'image-signatures', 'policy-decisions'])
    await queryClient.invalidateQueries({ queryKey: [key] })
}

interface VerifierDialogProps {
  /** uid of the folder. */
  readonly uid: string
  readonly path: string
  /** What is edited; a new verifier without. */
  readonly verifier?: SignatureVerifier
  readonly onClose: () => void
}

export function VerifierDialog({ uid, path, verifier, onClose }: VerifierDialogProps) {
  const [naming, setNaming] = useState({
    name: verifier?.name ?? '',
    description: verifier?.description ?? '',
  })
  const [draft, setDraft] = useState(draftOf(verifier))
  return (
    <FormDialog
      title={verifier === undefined ? 'Create a verifier' : 'Edit the verifier'}
      action={verifier === undefined ? 'Create the verifier' : 'Save'}
      isWide
      isDisabled={naming.name === '' || (draft.kind === 'key' ? draft.key : draft.authorities).trim() === ''}
      entered={{ naming, draft }}
      onClose={onClose}
      submit={async () => {
        const values = { ...naming, ...methodOf(draft) }
        if (verifier === undefined) await api.signatureVerifiers.create(uid, values)
        else await api.signatureVerifiers.update(verifier.uid, values)
        await refreshVerifiers()
      }}
    >
      {(failure) => (
        <>
          <NameFields
            value={naming}
            onChange={setNaming}
            hint="Lowercase letters, digits, spaces, and . _ -"
            failure={failure}
          />
          <SelectField
            label="What it trusts"
            choices={methodChoices}
            value={draft.kind}
            onChange={(kind) => setDraft({ ...draft, kind: kind as MethodKind })}
          />
          <MethodFields
            draft={draft}
            onChange={(changed) => setDraft({ ...draft, ...changed })}
            failure={failure}
          />
          {verifier === undefined && <Equivalent command={commandOf(naming.name, path, draft)} />}
        </>
      )}
    </FormDialog>
  )
}

interface MethodFieldsProps {
  readonly draft: MethodDraft
  readonly onChange: (changed: Partial<MethodDraft>) => void
  readonly failure: unknown
}

function MethodFields({ draft, onChange, failure }: MethodFieldsProps) {
  const pem = (name: PemField, label: string, hint: string) => (
    <TextAreaField
      label={label}
      value={draft[name]}
      onChange={(text) => onChange({ [name]: text })}
      rows={3}
      isMonospace
      hint={hint}
      problem={violationOf(failure, name)}
    />
  )
  if (draft.kind === 'key')
    return (
      <>
        {pem('key', 'Public key', 'PEM, as in cosign.pub')}
        {pem('logKeys', 'Keys of transparency logs (optional)', LOG_HINT)}
      </>
    )
  if (draft.kind === 'notation')
    return (
      <>
        {pem('authorities', 'Certificates of the trust store', 'PEM, at most 10')}
        <TextAreaField
          label="Trusted identities"
          value={draft.identities}
          onChange={(identities) => onChange({ identities })}
          rows={2}
          hint="One in each line, such as x509.subject: C=US, ST=WA, O=acme; * trusts every certificate of the store"
          problem={violationOf(failure, 'identities')}
        />
      </>
    )
  return (
    <>
      {pem('authorities', 'Certificates of the authorities', 'PEM: a root and its intermediates')}
      <Field
        label="Identity"
        value={draft.identity}
        onChange={(identity) => onChange({ identity })}
        hint="Email address or URI that the certificate names"
        problem={violationOf(failure, 'identity') ?? violationOf(failure, 'identityPattern')}
      />
      <CheckboxField
        isSelected={draft.isIdentityPattern}
        onChange={(isIdentityPattern) => onChange({ isIdentityPattern })}
      >
        The identity is a regular expression
      </CheckboxField>
      <Field
        label="Issuer"
        value={draft.issuer}
        onChange={(issuer) => onChange({ issuer })}
        hint="Who authenticated the identity, such as https://token.actions.githubusercontent.com"
        problem={violationOf(failure, 'issuer') ?? violationOf(failure, 'issuerPattern')}
      />
      <CheckboxField
        isSelected={draft.isIssuerPattern}
        onChange={(isIssuerPattern) => onChange({ isIssuerPattern })}
      >
        The issuer is a regular expression
      </CheckboxField>
      <p className="dialog-text">
        Such certificates are valid for minutes. A transparency log or a timestamp shows when they signed: one
        of the two is required.
      </p>
      {pem('logKeys', 'Keys of transparency logs', LOG_HINT)}
      {pem(
        'timestampAuthorities',
        'Certificates of timestamp authorities',
        'PEM chains, with an empty line between two authorities',
      )}
      {pem('certificateLogKeys', 'Keys of certificate logs (optional)', LOG_HINT)}
    </>
  )
}

type PemField = 'key' | 'authorities' | 'logKeys' | 'timestampAuthorities' | 'certificateLogKeys'

const LOG_HINT = 'PEM, one key after the other: a signature requires an entry in one of these logs'

function commandOf(name: string, path: string, draft: MethodDraft): string {
  const logs = draft.logKeys.trim() === '' ? '' : ' --log-key log.pub'
  return `berth images verifiers create ${quoted(name || 'NAME')} --parent ${quoted(path)}${methodText(draft)}${draft.kind === 'notation' ? '' : logs}`
}

function methodText({ kind, identity, isIdentityPattern, issuer, isIssuerPattern, identities }: MethodDraft) {
  if (kind === 'key') return ' --key cosign.pub'
  if (kind === 'notation')
    return ` --notation-authorities ca.pem --identity ${quoted(identities.trim().replaceAll(/\s*\n\s*/g, '; '))}`
  const pattern = (isPattern: boolean) => (isPattern ? '-pattern' : '')
  return ` --authorities ca.pem --identity${pattern(isIdentityPattern)} ${quoted(identity)} --issuer${pattern(isIssuerPattern)} ${quoted(issuer)}`
}
