import type { DescFile } from '@bufbuild/protobuf'
import { withCors } from '../gateway/rest/cors.ts'
import type { HttpHandler } from '../port/http.ts'

/** Describes the API to programs, at /openapi.json, and to people, at /docs. */

export interface ReferencePagesOptions {
  /** The files whose services are described, in this order. */
  readonly files: readonly DescFile[]
  readonly baseUrl: string
  readonly errorDomain: string
  /** Origins whose pages may read the description. */
  readonly corsOrigins: readonly string[]
}

/** Which paths are `referenceHandler`'s. */
export function isReferencePath(path: string): boolean {
  return path === '/openapi.json' || path === '/docs' || path.startsWith('/docs/')
}

/** Loads what it needs with the first request, so that a server nobody asks has neither the time nor the memory of it. */
export function createReferenceHandler(options: ReferencePagesOptions): HttpHandler {
  let pages: Promise<HttpHandler> | undefined
  const handler: HttpHandler = async (request) => {
    pages ??= import('./pages.ts').then(({ createReferencePages: referencePages }) => referencePages(options))
    return (await pages)(request)
  }
  return options.corsOrigins.length === 0 ? handler : withCors(handler, options.corsOrigins)
}
