import type { FoundFile } from '../archives/found-file.ts'
import { formatLimits } from '../limits.ts'

/**
 * Groups documents into requests of about a megabyte. A large document is compressed and sent alone. Runs in Node and in browsers: the
 * caller encodes the content.
 */

const BATCH_BYTES = 1024 * 1024
/** A few seconds of work, for frequent progress and a fast reaction to a cancellation. */
const BATCH_DOCUMENTS_MAX = 200
/** Documents from this size on are compressed. */
export const COMPRESSED_BYTES_MIN = BATCH_BYTES / 2

/** A document as the API accepts it. */
export interface SentDocument {
  readonly name: string
  readonly format: string
  /** base64, also of the compressed content. */
  readonly content: string
}

export type Batch = readonly SentDocument[]

export interface BatchOptions {
  /** Sent with every document. */
  readonly format: string
  /** Returns the content as base64, compressed with gzip from COMPRESSED_BYTES_MIN on. */
  readonly encode: (content: Uint8Array) => Promise<string>
  readonly onSkipped: (name: string) => void
  readonly onRejected: (name: string, reason: string) => void
}

export async function* batchDocuments(
  found: AsyncIterable<FoundFile>,
  { format, encode, onSkipped, onRejected }: BatchOptions,
): AsyncGenerator<Batch> {
  let batch: SentDocument[] = []
  let bytes = 0
  for await (const one of found) {
    if (one.kind === 'skipped') onSkipped(one.name)
    else if (one.kind === 'rejected') onRejected(one.name, one.reason)
    else {
      const content = await encode(one.content)
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

const DEADLINE_EXCEEDED = 4

/**
 * Sends a batch, and splits it if it exceeds the deadline of a request. `onTooSlow`: a single document that exceeds it; it may have been
 * imported nevertheless.
 */
export async function sendBatch(
  batch: Batch,
  send: (batch: Batch) => Promise<void>,
  onTooSlow: (document: SentDocument, reason: string) => void,
): Promise<void> {
  try {
    await send(batch)
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== DEADLINE_EXCEEDED) throw error
    const [only] = batch
    if (batch.length > 1) {
      const middle = Math.ceil(batch.length / 2)
      await sendBatch(batch.slice(0, middle), send, onTooSlow)
      await sendBatch(batch.slice(middle), send, onTooSlow)
    } else if (only !== undefined)
      onTooSlow(only, 'exceeds the deadline of the server; it may have been imported nevertheless')
  }
}
