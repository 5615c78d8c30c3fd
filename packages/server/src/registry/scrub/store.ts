import { isOwnUpload, parseLocation } from '../blobs/blob-locations.ts'
import type { StoredBlob, StoredUpload } from '../blobs/blob-store.ts'
import { findBlobRows, findUploadIds } from '../blobs/known-bytes.ts'
import { findReposWithBlob, unowned } from './findings.ts'
import type { ScrubOptions } from './run.ts'

/** Checks everything in the store: finds untracked bytes and blobs that have grown. */

const ENTRIES_PER_BATCH = 500

const foreignNameReason = 'the registry does not use this name: it is kept'

export async function scrubStore(options: ScrubOptions): Promise<void> {
  const some: StoredBlob[] = []
  for await (const stored of options.blobs.listBlobs()) {
    some.push(stored)
    if (some.length >= ENTRIES_PER_BATCH) await compareBlobs(options, some.splice(0))
  }
  await compareBlobs(options, some)
  const uploads: StoredUpload[] = []
  for await (const upload of options.blobs.listUploads()) {
    uploads.push(upload)
    if (uploads.length >= ENTRIES_PER_BATCH) await compareUploads(options, uploads.splice(0))
  }
  await compareUploads(options, uploads)
}

async function compareBlobs(options: ScrubOptions, found: readonly StoredBlob[]): Promise<void> {
  const { store, onFinding, signal, orphanAgeMs } = options
  signal?.throwIfAborted()
  const known = await findBlobRows(store, found)
  for (const stored of found) {
    const { location, size: bytes, modifiedMs } = stored
    const row = known.get(location)
    if (row === undefined) {
      const age = store.clock() - Math.max(modifiedMs, parseLocation(location)?.createdMs ?? 0)
      if (age < orphanAgeMs) continue
      const digest = parseLocation(location)?.digest ?? ''
      const reason =
        digest === ''
          ? foreignNameReason
          : 'it is untracked (not in the database); garbage collection deletes it'
      onFinding({ kind: 'orphan', what: 'blob', digest, location, bytes, reason, ...unowned })
    } else if (bytes > Number(row.size)) {
      const reason = `it has ${bytes} bytes instead of ${row.size}: the registry serves only those, but a bucket with redirects serves all`
      const repos = await findReposWithBlob(store.db, row.digest)
      onFinding({
        kind: 'damaged',
        what: 'blob',
        digest: row.digest,
        location,
        bytes,
        reason,
        repaired: false,
        ...repos,
      })
    }
  }
}

async function compareUploads(options: ScrubOptions, found: readonly StoredUpload[]): Promise<void> {
  const { store, onFinding, orphanAgeMs } = options
  const known = await findUploadIds(store, found)
  for (const upload of found) {
    const { id, location = id, modifiedMs } = upload
    if (known.has(id) || store.clock() - modifiedMs < orphanAgeMs) continue
    const reason = isOwnUpload(upload)
      ? 'it is untracked (no upload has this id); garbage collection deletes it'
      : foreignNameReason
    onFinding({ kind: 'orphan', what: 'upload', digest: '', location, bytes: 0, reason, ...unowned })
  }
}
