import { answerRequests } from '../worker/answer-requests.ts'
import type { Format } from './advisory-record.ts'
import { readDocument } from './formats/read-document.ts'

/** The process that documents are read in: what somebody else wrote may be long, deep or meant to be slow. */

export interface ReadingRequest {
  readonly name: string
  readonly format: Format | ''
  readonly content: Uint8Array
}

answerRequests(({ name, format, content }: ReadingRequest) => readDocument(name, format, content))
