import type { StorageRun } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useAccess } from '../../api/access.ts'
import { isRunning, storageQuery, storageRunsQuery } from '../../api/queries/operator.ts'
import { session } from '../../api/session.ts'
import { Actions } from '../../components/actions.tsx'
import { Badge } from '../../components/badge.tsx'
import { Equivalent } from '../../components/copy.tsx'
import { Facts } from '../../components/facts.tsx'
import { NotLoaded } from '../../components/loaded.tsx'
import { PageList } from '../../components/page-list.tsx'
import { Progress } from '../../components/progress.tsx'
import { Bytes, formatBytes, formatNumber } from '../../components/quantity.tsx'
import { RowAction } from '../../components/row-action.tsx'
import { Time } from '../../components/time.tsx'
import { CancelDialog, FindingsDialog, StartDialog } from './storage-dialogs.tsx'
import { kindOf, summaryOf } from './storage-texts.ts'

/** Disk space, and runs of garbage collection and scrub. */

type OpenDialog =
  | { readonly kind: 'start'; readonly run: 'collection' | 'scrub' }
  | { readonly kind: 'cancel' | 'findings'; readonly run: StorageRun }

export function Storage() {
  const missing = useAccess().missing('', 'operator.update')
  const [dialog, setDialog] = useState<OpenDialog | undefined>()
  const close = () => setDialog(undefined)
  return (
    <>
      <Actions
        of="tab"
        actions={[
          {
            label: 'Collect garbage',
            missing,
            onPress: () => setDialog({ kind: 'start', run: 'collection' }),
          },
          {
            label: 'Scrub',
            isQuiet: true,
            missing,
            onPress: () => setDialog({ kind: 'start', run: 'scrub' }),
          },
        ]}
      />
      <Status />
      <section>
        <h2>Runs</h2>
        <PageList
          label="Runs"
          query={storageRunsQuery}
          keyOf={({ id }) => id}
          columns={[
            { id: 'kind', title: 'Run', cell: (run) => <Kind run={run} /> },
            { id: 'state', title: 'State', cell: (run) => <State run={run} /> },
            {
              id: 'started',
              title: 'Started',
              cell: ({ startTime }) => <Time value={startTime} isRelative />,
            },
            { id: 'result', title: 'Result', cell: (run) => <Result run={run} /> },
            { id: 'node', title: 'Node', cell: ({ nodeName }) => nodeName },
            {
              id: 'actions',
              title: 'Actions',
              cell: (run) =>
                isRunning(run) ? (
                  <RowAction
                    label={run.cancelRequested ? 'Cancelling…' : 'Cancel'}
                    object={`the ${kindOf(run)}`}
                    missing={missing}
                    onPress={() => setDialog({ kind: 'cancel', run })}
                  />
                ) : (
                  <RowAction
                    label="Details"
                    object={`of the ${kindOf(run)}`}
                    onPress={() => setDialog({ kind: 'findings', run })}
                  />
                ),
            },
          ]}
          empty={<p>Nothing has run yet. Start with a dry run of the garbage collection.</p>}
        />
      </section>
      <Equivalent command="berth admin collect --dry-run" />
      {dialog?.kind === 'start' && <StartDialog run={dialog.run} onClose={close} />}
      {dialog?.kind === 'cancel' && <CancelDialog run={dialog.run} onClose={close} />}
      {dialog?.kind === 'findings' && <FindingsDialog run={dialog.run} onClose={close} />}
    </>
  )
}

function Status() {
  const query = useQuery(storageQuery)
  const { data } = query
  if (data === undefined) return <NotLoaded what="the storage" query={query} />
  const { disks, nodeName, blobStore, storedBytes, manifestCount } = data
  return (
    <Facts
      facts={[
        ['Blobs', blobStore],
        ['Stored', <Bytes key="stored" value={storedBytes} />],
        ['Manifests', formatNumber(manifestCount)],
        ...disks.map(
          ({ name, path, freeBytes, totalBytes }) =>
            [
              name === 'blobs' ? 'Disk of the blobs' : 'Disk of the data',
              <span key={name} title={`${path} on ${nodeName}`}>
                {formatBytes(freeBytes)} of {formatBytes(totalBytes)} free
              </span>,
            ] as const,
        ),
        [
          'Next garbage collection',
          <Time key="next" value={data.nextGarbageCollectionTime} absent="not scheduled" isRelative />,
        ],
      ]}
    />
  )
}

function Kind({ run }: { readonly run: StorageRun }) {
  const text = kindOf(run)
  return (
    <>
      {text.charAt(0).toUpperCase()}
      {text.slice(1)}
      <span className="second" title={run.actor}>
        {actorOf(run)}
      </span>
    </>
  )
}

function actorOf({ actor }: StorageRun): string {
  if (actor === 'system') return 'by schedule or command'
  return actor === session.identity ? 'by you' : `by ${actor.slice(0, 8)}…`
}

function State({ run }: { readonly run: StorageRun }) {
  switch (run.state) {
    case 'STORAGE_RUN_STATE_RUNNING':
      return (
        <Progress
          label={run.step || 'Starting'}
          done={Number(run.done)}
          {...(run.total === '0' ? {} : { total: Number(run.total) })}
          unit={run.kind === 'STORAGE_RUN_KIND_SCRUB' ? 'bytes' : 'checked'}
        />
      )
    case 'STORAGE_RUN_STATE_SUCCEEDED':
      return <Badge tone="good">succeeded</Badge>
    case 'STORAGE_RUN_STATE_CANCELLED':
      return <Badge>cancelled</Badge>
    default:
      return <Badge tone="bad">failed</Badge>
  }
}

function Result({ run }: { readonly run: StorageRun }) {
  if (run.error !== '') return run.error
  const { text, isBad } = summaryOf(run)
  return isBad ? <Badge tone="bad">{text}</Badge> : text
}
