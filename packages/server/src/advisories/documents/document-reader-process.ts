import type { Format } from '@berth/advisory-formats/advisory-record.ts'
import { readDocument } from '@berth/advisory-formats/read-document.ts'
import { serveProcessRequests } from '../../runtime/workers/serve-process-requests.ts'

/** The process that parses documents: untrusted input may be long, deep or slow to parse. */

export interface ReadDocumentRequest {
  readonly name: string
  readonly format: Format | ''
  readonly content: Uint8Array
}

serveProcessRequests(({ name, format, content }: ReadDocumentRequest) => readDocument(name, format, content))
