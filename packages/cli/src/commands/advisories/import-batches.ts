import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FoundFile } from '@berth/advisory-formats/archives/found-file.ts'
import type { AdvisoryDocument } from '@berth/client/berth.ts'
import { limits } from '@berth/server/config/limits.ts'

/** Documents in requests of about a megabyte each; a large one goes alone, compressed. */

const BATCH_BYTES = 1024 * 1024
/** Few seconds of work, so that progress is seen, and Ctrl-C does not wait. */
const BATCH_DOCUMENTS_MAX = 200

const gzipAsync = promisify(gzip)

export type Batch = readonly AdvisoryDocument[]

export interface BatchOptions {
  /** Given with every document. */
  readonly format: string
  readonly onSkipped: (name: string) => void
  readonly onRejected: (name: string, reason: string) => void
}

export async function* batchDocuments(
  found: AsyncIterable<FoundFile>,
  { format, onSkipped, onRejected: onRefused }: BatchOptions,
): AsyncGenerator<Batch> {
  let batch: AdvisoryDocument[] = []
  let bytes = 0
  for await (const one of found) {
    if (one.kind === 'skipped') onSkipped(one.name)
    else if (one.kind === 'rejected') onRefused(one.name, one.reason)
    else {
      const content = await encodeContent(one.content)
      if (content === '') onRefused(one.name, 'is empty')
      else if (content.length > SENT_CHARS_MAX)
        onRefused(one.name, 'is too large to be sent, compressed as well')
      else {
        if (bytes + content.length > BATCH_BYTES || batch.length === BATCH_DOCUMENTS_MAX) {
          if (batch.length > 0) yield batch
          batch = []
          bytes = 0
        }
        batch.push({ name: one.name, format, content })
        bytes += content.length
      }
    }
  }
  if (batch.length > 0) yield batch
}

/** What is around a document in its request is less than this. */
const REQUEST_BYTES = 64 * 1024
const SENT_CHARS_MAX = limits.documentsRequestBytesMax - REQUEST_BYTES

async function encodeContent(content: Uint8Array): Promise<string> {
  const bytes = content.byteLength > BATCH_BYTES / 2 ? await gzipAsync(content) : content
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}
