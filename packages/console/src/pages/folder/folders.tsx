import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useAccess } from '../../api/access.ts'
import { foldersQuery } from '../../api/queries/groups.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { usePath } from '../../components/breadcrumbs.tsx'
import { Equivalent, quoted } from '../../components/copy.tsx'
import { PageList } from '../../components/page-list.tsx'
import { Time } from '../../components/time.tsx'
import type { FolderTabProps } from './folder.tsx'
import { CreateFolderDialog } from './folder-dialogs.tsx'

export function Folders({ uid, name }: FolderTabProps) {
  const [isCreating, setCreating] = useState(false)
  const path = usePath(uid, name)
  const missing = useAccess().missing(uid, 'groups.create')
  return (
    <>
      <div className="tab-actions">
        <ActionButton label="Create a folder" missing={missing} onPress={() => setCreating(true)} />
      </div>
      <PageList
        label="Folders"
        query={foldersQuery(uid)}
        keyOf={(folder) => folder.uid}
        columns={[
          {
            id: 'name',
            title: 'Name',
            cell: (folder) => (
              <Link to="/folders/$" params={{ _splat: folder.uid }}>
                {folder.name}
              </Link>
            ),
          },
          { id: 'description', title: 'Description', cell: (folder) => folder.description },
          { id: 'created', title: 'Created', cell: (folder) => <Time value={folder.createTime} /> },
        ]}
        empty={
          <p>
            There are no folders yet. Folders divide an organization into teams; a role applies to everything
            below its folder.
          </p>
        }
      />
      <Equivalent command={`berth iam folders list ${quoted(path)}`} />
      {isCreating && <CreateFolderDialog parent={uid} onClose={() => setCreating(false)} />}
    </>
  )
}
