import type { Format } from '@berth/advisory-formats/advisory-record.ts'
import type { FoundFile } from '@berth/advisory-formats/archives/found-file.ts'
import type { ImportSummary } from '@berth/advisory-formats/import/import-summary.ts'
import { ApiError } from '../../api/errors.ts'
import type { Uid } from '../../api/uid.ts'
import type { Outbound } from '../../runtime/outbound/outbound.ts'
import type { Tx } from '../../storage/db.ts'
import { JobInterrupted } from '../../storage/jobs/job-leases.ts'
import type { AdvisoryFeedRow } from '../../storage/schema/tables.ts'
import type { Store } from '../../storage/store.ts'
import type { DocumentReader } from '../documents/document-reader.ts'
import { type ImportInOrderOptions, importInOrder } from '../import/import-in-order.ts'
import { type DownloadLimits, displayUrl, download } from './download.ts'
import type { FileVersion } from './partial-file.ts'

/** One run of a feed: downloads its file and imports the documents in it, in their order, each in its own transaction. */

export interface FeedRunOptions {
  readonly store: Store
  readonly reader: DocumentReader
  readonly outbound: Pick<Outbound, 'getStream'>
  /** Directory for downloads. */
  readonly directory: string
  readonly bounds: DownloadLimits
  /** Request id of the run in the audit log. */
  readonly requestId: string
  readonly summary: ImportSummary
  /** Called before the first document. */
  readonly onDownloaded: () => Promise<void>
  /** Throws when the run must end. Called in the transaction of every document, and for every file without one. */
  readonly assertRunning: (tx?: Tx) => Promise<void>
  readonly signal: AbortSignal
  /** Called with errors that are not caused by a feed. */
  readonly onError: (error: unknown, feed?: string) => void
}

/** Why a run failed after it had downloaded something. */
export class FeedError extends Error {
  override readonly name = 'FeedProblem'
}

const METHOD = 'berth.vulnerabilities.v1.AdvisoryFeedsService/SyncAdvisoryFeed'

/** Returns the version that was imported; undefined if nothing changed. Rejects with a FeedError if nothing could be imported. */
export async function runFeed(
  feed: AdvisoryFeedRow,
  options: FeedRunOptions,
): Promise<FileVersion | undefined> {
  const { outbound, directory, bounds, signal, summary } = options
  const known = { etag: feed.etag, lastModified: feed.last_modified }
  const file = await download(feed.url, { outbound, directory, bounds, known, signal })
  if (file === undefined) return undefined
  const name = displayUrl(feed.url)
  let truncatedReason = ''
  try {
    await options.onDownloaded()
    const { findDocuments } = await import('@berth/advisory-formats/archives/find-documents.ts')
    const results = importFound(feed, findDocuments(file.path, name, { signal }), options)
    for await (const result of results) {
      const { format } = feed
      if (result.kind === 'skipped') summary.skip()
      else if (result.kind === 'imported') {
        const { imported } = result
        if ('rejection' in imported) summary.reject({ name: result.name, format, ...imported.rejection })
        else summary.accept(imported)
      } else {
        summary.reject({ name: result.name, format: '', line: 0, reason: result.reason })
        // A problem of the archive itself: the rest of it was not read.
        if (result.name === name) truncatedReason = result.reason
      }
    }
  } catch (error) {
    // So that the next run does not download it again.
    await file.abandon()
    throw error
  }
  await file.remove()
  const { documents, rejected } = summary.total()
  if (truncatedReason !== '') throw new FeedError(`the file ${truncatedReason}`)
  if (documents === 0 && rejected > 0)
    throw new FeedError(`no document could be imported: ${summary.rejections[0]?.reason}`)
  return file.version
}

function importFound(
  { uid, parent, format }: AdvisoryFeedRow,
  files: AsyncIterable<FoundFile>,
  { store, reader, requestId, assertRunning, onError, signal }: FeedRunOptions,
) {
  const options: ImportInOrderOptions = {
    ...{ store, reader, parent: parent as Uid, dryRun: false, signal, check: assertRunning },
    event: { actor: 'system', method: METHOD, requestId, address: '' },
    // Others must not wait for a feed.
    sharesCommits: false,
    rejectionOf(error) {
      // The run must end, or the database or the group is gone: the next document would fail in the same way.
      if (error instanceof ApiError || error instanceof JobInterrupted || signal.aborted) return undefined
      onError(error, uid)
      return { line: 0, reason: 'internal error; see the server log' }
    },
  }
  const contentOf = (found: FoundFile) => (found.kind === 'document' ? found.content : undefined)
  return importInOrder(files, options, contentOf, async (found, importOne) => {
    if (found.kind !== 'document') {
      await assertRunning()
      return found
    }
    const { name, content } = found
    const imported = await importOne({ name, format: format as Format | '', content })
    if ('rejection' in imported) await assertRunning()
    return { kind: 'imported' as const, name, imported }
  })
}
