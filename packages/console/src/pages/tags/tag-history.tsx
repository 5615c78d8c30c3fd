import type { Tag, TagHistoryEntry } from '@berth/client'
import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useAccess } from '../../api/access.ts'
import { api } from '../../api/client.ts'
import { parentOf } from '../../api/queries/groups.ts'
import type { Versioned } from '../../api/queries/pages.ts'
import { tagHistoryQuery, tagQuery } from '../../api/queries/registry/tags.ts'
import { ActionDialog } from '../../components/action-dialog.tsx'
import { Badge } from '../../components/badge.tsx'
import { Command, quoted } from '../../components/copy.tsx'
import { Digest, shortDigest } from '../../components/digest.tsx'
import { PageList } from '../../components/page-list.tsx'
import { RowAction } from '../../components/row-action.tsx'
import { Time } from '../../components/time.tsx'

/** What a tag has pointed to, with a way back. */

interface TagHistoryProps {
  readonly tag: Versioned<Tag>
  /** Of the repository. */
  readonly path: string
  /** Why the tag cannot be moved. */
  readonly immutable: string | undefined
}

const COMPARED = 2
const keyOf = ({ updateTime = '', digest }: TagHistoryEntry) => `${updateTime} ${digest}`
const digestOf = (key: string) => key.split(' ')[1] ?? ''

export function TagHistory({ tag, path, immutable }: TagHistoryProps) {
  const { uid, digest: current } = tag.value
  const repo = parentOf(uid)
  const access = useAccess()
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const [restoring, setRestoring] = useState<TagHistoryEntry | undefined>()
  const missing = access.missing(uid, 'tag.update') ?? immutable
  // The earlier one first: keys start with the time.
  const [from = '', to = ''] = [...selected].sort().map(digestOf)
  return (
    <>
      <p className="muted">
        {selected.size === COMPARED ? (
          <Link to="/compare/$" params={{ _splat: repo }} search={{ from, to }}>
            Compare the two selected images
          </Link>
        ) : (
          'Select two entries to compare their images.'
        )}
      </p>
      <PageList
        label="History"
        query={tagHistoryQuery(uid)}
        missing={access.missing(uid, 'tag.list')}
        keyOf={keyOf}
        selection={{ keys: selected, onChange: setSelected }}
        columns={[
          {
            id: 'digest',
            title: 'Digest',
            cell: ({ digest }) => <Digest repo={repo} digest={digest} object="this entry" />,
          },
          {
            id: 'since',
            title: 'Since',
            cell: ({ updateTime }) => <Time value={updateTime} />,
          },
          {
            id: 'actor',
            title: 'By',
            cell: ({ actor, actorName }) =>
              actor === '' ? (
                <span className="muted">
                  {access.holds(uid, 'role_bindings.list') ? 'not recorded' : 'not visible to you'}
                </span>
              ) : (
                <bdi title={actor}>{actorName || actor}</bdi>
              ),
          },
          {
            id: 'action',
            title: 'Restore',
            cell: (entry) => {
              if (entry.digest === current) return <Badge tone="good">current</Badge>
              if (!entry.available) return <span className="muted">No longer in the repository</span>
              return (
                <RowAction
                  label="Restore"
                  object={`the digest ${shortDigest(entry.digest)}`}
                  missing={missing}
                  onPress={() => setRestoring(entry)}
                />
              )
            },
          },
        ]}
        empty={<p>Nothing is recorded.</p>}
      />
      {restoring !== undefined && (
        <RestoreDialog tag={tag} path={path} entry={restoring} onClose={() => setRestoring(undefined)} />
      )}
    </>
  )
}

interface RestoreDialogProps {
  readonly tag: Versioned<Tag>
  readonly path: string
  readonly entry: TagHistoryEntry
  readonly onClose: () => void
}

function RestoreDialog({ tag, path, entry, onClose }: RestoreDialogProps) {
  const queries = useQueryClient()
  const [shown, setShown] = useState(tag)
  const { uid, name, digest } = shown.value
  return (
    <ActionDialog
      title={`Restore ${name}`}
      action="Restore this digest"
      onClose={onClose}
      submit={async () => {
        await api.tagHistory.moveTag({ uid, digest: entry.digest }, { ifMatch: shown.etag })
        for (const key of ['tag', 'tag-details', 'tag-history'])
          await queries.invalidateQueries({ queryKey: [key, uid] })
        await queries.invalidateQueries({ queryKey: ['tags', parentOf(uid)] })
      }}
      reload={async () => setShown(await queries.fetchQuery({ ...tagQuery(uid), staleTime: 0 }))}
    >
      {() => (
        <div className="dialog-text">
          <p>
            The tag moves from <code>{shortDigest(digest)}</code> to <code>{shortDigest(entry.digest)}</code>,
            which it had since <Time value={entry.updateTime} />. Clients that pull {name} then get this
            image.
          </p>
          <p>The present image stays in the repository and in this history.</p>
          <Command
            text={`berth images tags restore ${quoted(`${path}:${name}`)} --digest ${entry.digest}`}
            label="the command"
          />
        </div>
      )}
    </ActionDialog>
  )
}
