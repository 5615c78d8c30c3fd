import { rootOf, subtreeRange } from '../api/uid.ts'
import { limits } from '../config/limits.ts'
import type { BlobStore } from '../registry/blobs/blob-store.ts'
import { deleteRows } from '../storage/bulk-rows.ts'
import { type Db, inTransaction } from '../storage/db.ts'
import type { JobKind, JobLease } from '../storage/jobs/job-leases.ts'
import type { JobScheduler } from '../storage/jobs/job-scheduler.ts'
import { type QueueJobSettings, startQueueJob } from '../storage/jobs/queue-job.ts'
import type { SignatureChangeRow } from '../storage/schema/tables.ts'
import { runText, sqlText } from '../storage/sql-text.ts'
import { createImageSignatureReader, type ImageSignatureReader } from './image-signatures.ts'

/**
 * Verifies the signatures of images that changed, so that the result is stored when a policy needs it. Results that are current are
 * recognized by the hash of their inputs, so a run that is repeated continues where the one before ended. One node works at a time.
 */

export const signaturesJob: JobKind = { name: 'image-signatures' }

export interface SignatureJobOptions extends QueueJobSettings {
  readonly blobs: Pick<BlobStore, 'read'>
}

export function startSignatureJob(options: SignatureJobOptions): JobScheduler {
  const { db, clock, pollMs = limits.signaturePollMs, leaseMs, tracer, onRun } = options
  const signatures = createImageSignatureReader(options)
  return startQueueJob({
    ...{ db, clock, pollMs, leaseMs, tracer, onRun },
    kind: signaturesJob,
    span: 'job image-signatures',
    hasWork: async () => (await readChanges(db, 1)).length > 0,
    run: (lease) => verifyChanged(db, signatures, lease),
  })
}

/** Images before groups: a changed verifier may concern thousands, and a new signature must not wait for them. */
async function readChanges(
  db: Db,
  max: number,
  kind: 'image' | 'all' | 'any' = 'any',
): Promise<readonly SignatureChangeRow[]> {
  const sql = sqlText(db.engine)
  const condition = { image: "where digest <> ''", all: "where digest = ''", any: '' }[kind]
  const text = `select * from signature_changes ${condition} order by root, scope, digest limit ${max}`
  return runText<SignatureChangeRow>(db, text, sql)
}

async function verifyChanged(db: Db, signatures: ImageSignatureReader, lease: JobLease): Promise<void> {
  for (;;) {
    await verifyImages(db, signatures, lease)
    const [scope] = await readChanges(db, 1, 'all')
    if (scope === undefined) return
    await verifyScope(db, signatures, lease, scope)
    await finish(db, lease, [scope])
  }
}

async function verifyImages(db: Db, signatures: ImageSignatureReader, lease: JobLease): Promise<void> {
  for (;;) {
    const changes = await readChanges(db, limits.signatureChangesRead, 'image')
    for (const { scope, digest } of changes) {
      lease.signal.throwIfAborted()
      await signatures.read(scope, digest)
    }
    await finish(db, lease, changes)
    if (changes.length < limits.signatureChangesRead) return
  }
}

/** Verifies the images with a stored result in a group or repo. */
async function verifyScope(
  db: Db,
  signatures: ImageSignatureReader,
  lease: JobLease,
  { root, scope }: SignatureChangeRow,
): Promise<void> {
  const { from, to } = subtreeRange(scope)
  for (let after = { repo: from as string, digest: '' }; ; ) {
    const sql = sqlText(db.engine)
    const text = `select repo, digest from image_signatures where root = ${sql.bind(rootOf(root))}
      and (repo, digest) > (${sql.bind(after.repo)}, ${sql.bind(after.digest)}) and repo < ${sql.bind(to)}
      order by repo, digest limit ${limits.signatureChangesRead}`
    const page = await runText<typeof after>(db, text, sql)
    for (const { repo, digest } of page) {
      lease.signal.throwIfAborted()
      await signatures.read(repo, digest)
    }
    const last = page.at(-1)
    if (last === undefined || page.length < limits.signatureChangesRead) return
    after = last
    await verifyImages(db, signatures, lease)
  }
}

/** What changed again meanwhile has another revision and stays. */
async function finish(db: Db, lease: JobLease, changes: readonly SignatureChangeRow[]): Promise<void> {
  await inTransaction(db, async (tx) => {
    await lease.renew(tx)
    await deleteRows(db, tx, 'signature_changes', changes)
  })
}
