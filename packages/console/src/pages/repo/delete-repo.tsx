import type { Repo } from '@berth/client'
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useAccess } from '../../api/access.ts'
import { api } from '../../api/client.ts'
import { parentOf } from '../../api/queries/groups.ts'
import type { Versioned } from '../../api/queries/pages.ts'
import { everyTag, tagsQuery } from '../../api/queries/registry/tags.ts'
import { DeleteDialog } from '../../components/form-dialog.tsx'
import { plural } from '../../components/quantity.tsx'
import { useLeave } from '../../use-page.ts'

/** Deletes a repository, after it has said what blocks that. */

interface DeleteRepoDialogProps {
  readonly repo: Versioned<Repo>
  readonly onClose: () => void
}

export function DeleteRepoDialog({ repo, onClose }: DeleteRepoDialogProps) {
  const queries = useQueryClient()
  const leave = useLeave()
  const access = useAccess()
  const { uid, name } = repo.value
  const parent = parentOf(uid)
  const { data } = useInfiniteQuery({
    ...tagsQuery(uid, { ...everyTag, includeReferrers: true }),
    enabled: access.holds(uid, 'tag.list'),
  })
  const [page] = data?.pages ?? []
  const hasMutable = page?.items.some(({ immutable }) => !immutable) === true
  return (
    <DeleteDialog
      kind="repository"
      name={name}
      onClose={onClose}
      submit={async () => {
        await api.repos.delete(uid)
        await leave({ to: '/folders/$', params: { _splat: parent }, search: { tab: 'repositories' } })
        await queries.invalidateQueries({ queryKey: ['repos', parent] })
        queries.removeQueries({ queryKey: ['repo', uid] })
      }}
    >
      This deletes its images, its README and its policy, and cannot be undone.
      {hasMutable &&
        ` It still has ${plural(page?.totalCount ?? 0, 'tag')}: the server deletes the repository only once the tags that are not immutable are deleted.`}
    </DeleteDialog>
  )
}
