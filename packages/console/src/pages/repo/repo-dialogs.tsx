import type { Repo } from '@berth/client'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { parentOf } from '../../api/queries/groups.ts'
import type { Versioned } from '../../api/queries/pages.ts'
import { repoQuery } from '../../api/queries/registry/repos.ts'
import { FormDialog } from '../../components/form-dialog.tsx'
import { NameFields } from '../../components/name-fields.tsx'
import { useOpenCreated } from '../../use-page.ts'

/** Dialogs that create and change repositories. */

const NAME_HINT = 'Lowercase letters, digits, and . _ -'

export function CreateRepoDialog({
  parent,
  onClose,
}: {
  readonly parent: string
  readonly onClose: () => void
}) {
  const queries = useQueryClient()
  const openCreated = useOpenCreated()
  const [naming, setNaming] = useState({ name: '', description: '' })
  return (
    <FormDialog
      title="Create a repository"
      action="Create the repository"
      isDisabled={naming.name === ''}
      entered={naming}
      onClose={onClose}
      submit={async () => {
        const { uid } = await api.repos.create(parent, naming)
        await queries.invalidateQueries({ queryKey: ['repos', parent] })
        await openCreated({ to: '/repos/$', params: { _splat: uid } })
      }}
    >
      {(failure) => <NameFields value={naming} onChange={setNaming} hint={NAME_HINT} failure={failure} />}
    </FormDialog>
  )
}

const namingOf = ({ name, description }: Repo) => ({ name, description })

interface RepoDialogProps {
  readonly repo: Versioned<Repo>
  readonly onClose: () => void
}

export function EditRepoDialog({ repo, onClose }: RepoDialogProps) {
  const queries = useQueryClient()
  const { uid } = repo.value
  const [edited, setEdited] = useState(repo)
  const [naming, setNaming] = useState(namingOf(repo.value))
  return (
    <FormDialog
      title="Edit the repository"
      action="Save"
      entered={naming}
      onClose={onClose}
      submit={async () => {
        await api.repos.update(uid, naming, { ifMatch: edited.etag })
        await queries.invalidateQueries({ queryKey: ['repo', uid] })
        await queries.invalidateQueries({ queryKey: ['repos', parentOf(uid)] })
      }}
      reload={async () => {
        const current = await queries.fetchQuery({ ...repoQuery(uid), staleTime: 0 })
        setEdited(current)
        setNaming(namingOf(current.value))
      }}
    >
      {(failure) => (
        <>
          <NameFields value={naming} onChange={setNaming} hint={NAME_HINT} failure={failure} />
          {naming.name !== edited.value.name && (
            <p className="hint">
              The image name changes with it: pulls and pushes with the old name fail from then on.
            </p>
          )}
        </>
      )}
    </FormDialog>
  )
}
