import { formats } from '@berth/advisory-formats/advisory-record.ts'
import type { AdvisorySource } from '@berth/client'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
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
import { PageList } from '../../../components/page-list.tsx'
import { plural } from '../../../components/quantity.tsx'
import { RowAction } from '../../../components/row-action.tsx'
import { documentColumns, formatNames } from '../../advisories/document-columns.tsx'
import { DocumentDialog } from '../../advisories/document-dialog.tsx'
import type { FolderTabProps } from '../folder.tsx'

const keyOf = ({ format, id }: Pick<AdvisorySource, 'format' | 'id'>) => `${format} ${id}`

/** The documents of a folder, without those of folders in it. */
export function Documents({ uid, name }: FolderTabProps) {
  const [{ format = '', document = '' }] = useAddressState()
  const [shown, setShown] = useState<AdvisorySource | undefined>()
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const [dialog, setDialog] = useState<'selected' | 'all' | undefined>()
  const queries = useQueryClient()
  const path = usePath(uid, name)
  const missing = useAccess().missing(uid, 'advisories.delete')
  const close = () => setDialog(undefined)
  const isFiltered = format !== '' || document !== ''

  /** Sends requests until no document is left to delete. `ids`: empty for all. */
  async function remove(ofFormat: string, ids: readonly string[]): Promise<void> {
    for (let more = true; more; ) {
      const request = { parent: uid, format: ofFormat, ids: [...ids] }
      more = (await api.advisoryDocuments.deleteAdvisoryDocuments(request)).more
    }
  }
  async function removed(): Promise<void> {
    setSelected(new Set())
    await Promise.all([
      queries.invalidateQueries({ queryKey: ['advisory-documents', uid] }),
      queries.invalidateQueries({ queryKey: ['advisories'] }),
      queries.invalidateQueries({ queryKey: ['advisory-summary'] }),
    ])
  }

  return (
    <>
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
      {dialog === 'selected' && (
        <ConfirmDialog
          title={`Delete ${formatCount(selected.size)}`}
          action="Delete"
          isDangerous
          onClose={close}
          submit={async () => {
            const chosen = [...selected].map((key) => {
              const at = key.indexOf(' ')
              return { format: key.slice(0, at), id: key.slice(at + 1) }
            })
            for (const [ofFormat, some] of Map.groupBy(chosen, (one) => one.format))
              await remove(
                ofFormat,
                some.map(({ id }) => id),
              )
            await removed()
          }}
        >
          <p>
            Advisories that no other document contains are withdrawn. A feed imports its documents again with
            the next version of its file: delete the feed first.
          </p>
        </ConfirmDialog>
      )}
      {dialog === 'all' && (
        <DeleteDialog
          kind="documents"
          name={name}
          onClose={close}
          submit={async () => {
            for (const one of format === '' ? formats : [format]) await remove(one, [])
            await removed()
          }}
        >
          This deletes all documents{format === '' ? '' : ` of the format ${formatNames[format] ?? format}`}{' '}
          of this folder, and withdraws their advisories. It can take minutes; keep the page open.
        </DeleteDialog>
      )}
    </>
  )
}

const formatCount = (count: number) => plural(count, 'document')
