import type { RepoPolicy, RepoRetentionRun } from '@berth/client'
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useAccess } from '../../api/access.ts'
import { api } from '../../api/client.ts'
import { isRunning, policyQuery, retentionPreviewQuery } from '../../api/queries/registry/policies.ts'
import { type NamedRun, retentionRunsQuery } from '../../api/queries/runs.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { Badge } from '../../components/badge.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Command, quoted } from '../../components/copy.tsx'
import { Facts } from '../../components/facts.tsx'
import { PageList } from '../../components/page-list.tsx'
import { Progress } from '../../components/progress.tsx'
import { plural } from '../../components/quantity.tsx'
import { NoRuns, RunFilterBar, runColumns, runOptions, useRunFilter } from '../../components/runs.tsx'
import { Time } from '../../components/time.tsx'
import { previewCounts } from './policy-preview.tsx'

/** When retention ran, when it runs next, and a run on request. */

interface RetentionRunsProps {
  readonly repo: string
  /** As the command line has it. */
  readonly path: string
  readonly policy: RepoPolicy
}

export function RetentionRuns({ repo, path, policy }: RetentionRunsProps) {
  const queries = useQueryClient()
  const access = useAccess()
  const [isConfirming, setConfirming] = useState(false)
  const { lastRun, nextRunTime, retention } = policy
  const running = isRunning(policy)
  const missing = ['repo.update', 'tag.delete', 'manifest.delete']
    .map((capability) => access.missing(repo, capability))
    .find((reason) => reason !== undefined)
  // A run changes what the other lists show.
  useEffect(() => {
    if (running) return
    for (const key of ['tags', 'retention-preview', 'untagged', 'retention-runs'])
      void queries.invalidateQueries({ queryKey: [key, repo] })
  }, [running, repo, queries])
  if (retention?.enabled !== true && lastRun === undefined) return null
  const disabled = retention?.enabled === true ? undefined : 'Retention is not enabled'
  return (
    <section>
      <h2>Runs</h2>
      {running ? (
        <Progress
          label="Retention is running"
          done={lastRun?.endTime === undefined ? (lastRun?.deletedTags ?? 0) : undefined}
          unit="tags deleted"
        />
      ) : (
        <ActionButton
          label="Run retention now"
          isQuiet
          missing={missing ?? disabled}
          onPress={() => setConfirming(true)}
        />
      )}
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

function RunList({ repo, path }: Pick<RetentionRunsProps, 'repo' | 'path'>) {
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
      <Command
        text={`berth images policy runs ${quoted(path)}${runOptions(filter)}`}
        label="the command that lists the runs"
      />
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

interface RunDialogProps extends Omit<RetentionRunsProps, 'path'> {
  readonly onClose: () => void
  readonly submit: () => Promise<unknown>
}

function RunDialog({ repo, policy, onClose, submit }: RunDialogProps) {
  const { immutableTags, retention } = policy
  const stored = {
    immutableTags: immutableTags ?? { patterns: [], exceptions: [] },
    retention: retention ?? { enabled: false, rules: [] },
  }
  const { data } = useInfiniteQuery({ ...retentionPreviewQuery(repo, stored, true), staleTime: 0 })
  const counts = previewCounts(data)
  return (
    <ConfirmDialog
      title="Run retention now"
      action="Run retention"
      isDangerous
      onClose={onClose}
      submit={submit}
    >
      <p>
        {counts === undefined
          ? 'Finding out what it deletes…'
          : `It deletes ${plural(counts.deletedTags, 'tag')} and ${plural(counts.deletedManifests, 'manifest')}.`}
      </p>
    </ConfirmDialog>
  )
}
