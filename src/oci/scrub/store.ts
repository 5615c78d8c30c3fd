import type { StoredBytes, StoredUpload } from '../../blobs/store.ts'
import { isOwnUpload, readLocation } from '../blob-locations.ts'
import { idsOf, rowsOf } from '../known-bytes.ts'
import { nobodys, reposWith } from './findings.ts'
import type { ScrubOptions } from './run.ts'

/** All that the store has: what the database does not know, and what has grown. */

const AT_ONCE = 500

const foreign = 'the registry gives nothing such a name: it stays'

export async function scrubStore(options: ScrubOptions): Promise<void> {
  const some: StoredBytes[] = []
  for await (const stored of options.blobs.blobs()) {
    some.push(stored)
    if (some.length >= AT_ONCE) await compare(options, some.splice(0))
  }
  await compare(options, some)
  const uploads: StoredUpload[] = []
  for await (const upload of options.blobs.uploads()) {
    uploads.push(upload)
    if (uploads.length >= AT_ONCE) await compareUploads(options, uploads.splice(0))
  }
  await compareUploads(options, uploads)
}

async function compare(options: ScrubOptions, found: readonly StoredBytes[]): Promise<void> {
  const { store, onFinding, signal, orphanAgeMs } = options
  signal?.throwIfAborted()
  const known = await rowsOf(store, found)
  for (const stored of found) {
    const { location, size: bytes, modifiedMs } = stored
    const row = known.get(location)
    if (row === undefined) {
      const age = store.clock() - Math.max(modifiedMs, readLocation(location)?.chosenMs ?? 0)
      if (age < orphanAgeMs) continue
      const digest = readLocation(location)?.digest ?? ''
      const reason = digest === '' ? foreign : 'the database does not know it; a collection takes it'
      onFinding({ kind: 'orphan', what: 'blob', digest, location, bytes, reason, ...nobodys })
    } else if (bytes > Number(row.size)) {
      const reason = `it has ${bytes} bytes, not ${row.size}: Berth gives out only those, a bucket that clients are sent to all`
      const repos = await reposWith(store.db, row.digest)
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
  const known = await idsOf(store, found)
  for (const upload of found) {
    const { id, location = id, modifiedMs } = upload
    if (known.has(id) || store.clock() - modifiedMs < orphanAgeMs) continue
    const reason = isOwnUpload(upload) ? 'no upload is known by this id; a collection takes it' : foreign
    onFinding({ kind: 'orphan', what: 'upload', digest: '', location, bytes: 0, reason, ...nobodys })
  }
}
