import { formats } from '@berth/advisory-formats/advisory-record.ts'
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { Button } from 'react-aria-components'
import { useAccess } from '../../../api/access.ts'
import { messageOf } from '../../../api/query-client.ts'
import { usePath } from '../../../components/breadcrumbs.tsx'
import { Equivalent, quoted } from '../../../components/copy.tsx'
import { FileDrop } from '../../../components/drop-zone.tsx'
import { SelectField } from '../../../components/field.tsx'
import { LeaveGuard, type LeaveQuestion } from '../../../components/leave-guard.tsx'
import { NoPermission } from '../../../components/no-permission.tsx'
import { Progress } from '../../../components/progress.tsx'
import { formatBytes, plural } from '../../../components/quantity.tsx'
import { formatNames } from '../../advisories/document-columns.tsx'
import type { FolderTabProps } from '../folder.tsx'
import { ImportReport } from './import-report.tsx'
import { createImportRun, type ImportRun, type RunProgress } from './import-run/import-run.ts'

const ANY = 'any'
const accepted = ['.json', '.yaml', '.yml', '.zip', '.tar', '.tgz', '.gz']

/** An import ends with the page. */
const question: LeaveQuestion = {
  title: 'Stop the import?',
  text: 'The import stops if you leave. Documents that were imported stay.',
  action: 'Stop the import',
  cancel: 'Continue the import',
}

interface Work {
  readonly run: ImportRun
  readonly kind: 'check' | 'import'
  readonly state: 'running' | 'stopped' | 'failed' | 'done'
  readonly progress: RunProgress | undefined
  readonly failure: unknown
}

/** Imports documents: first reports what would change, then changes it. */
export function Import({ uid, name }: FolderTabProps) {
  const path = usePath(uid, name)
  const access = useAccess()
  const missing = access.missing(uid, 'advisories.create') ?? access.missing(uid, 'advisories.update')
  const [files, setFiles] = useState<readonly File[]>([])
  const [format, setFormat] = useState(ANY)
  const { work, start, resume, stop, reset } = useImportWork()
  const ofFormat = format === ANY ? '' : format
  const flags = `${ofFormat === '' ? '' : ` --format ${ofFormat}`}${work?.kind === 'import' ? '' : ' --dry-run'}`
  const begin = (kind: Work['kind'], chosen: readonly File[]) =>
    start(kind, createImportRun({ parent: uid, files: chosen, format: ofFormat, dryRun: kind === 'check' }))

  if (missing !== undefined) return <NoPermission label="The import" reason={missing} />
  return (
    <>
      {work === undefined ? (
        <>
          <SelectField
            label="Format"
            choices={[
              { id: ANY, name: 'Detect for each document' },
              ...formats.map((id) => ({ id, name: formatNames[id] ?? id })),
            ]}
            value={format}
            onChange={setFormat}
          />
          <FileDrop
            label="Drop files, folders or archives here"
            accepted={accepted}
            onFiles={(chosen) => {
              if (chosen.length === 0) return
              setFiles(chosen)
              begin('check', chosen)
            }}
          >
            <p className="muted">
              OSV, Wolfi, security database, OpenVEX or CSAF, as JSON or YAML; zip, tar and gzip archives of
              them. Nothing is changed until you have seen a report.
            </p>
          </FileDrop>
        </>
      ) : (
        <section aria-label="Import">
          <h2>{titleOf(work)}</h2>
          <p className="muted">
            {plural(files.length, 'file')}, {formatBytes(files.reduce((sum, { size }) => sum + size, 0))}
          </p>
          {work.state === 'running' && work.kind === 'import' && <LeaveGuard question={question} />}
          {work.state === 'running' && (
            <Progress
              label={work.kind === 'check' ? 'Checking' : 'Importing'}
              done={work.progress?.bytesRead}
              total={work.progress?.bytes}
              unit="bytes read"
            />
          )}
          {work.state === 'failed' && (
            <p className="alert" role="alert">
              {messageOf(work.failure)} Documents that were processed are counted below; resume to continue
              with the others.
            </p>
          )}
          <div className="tab-actions">
            {work.state === 'running' && (
              <Button className="button quiet" onPress={stop}>
                Stop
              </Button>
            )}
            {(work.state === 'failed' || work.state === 'stopped') && (
              <Button className="button" onPress={resume}>
                Resume
              </Button>
            )}
            {work.state === 'done' && work.kind === 'check' && hasDocuments(work.progress) && (
              <Button className="button" onPress={() => begin('import', files)}>
                Import
              </Button>
            )}
            {work.state !== 'running' && (
              <Button className="button quiet" onPress={reset}>
                {work.kind === 'import' && work.state === 'done' ? 'Import more' : 'Choose other files'}
              </Button>
            )}
          </div>
          {work.progress !== undefined && (
            <ImportReport progress={work.progress} isCheck={work.kind === 'check'} />
          )}
        </section>
      )}
      <Equivalent command={`berth advisories import ./advisories --parent ${quoted(path)}${flags}`} />
    </>
  )
}

const hasDocuments = (progress: RunProgress | undefined) => (progress?.total.documents ?? 0) > 0

function titleOf({ kind, state }: Work): string {
  if (kind === 'check') return state === 'done' ? 'What the import would change' : 'Check of the documents'
  return state === 'done' ? 'Imported' : 'Import'
}

/** Runs one import at a time. It ends with the page. */
function useImportWork() {
  const queries = useQueryClient()
  const [work, setWork] = useState<Work | undefined>()
  const stopper = useRef<AbortController | undefined>(undefined)
  useEffect(() => () => stopper.current?.abort(), [])

  const run = (next: Work) => {
    stopper.current?.abort()
    const stop = new AbortController()
    stopper.current = stop
    setWork({ ...next, state: 'running', failure: undefined })
    const update = (part: Partial<Work>) => {
      // A run that was stopped may report once more.
      if (stopper.current === stop) setWork((before) => before && { ...before, ...part })
    }
    next.run
      .start(stop.signal, (progress) => update({ progress }))
      .then(
        () => update({ state: 'done' }),
        (failure: unknown) => update({ state: stop.signal.aborted ? 'stopped' : 'failed', failure }),
      )
      .finally(() => {
        if (next.kind === 'import')
          for (const key of ['advisories', 'advisory', 'advisory-documents', 'advisory-summary'])
            void queries.invalidateQueries({ queryKey: [key] })
      })
  }
  return {
    work,
    start: (kind: Work['kind'], importRun: ImportRun) =>
      run({ run: importRun, kind, state: 'running', progress: undefined, failure: undefined }),
    resume: () => work && run(work),
    stop: () => stopper.current?.abort(),
    reset: () => {
      stopper.current = undefined
      setWork(undefined)
    },
  }
}
