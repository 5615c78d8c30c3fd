import type { JobKind } from '../storage/jobs/job-leases.ts'

/** Each manifest is a job. Those that existed before are read after those that are pushed. */
export const contentsJob: JobKind = {
  name: 'image-contents',
  schedule: { table: 'manifest_contents', column: 'uid', enabled: "state = 'pending'" },
}
export const contentsBacklogJob: JobKind = {
  name: 'image-contents-backlog',
  schedule: { table: 'manifest_contents', column: 'uid', enabled: "state = 'backlog'" },
}
/** Finds manifests without a row. */
export const contentsSweepJob: JobKind = { name: 'image-contents-sweep' }
