import type { AdvisorySource } from '@berth/client'
import { useState } from 'react'
import { sourcesQuery } from '../../api/queries/advisories.ts'
import { PageList } from '../../components/page-list.tsx'
import { RowAction } from '../../components/row-action.tsx'
import { documentColumns } from './document-columns.tsx'
import { DocumentDialog } from './document-dialog.tsx'

/** The documents from which an advisory was created. */
export function Sources({ uid }: { readonly uid: string }) {
  const [shown, setShown] = useState<AdvisorySource | undefined>()
  return (
    <>
      <PageList
        label="Sources"
        query={sourcesQuery(uid)}
        keyOf={({ format, id }) => `${format} ${id}`}
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
        empty={<p>No document contains this advisory any more.</p>}
      />
      {shown !== undefined && (
        <DocumentDialog owner={{ advisory: uid }} document={shown} onClose={() => setShown(undefined)} />
      )}
    </>
  )
}
