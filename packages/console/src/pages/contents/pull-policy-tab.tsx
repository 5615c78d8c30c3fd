import type { Binding, Decision, Override, Policy } from '@berth/client'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useAccess } from '../../api/access.ts'
import { organizationOf, parentOf } from '../../api/queries/groups.ts'
import {
  bindingsOf,
  bindingsQuery,
  decisionsQuery,
  digestOverridesQuery,
  policiesQuery,
} from '../../api/queries/pull-policies.ts'
import { Badge } from '../../components/badge.tsx'
import { folderPathOf } from '../../components/breadcrumbs.tsx'
import { Equivalent, quoted } from '../../components/copy.tsx'
import { NotLoaded } from '../../components/loaded.tsx'
import { NoPermission } from '../../components/no-permission.tsx'
import { PlainTable } from '../../components/plain-table.tsx'
import { RowAction } from '../../components/row-action.tsx'
import { CreateOverrideDialog } from '../pull-policies/override-dialog.tsx'
import { dayText, ModeBadge, Owner, policyName, ResultBadge } from '../pull-policies/policy-texts.tsx'
import type { ImageTabProps } from './image-tab.ts'
import '../../styles/pages/contents.css'

const capabilities = [
  'policies.binding.list',
  'policies.policy.list',
  'policies.decision.list',
  'policies.override.list',
] as const

/** Whether an image may be pulled: the policies that apply to it, what each decided last, and overrides. */
export function PullPolicyTab({ repo, path, digest, platforms }: ImageTabProps) {
  const access = useAccess()
  const missing = capabilities.map((one) => access.missing(repo, one)).find((text) => text !== undefined)
  const enabled = missing === undefined
  const organization = organizationOf(repo)
  const bindings = useQuery({ ...bindingsQuery(organization), enabled })
  const policies = useQuery({ ...policiesQuery(organization), enabled })
  const overrides = useQuery({ ...digestOverridesQuery(repo, digest), enabled })
  const decisions = useInfiniteQuery({
    ...decisionsQuery(repo, { digest, orderBy: 'pulled_on desc' }),
    enabled,
  })
  const [overridden, setOverridden] = useState<string | undefined>()
  if (missing !== undefined) return <NoPermission label="Policies" reason={missing} />
  for (const query of [bindings, policies, overrides, decisions])
    if (query.data === undefined) return <NotLoaded what="the policies" query={query} />
  const rows = bindingsOf(bindings.data ?? [], repo).map((binding) =>
    rowOf(binding, overrides.data?.overrides ?? [], decisions.data?.pages[0]?.items ?? []),
  )
  return (
    <>
      <Verdict rows={rows} repo={repo} policies={policies.data ?? []} />
      {platforms.length > 0 && rows.length > 0 && (
        <p className="hint">
          Policies about the contents of images evaluate the platform image that a client pulls, and not the
          index.
        </p>
      )}
      {overrides.data?.isComplete === false && (
        <p className="caution">There are many overrides. Older ones of this digest may be missing here.</p>
      )}
      {rows.length > 0 && (
        <PlainTable
          label="Policies"
          items={rows}
          keyOf={({ binding }) => binding.id}
          columns={[
            {
              id: 'policy',
              title: 'Policy',
              cell: ({ binding }) => (
                <bdi className="package-name">{policyName(policies.data ?? [], binding.policy)}</bdi>
              ),
            },
            { id: 'mode', title: 'Mode', cell: ({ binding }) => <ModeBadge mode={binding.mode} /> },
            {
              id: 'owner',
              title: 'Bound in',
              cell: ({ binding }) => <Owner uid={parentOf(binding.id)} here="" />,
            },
            { id: 'decision', title: 'Last decisions', cell: (row) => <LastDecisions row={row} /> },
            {
              id: 'override',
              title: 'Override',
              cell: ({ binding, override }) =>
                override === undefined ? (
                  <RowAction
                    label="Override"
                    object={`the policy ${policyName(policies.data ?? [], binding.policy)}`}
                    missing={access.missing(repo, 'policies.override.create')}
                    onPress={() => setOverridden(binding.policy)}
                  />
                ) : (
                  <bdi className="long-words">{override.reason}</bdi>
                ),
            },
          ]}
        />
      )}
      <p className="note">
        <Link to="/repos/$" params={{ _splat: repo }} search={{ tab: 'pull-policies' }}>
          Pull policies of the repository
        </Link>
      </p>
      <Equivalent
        command={`berth policies decisions --parent ${quoted(folderPathOf(path))} --digest ${digest}`}
      />
      {overridden !== undefined && (
        <CreateOverrideDialog
          uid={repo}
          path={path}
          policies={policies.data ?? []}
          policyId={overridden}
          digest={digest}
          onClose={() => setOverridden(undefined)}
        />
      )}
    </>
  )
}

interface BoundPolicy {
  readonly binding: Binding
  readonly override: Override | undefined
  /** Those of the last day on which the image was pulled: equal decisions of a day are one, and have no order. */
  readonly decisions: readonly Decision[]
}

/** `decisions`: the newest day first. */
function rowOf(
  binding: Binding,
  overrides: readonly Override[],
  decisions: readonly Decision[],
): BoundPolicy {
  const own = decisions.filter(({ policyId, mode }) => policyId === binding.policy && mode === binding.mode)
  const day = dayText(own[0]?.pulledOn)
  return {
    binding,
    override: overrides.find(({ policyId }) => policyId === binding.policy),
    decisions: own.filter(({ pulledOn }) => dayText(pulledOn) === day),
  }
}

interface VerdictProps {
  readonly rows: readonly BoundPolicy[]
  readonly repo: string
  readonly policies: readonly Policy[]
}

function Verdict({ rows, repo, policies }: VerdictProps) {
  if (rows.length === 0)
    return (
      <div className="empty">
        <p>No policy applies: pulls of this image are not evaluated.</p>
        <p>
          <Link to="/repos/$" params={{ _splat: repo }} search={{ tab: 'pull-policies' }} className="button">
            Apply a policy
          </Link>
        </p>
      </div>
    )
  const enforced = rows.filter(({ binding }) => binding.mode === 'POLICY_MODE_ENFORCED')
  const denying = enforced.filter(
    ({ override, decisions }) =>
      override === undefined && decisions.some(({ result }) => result !== 'RESULT_ALLOWED'),
  )
  const names = denying.map(({ binding }) => policyName(policies, binding.policy)).join(', ')
  if (denying.length > 0)
    return (
      <p className="alert">
        Pulls on {dayText(denying[0]?.decisions[0]?.pulledOn)} were denied by <bdi>{names}</bdi>. Fix the
        reason below, or create an override for this digest.
      </p>
    )
  if (enforced.length === 0)
    return <p className="muted">Pulls succeed: all policies are in a dry run, and only record decisions.</p>
  const isKnown = enforced.every(({ override, decisions }) => override !== undefined || decisions.length > 0)
  if (isKnown) return <p className="notice">The policies let this image pass.</p>
  return (
    <p className="muted">
      Not all policies have evaluated this image yet. Each does when the image is pulled; the decision is
      shown here after a few seconds.
    </p>
  )
}

function LastDecisions({ row: { decisions, override } }: { readonly row: BoundPolicy }) {
  if (override !== undefined) return <Badge tone="good">passes by override</Badge>
  if (decisions.length === 0) return <span className="muted">not pulled yet</span>
  return (
    <ul className="plain-list">
      {decisions.map(({ id, result, mode, reason, pulledOn }) => (
        <li key={id}>
          <ResultBadge result={result} mode={mode} /> <span className="hint">{dayText(pulledOn)}</span>
          {reason !== '' && <bdi className="second long-words">{reason}</bdi>}
        </li>
      ))}
    </ul>
  )
}
