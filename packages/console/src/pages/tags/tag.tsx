import type { Tag, TagDetails } from '@berth/client'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useAccess } from '../../api/access.ts'
import { api } from '../../api/client.ts'
import { parentOf } from '../../api/queries/groups.ts'
import type { Versioned } from '../../api/queries/pages.ts'
import { repoQuery } from '../../api/queries/registry/repos.ts'
import { tagDetailsQuery, tagQuery } from '../../api/queries/registry/tags.ts'
import { ActionDialog } from '../../components/action-dialog.tsx'
import { Actions } from '../../components/actions.tsx'
import { Breadcrumbs, usePath } from '../../components/breadcrumbs.tsx'
import { Command, Equivalent, Id, quoted } from '../../components/copy.tsx'
import { Digest } from '../../components/digest.tsx'
import { Disclosure } from '../../components/disclosure.tsx'
import { Facts } from '../../components/facts.tsx'
import { lazyPart } from '../../components/lazy-part.tsx'
import { Bytes } from '../../components/quantity.tsx'
import { ResourcePage } from '../../components/resource-page.tsx'
import { Time } from '../../components/time.tsx'
import { Title } from '../../components/title.tsx'
import { useLeave } from '../../use-page.ts'
import { DeleteTagsDialog } from '../repo/delete-tags.tsx'
import { TagBadges, targetText } from '../repo/tag-facts.tsx'
import { digestCommands, type ImageCommand, type Tool, Usage } from '../repo/usage.tsx'
import { TagHistory } from './tag-history.tsx'
import '../../styles/pages/repo.css'

const FindingHistory = lazyPart(async () => (await import('../contents/finding-history.tsx')).FindingHistory)

const CopyDialog = lazyPart(async () => (await import('../copies/copy-dialog.tsx')).CopyDialog)

/** A tag: what it points to, and what it has pointed to. */
export function TagPage() {
  const { _splat: uid = '' } = useParams({ strict: false })
  return (
    <ResourcePage kind="tag" query={tagQuery(uid)}>
      {(tag) => <TagView key={uid} tag={tag} />}
    </ResourcePage>
  )
}

function TagView({ tag }: { readonly tag: Versioned<Tag> }) {
  const { uid, name, digest } = tag.value
  const repo = parentOf(uid)
  const leave = useLeave()
  const { data: parent } = useQuery(repoQuery(repo))
  const { data: details } = useQuery(tagDetailsQuery(uid))
  const missing = useAccess().missing(repo, 'manifest.list')
  const repoName = parent?.value.name
  const path = usePath(repo, repoName)
  const [dialog, setDialog] = useState<'copy' | 'deprecate' | 'delete' | undefined>()
  const close = () => setDialog(undefined)
  return (
    <>
      <Breadcrumbs uid={repo} name={name} repo={{ uid: repo, name: repoName ?? repo }} />
      <div className="page-head">
        <div className="title-row">
          <Title text={name} />
          {details !== undefined && <TagBadges details={details} />}
        </div>
        <TagActions tag={tag.value} details={details} onAction={setDialog} />
      </div>
      <Facts facts={factsOf(repo, tag.value, details, missing)} />
      <Disclosure summary="Pull commands">
        <Usage uid={repo} path={path} commands={(tool, image) => pullCommands(tool, image, tag.value)} />
      </Disclosure>
      <section>
        <h2>History</h2>
        <TagHistory
          tag={tag}
          path={path}
          immutable={details?.immutable === true ? 'The policy makes this tag immutable' : undefined}
        />
      </section>
      {digest !== '' && (
        <section>
          <h2>Vulnerabilities</h2>
          <FindingHistory repo={repo} path={path} tag={name} />
        </section>
      )}
      <Equivalent command={`berth images tags history ${quoted(`${path}:${name}`)}`} />
      {dialog === 'copy' && (
        <CopyDialog repo={repo} path={path} items={[{ reference: name, tag: name }]} onClose={close} />
      )}
      {dialog === 'deprecate' && <DeprecateDialog tag={tag} path={path} onClose={close} />}
      {dialog === 'delete' && (
        <DeleteTagsDialog
          repo={repo}
          path={path}
          uids={[uid]}
          onClose={close}
          onDeleted={() => void leave({ to: '/repos/$', params: { _splat: repo } })}
        />
      )}
      {digest === '' && <p className="muted">This tag has no image yet.</p>}
    </>
  )
}

interface TagActionsProps {
  readonly tag: Tag
  readonly details: TagDetails | undefined
  readonly onAction: (action: 'copy' | 'deprecate' | 'delete') => void
}

function TagActions({ tag, details, onAction }: TagActionsProps) {
  const access = useAccess()
  const { uid, deprecated, digest } = tag
  const immutable = details?.immutable === true ? 'The policy makes this tag immutable' : undefined
  return (
    <Actions
      actions={[
        {
          label: 'Copy to…',
          isQuiet: true,
          missing:
            access.missing(uid, 'manifest.list') ??
            access.missing(uid, 'repo.blobs.get') ??
            (digest === '' ? 'The tag has no image' : undefined),
          onPress: () => onAction('copy'),
        },
        {
          label: deprecated ? 'Remove the mark deprecated' : 'Mark as deprecated',
          isQuiet: true,
          missing:
            access.missing(uid, 'tag.create') ??
            access.missing(uid, 'tag.update') ??
            (digest === '' ? 'The tag has no image' : undefined),
          onPress: () => onAction('deprecate'),
        },
        {
          label: 'Delete',
          isQuiet: true,
          missing: access.missing(uid, 'tag.delete') ?? immutable,
          onPress: () => onAction('delete'),
        },
      ]}
    />
  )
}

function factsOf(repo: string, tag: Tag, details: TagDetails | undefined, missing: string | undefined) {
  const isThere = details !== undefined && details.target !== 'TAG_TARGET_UNSPECIFIED'
  return [
    ['Digest', <Digest key="digest" repo={repo} digest={tag.digest} object={`the tag ${tag.name}`} />],
    ['Content', details && targetText(details, missing)],
    ['Platforms', details && details.platforms.length > 0 ? details.platforms.join(', ') : undefined],
    [
      'Size',
      isThere && details.sizeBytes !== '0' ? <Bytes key="size" value={details.sizeBytes} /> : undefined,
    ],
    ['Last push', <Time key="time" value={tag.updateTime} isRelative />],
    [
      'Same digest',
      <Link key="same" to="/repos/$" params={{ _splat: repo }} search={{ digest: tag.digest }}>
        Tags with this digest
      </Link>,
    ],
    ['Uid', <Id key="uid" value={tag.uid} label={`the uid of ${tag.name}`} />],
  ] as const
}

function pullCommands(tool: Tool, image: string, { name, digest }: Tag): readonly ImageCommand[] {
  const end = tool === 'berth' ? ' ./image' : ''
  const command = tool === 'berth' ? 'berth images pull' : `${tool} pull`
  return [
    { label: 'the pull command', text: `${command} ${image}:${name}${end}` },
    ...digestCommands(tool, image, digest).map(({ text }) => ({
      label: 'the pull command with the digest',
      text,
    })),
  ]
}

interface DeprecateDialogProps {
  readonly tag: Versioned<Tag>
  readonly path: string
  readonly onClose: () => void
}

function DeprecateDialog({ tag, path, onClose }: DeprecateDialogProps) {
  const queries = useQueryClient()
  const [edited, setEdited] = useState(tag)
  const { uid, name, digest, bundles, deprecated } = edited.value
  const title = deprecated ? 'Remove the mark deprecated' : 'Mark the tag as deprecated'
  return (
    <ActionDialog
      title={title}
      action={deprecated ? 'Remove the mark' : 'Mark as deprecated'}
      onClose={onClose}
      submit={async () => {
        const changed = { name, digest, bundles, deprecated: !deprecated }
        await api.tags.create(parentOf(uid), changed, { ifMatch: edited.etag })
        for (const queryKey of [
          ['tag', uid],
          ['tag-details', uid],
          ['tags', parentOf(uid)],
        ])
          await queries.invalidateQueries({ queryKey })
      }}
      reload={async () => setEdited(await queries.fetchQuery({ ...tagQuery(uid), staleTime: 0 }))}
    >
      {() => (
        <div className="dialog-text">
          <p>
            {deprecated
              ? 'Clients that pull this tag no longer print a warning.'
              : 'Clients that pull this tag print a warning. The tag can still be pulled and moved.'}
          </p>
          <Command
            text={`berth images tags deprecate ${quoted(`${path}:${name}`)}${deprecated ? ' --undo' : ''}`}
            label="the command"
          />
        </div>
      )}
    </ActionDialog>
  )
}
