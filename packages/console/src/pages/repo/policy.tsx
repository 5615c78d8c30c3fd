import type { RepoPolicy } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { useAccess } from '../../api/access.ts'
import type { Versioned } from '../../api/queries/pages.ts'
import { policyQuery } from '../../api/queries/registry/policies.ts'
import { Equivalent, quoted } from '../../components/copy.tsx'
import { Facts } from '../../components/facts.tsx'
import { lazyPart } from '../../components/lazy-part.tsx'
import { NotLoaded } from '../../components/loaded.tsx'
import { type Section, Sections } from '../../components/sections.tsx'
import { formatDuration } from './duration.ts'
import { ruleText } from './policy-draft.ts'
import { PolicyForm } from './policy-form.tsx'
import { PolicyPreview } from './policy-preview.tsx'
import type { RepoTabProps } from './repo.tsx'
import { RunningRetention } from './running-retention.tsx'

/** The policy of a repository: which tags are immutable, and which are deleted automatically. */
export function Policy({ repo, path }: RepoTabProps) {
  const { uid } = repo.value
  const policy = useQuery(policyQuery(uid))
  const { data } = policy
  if (data === undefined) return <NotLoaded what="the policy" query={policy} />
  return (
    <>
      <RunningRetention repo={uid} policy={data.value} />
      <Sections
        label="Policy of the repository"
        tab="policy"
        sections={sections}
        partProps={{ repo: uid, path, policy: data }}
      />
    </>
  )
}

export interface PolicyPartProps {
  /** uid. */
  readonly repo: string
  /** As the command line has it. */
  readonly path: string
  readonly policy: Versioned<RepoPolicy>
}

const sections: readonly Section<PolicyPartProps>[] = [
  ['rules', 'Rules', Rules],
  ['runs', 'Runs', lazyPart(async () => (await import('./policy-runs.tsx')).RetentionRuns)],
  ['untagged', 'Untagged manifests', lazyPart(async () => (await import('./untagged.tsx')).Untagged)],
]

function Rules({ repo, path, policy }: PolicyPartProps) {
  const missing = useAccess().missing(repo, 'repo_policies.update')
  return (
    <>
      {missing === undefined ? (
        <PolicyForm repo={repo} policy={policy} />
      ) : (
        <ReadOnlyPolicy repo={repo} policy={policy} missing={missing} />
      )}
      <Equivalent command={`berth images policy describe ${quoted(path)}`} />
    </>
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
