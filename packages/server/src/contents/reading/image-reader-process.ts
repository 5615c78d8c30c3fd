import { readParentStream } from '../../runtime/workers/process-streams.ts'
import { serveProcessRequests } from '../../runtime/workers/serve-process-requests.ts'
import { readImage } from './read-image.ts'
import type { ReadImageRequest } from './reading.ts'

/** The process that reads images: layers and documents are untrusted, and may be long, deep or slow to read. */

serveProcessRequests((request: ReadImageRequest) => readImage(request, readParentStream))
