import type { Repo } from '@berth/client'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { parentOf, repoQuery, type Versioned } from '../../api/queries.ts'
import { violationOf } from '../../api/query-client.ts'
import { Field } from '../../components/field.tsx'
import { DeleteDialog, FormDialog } from '../../components/form-dialog.tsx'

/** Dialogs that create, change and delete repositories. */

const NAME_HINT = 'Lowercase letters, digits, and . _ -'

export function CreateRepoDialog({
  parent,
  onClose,
}: {
  readonly parent: string
  readonly onClose: () => void
}) {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const [name, setName] = useState('')
  const [description, setDescription] = useState('')
  return (
    <FormDialog
      title="Create a repository"
      action="Create the repository"
      isDisabled={name === ''}
      onClose={onClose}
      submit={async () => {
        const { uid } = await api.repos.create(parent, { name, description })
        await queries.invalidateQueries({ queryKey: ['repos', parent] })
        await navigate({ to: '/repos/$', params: { _splat: uid } })
      }}
    >
      {(failure) => (
        <>
          <Field
            label="Name"
            value={name}
            onChange={setName}
            hint={NAME_HINT}
            problem={violationOf(failure, 'name')}
            isFirst
          />
          <Field
            label="Description (optional)"
            value={description}
            onChange={setDescription}
            problem={violationOf(failure, 'description')}
          />
        </>
      )}
    </FormDialog>
  )
}

interface RepoDialogProps {
  readonly repo: Versioned<Repo>
  readonly onClose: () => void
}

export function EditRepoDialog({ repo, onClose }: RepoDialogProps) {
  const queries = useQueryClient()
  const { uid } = repo.value
  const [edited, setEdited] = useState(repo)
  const [description, setDescription] = useState(repo.value.description)
  return (
    <FormDialog
      title="Edit the repository"
      action="Save"
      onClose={onClose}
      submit={async () => {
        await api.repos.update(uid, { description }, { ifMatch: edited.etag })
        await queries.invalidateQueries({ queryKey: ['repo', uid] })
        await queries.invalidateQueries({ queryKey: ['repos', parentOf(uid)] })
      }}
      reload={async () => {
        const current = await queries.fetchQuery({ ...repoQuery(uid), staleTime: 0 })
        setEdited(current)
        setDescription(current.value.description)
      }}
    >
      {(failure) => (
        <Field
          label="Description"
          value={description}
          onChange={setDescription}
          problem={violationOf(failure, 'description')}
          isFirst
        />
      )}
    </FormDialog>
  )
}

export function DeleteRepoDialog({ repo, onClose }: RepoDialogProps) {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const { uid, name } = repo.value
  const parent = parentOf(uid)
  return (
    <DeleteDialog
      kind="repository"
      name={name}
      onClose={onClose}
      submit={async () => {
        await api.repos.delete(uid)
        await navigate({ to: '/folders/$', params: { _splat: parent }, search: { tab: 'repositories' } })
        await queries.invalidateQueries({ queryKey: ['repos', parent] })
        queries.removeQueries({ queryKey: ['repo', uid] })
      }}
    >
      This deletes its tags and images, and cannot be undone.
    </DeleteDialog>
  )
}
