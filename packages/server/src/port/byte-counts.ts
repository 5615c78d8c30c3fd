import type { RequestRecord } from '../pipeline/request/request-record.ts'
import type { BufferedBody } from './bodies/body-budget.ts'

/** Counts the bytes of request and response bodies; without a record nothing is wrapped. */

export function countBodyBytes(body: BufferedBody, record: RequestRecord | undefined): BufferedBody {
  if (record === undefined) return body
  return {
    grow(bytes) {
      record.bytesIn += bytes
      body.grow(bytes)
    },
    release: () => body.release(),
  }
}

export function countStreamBytes(
  body: AsyncIterable<Uint8Array>,
  record: RequestRecord | undefined,
): AsyncIterable<Uint8Array> {
  return record === undefined ? body : countChunks(body, record)
}

async function* countChunks(
  body: AsyncIterable<Uint8Array>,
  record: RequestRecord,
): AsyncGenerator<Uint8Array> {
  for await (const piece of body) {
    record.bytesIn += piece.length
    yield piece
  }
}

export function bytesOutCounter(record: RequestRecord): (bytes: number) => void {
  return (bytes) => {
    record.bytesOut += bytes
  }
}
