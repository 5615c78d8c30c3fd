import type { Identity } from '@berth/client'
import { deleteIdentityWithBindings } from '@berth/workloads/creation.ts'
import { identityKind } from '@berth/workloads/identity-kinds.ts'
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { refreshAccess } from '../../api/access-changes.ts'
import { api } from '../../api/client.ts'
import { parentOf } from '../../api/queries/groups.ts'
import { identityQuery, rolesOfIdentityQuery } from '../../api/queries/iam/identities.ts'
import type { Versioned } from '../../api/queries/pages.ts'
import { DeleteDialog, FormDialog } from '../../components/form-dialog.tsx'
import { NameFields } from '../../components/name-fields.tsx'
import { useLeave } from '../../use-page.ts'

/** Dialogs that edit and delete an identity. */

export function EditIdentityDialog({
  identity,
  onClose,
}: {
  readonly identity: Versioned<Identity>
  readonly onClose: () => void
}) {
  const queries = useQueryClient()
  const { uid } = identity.value
  const [edited, setEdited] = useState(identity)
  const { name, description } = identity.value
  const [naming, setNaming] = useState({ name, description })
  return (
    <FormDialog
      title="Edit the identity"
      action="Save"
      isDisabled={naming.name === ''}
      entered={naming}
      onClose={onClose}
      submit={async () => {
        await api.identities.update(uid, naming, { ifMatch: edited.etag })
        await queries.invalidateQueries({ queryKey: ['identity', uid] })
        await queries.invalidateQueries({ queryKey: ['identities'] })
      }}
      reload={async () => {
        const current = await queries.fetchQuery({ ...identityQuery(uid), staleTime: 0 })
        setEdited(current)
        setNaming({ name: current.value.name, description: current.value.description })
      }}
    >
      {(failure) => (
        <NameFields
          value={naming}
          onChange={setNaming}
          hint="Lowercase letters, digits, spaces, and . _ -"
          failure={failure}
        />
      )}
    </FormDialog>
  )
}

export function DeleteIdentityDialog({
  identity,
  onClose,
}: {
  readonly identity: Identity
  readonly onClose: () => void
}) {
  const queries = useQueryClient()
  const leave = useLeave()
  const { uid, name } = identity
  const folder = parentOf(uid)
  const isPullToken = identityKind(identity) === 'pull_token'
  const { data } = useInfiniteQuery(rolesOfIdentityQuery(uid))
  const bindings = data?.pages.flatMap((page) => page.items) ?? []
  return (
    <DeleteDialog
      kind="identity"
      name={name}
      onClose={onClose}
      submit={async () => {
        await deleteIdentityWithBindings(api, uid)
        const tab = isPullToken ? 'pull-tokens' : 'identities'
        await leave(
          folder === '' ? { to: '/' } : { to: '/folders/$', params: { _splat: folder }, search: { tab } },
        )
        await refreshAccess()
        queries.removeQueries({ queryKey: ['identity', uid] })
      }}
    >
      Workloads can no longer sign in as it, and the tokens that they have stop working. This cannot be
      undone.
      {bindings.length > 0 && (
        <>
          {' '}
          Its roles are revoked first:{' '}
          {bindings
            .map(({ role, roleUid, group }) => `${role?.name || roleUid} in ${group?.name || 'a folder'}`)
            .join(', ')}
          .
        </>
      )}
    </DeleteDialog>
  )
}
