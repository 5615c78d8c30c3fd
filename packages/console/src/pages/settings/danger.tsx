import { useState } from 'react'
import { useAccess } from '../../api/access.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { Badge } from '../../components/badge.tsx'
import { Equivalent, quoted } from '../../components/copy.tsx'
import { DeleteFolderDialog } from '../folder/folder-dialogs.tsx'
import { Blockers } from './blockers.tsx'
import type { SettingsTabProps } from './settings.tsx'

/** The suspension and the deletion of an organization. */
export function Danger({ organization }: SettingsTabProps) {
  const { uid, name, status } = organization.value
  const [isDeleting, setDeleting] = useState(false)
  const missing = useAccess().missing(uid, 'groups.delete')
  const isSuspended = status === 'ORG_STATUS_SUSPENDED'
  return (
    <>
      <div className="setting-cards">
        <section aria-labelledby="status">
          <h2 id="status">
            Status {isSuspended ? <Badge tone="bad">suspended</Badge> : <Badge tone="good">active</Badge>}
          </h2>
          <p>
            {isSuspended
              ? 'The operator of this server has suspended this organization: roles in it grant nothing, so members can neither read nor change it, and images cannot be pulled or pushed. Nothing is deleted.'
              : 'The organization is active. If the operator of this server suspends it, roles in it grant nothing until it is active again: members can neither read nor change it, and images cannot be pulled or pushed. Nothing is deleted.'}
          </p>
          <p className="muted">Only the operator changes the status, not the owners of the organization.</p>
        </section>
        <section className="danger-section" aria-labelledby="delete">
          <h2 id="delete">Delete the organization</h2>
          <p>
            Only an empty organization can be deleted. Its name becomes free, and its usage history is
            deleted. The audit log stays.
          </p>
          <Blockers uid={uid} kind="organization" />
          <div>
            <ActionButton
              label="Delete the organization"
              isDanger
              missing={missing}
              onPress={() => setDeleting(true)}
            />
          </div>
        </section>
      </div>
      <Equivalent command={`berth iam organizations delete ${quoted(name)}`} />
      {isDeleting && (
        <DeleteFolderDialog folder={organization} kind="organization" onClose={() => setDeleting(false)} />
      )}
    </>
  )
}
