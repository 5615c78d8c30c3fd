import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FoundFile } from '@berth/advisory-formats/archives/found-file.ts'
import { formatLimits } from '@berth/advisory-formats/limits.ts'
import type { AdvisoryDocument } from '@berth/client/berth.ts'

/** Groups documents into requests of about a megabyte. A large document is compressed and sent alone. */

const BATCH_BYTES = 1024 * 1024
/** A few seconds of work, for frequent progress and a fast reaction to Ctrl-C. */
const BATCH_DOCUMENTS_MAX = 200

const gzipAsync = promisify(gzip)

export type Batch = readonly AdvisoryDocument[]

export interface BatchOptions {
  /** Sent with every document. */
  readonly format: string
  readonly onSkipped: (name: string) => void
  readonly onRejected: (name: string, reason: string) => void
}

export async function* batchDocuments(
  found: AsyncIterable<FoundFile>,
  { format, onSkipped, onRejected }: BatchOptions,
): AsyncGenerator<Batch> {
  let batch: AdvisoryDocument[] = []
  let bytes = 0
  for await (const one of found) {
    if (one.kind === 'skipped') onSkipped(one.name)
    else if (one.kind === 'rejected') onRejected(one.name, one.reason)
    else {
      const content = await encodeContent(one.content)
      if (content === '') onRejected(one.name, 'is empty')
      else if (content.length > SENT_CHARS_MAX)
        onRejected(one.name, 'is too large to be sent, even compressed')
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

/** Upper bound of the overhead of a request. */
const REQUEST_BYTES = 64 * 1024
const SENT_CHARS_MAX = formatLimits.documentsRequestBytesMax - REQUEST_BYTES

async function encodeContent(content: Uint8Array): Promise<string> {
  const bytes = content.byteLength > BATCH_BYTES / 2 ? await gzipAsync(content) : content
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}
