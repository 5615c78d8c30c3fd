import { createHash } from 'node:crypto'
import { recordEvent } from '../../storage/changes/audit-events.ts'
import { inTransaction } from '../../storage/db.ts'
import { runLongText, sqlText } from '../../storage/sql-text.ts'
import { type BlobStore, MissingBytes } from '../blobs/blob-store.ts'
import { type Finding, type FoundRepo, findReposWithBlob } from './findings.ts'
import { EmptyStore, type RepairLimits, readRepairLimits } from './repair-limits.ts'
import type { ScrubOptions } from './run.ts'

/** Reads every stored blob and compares it with its digest. One chunk is in memory at a time. */

interface Row {
  readonly digest: string
  readonly size: number
  readonly location: string
}

export interface BlobScrubResult {
  readonly blobs: number
  readonly bytes: number
  /** Digest of the last blob, if the byte limit ended the scrub before the end. */
  readonly endedAt: string
}

const ROWS_PER_STATEMENT = 500
const POSITION_INTERVAL_MS = 5000

export async function scrubBlobs(options: ScrubOptions, after: string): Promise<BlobScrubResult> {
  const { onProgress, savePosition: reach, bytesMax = Number.POSITIVE_INFINITY, signal, repair } = options
  const repairLimits = repair ? { ...(await readRepairLimits(options)), missing: 0 } : undefined
  const totalBytes = Math.min(await bytesAfter(options, after), bytesMax)
  let [blobs, bytes, last, reachedMs] = [0, 0, after, performance.now()]
  for (;;) {
    const rows = await pageAfter(options, last)
    for (const row of rows) {
      signal?.throwIfAborted()
      if (bytes >= bytesMax) return { blobs, bytes, endedAt: last }
      await scrubBlob(options, repairLimits, row, (read) => {
        bytes += read
        onProgress?.({ bytes, totalBytes })
      })
      blobs++
      last = row.digest
      if (performance.now() - reachedMs < POSITION_INTERVAL_MS) continue
      await reach(last)
      reachedMs = performance.now()
    }
    if (rows.length < ROWS_PER_STATEMENT) return { blobs, bytes, endedAt: '' }
  }
}

async function pageAfter({ store }: ScrubOptions, after: string): Promise<Row[]> {
  const rows = await store.db.kysely
    .selectFrom('blobs')
    .select(['digest', 'size', 'location'])
    .where('digest', '>', after)
    .orderBy('digest')
    .limit(ROWS_PER_STATEMENT)
    .execute()
  return rows.map((row) => ({ ...row, size: Number(row.size) }))
}

async function bytesAfter({ store: { db } }: ScrubOptions, after: string): Promise<number> {
  const sql = sqlText(db.engine)
  const text = `select coalesce(sum(size), 0) as bytes from blobs where digest > ${sql.bind(after)}`
  const [row] = await runLongText<{ bytes: number }>(db, text, sql)
  return Number(row?.bytes ?? 0)
}

async function scrubBlob(
  options: ScrubOptions,
  repairLimits: (RepairLimits & { missing: number }) | undefined,
  row: Row,
  read: (bytes: number) => void,
): Promise<void> {
  const problem = await findProblem(options, row, read)
  if (problem === undefined) return
  const { db } = options.store
  // Garbage collection may have deleted it meanwhile, or a push stored it again.
  const now = await db.kysely
    .selectFrom('blobs')
    .select('location')
    .where('digest', '=', row.digest)
    .executeTakeFirst()
  if (now?.location !== row.location) return
  const { digest, location, size: bytes } = row
  // More are missing than at the first check: the store is becoming unavailable.
  if (
    repairLimits !== undefined &&
    problem.kind === 'missing' &&
    ++repairLimits.missing > repairLimits.missingMax
  )
    throw new EmptyStore(repairLimits.missing, repairLimits.known)
  const repos = await findReposWithBlob(db, digest)
  const repaired =
    options.repair && problem.kind !== 'unreadable' && (await deleteBlobRow(options, row, repos.repos))
  options.onFinding({ ...problem, what: 'blob', digest, location, bytes, repaired, ...repos })
}

type Problem = Pick<Finding, 'kind' | 'reason'>

async function findProblem(
  { blobs, throttle, signal }: ScrubOptions,
  { digest, size, location }: Row,
  read: (bytes: number) => void,
): Promise<Problem | undefined> {
  try {
    const actual = await digestOfStored(blobs, location, {
      digest,
      size,
      async onPiece(bytes) {
        read(bytes)
        signal?.throwIfAborted()
        await throttle?.(bytes)
      },
    })
    return actual === digest ? undefined : { kind: 'damaged', reason: `its bytes have digest ${actual}` }
  } catch (error) {
    signal?.throwIfAborted()
    if (!(error instanceof MissingBytes))
      return { kind: 'unreadable', reason: `it cannot be read: ${(error as Error).message}` }
    return error.foundBytes === 0 && size > 0
      ? { kind: 'missing', reason: 'its bytes are missing' }
      : { kind: 'damaged', reason: `it has ${error.foundBytes} bytes instead of ${size}` }
  }
}

async function digestOfStored(
  blobs: BlobStore,
  location: string,
  {
    digest,
    size,
    onPiece,
  }: {
    readonly digest: string
    readonly size: number
    readonly onPiece: (bytes: number) => Promise<void>
  },
): Promise<string> {
  const algorithm = digest.slice(0, digest.indexOf(':'))
  const hash = createHash(algorithm)
  for await (const piece of blobs.read(location, { start: 0, end: size })) {
    hash.update(piece)
    await onPiece(piece.length)
  }
  return `${algorithm}:${hash.digest('hex')}`
}

/** Deletes the row of a blob. Links and manifests stay: they are complete again when these bytes are pushed to any repo. */
async function deleteBlobRow(
  { store }: ScrubOptions,
  { digest, location }: Row,
  repos: readonly FoundRepo[],
): Promise<boolean> {
  return inTransaction(store.db, async (tx) => {
    const { numDeletedRows } = await tx
      .deleteFrom('blobs')
      .where('digest', '=', digest)
      .where('location', '=', location)
      .executeTakeFirst()
    if (numDeletedRows === 0n) return false
    for (const { uid } of repos)
      await recordEvent(tx, {
        timeMs: store.clock(),
        actor: 'system',
        method: 'berth admin scrub',
        uid,
        requestId: '',
        address: '',
      })
    return true
  })
}
