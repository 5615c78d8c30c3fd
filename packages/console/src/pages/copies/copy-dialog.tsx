import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { Button } from 'react-aria-components'
import { useAccess } from '../../api/access.ts'
import { resourcesQuery } from '../../api/queries/resources.ts'
import { messageOf, violationOf } from '../../api/query-client.ts'
import { Command, quoted } from '../../components/copy.tsx'
import { CheckboxField, Field } from '../../components/field.tsx'
import { useFocusReturn } from '../../components/focus-return.ts'
import { FormDialog } from '../../components/form-dialog.tsx'
import { InfoDialog } from '../../components/info-dialog.tsx'
import { RepoPicker } from '../../components/pickers.tsx'
import { Progress } from '../../components/progress.tsx'
import { formatBytes, plural } from '../../components/quantity.tsx'
import type { CopyItem, CopyOutcome } from './copy-run.ts'
import { type CopyRequest, type CopyRun, showCopy, startCopy, stopCopy, useCopyRuns } from './copy-runs.ts'
import { copiedText, countText } from './copy-texts.ts'

/** Copies images to a repository: asks where to, shows the progress, and what became of it. */

interface CopyDialogProps {
  /** uid of the source. */
  readonly repo: string
  readonly path: string
  /** undefined while they are read. */
  readonly items: readonly CopyItem[] | undefined
  /** All tags of the source, for the command. */
  readonly isWhole?: boolean
  /** Why the items could not be read. */
  readonly failure?: unknown
  /** A run to show, which was started earlier. */
  readonly run?: CopyRun
  readonly onClose: () => void
}

interface CopyForm {
  readonly repo: string
  /** Of a single image. */
  readonly tag: string | undefined
  readonly includeReferrers: boolean
  readonly overwrite: boolean
}

const emptyForm: CopyForm = { repo: '', tag: undefined, includeReferrers: true, overwrite: false }

export function CopyDialog({ items, ...props }: CopyDialogProps) {
  useFocusReturn()
  const { repo, path, onClose } = props
  const [form, setForm] = useState<CopyForm>({ ...emptyForm, ...props.run?.request })
  const [retried, setRetried] = useState<readonly CopyItem[]>()
  const [runId, setRunId] = useState(props.run?.id)
  /** The run is shown, and not the form. */
  const [isSent, setSent] = useState(props.run !== undefined)
  const run = useCopyRuns().find(({ id }) => id === runId)
  // Until the dialog closes, or the user leaves the page.
  useEffect(() => (runId === undefined ? undefined : showCopy(runId)), [runId])
  const wanted = withTag(retried ?? items, form.tag)

  if (isSent && run !== undefined)
    return run.outcome === undefined ? (
      <CopyProgress run={run} onClose={onClose} />
    ) : (
      <CopyResult
        outcome={run.outcome}
        request={run.request}
        onClose={onClose}
        onRetry={(again) => {
          setRetried(again)
          setForm({ ...form, tag: undefined })
          setSent(false)
          setRunId(undefined)
        }}
      />
    )
  return (
    <CopyFormDialog
      {...props}
      isWhole={props.isWhole === true && retried === undefined}
      items={wanted}
      form={form}
      onChange={(change) => setForm({ ...form, ...change })}
      onSent={() => setSent(true)}
      submit={async () => {
        const { id, ended } = startCopy({ ...form, source: repo, path, items: wanted ?? [] })
        setRunId(id)
        // Several take longer than the form can wait for.
        if (wanted?.length !== 1) return
        const [failed] = (await ended).failed
        if (failed === undefined) return
        setRunId(undefined)
        throw failed.failure
      }}
    />
  )
}

/** A single image has the tag of the form. */
function withTag(items: readonly CopyItem[] | undefined, tag: string | undefined) {
  const [only, ...others] = items ?? []
  return only === undefined || others.length > 0 || tag === undefined ? items : [{ ...only, tag }]
}

interface CopyFormDialogProps extends CopyDialogProps {
  readonly form: CopyForm
  readonly onChange: (change: Partial<CopyForm>) => void
  readonly onSent: () => void
  readonly submit: () => Promise<unknown>
}

function CopyFormDialog(props: CopyFormDialogProps) {
  const { path, items, isWhole, failure: unread, form, onChange, onClose, onSent, submit } = props
  const { repo: target, includeReferrers, overwrite } = form
  const access = useAccess()
  const named = resourcesQuery([target])
  const { data: names } = useQuery({ ...named, enabled: target !== '' })
  const [single, ...others] = items ?? []
  const isSingle = single !== undefined && others.length === 0
  const missing =
    target === ''
      ? undefined
      : (access.missing(target, 'manifest.create') ??
        (single?.tag === '' ? undefined : access.missing(target, 'tag.create')) ??
        (overwrite ? access.missing(target, 'tag.update') : undefined))
  const what = isSingle ? 'image' : plural(items?.length ?? 0, 'tag')
  return (
    <FormDialog
      title={isSingle ? 'Copy the image' : items === undefined ? 'Copy tags' : `Copy ${what}`}
      action={isSingle || items === undefined ? 'Copy' : `Copy ${what}`}
      isDisabled={target === '' || missing !== undefined || items === undefined || items.length === 0}
      entered={form}
      hasNotice
      onClose={onClose}
      onSent={onSent}
      submit={submit}
    >
      {(failure) => (
        <>
          <div className="dialog-text">
            <p>
              From <bdi>{single === undefined || !isSingle ? path : imageName(path, single.reference)}</bdi>.
              No bytes are transferred: the destination shares the layers.
            </p>
            {items === undefined &&
              (unread ? (
                <p className="error">{messageOf(unread)}</p>
              ) : (
                <p className="muted" role="status">
                  Reading the tags…
                </p>
              ))}
            {items?.length === 0 && <p>There is no tag to copy.</p>}
          </div>
          <RepoPicker
            label="Destination"
            value={target}
            onChange={(repo) => onChange({ repo })}
            hint="Path of a repository that you can push to"
            problem={missing}
          />
          {isSingle && (
            <Field
              label="Tag at the destination"
              value={single.tag}
              onChange={(tag) => onChange({ tag })}
              hint="Empty: the image can be pulled by digest"
              problem={violationOf(failure, 'tag')}
            />
          )}
          <CheckboxField
            isSelected={includeReferrers}
            onChange={(isSelected) => onChange({ includeReferrers: isSelected })}
          >
            With signatures, SBOMs and attestations
          </CheckboxField>
          <CheckboxField
            isSelected={overwrite}
            onChange={(isSelected) => onChange({ overwrite: isSelected })}
          >
            Move tags of the destination that point to another image
          </CheckboxField>
          {items !== undefined && items.length > 0 && (
            <Command
              text={commandOf(path, names?.get(target)?.path ?? '', items, { ...form, isWhole })}
              label="the command"
            />
          )}
        </>
      )}
    </FormDialog>
  )
}

const imageName = (path: string, reference: string): string =>
  `${path}${reference.includes(':') ? '@' : ':'}${reference}`

interface CommandOptions extends Pick<CopyForm, 'includeReferrers' | 'overwrite'> {
  readonly isWhole: boolean | undefined
}

/** Before a destination is chosen, the command has a placeholder. */
function commandOf(
  path: string,
  target: string,
  items: readonly CopyItem[],
  { includeReferrers, overwrite, isWhole }: CommandOptions,
): string {
  const to = target === '' ? 'my-org/app' : target
  const flags = `${includeReferrers ? ' --referrers' : ''}${overwrite ? '' : ' --keep-tags'}`
  if (isWhole) return `berth images copy ${quoted(path)} ${quoted(to)} --all-tags${flags}`
  return items
    .map(({ reference, tag }) => {
      const image = quoted(imageName(path, reference))
      return `berth images copy ${image} ${quoted(tag === '' ? to : `${to}:${tag}`)}${flags}`
    })
    .join(' && ')
}

/** Closing the dialog does not stop the copy. */
function CopyProgress({ run, onClose }: { readonly run: CopyRun; readonly onClose: () => void }) {
  const { id, request, done, isStopping } = run
  const target = usePathOf(request.repo)
  return (
    <InfoDialog
      title={`Copying ${countText(request.items.length)}`}
      isNarrow
      close="Continue in the background"
      actions={
        <Button className="button danger" isDisabled={isStopping} onPress={() => stopCopy(id)}>
          {isStopping ? 'Stopping…' : 'Stop copying'}
        </Button>
      }
      onClose={onClose}
    >
      <div className="dialog-text">
        <p>
          From <bdi>{request.path}</bdi> to <bdi>{target}</bdi>.
        </p>
        <Progress label="Copying" done={done} total={request.items.length} unit="tags" />
        <p className="muted">
          In the background, the copy continues while the console is open in this browser tab; the top of the
          page shows how far it is. If you stop it, the tags that are copied stay.
        </p>
      </div>
    </InfoDialog>
  )
}

/** The path of the destination, once it is known. */
function usePathOf(repo: string): string {
  const { data } = useQuery(resourcesQuery([repo]))
  return data?.get(repo)?.path ?? 'the repository'
}

interface CopyResultProps {
  readonly outcome: CopyOutcome
  readonly request: CopyRequest
  readonly onClose: () => void
  readonly onRetry: (items: readonly CopyItem[]) => void
}

function CopyResult({ outcome, request, onClose, onRetry }: CopyResultProps) {
  const { copied, failed, left } = outcome
  const { items, repo: target } = request
  const path = usePathOf(target)
  const [only] = items.length === 1 ? copied : []
  const again = [...failed.map(({ item }) => item), ...left]
  const warnings = [...new Set(copied.flatMap((one) => one.warnings))]
  return (
    <InfoDialog title={again.length === 0 ? 'Copied' : 'Not everything was copied'} onClose={onClose}>
      <div className="dialog-text">
        <p role="status">
          {only === undefined ? `${copiedText(outcome)} to ` : 'The image is now in '}
          {only !== undefined && only.tagUid !== '' ? (
            <Link to="/tags/$" params={{ _splat: only.tagUid }} search={{}} onClick={onClose}>
              <bdi>{imageName(path, items[0]?.tag ?? '')}</bdi>
            </Link>
          ) : only !== undefined ? (
            <Link
              to="/manifests/$"
              params={{ _splat: `${target}/${only.digest}` }}
              search={{}}
              onClick={onClose}
            >
              <bdi>{imageName(path, only.digest)}</bdi>
            </Link>
          ) : (
            <Link to="/repos/$" params={{ _splat: target }} search={{}} onClick={onClose}>
              <bdi>{path}</bdi>
            </Link>
          )}
          .
        </p>
        {copied.length > 0 && <p className="muted">{summaryOf(copied)}</p>}
        {warnings.map((warning) => (
          <p key={warning} className="caution">
            {warning}
          </p>
        ))}
        {failed.length > 0 && (
          <div className="alert" role="alert">
            <p>{plural(failed.length, 'tag was not copied', 'tags were not copied')}:</p>
            <ul>
              {failed.map(({ item, reason }) => (
                <li key={item.reference}>
                  <bdi>{item.reference}</bdi>: {reason}
                </li>
              ))}
            </ul>
          </div>
        )}
        {left.length > 0 && <p>Stopped before {plural(left.length, 'tag')}.</p>}
        {again.length > 0 && (
          <Button className="button" onPress={() => onRetry(again)}>
            Copy the other {plural(again.length, 'tag')}
          </Button>
        )}
      </div>
    </InfoDialog>
  )
}

function summaryOf(copied: CopyOutcome['copied']): string {
  const sum = (of: (one: CopyOutcome['copied'][number]) => number) =>
    copied.reduce((total, one) => total + of(one), 0)
  const manifests = sum((one) => one.copiedManifests)
  if (manifests === 0) return 'The destination had all of it.'
  const [blobs, bytes, referrers] = [
    sum((one) => one.mountedBlobs),
    sum((one) => Number(one.mountedBytes)),
    sum((one) => one.referrers),
  ]
  return [
    `${plural(manifests, 'manifest')} and ${plural(blobs, 'blob')} (${formatBytes(String(bytes))}) added`,
    ...(referrers === 0
      ? []
      : [plural(referrers, 'signature or other referrer', 'signatures and other referrers')]),
  ].join(', ')
}
