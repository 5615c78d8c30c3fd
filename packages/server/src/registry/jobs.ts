import type { JobKind } from '../storage/jobs/job-leases.ts'

/** The jobs of the registry, which nodes and commands of `berth admin` lease: one process in the installation runs each. */

const registryJob = (name: string): JobKind => ({
  name,
  schedule: { table: 'registry_runs', column: 'name' },
})

export const gcJob = registryJob('collection')
export const scrubJob = registryJob('scrub')
/** While it runs, stored bytes stay (gc/backup-hold.ts). */
export const backupJob = registryJob('backup')

/** Retention in a repo, by the uid of the repo. A due time of 0: retention is not enabled. */
export const retentionJob: JobKind = {
  name: 'retention',
  schedule: { table: 'repo_policies', column: 'uid', enabled: 'due_ms > 0' },
}

/** Records what organizations use. */
export const usageJob: JobKind = { name: 'usage' }
