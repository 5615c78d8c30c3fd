import { formats } from '@berth/advisory-formats/advisory-record.ts'
import type { AdvisorySource } from '@berth/client'
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { useAddressState } from '../../../address-state.ts'
import { useAccess } from '../../../api/access.ts'
import { api } from '../../../api/client.ts'
import { documentsQuery } from '../../../api/queries/advisories.ts'
import { Actions } from '../../../components/actions.tsx'
import { usePath } from '../../../components/breadcrumbs.tsx'
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx'
import { Equivalent, quoted } from '../../../components/copy.tsx'
import { FilterBar, SelectFilter, TextFilter } from '../../../components/filter-bar.tsx'
import { DeleteDialog } from '../../../components/form-dialog.tsx'
import { LeaveGuard, type LeaveQuestion } from '../../../components/leave-guard.tsx'
import { PageList } from '../../../components/page-list.tsx'
import { plural } from '../../../components/quantity.tsx'
import { RowAction } from '../../../components/row-action.tsx'
import { documentColumns, formatNames } from '../../advisories/document-columns.tsx'
import { DocumentDialog } from '../../advisories/document-dialog.tsx'
import type { FolderTabProps } from '../folder.tsx'

type DocumentKey = Pick<AdvisorySource, 'format' | 'id'>

const keyOf = ({ format, id }: DocumentKey) => `${format} ${id}`

function documentOf(key: string): DocumentKey {
  const at = key.indexOf(' ')
  return { format: key.slice(0, at), id: key.slice(at + 1) }
}

/** A deletion ends with the page. */
const question: LeaveQuestion = {
  title: 'Stop the deletion?',
  text: 'The deletion stops if you leave. Documents that were deleted stay deleted.',
  action: 'Stop the deletion',
  cancel: 'Continue the deletion',
}

/** The documents of a folder, without those of folders in it. */
export function Documents({ uid, name }: FolderTabProps) {
  const [{ format = '', document = '' }] = useAddressState()
  const [shown, setShown] = useState<AdvisorySource | undefined>()
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const [dialog, setDialog] = useState<'selected' | 'all' | undefined>()
  const { remove, isDeleting } = useDeletion(uid, ({ format: ofFormat, ids }) => {
    const isDeleted = (one: DocumentKey) =>
      one.format === ofFormat && (ids.length === 0 || ids.includes(one.id))
    setSelected((now) => new Set([...now].filter((key) => !isDeleted(documentOf(key)))))
  })
  const path = usePath(uid, name)
  const missing =
    useAccess().missing(uid, 'advisories.delete') ?? (isDeleting ? 'Documents are being deleted' : undefined)
  const close = () => setDialog(undefined)
  const isFiltered = format !== '' || document !== ''

  return (
    <>
      {isDeleting && <LeaveGuard question={question} />}
      <FilterBar>
        <SelectFilter
          label="Format"
          name="format"
          choices={formats.map((id) => ({ id, name: formatNames[id] ?? id }))}
        />
        <TextFilter label="Document id" name="document" placeholder="The whole id" />
      </FilterBar>
      <Actions
        of="tab"
        actions={[
          {
            label: selected.size === 0 ? 'Delete selected' : `Delete ${formatCount(selected.size)}`,
            isQuiet: true,
            missing: missing ?? (selected.size === 0 ? 'Select documents to delete' : undefined),
            onPress: () => setDialog('selected'),
          },
          {
            label: format === '' ? 'Delete all' : `Delete all of ${formatNames[format] ?? format}`,
            isQuiet: true,
            missing,
            onPress: () => setDialog('all'),
          },
        ]}
      />
      <PageList
        label="Documents"
        query={documentsQuery(uid, format, document)}
        keyOf={keyOf}
        selection={{ keys: selected, onChange: setSelected }}
        columns={[
          ...documentColumns,
          {
            id: 'actions',
            title: 'Actions',
            cell: (source) => (
              <RowAction label="Show" object={`the document ${source.id}`} onPress={() => setShown(source)} />
            ),
          },
        ]}
        empty={
          isFiltered ? (
            <p>No document has this format and id.</p>
          ) : (
            <p>There are no documents in this folder. Import some, or add a feed.</p>
          )
        }
      />
      <Equivalent
        command={`berth advisories documents list --parent ${quoted(path)}${format === '' ? '' : ` --format ${format}`}`}
      />
      {shown !== undefined && (
        <DocumentDialog owner={{ parent: uid }} document={shown} onClose={() => setShown(undefined)} />
      )}
      {dialog === 'selected' && <DeleteSelectedDialog selected={selected} remove={remove} onClose={close} />}
      {dialog === 'all' && (
        <DeleteDialog
          kind="documents"
          name={name}
          onClose={close}
          submit={() => remove((format === '' ? formats : [format]).map((one) => ({ format: one, ids: [] })))}
        >
          This deletes all documents{format === '' ? '' : ` of the format ${formatNames[format] ?? format}`}{' '}
          of this folder, and withdraws their advisories. It can take minutes; keep the page open.
        </DeleteDialog>
      )}
    </>
  )
}

/** What is deleted: documents of one format. */
interface Part {
  readonly format: string
  /** Empty for all. */
  readonly ids: readonly string[]
}

/** Deletes documents until none is left, or the user leaves the page. `onDeleted`: after each part. */
function useDeletion(parent: string, onDeleted: (part: Part) => void) {
  const queries = useQueryClient()
  const [isDeleting, setDeleting] = useState(false)
  const stopper = useRef<AbortController | undefined>(undefined)
  useEffect(() => () => stopper.current?.abort(), [])

  async function remove(parts: readonly Part[]): Promise<void> {
    const stop = new AbortController()
    stopper.current = stop
    setDeleting(true)
    try {
      for (const part of parts) {
        const request = { parent, format: part.format, ids: [...part.ids] }
        for (let more = true; more; ) {
          const options = { signal: stop.signal }
          more = (await api.advisoryDocuments.deleteAdvisoryDocuments(request, options)).more
        }
        onDeleted(part)
      }
    } finally {
      setDeleting(false)
      // After a failure, some are deleted.
      await Promise.all([
        queries.invalidateQueries({ queryKey: ['advisory-documents', parent] }),
        queries.invalidateQueries({ queryKey: ['advisories'] }),
        queries.invalidateQueries({ queryKey: ['advisory-summary'] }),
      ])
    }
  }
  return { remove, isDeleting }
}

interface DeleteSelectedDialogProps extends Pick<ReturnType<typeof useDeletion>, 'remove'> {
  readonly selected: ReadonlySet<string>
  readonly onClose: () => void
}

function DeleteSelectedDialog({ selected, remove, onClose }: DeleteSelectedDialogProps) {
  /** What the deletion started with: what is deleted is no longer selected. */
  const [started, setStarted] = useState<ReadonlySet<string> | undefined>()
  const documents = [...(started ?? selected)].map(documentOf)
  return (
    <ConfirmDialog
      title={`Delete ${formatCount(documents.length)}`}
      action="Delete"
      isDangerous
      onClose={onClose}
      submit={async () => {
        setStarted(selected)
        const byFormat = Map.groupBy(documents, ({ format }) => format)
        try {
          await remove([...byFormat].map(([format, some]) => ({ format, ids: some.map(({ id }) => id) })))
        } catch (failure) {
          // Another attempt deletes what is left.
          setStarted(undefined)
          throw failure
        }
      }}
    >
      {/* Those that a filter hides, too. */}
      <ul className="name-list">
        {documents.map((one) => (
          <li key={keyOf(one)}>
            <bdi>{one.id}</bdi> <span className="hint">{formatNames[one.format] ?? one.format}</span>
          </li>
        ))}
      </ul>
      <p>
        Advisories that no other document contains are withdrawn. A feed imports its documents again with the
        next version of its file: delete the feed first.
      </p>
    </ConfirmDialog>
  )
}

const formatCount = (count: number) => plural(count, 'document')
