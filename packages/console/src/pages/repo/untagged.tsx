import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useAccess } from '../../api/access.ts'
import { api } from '../../api/client.ts'
import { type UntaggedPage, untaggedQuery } from '../../api/queries/registry/policies.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { ActionDialog } from '../../components/action-dialog.tsx'
import { Command, Equivalent, quoted } from '../../components/copy.tsx'
import { SelectField } from '../../components/field.tsx'
import { PageList } from '../../components/page-list.tsx'
import { Progress } from '../../components/progress.tsx'
import { formatBytes, plural } from '../../components/quantity.tsx'
import { formatDuration } from './duration.ts'
import type { PolicyPartProps } from './policy.tsx'
import { verdictColumns, verdictKey } from './policy-preview.tsx'

/** Untagged manifests: what a deletion on request would delete, and the deletion. */

const DAY_S = 86_400
const ages = [
  { id: '3600s', name: '1 hour' },
  { id: `${DAY_S}s`, name: '1 day' },
  { id: `${7 * DAY_S}s`, name: '7 days' },
  { id: `${30 * DAY_S}s`, name: '30 days' },
] as const

export function Untagged({ repo, path }: PolicyPartProps) {
  const access = useAccess()
  const [age, setAge] = useState<string>(ages[1].id)
  const [isDeleting, setDeleting] = useState(false)
  const unreadable = ['tag.list', 'manifest.list']
    .map((capability) => access.missing(repo, capability))
    .find((reason) => reason !== undefined)
  const missing = ['repo.update', 'tag.delete', 'manifest.delete']
    .map((capability) => access.missing(repo, capability))
    .find((reason) => reason !== undefined)
  const query = untaggedQuery(repo, age)
  const { data } = useInfiniteQuery({ ...query, enabled: unreadable === undefined })
  const counts = data?.pages[0] as UntaggedPage | undefined
  const canDelete = counts !== undefined && counts.deletedManifests > 0
  return (
    <section>
      <h2>Untagged manifests</h2>
      <p className="muted">
        Manifests without a tag stay until retention or someone deletes them. What an index or a subject needs
        is kept.
      </p>
      {canDelete && (
        <div className="tab-actions spaced">
          <ActionButton
            label={`Delete ${plural(counts.deletedManifests, 'manifest')}`}
            isQuiet
            missing={missing}
            onPress={() => setDeleting(true)}
          />
        </div>
      )}
      <div className="filter-bar spaced">
        <div className="filter">
          <SelectField label="Untagged for at least" choices={ages} value={age} onChange={setAge} />
        </div>
      </div>
      {canDelete && (
        <p role="status">
          Only these manifests need {formatBytes(counts.unreferencedBytes)} of blobs in this repository.
        </p>
      )}
      <PageList
        label="Untagged manifests"
        query={query}
        missing={unreadable}
        keyOf={verdictKey}
        columns={verdictColumns(repo)}
        empty={<p>There is nothing to delete.</p>}
      />
      <Equivalent command={`${commandOf(path, age)} --dry-run`} />
      {isDeleting && counts !== undefined && (
        <DeleteUntaggedDialog
          repo={repo}
          path={path}
          age={age}
          counts={counts}
          onClose={() => setDeleting(false)}
        />
      )}
    </section>
  )
}

const commandOf = (path: string, age: string) =>
  `berth images repos delete-untagged ${quoted(path)} --older-than ${formatDuration(age)}`

interface DeleteUntaggedDialogProps extends Pick<PolicyPartProps, 'repo' | 'path'> {
  readonly age: string
  readonly counts: UntaggedPage
  readonly onClose: () => void
}

function DeleteUntaggedDialog({ repo, path, age, counts, onClose }: DeleteUntaggedDialogProps) {
  const queries = useQueryClient()
  const [done, setDone] = useState<number | undefined>()
  /** What the deletion started with: the list is read again while it continues. */
  const [started, setStarted] = useState<UntaggedPage | undefined>()
  const { deletedManifests, deletedTags } = started ?? counts
  return (
    <ActionDialog
      title="Delete untagged manifests"
      action={`Delete ${plural(deletedManifests, 'manifest')}`}
      isDangerous
      onClose={onClose}
      submit={async () => {
        let deleted = 0
        setStarted(counts)
        try {
          // One request deletes some of them.
          for (;;) {
            const part = await api.manifests.deleteUntaggedManifests({ uid: repo, olderThan: age })
            deleted += part.deletedManifests
            setDone(deleted)
            if (part.remainingManifests === 0 || part.deletedManifests === 0) break
          }
        } catch (failure) {
          // Another attempt deletes what is left.
          setStarted(undefined)
          setDone(undefined)
          throw failure
        } finally {
          for (const key of ['untagged', 'retention-preview', 'tags'])
            void queries.invalidateQueries({ queryKey: [key, repo] })
        }
      }}
    >
      {() => (
        <div className="dialog-text">
          <p>
            This deletes {plural(deletedManifests, 'manifest')} and {plural(deletedTags, 'attached tag')}, and
            cannot be undone. Garbage collection then deletes the blobs that no repository needs.
          </p>
          {done !== undefined && (
            <>
              <Progress label="Deleted" done={done} total={deletedManifests} unit="manifests" />
              <p className="muted">
                If you close this dialog, the deletion continues while the console is open in this browser
                tab.
              </p>
            </>
          )}
          <Command text={`${commandOf(path, age)} --yes`} label="the command" />
        </div>
      )}
    </ActionDialog>
  )
}
