import type { StorageFinding, StorageRun } from '@berth/client'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Button, Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components'
import { api } from '../../api/client.ts'
import { storageRunQuery } from '../../api/queries/operator.ts'
import { violationOf } from '../../api/query-client.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Equivalent, Id } from '../../components/copy.tsx'
import { Facts } from '../../components/facts.tsx'
import { CheckboxField, Field } from '../../components/field.tsx'
import { Problem } from '../../components/problem.tsx'
import { formatBytes, formatNumber } from '../../components/quantity.tsx'
import { Time } from '../../components/time.tsx'
import { ChangeDialog } from './change-dialog.tsx'
import { kindOf, totalTexts } from './storage-texts.ts'

/** Start, cancel and read runs. */

function useRefresh() {
  const queries = useQueryClient()
  return () => queries.invalidateQueries({ queryKey: ['operator'] })
}

const MIB = 1024 * 1024
const HOUR_SECONDS = 3600

export function StartDialog({
  run,
  onClose,
}: {
  readonly run: 'collection' | 'scrub'
  readonly onClose: () => void
}) {
  const refresh = useRefresh()
  const [dryRun, setDryRun] = useState(true)
  const [hours, setHours] = useState('')
  const [rate, setRate] = useState('')
  const isScrub = run === 'scrub'
  const start = () =>
    api.operatorStorage.startStorageRun(
      isScrub
        ? {
            kind: 'STORAGE_RUN_KIND_SCRUB',
            ...(rate === '' ? {} : { bytesPerSecondMax: String(Number(rate) * MIB) }),
          }
        : {
            kind: 'STORAGE_RUN_KIND_GARBAGE_COLLECTION',
            dryRun,
            ...(hours === '' ? {} : { grace: `${Number(hours) * HOUR_SECONDS}s` }),
          },
    )
  return (
    <ChangeDialog
      title={isScrub ? 'Scrub' : 'Collect garbage'}
      action={isScrub ? 'Start the scrub' : dryRun ? 'Start the dry run' : 'Start the garbage collection'}
      isDangerous={!isScrub && !dryRun}
      isDisabled={!/^\d*$/.test(isScrub ? rate : hours)}
      entered={{ dryRun, hours, rate }}
      onClose={onClose}
      submit={async () => {
        await start()
        await refresh()
      }}
    >
      {(failure) =>
        isScrub ? (
          <>
            <p>
              Reads all stored blobs and manifests and compares them with their digests. It changes nothing.
            </p>
            <Field
              label="Maximum read rate in MiB/s"
              inputMode="numeric"
              value={rate}
              onChange={setRate}
              hint="Empty: unlimited"
              problem={violationOf(failure, 'bytesPerSecondMax')}
            />
            <Equivalent command={`berth admin scrub${rate === '' ? '' : ` --rate ${rate}MiB/s`}`} />
          </>
        ) : (
          <>
            <p>
              Deletes blobs, uploads and rows that nothing references. Images that can be pulled are kept.
            </p>
            <CheckboxField isSelected={dryRun} onChange={setDryRun}>
              Dry run: only count what would be deleted
            </CheckboxField>
            <Field
              label="Minimum age in hours"
              inputMode="numeric"
              value={hours}
              onChange={setHours}
              hint="Empty: as configured (BERTH_COLLECTION_GRACE)"
              problem={violationOf(failure, 'grace')}
            />
            <Equivalent
              command={`berth admin collect${dryRun ? ' --dry-run' : ''}${hours === '' ? '' : ` --grace ${hours}h`}`}
            />
          </>
        )
      }
    </ChangeDialog>
  )
}

interface RunDialogProps {
  readonly run: StorageRun
  readonly onClose: () => void
}

export function CancelDialog({ run, onClose }: RunDialogProps) {
  const refresh = useRefresh()
  return (
    <ConfirmDialog
      title={`Cancel the ${kindOf(run)}`}
      action="Cancel the run"
      isDangerous
      onClose={onClose}
      submit={async () => {
        await api.operatorStorage.cancelStorageRun({ id: run.id })
        await refresh()
      }}
    >
      <p>It ends after its current batch. What it has done stays.</p>
    </ConfirmDialog>
  )
}

export function FindingsDialog({ run, onClose }: RunDialogProps) {
  const { data, error } = useQuery(storageRunQuery(run.id))
  const title = kindOf(run)
  return (
    <ModalOverlay className="overlay" isOpen onOpenChange={(isOpen) => isOpen || onClose()} isDismissable>
      <Modal className="modal">
        <Dialog className="dialog">
          <Heading slot="title" level={2}>
            {title.charAt(0).toUpperCase()}
            {title.slice(1)}
          </Heading>
          {error !== null && <Problem title="Run not available" failure={error} />}
          {data !== undefined && <Details run={data} />}
          <div className="actions">
            <Button className="button" onPress={onClose} autoFocus>
              Close
            </Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}

function Details({ run }: { readonly run: StorageRun }) {
  const { totals, startTime, endTime, nodeName, error, findings } = run
  return (
    <>
      <Facts
        facts={[
          ['Started', <Time key="start" value={startTime} />],
          ['Ended', <Time key="end" value={endTime} absent="unknown" />],
          ['Node', nodeName],
          ['Error', error === '' ? undefined : error],
          ...totals.map(
            ({ kind, count, bytes }) =>
              [
                totalTexts[kind] ?? kind,
                `${formatNumber(count)}${bytes === '0' ? '' : ` (${formatBytes(bytes)})`}`,
              ] as const,
          ),
        ]}
      />
      {findings.length > 0 && (
        <>
          <h3>Findings</h3>
          <ul className="plain-list">
            {findings.map((finding) => (
              <Finding key={`${finding.kind} ${finding.digest} ${finding.location}`} finding={finding} />
            ))}
          </ul>
          <p className="muted">
            To repair missing and damaged blobs, run berth admin scrub --repair and push the images again.
          </p>
        </>
      )}
    </>
  )
}

function Finding({ finding }: { readonly finding: StorageFinding }) {
  const { kind, type, digest, location, reason, repos, repoCount } = finding
  const more = Number(repoCount) - repos.length
  return (
    <li>
      <strong>
        {type} {kind}
      </strong>
      : {reason}
      {digest === '' ? <code>{location}</code> : <Id value={digest} label="the digest" />}
      {repos.length > 0 && (
        <span className="second">
          {repos.join(', ')}
          {more > 0 && ` and ${formatNumber(more)} more`}
        </span>
      )}
    </li>
  )
}
