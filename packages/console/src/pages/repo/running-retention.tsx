import type { RepoPolicy } from '@berth/client'
import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { isRunning } from '../../api/queries/registry/policies.ts'
import { Progress } from '../../components/progress.tsx'

/** How far retention is while it runs, above all parts of the policy. */
export function RunningRetention({ repo, policy }: { readonly repo: string; readonly policy: RepoPolicy }) {
  const queries = useQueryClient()
  const running = isRunning(policy)
  // A run changes what the lists show.
  useEffect(() => {
    if (running) return
    for (const key of ['tags', 'retention-preview', 'untagged', 'retention-runs'])
      void queries.invalidateQueries({ queryKey: [key, repo] })
  }, [running, repo, queries])
  if (!running) return null
  const { lastRun } = policy
  return (
    <Progress
      label="Retention is running"
      done={lastRun?.endTime === undefined ? (lastRun?.deletedTags ?? 0) : undefined}
      unit="tags deleted"
    />
  )
}
