import { serveProcessRequests } from '../worker/answer-requests.ts'
import type { Format } from './advisory-record.ts'
import { readDocument } from './formats/read-document.ts'

/** The process that documents are read in: what somebody else wrote may be long, deep or meant to be slow. */

export interface ReadDocumentRequest {
  readonly name: string
  readonly format: Format | ''
  readonly content: Uint8Array
}

serveProcessRequests(({ name, format, content }: ReadDocumentRequest) => readDocument(name, format, content))
