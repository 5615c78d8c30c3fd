import type { DescFile } from '@bufbuild/protobuf'
import { withCors } from '../gateway/rest/cors.ts'
import type { HttpHandler } from '../port/http.ts'

/** Serves the description of the API: /openapi.json for programs, /docs for readers. */

export interface ReferencePagesOptions {
  /** The files whose services are described, in this order. */
  readonly files: readonly DescFile[]
  readonly baseUrl: string
  readonly errorDomain: string
  /** Origins whose pages may read the description. */
  readonly corsOrigins: readonly string[]
}

/** Whether a path belongs to the reference. */
export function isReferencePath(path: string): boolean {
  return path === '/openapi.json' || path === '/docs' || path.startsWith('/docs/')
}

/** Loads the pages at the first request, so that other servers do not spend the time and memory. */
export function createReferenceHandler(options: ReferencePagesOptions): HttpHandler {
  let pages: Promise<HttpHandler> | undefined
  const handler: HttpHandler = async (request) => {
    pages ??= import('./pages.ts').then(({ createReferencePages: referencePages }) => referencePages(options))
    return (await pages)(request)
  }
  return options.corsOrigins.length === 0 ? handler : withCors(handler, options.corsOrigins)
}
