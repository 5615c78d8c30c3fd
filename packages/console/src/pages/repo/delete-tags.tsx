import type { PreviewTagDeletionResponse } from '@berth/client'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import { tagDeletionQuery } from '../../api/queries/registry/tags.ts'
import { messageOf } from '../../api/query-client.ts'
import { ActionDialog } from '../../components/action-dialog.tsx'
import { Command, quoted } from '../../components/copy.tsx'
import { shortDigest } from '../../components/digest.tsx'
import { plural } from '../../components/quantity.tsx'
import { formatDuration } from './duration.ts'

/** Deletes tags, after it has shown what becomes of their manifests. */

const TAGS_MAX = 100

interface DeleteTagsDialogProps {
  /** uid. */
  readonly repo: string
  readonly path: string
  readonly uids: readonly string[]
  readonly onClose: () => void
  readonly onDeleted: () => void
}

export function DeleteTagsDialog({ repo, path, uids, onClose, onDeleted }: DeleteTagsDialogProps) {
  const queries = useQueryClient()
  const { data, error } = useQuery({ ...tagDeletionQuery(repo, uids), enabled: uids.length <= TAGS_MAX })
  const immutable = data?.tags.filter((tag) => tag.immutable) ?? []
  const deletable = data?.tags.filter((tag) => !tag.immutable) ?? []
  return (
    <ActionDialog
      title={`Delete ${plural(uids.length, 'tag')}`}
      action={`Delete ${plural(deletable.length, 'tag')}`}
      isDangerous
      isDisabled={deletable.length === 0}
      onClose={onClose}
      submit={async () => {
        await api.repoTags.delete({ uid: repo, tagUids: deletable.map(({ uid }) => uid) })
        onDeleted()
        await queries.invalidateQueries({ queryKey: ['tags', repo] })
      }}
    >
      {() => (
        <div className="dialog-text">
          {uids.length > TAGS_MAX && <p>At most {TAGS_MAX} tags can be deleted together. Select fewer.</p>}
          {error !== null && <p className="error">{messageOf(error)}</p>}
          {data === undefined && error === null && uids.length <= TAGS_MAX && (
            <p className="muted" role="status">
              Finding out what goes with them…
            </p>
          )}
          {data !== undefined && (
            <>
              <ul className="name-list">
                {deletable.map(({ uid, name }) => (
                  <li key={uid}>
                    <bdi>{name}</bdi>
                  </li>
                ))}
              </ul>
              {immutable.length > 0 && (
                <p>
                  Not deleted, because the policy makes them immutable:{' '}
                  {immutable.map(({ name }) => name).join(', ')}
                </p>
              )}
              <Manifests preview={data} />
              {deletable.length > 0 && (
                <Command
                  text={deletable
                    .map(({ name }) => `berth images tags delete ${quoted(`${path}:${name}`)} --yes`)
                    .join(' && ')}
                  label="the command"
                />
              )}
            </>
          )}
        </div>
      )}
    </ActionDialog>
  )
}

/** What becomes of the manifests that lose their last tag. */
function Manifests({ preview }: { readonly preview: PreviewTagDeletionResponse }) {
  const { manifests, untaggedAfter } = preview
  const referrers = manifests.reduce((sum, one) => sum + one.referrers, 0)
  const kept = manifests.filter(({ inIndex }) => inIndex).length
  if (manifests.length === 0)
    return <p>The images stay: other tags point to them, or the repository does not have them.</p>
  return (
    <>
      <p>
        {plural(manifests.length, 'image has', 'images have')} no other tag
        {referrers > 0 &&
          `, and ${plural(referrers, 'signature or other referrer', 'signatures and other referrers')}`}
        : {manifests.map(({ digest }) => shortDigest(digest)).join(', ')}
      </p>
      <p>
        {untaggedAfter === undefined
          ? 'They can still be pulled by digest until someone deletes the untagged manifests of this repository.'
          : `They can still be pulled by digest for ${formatDuration(untaggedAfter)}; then retention deletes them${referrers > 0 ? ' with their referrers' : ''}.`}
        {kept > 0 && ` An index needs ${plural(kept, 'of them', 'of them')}, which keeps it.`}
      </p>
    </>
  )
}
