import { PullPolicies } from '../pull-policies/pull-policies.tsx'
import type { RepoTabProps } from './repo.tsx'

/** The policies at pull of a repository. */
export function PullPoliciesTab({ repo, path }: RepoTabProps) {
  return <PullPolicies uid={repo.value.uid} path={path} isRepo />
}
