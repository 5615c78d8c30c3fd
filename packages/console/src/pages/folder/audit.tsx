import { useAccess } from '../../api/access.ts'
import { usePath } from '../../components/breadcrumbs.tsx'
import { Events } from '../audit/events.tsx'
import type { FolderTabProps } from './folder.tsx'

/** Events of the folder and everything in it. */
export function Audit({ uid, name }: FolderTabProps) {
  const path = usePath(uid, name)
  const missing = useAccess().missing(uid, 'subscriptions.create')
  return <Events within={uid} path={path} missing={missing} />
}
