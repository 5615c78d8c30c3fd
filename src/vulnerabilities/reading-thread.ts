import { parentPort } from 'node:worker_threads'
import type { Format, ReadResult } from './advisory-record.ts'
import { readDocument } from './formats/read-document.ts'

/** The thread that documents are read in: what somebody else wrote may be long, deep or meant to be slow. */

export interface ReadingRequest {
  readonly id: number
  readonly name: string
  readonly format: Format | ''
  readonly content: Uint8Array
}

export interface ReadingReply {
  readonly id: number
  readonly result: ReadResult
}

const port = parentPort
if (port === null) throw new Error('reading-thread.ts runs in a worker thread only')

port.on('message', ({ id, name, format, content }: ReadingRequest) => {
  port.postMessage({ id, result: readDocument(name, format, content) } satisfies ReadingReply)
})
port.postMessage('ready')
