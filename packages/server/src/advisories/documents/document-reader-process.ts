import type { Format } from '@berth/advisory-formats/advisory-record.ts'
import { readDocument } from '@berth/advisory-formats/read-document.ts'
import { serveProcessRequests } from '../../runtime/workers/serve-process-requests.ts'

/** The process that documents are read in: what somebody else wrote may be long, deep or meant to be slow. */

export interface ReadDocumentRequest {
  readonly name: string
  readonly format: Format | ''
  readonly content: Uint8Array
}

serveProcessRequests(({ name, format, content }: ReadDocumentRequest) => readDocument(name, format, content))
