import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useAccess } from '../../api/access.ts'
import { folderQuery } from '../../api/queries/groups.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { usePath } from '../../components/breadcrumbs.tsx'
import { Equivalent, quoted } from '../../components/copy.tsx'
import { Facts } from '../../components/facts.tsx'
import { Time } from '../../components/time.tsx'
import { Blockers } from '../settings/blockers.tsx'
import type { FolderTabProps } from './folder.tsx'
import { DeleteFolderDialog, EditFolderDialog } from './folder-dialogs.tsx'
import '../../styles/pages/settings.css'

/** The name, the description and the deletion of a folder. */
export function Settings({ uid, name }: FolderTabProps) {
  const { data: folder } = useQuery(folderQuery(uid))
  const [dialog, setDialog] = useState<'edit' | 'delete' | undefined>()
  const access = useAccess()
  const path = usePath(uid, name)
  const isOrganization = !uid.includes('/')
  const kind = isOrganization ? 'organization' : 'folder'
  const close = () => setDialog(undefined)
  if (folder === undefined) return null
  const { description, createTime, updateTime } = folder.value
  return (
    <>
      {isOrganization && (
        <p>
          Usage, sign-in, cloud accounts and the deletion are in the{' '}
          <Link to="/settings/$" params={{ _splat: uid }}>
            settings of the organization
          </Link>
          .
        </p>
      )}
      <div className="setting-cards">
        <section aria-labelledby="naming">
          <h2 id="naming">Name and description</h2>
          <Facts
            facts={[
              ['Name', name],
              [
                'Description',
                description || (
                  <span key="none" className="muted">
                    none
                  </span>
                ),
              ],
              ['Path', path],
              ['Created', <Time key="created" value={createTime} />],
              ['Updated', <Time key="updated" value={updateTime} />],
            ]}
          />
          <p className="muted">
            A new name changes the names of all images in the {kind}: clients that pull by the old name fail.
            The uid stays.{isOrganization ? '' : ' A folder cannot be moved to another one.'}
          </p>
          <ActionButton
            label="Edit"
            isQuiet
            missing={access.missing(uid, 'groups.update')}
            onPress={() => setDialog('edit')}
          />
        </section>
        {!isOrganization && (
          <section className="danger-section" aria-labelledby="delete">
            <h2 id="delete">Delete the folder</h2>
            <Blockers uid={uid} kind={kind} />
            <div>
              <ActionButton
                label="Delete"
                isDanger
                missing={access.missing(uid, 'groups.delete')}
                onPress={() => setDialog('delete')}
              />
            </div>
          </section>
        )}
      </div>
      <Equivalent command={`berth iam ${kind}s describe ${quoted(path)}`} />
      {dialog === 'edit' && <EditFolderDialog folder={folder} kind={kind} onClose={close} />}
      {dialog === 'delete' && <DeleteFolderDialog folder={folder} kind={kind} onClose={close} />}
    </>
  )
}
