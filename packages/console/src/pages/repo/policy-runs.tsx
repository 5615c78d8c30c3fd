import type { RepoPolicy, RepoRetentionRun } from '@berth/client'
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useAccess } from '../../api/access.ts'
import { api } from '../../api/client.ts'
import { isRunning, policyQuery, retentionRunQuery } from '../../api/queries/registry/policies.ts'
import { type NamedRun, retentionRunsQuery } from '../../api/queries/runs.ts'
import { ActionDialog } from '../../components/action-dialog.tsx'
import { Actions } from '../../components/actions.tsx'
import { Badge } from '../../components/badge.tsx'
import { Equivalent, quoted } from '../../components/copy.tsx'
import { Facts } from '../../components/facts.tsx'
import { NotLoaded } from '../../components/loaded.tsx'
import { PageList } from '../../components/page-list.tsx'
import { plural } from '../../components/quantity.tsx'
import { NoRuns, RunFilterBar, runColumns, runOptions, useRunFilter } from '../../components/runs.tsx'
import { Time } from '../../components/time.tsx'
import type { PolicyPartProps } from './policy.tsx'
import { previewCounts } from './policy-preview.tsx'

/** When retention ran, when it runs next, and a run on request. */

export function RetentionRuns({ repo, path, policy: { value: policy } }: PolicyPartProps) {
  const queries = useQueryClient()
  const access = useAccess()
  const [isConfirming, setConfirming] = useState(false)
  const { lastRun, nextRunTime, retention } = policy
  const running = isRunning(policy)
  const missing = ['repo.update', 'tag.delete', 'manifest.delete']
    .map((capability) => access.missing(repo, capability))
    .find((reason) => reason !== undefined)
  const impossible =
    retention?.enabled !== true ? 'Retention is not enabled' : running ? 'Retention is running' : undefined
  return (
    <section>
      <h2>Runs</h2>
      <Actions
        of="tab"
        actions={[
          {
            label: 'Run retention now',
            isQuiet: true,
            missing: missing ?? impossible,
            onPress: () => setConfirming(true),
          },
        ]}
      />
      <Facts
        facts={[
          [
            'Last run',
            lastRun === undefined ? 'never' : <Time key="last" value={lastRun.beginTime} isRelative />,
          ],
          ['Result', lastRun === undefined ? undefined : <RunResult key="result" run={lastRun} />],
          [
            'Next run',
            running ? 'now' : <Time key="next" value={nextRunTime} isRelative absent="not scheduled" />,
          ],
        ]}
      />
      <RunList repo={repo} path={path} />
      {isConfirming && (
        <RunDialog
          repo={repo}
          policy={policy}
          onClose={() => setConfirming(false)}
          submit={async () => {
            await api.repoPolicies.applyRetention({ uid: repo })
            await queries.invalidateQueries({ queryKey: policyQuery(repo).queryKey })
          }}
        />
      )}
    </section>
  )
}

function RunList({ repo, path }: Pick<PolicyPartProps, 'repo' | 'path'>) {
  const filter = useRunFilter()
  return (
    <>
      <RunFilterBar />
      <PageList
        label="Runs"
        query={retentionRunsQuery(repo, filter)}
        keyOf={({ uid }) => uid}
        columns={runColumns<NamedRun<RepoRetentionRun>>(deletedText)}
        missing={useAccess().missing(repo, 'repo.list')}
        empty={<NoRuns filter={filter} text="No run is recorded yet." />}
      />
      <p className="muted">Scheduled runs that delete nothing are not recorded.</p>
      <Equivalent command={`berth images policy runs ${quoted(path)}${runOptions(filter)}`} />
    </>
  )
}

const deletedText = ({ deletedTags, deletedManifests }: RepoRetentionRun) =>
  `${plural(deletedTags, 'tag')} and ${plural(deletedManifests, 'manifest')} deleted`

function RunResult({ run }: { readonly run: NonNullable<RepoPolicy['lastRun']> }) {
  if (run.error !== '')
    return (
      <>
        <Badge tone="bad">failed</Badge> {run.error}
      </>
    )
  const counts = `${plural(run.deletedTags, 'tag')} and ${plural(run.deletedManifests, 'manifest')} deleted`
  return run.endTime === undefined ? `${counts} so far` : counts
}

interface RunDialogProps {
  readonly repo: string
  readonly policy: RepoPolicy
  readonly onClose: () => void
  readonly submit: () => Promise<unknown>
}

function RunDialog({ repo, policy, onClose, submit }: RunDialogProps) {
  const { immutableTags, retention } = policy
  const stored = {
    immutableTags: immutableTags ?? { patterns: [], exceptions: [] },
    retention: retention ?? { enabled: false, rules: [] },
  }
  const preview = useInfiniteQuery(retentionRunQuery(repo, stored))
  const counts = previewCounts(preview.data)
  return (
    <ActionDialog
      title="Run retention now"
      action="Run retention"
      isDangerous
      isDisabled={counts === undefined}
      onClose={onClose}
      submit={submit}
    >
      {() =>
        counts === undefined ? (
          <NotLoaded what="the preview" query={preview} />
        ) : (
          <p>
            It deletes {plural(counts.deletedTags, 'tag')} and {plural(counts.deletedManifests, 'manifest')}.
          </p>
        )
      }
    </ActionDialog>
  )
}
