import { usePath } from '../../components/breadcrumbs.tsx'
import { PullPolicies } from '../pull-policies/pull-policies.tsx'
import type { FolderTabProps } from './folder.tsx'

/** The policies at pull of a folder. */
export function PullPoliciesTab({ uid, name }: FolderTabProps) {
  return <PullPolicies uid={uid} path={usePath(uid, name)} isRepo={false} />
}
