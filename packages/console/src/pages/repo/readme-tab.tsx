import type { RepoReadme } from '@berth/client'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useAccess } from '../../api/access.ts'
import { api } from '../../api/client.ts'
import type { Versioned } from '../../api/queries/pages.ts'
import { readmeQuery } from '../../api/queries/registry/repos.ts'
import { messageOf, violationOf } from '../../api/query-client.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { Equivalent, quoted } from '../../components/copy.tsx'
import { TextAreaField } from '../../components/field.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import { formatBytes } from '../../components/quantity.tsx'
import { Tabs } from '../../components/tabs.tsx'
import { Readme } from './readme.tsx'
import type { RepoTabProps } from './repo.tsx'

/** The README of a repository. Writing it also requires the capability for the catalog. */

const BYTES_MAX = 64 * 1024

export function ReadmeTab({ repo, path }: RepoTabProps) {
  const { uid, sync_config } = repo.value
  const access = useAccess()
  const { data, error } = useQuery(readmeQuery(uid))
  const [isEditing, setEditing] = useState(false)
  const isCopy = sync_config !== undefined
  const missing = isCopy
    ? 'A repository that copies another one shows the README of its source'
    : (access.missing(uid, 'repo.update') ?? access.missing(uid, 'repo.internal.admin'))
  if (error !== null && data === undefined) return <p className="muted">{messageOf(error)}</p>
  if (data === undefined)
    return (
      <p className="muted" role="status">
        Loading the README…
      </p>
    )
  const { content } = data.value
  return (
    <>
      <h2 className="unseen">README</h2>
      <div className="tab-actions">
        <ActionButton
          label={content === '' ? 'Write a README' : 'Edit the README'}
          isQuiet
          missing={missing}
          onPress={() => setEditing(true)}
        />
      </div>
      {content === '' ? (
        <div className="empty">
          <p>There is no README yet. It describes what the image is for and how to run it.</p>
        </div>
      ) : (
        <Readme content={content} />
      )}
      <Equivalent command={`berth images repos readme ${quoted(path)}`} />
      {isEditing && <EditReadmeDialog uid={uid} readme={data} onClose={() => setEditing(false)} />}
    </>
  )
}

interface EditReadmeDialogProps {
  readonly uid: string
  readonly readme: Versioned<RepoReadme>
  readonly onClose: () => void
}

function EditReadmeDialog({ uid, readme, onClose }: EditReadmeDialogProps) {
  const queries = useQueryClient()
  const [edited, setEdited] = useState(readme)
  const [content, setContent] = useState(readme.value.content)
  const [tab, setTab] = useState('write')
  const bytes = new TextEncoder().encode(content).length
  return (
    <FormDialog
      what="The README"
      entered={content}
      title="Edit the README"
      action="Save"
      isDisabled={bytes > BYTES_MAX}
      onClose={onClose}
      submit={async () => {
        await api.repos.updateRepoReadme(uid, { content }, { ifMatch: edited.etag })
        await queries.invalidateQueries({ queryKey: ['readme', uid] })
      }}
      reload={async () => {
        const current = await queries.fetchQuery({ ...readmeQuery(uid), staleTime: 0 })
        setEdited(current)
        setContent(current.value.content)
      }}
    >
      {(failure) => (
        <Tabs
          label="README"
          tabs={[
            { id: 'write', title: 'Write' },
            { id: 'preview', title: 'Preview' },
          ]}
          selected={tab}
          onSelect={setTab}
          panelClass="tab-panel"
        >
          {tab === 'write' ? (
            <TextAreaField
              label="Markdown"
              value={content}
              onChange={setContent}
              rows={16}
              isMonospace
              hint={`${formatBytes(bytes)} of ${formatBytes(BYTES_MAX)}. HTML is shown as text, and images as links.`}
              problem={
                bytes > BYTES_MAX
                  ? `Must have at most ${formatBytes(BYTES_MAX)}`
                  : violationOf(failure, 'content')
              }
            />
          ) : content.trim() === '' ? (
            <p className="muted">Nothing to preview</p>
          ) : (
            <Readme content={content} />
          )}
        </Tabs>
      )}
    </FormDialog>
  )
}
