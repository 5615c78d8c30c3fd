import type { JobKind } from '../storage/jobs/job-leases.ts'
import { READER_VERSION } from './storing/stored-contents.ts'

/** Each manifest is a job. Those that existed before are read after those that are pushed. */
export const contentsJob: JobKind = {
  name: 'image-contents',
  schedule: { table: 'manifest_contents', column: 'uid', enabled: "state = 'pending'" },
}
export const contentsBacklogJob: JobKind = {
  name: 'image-contents-backlog',
  schedule: { table: 'manifest_contents', column: 'uid', enabled: "state = 'backlog'" },
}
/**
 * Images that an earlier version of the reader read, or could not read. They keep their state until they are read again: policies and
 * findings still have what is known. Only the earliest version is looked up, which an index has in the order of the jobs.
 */
export const contentsOutdatedJob: JobKind = {
  name: 'image-contents-outdated',
  schedule: { table: 'manifest_contents', column: 'uid', enabled: outdated(READER_VERSION) },
}

function outdated(version: number): string {
  const known = "state in ('read', 'failed')"
  return `${known} and reader = (select min(reader) from manifest_contents where ${known} and reader < ${version})`
}

/** Finds manifests without a row. */
export const contentsSweepJob: JobKind = { name: 'image-contents-sweep' }
