import type { RepoPolicy } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { useAccess } from '../../api/access.ts'
import type { Versioned } from '../../api/queries/pages.ts'
import { policyQuery } from '../../api/queries/registry/policies.ts'
import { messageOf } from '../../api/query-client.ts'
import { Equivalent, quoted } from '../../components/copy.tsx'
import { Facts } from '../../components/facts.tsx'
import { formatDuration } from './duration.ts'
import { ruleText } from './policy-draft.ts'
import { PolicyForm } from './policy-form.tsx'
import { PolicyPreview } from './policy-preview.tsx'
import { RetentionRuns } from './policy-runs.tsx'
import type { RepoTabProps } from './repo.tsx'
import { Untagged } from './untagged.tsx'

/** The policy of a repository: which tags are immutable, and which are deleted automatically. */
export function Policy({ repo, path }: RepoTabProps) {
  const { uid } = repo.value
  const { data, error } = useQuery(policyQuery(uid))
  const missing = useAccess().missing(uid, 'repo_policies.update')
  if (data === undefined)
    return error === null ? (
      <p className="muted" role="status">
        Loading the policy…
      </p>
    ) : (
      <p className="alert" role="alert">
        {messageOf(error)}
      </p>
    )
  return (
    <div className="parts">
      {missing === undefined ? (
        <PolicyForm repo={uid} policy={data} />
      ) : (
        <ReadOnlyPolicy repo={uid} policy={data} missing={missing} />
      )}
      <RetentionRuns repo={uid} path={path} policy={data.value} />
      <Untagged repo={uid} path={path} />
      <Equivalent command={`berth images policy describe ${quoted(path)}`} />
    </div>
  )
}

interface ReadOnlyPolicyProps {
  readonly repo: string
  readonly policy: Versioned<RepoPolicy>
  readonly missing: string
}

function ReadOnlyPolicy({ repo, policy, missing }: ReadOnlyPolicyProps) {
  const { immutableTags, retention } = policy.value
  const rules = retention?.rules ?? []
  const patterns = (list: readonly string[] = []) => (list.length === 0 ? 'none' : list.join(', '))
  return (
    <>
      <section>
        <h2>Policy</h2>
        <p className="hint">You cannot change it. {missing}</p>
        <Facts
          facts={[
            ['Immutable tags', patterns(immutableTags?.patterns)],
            ['Except', patterns(immutableTags?.exceptions)],
            ['Retention', retention?.enabled ? 'enabled' : 'not enabled'],
            [
              'Rules',
              rules.length === 0 ? (
                'none: all tags are kept'
              ) : (
                <ol key="rules" className="rule-texts">
                  {rules.map((rule) => (
                    <li key={ruleText(rule)}>{ruleText(rule)}</li>
                  ))}
                </ol>
              ),
            ],
            [
              'Untagged manifests',
              retention?.untaggedAfter === undefined
                ? 'kept'
                : `deleted after ${formatDuration(retention.untaggedAfter)}`,
            ],
          ]}
        />
      </section>
      <PolicyPreview
        repo={repo}
        rules={{
          immutableTags: immutableTags ?? { patterns: [], exceptions: [] },
          retention: retention ?? { enabled: false, rules: [] },
        }}
      />
    </>
  )
}
