import type { SignatureVerifier } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useAccess } from '../../api/access.ts'
import { api } from '../../api/client.ts'
import { parentOf } from '../../api/queries/groups.ts'
import { verifiersQuery } from '../../api/queries/pull-policies.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { Equivalent, quoted } from '../../components/copy.tsx'
import { DeleteDialog } from '../../components/form-dialog.tsx'
import { NotLoaded } from '../../components/loaded.tsx'
import { NoPermission } from '../../components/no-permission.tsx'
import { PlainTable } from '../../components/plain-table.tsx'
import { RowAction } from '../../components/row-action.tsx'
import { Time } from '../../components/time.tsx'
import { Owner } from './policy-texts.tsx'
import type { PullPolicyProps } from './pull-policies.tsx'
import { refreshVerifiers, VerifierDialog } from './verifier-dialog.tsx'
import { kindOf, methodChoices, trustText } from './verifier-method.ts'

type OpenDialog =
  | { readonly kind: 'create' }
  | { readonly kind: 'edit' | 'delete'; readonly verifier: SignatureVerifier }

/** The keys and identities whose signatures count in a folder: its own, and those of the folders above. */
export function Verifiers({ uid, path }: PullPolicyProps) {
  const access = useAccess()
  const missing = access.missing(uid, 'signature_verifiers.list')
  const query = useQuery({ ...verifiersQuery(uid), enabled: missing === undefined })
  const [dialog, setDialog] = useState<OpenDialog | undefined>()
  if (missing !== undefined) return <NoPermission label="Verifiers" reason={missing} />
  if (query.data === undefined) return <NotLoaded what="the verifiers" query={query} />
  const close = () => setDialog(undefined)
  return (
    <>
      <div className="tab-actions">
        <ActionButton
          label="Create a verifier"
          missing={access.missing(uid, 'signature_verifiers.create')}
          onPress={() => setDialog({ kind: 'create' })}
        />
      </div>
      {query.data.length === 0 ? (
        <div className="empty">
          <p>
            There are no verifiers, so no signature is verified here. A verifier is a key or an identity whose
            signatures of images you trust; the policy signed-by can require it.
          </p>
        </div>
      ) : (
        <PlainTable
          label="Verifiers"
          items={query.data}
          keyOf={({ uid: verifier }) => verifier}
          columns={[
            {
              id: 'name',
              title: 'Name',
              cell: ({ name, description }) => (
                <>
                  <bdi className="package-name">{name}</bdi>
                  {description !== '' && <bdi className="second long-words">{description}</bdi>}
                </>
              ),
            },
            {
              id: 'method',
              title: 'Trusts',
              cell: (verifier) => (
                <>
                  {methodChoices.find(({ id }) => id === kindOf(verifier))?.name}
                  <bdi className="second long-words">{trustText(verifier)}</bdi>
                </>
              ),
            },
            {
              id: 'owner',
              title: 'Folder',
              cell: ({ uid: verifier }) => <Owner uid={parentOf(verifier)} here={uid} />,
            },
            {
              id: 'created',
              title: 'Created',
              cell: ({ createTime = '' }) => <Time value={createTime} isRelative />,
            },
            {
              id: 'actions',
              title: 'Actions',
              cell: (verifier) => (
                <span className="row-actions">
                  <RowAction
                    label="Edit"
                    object={`the verifier ${verifier.name}`}
                    missing={access.missing(verifier.uid, 'signature_verifiers.update')}
                    onPress={() => setDialog({ kind: 'edit', verifier })}
                  />
                  <RowAction
                    label="Delete"
                    object={`the verifier ${verifier.name}`}
                    missing={access.missing(verifier.uid, 'signature_verifiers.delete')}
                    onPress={() => setDialog({ kind: 'delete', verifier })}
                  />
                </span>
              ),
            },
          ]}
        />
      )}
      <Equivalent command={`berth images verifiers list --parent ${quoted(path)}`} />
      {dialog?.kind === 'create' && <VerifierDialog uid={uid} path={path} onClose={close} />}
      {dialog?.kind === 'edit' && (
        <VerifierDialog uid={uid} path={path} verifier={dialog.verifier} onClose={close} />
      )}
      {dialog?.kind === 'delete' && (
        <DeleteDialog
          kind="verifier"
          name={dialog.verifier.name}
          onClose={close}
          submit={async () => {
            await api.signatureVerifiers.delete(dialog.verifier.uid)
            await refreshVerifiers()
          }}
        >
          Images that only this verifier verified are unsigned for policies from then on.
        </DeleteDialog>
      )}
    </>
  )
}
