import type { Group } from '@berth/client'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { folderQuery, parentOf } from '../../api/queries/groups.ts'
import type { Versioned } from '../../api/queries/pages.ts'
import { DeleteDialog, FormDialog } from '../../components/form-dialog.tsx'
import { NameFields, type Naming } from '../../components/name-fields.tsx'
import { useLeave, useOpenCreated } from '../../use-page.ts'

/** Dialogs that create, change and delete folders and organizations. */

const NAME_HINT = 'Lowercase letters, digits, spaces, and . _ -'

/** `parent`: '' creates an organization. */
export function CreateFolderDialog({
  parent,
  onClose,
}: {
  readonly parent: string
  readonly onClose: () => void
}) {
  const queries = useQueryClient()
  const openCreated = useOpenCreated()
  const [naming, setNaming] = useState({ name: '', description: '' })
  const kind = parent === '' ? 'organization' : 'folder'
  return (
    <FormDialog
      title={`Create ${parent === '' ? 'an organization' : 'a folder'}`}
      action={`Create the ${kind}`}
      isDisabled={naming.name === ''}
      entered={naming}
      onClose={onClose}
      submit={async () => {
        const { uid } = await api.groups.create(parent, naming)
        await queries.invalidateQueries({ queryKey: ['folders', parent || '/'] })
        // The creator of an organization has a new role.
        await queries.invalidateQueries({ queryKey: ['who-am-i'] })
        await openCreated({ to: '/folders/$', params: { _splat: uid } })
      }}
    >
      {(failure) => <NameFields value={naming} onChange={setNaming} hint={NAME_HINT} failure={failure} />}
    </FormDialog>
  )
}

const namingOf = ({ name, description }: Group): Naming => ({ name, description })

interface FolderDialogProps {
  readonly folder: Versioned<Group>
  readonly kind: 'organization' | 'folder'
  readonly onClose: () => void
}

export function EditFolderDialog({ folder, kind, onClose }: FolderDialogProps) {
  const queries = useQueryClient()
  const { uid } = folder.value
  // The version that the user edits: a conflict must not go unnoticed because the page was refreshed meanwhile.
  const [edited, setEdited] = useState(folder)
  const [naming, setNaming] = useState(namingOf(folder.value))
  return (
    <FormDialog
      title={`Edit the ${kind}`}
      action="Save"
      isDisabled={naming.name === ''}
      entered={naming}
      onClose={onClose}
      submit={async () => {
        await api.groups.update(uid, naming, { ifMatch: edited.etag })
        await invalidateFolder(queries, uid)
      }}
      reload={async () => {
        const current = await queries.fetchQuery({ ...folderQuery(uid), staleTime: 0 })
        setEdited(current)
        setNaming(namingOf(current.value))
      }}
    >
      {(failure) => <NameFields value={naming} onChange={setNaming} hint={NAME_HINT} failure={failure} />}
    </FormDialog>
  )
}

export function DeleteFolderDialog({ folder, kind, onClose }: FolderDialogProps) {
  const queries = useQueryClient()
  const leave = useLeave()
  const { uid, name } = folder.value
  const parent = parentOf(uid)
  return (
    <DeleteDialog
      kind={kind}
      name={name}
      onClose={onClose}
      submit={async () => {
        await api.groups.delete(uid)
        await (parent === '' ? leave({ to: '/' }) : leave({ to: '/folders/$', params: { _splat: parent } }))
        await queries.invalidateQueries({ queryKey: ['folders', parent || '/'] })
        queries.removeQueries({ queryKey: ['folder', uid] })
      }}
    >
      This cannot be undone. Only an empty {kind} can be deleted; if something is left in it, the server lists
      it.
    </DeleteDialog>
  )
}

type Queries = ReturnType<typeof useQueryClient>

async function invalidateFolder(queries: Queries, uid: string): Promise<void> {
  await Promise.all([
    queries.invalidateQueries({ queryKey: ['folder', uid] }),
    queries.invalidateQueries({ queryKey: ['folders', parentOf(uid) || '/'] }),
    queries.invalidateQueries({ queryKey: ['ancestors'] }),
  ])
}
