import type { DeleteManifestResponse } from '@berth/client'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import { manifestDeletionQuery } from '../../api/queries/registry/manifests.ts'
import { messageOf } from '../../api/query-client.ts'
import { ActionDialog } from '../../components/action-dialog.tsx'
import { Command, quoted } from '../../components/copy.tsx'
import { shortDigest } from '../../components/digest.tsx'
import { formatBytes, plural } from '../../components/quantity.tsx'
import { useLeave } from '../../use-page.ts'

interface DeleteManifestProps {
  /** uid of the repository. */
  readonly repo: string
  readonly path: string
  readonly digest: string
  readonly onClose: () => void
}

/** Deletes a manifest after it has shown what is deleted with it. */
export function DeleteManifestDialog({ repo, path, digest, onClose }: DeleteManifestProps) {
  const queries = useQueryClient()
  const leave = useLeave()
  const { data, error } = useQuery(manifestDeletionQuery(repo, digest))
  return (
    <ActionDialog
      title={`Delete ${shortDigest(digest)}`}
      action="Delete the manifest"
      isDangerous
      isDisabled={data === undefined}
      onClose={onClose}
      submit={async () => {
        await api.manifests.delete({ uid: repo, digest })
        await leave({ to: '/repos/$', params: { _splat: repo }, search: { tab: 'images' } })
        for (const key of ['manifests', 'tags', 'referrers', 'repos'])
          await queries.invalidateQueries({ queryKey: [key] })
        queries.removeQueries({ queryKey: ['manifest', repo] })
      }}
    >
      {() => (
        <>
          {error !== null && (
            <p className="alert" role="alert">
              {messageOf(error)}
            </p>
          )}
          {error === null && data === undefined && (
            <p className="muted" role="status">
              Checking what is deleted with it…
            </p>
          )}
          {data !== undefined && <Effects {...data} />}
          <Command
            text={`berth images manifests delete ${quoted(path)} ${digest} --yes`}
            label="the command"
          />
        </>
      )}
    </ActionDialog>
  )
}

const SHOWN_MAX = 20

function Effects({ tags, manifests, unreferencedBytes }: DeleteManifestResponse) {
  return (
    <div className="dialog-text">
      <p>This cannot be undone. Pulls of this digest will fail.</p>
      <Deleted title={`${plural(tags.length, 'tag')} deleted with it`} items={tags} />
      <Deleted
        title={`${plural(manifests.length, 'other manifest')} deleted with it`}
        items={manifests.map((manifest) => `${shortDigest(manifest.digest)}: ${manifest.reason}`)}
      />
      {tags.length + manifests.length === 0 && <p>Nothing else is deleted.</p>}
      <p className="muted">Garbage collection can free up to {formatBytes(unreferencedBytes)}.</p>
    </div>
  )
}

function Deleted({ title, items }: { readonly title: string; readonly items: readonly string[] }) {
  if (items.length === 0) return null
  return (
    <>
      <p>{title}:</p>
      <ul>
        {items.slice(0, SHOWN_MAX).map((text) => (
          <li key={text}>{text}</li>
        ))}
        {items.length > SHOWN_MAX && <li>and {plural(items.length - SHOWN_MAX, 'more', 'more')}</li>}
      </ul>
    </>
  )
}
