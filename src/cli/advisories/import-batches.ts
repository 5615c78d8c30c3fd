import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { AdvisoryDocument } from '../../../client/berth.ts'
import { limits } from '../../core/limits.ts'
import type { Found } from '../../vulnerabilities/feeds/found.ts'

/** Documents in requests of about a megabyte each; a large one goes alone, compressed. */

const BATCH_BYTES = 1024 * 1024
/** Few seconds of work, so that progress is seen, and Ctrl-C does not wait. */
const DOCUMENTS_AT_ONCE = 200

const compressed = promisify(gzip)

export type Batch = readonly AdvisoryDocument[]

export interface Batching {
  /** Given with every document. */
  readonly format: string
  readonly onSkipped: (name: string) => void
  readonly onRefused: (name: string, reason: string) => void
}

export async function* batchesOf(
  found: AsyncIterable<Found>,
  { format, onSkipped, onRefused }: Batching,
): AsyncGenerator<Batch> {
  let batch: AdvisoryDocument[] = []
  let bytes = 0
  for await (const one of found) {
    if (one.kind === 'skipped') onSkipped(one.name)
    else if (one.kind === 'refused') onRefused(one.name, one.reason)
    else {
      const content = await contentOf(one.content)
      if (content === '') onRefused(one.name, 'is empty')
      else if (content.length > SENT_CHARS_MAX)
        onRefused(one.name, 'is too large to be sent, compressed as well')
      else {
        if (bytes + content.length > BATCH_BYTES || batch.length === DOCUMENTS_AT_ONCE) {
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

async function contentOf(content: Uint8Array): Promise<string> {
  const bytes = content.byteLength > BATCH_BYTES / 2 ? await compressed(content) : content
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}
