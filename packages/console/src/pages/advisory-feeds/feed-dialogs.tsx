import { formats } from '@berth/advisory-formats/advisory-record.ts'
import type { AdvisoryFeed } from '@berth/client'
import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { feedQuery } from '../../api/queries/advisories.ts'
import { parentOf } from '../../api/queries/groups.ts'
import type { Versioned } from '../../api/queries/pages.ts'
import { violationOf } from '../../api/query-client.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { CheckboxField, Field, SelectField } from '../../components/field.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import { useLeave, useOpenCreated } from '../../use-page.ts'
import { formatNames } from '../advisories/document-columns.tsx'
import { DEFAULT_INTERVAL, intervalChoices } from './feed-texts.tsx'

/** Dialogs that create, change and delete feeds. */

const ANY = 'any'

interface Settings {
  readonly format: string
  readonly interval: string
  readonly paused: boolean
}

interface SettingsFieldsProps {
  readonly value: Settings
  readonly onChange: (value: Settings) => void
  readonly failure: unknown
}

function SettingsFields({ value, onChange, failure }: SettingsFieldsProps) {
  return (
    <>
      <SelectField
        label="Format"
        choices={[
          { id: ANY, name: 'Detect for each document' },
          ...formats.map((id) => ({ id, name: formatNames[id] ?? id })),
        ]}
        value={value.format || ANY}
        onChange={(format) => onChange({ ...value, format: format === ANY ? '' : format })}
        problem={violationOf(failure, 'format')}
      />
      <SelectField
        label="Read"
        choices={intervalChoices(value.interval)}
        value={value.interval}
        onChange={(interval) => onChange({ ...value, interval })}
        problem={violationOf(failure, 'interval')}
      />
      <CheckboxField isSelected={value.paused} onChange={(paused) => onChange({ ...value, paused })}>
        Paused: the server does not read it
      </CheckboxField>
    </>
  )
}

interface DialogProps {
  readonly onClose: () => void
}

export function AddFeedDialog({ folder, onClose }: DialogProps & { readonly folder: string }) {
  const queries = useQueryClient()
  const openCreated = useOpenCreated()
  const [url, setUrl] = useState('')
  const [settings, setSettings] = useState<Settings>({
    format: '',
    interval: DEFAULT_INTERVAL,
    paused: false,
  })
  return (
    <FormDialog
      title="Add a feed"
      action="Add the feed"
      isDisabled={url === ''}
      entered={{ url, settings }}
      onClose={onClose}
      submit={async () => {
        const { uid } = await api.advisoryFeeds.create(folder, { url, ...settings })
        await queries.invalidateQueries({ queryKey: ['advisory-feeds'] })
        await openCreated({ to: '/advisory-feeds/$', params: { _splat: uid } })
      }}
    >
      {(failure) => (
        <>
          <Field
            label="URL"
            type="url"
            value={url}
            onChange={setUrl}
            hint="https address of a document, or of an archive (zip, tar, tar.gz) of documents, without credentials. Everyone who can read the feed sees it."
            problem={violationOf(failure, 'url')}
            isFirst
          />
          <SettingsFields value={settings} onChange={setSettings} failure={failure} />
        </>
      )}
    </FormDialog>
  )
}

const settingsOf = ({ format, interval = DEFAULT_INTERVAL, paused }: AdvisoryFeed): Settings => ({
  format,
  interval,
  paused,
})

export function EditFeedDialog({ feed, onClose }: DialogProps & { readonly feed: Versioned<AdvisoryFeed> }) {
  const queries = useQueryClient()
  const { uid } = feed.value
  // The version that the user edits: runs change the feed while the dialog is open.
  const [edited, setEdited] = useState(feed)
  const [settings, setSettings] = useState(settingsOf(feed.value))
  return (
    <FormDialog
      title="Edit the feed"
      action="Save"
      entered={settings}
      onClose={onClose}
      submit={async () => {
        await api.advisoryFeeds.update(uid, settings, {
          updateMask: ['format', 'interval', 'paused'],
          ifMatch: edited.etag,
        })
        await invalidateFeed(queries, uid)
      }}
      reload={async () => {
        const current = await queries.fetchQuery({ ...feedQuery(uid), staleTime: 0 })
        setEdited(current)
        setSettings(settingsOf(current.value))
      }}
    >
      {(failure) => (
        <>
          <p className="muted">The URL cannot change: add another feed instead.</p>
          <SettingsFields value={settings} onChange={setSettings} failure={failure} />
        </>
      )}
    </FormDialog>
  )
}

export function DeleteFeedDialog({
  feed: { uid, url },
  onClose,
}: DialogProps & { readonly feed: AdvisoryFeed }) {
  const queries = useQueryClient()
  const leave = useLeave()
  return (
    <ConfirmDialog
      title="Delete the feed"
      action="Delete the feed"
      isDangerous
      onClose={onClose}
      submit={async () => {
        await api.advisoryFeeds.delete(uid)
        await leave({
          to: '/folders/$',
          params: { _splat: parentOf(uid) },
          search: { tab: 'advisories', section: 'feeds' },
        })
        await queries.invalidateQueries({ queryKey: ['advisory-feeds'] })
        queries.removeQueries({ queryKey: ['advisory-feed', uid] })
      }}
    >
      <p>
        The server no longer reads <bdi className="document-id">{url}</bdi>. A run in progress stops after the
        current document. Imported advisories are kept.
      </p>
    </ConfirmDialog>
  )
}

export async function invalidateFeed(queries: QueryClient, uid: string): Promise<void> {
  await Promise.all([
    queries.invalidateQueries({ queryKey: ['advisory-feed', uid] }),
    queries.invalidateQueries({ queryKey: ['advisory-feeds'] }),
  ])
}
