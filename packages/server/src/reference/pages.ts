import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { iconSvg } from '@berth/look/icon.ts'
import { tokensCss } from '@berth/look/tokens.ts'
import { errorBody } from '../api/error-body.ts'
import { ApiError, Code } from '../api/errors.ts'
import { matchesEtag } from '../api/etag.ts'
import type { HttpHandler, HttpReply, HttpRequest } from '../port/http.ts'
import { readComments } from './comments.ts'
import { GROUP } from './example-values.ts'
import type { ReferencePagesOptions } from './handler.ts'
import { describeApi } from './openapi.ts'

/** The description and its pages, ready to be sent. */

const gzipAsync = promisify(gzip)

/** How long clients may cache the description. */
const DESCRIPTION_SECONDS = 300
const YEAR_SECONDS = 365 * 24 * 3600

/**
 * What the page may load: its own files, calls of its own server, and nothing else. The renderer's stylesheet has its icons as `data:`
 * images. Styles that scripts set individually are not inline styles, so none are allowed.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** A file as it is cached: no request compresses or decompresses anything. */
interface StaticFile {
  readonly plain: Uint8Array
  readonly gzipped: Uint8Array
  readonly headers: Readonly<Record<string, string>>
  readonly etag: string
}

/** The directories of the renderer and of our own files. */
const rendererAt = import.meta.resolve('swagger-ui-dist/package.json')
const pageAt = new URL('page/', import.meta.url)
const rendererFile = (name: string) => new URL(name, rendererAt)
const pageFile = (name: string) => new URL(name, pageAt)

interface Asset {
  readonly content: () => Promise<string>
  readonly type: string
}

/** The renderer's files that the page loads. */
const rendererAssets: Readonly<Record<string, Asset>> = {
  'swagger-ui-bundle.js': {
    content: () => text(rendererFile('swagger-ui-bundle.js')),
    type: 'text/javascript',
  },
  'swagger-ui.css': { content: () => text(rendererFile('swagger-ui.css')), type: 'text/css' },
}
const ownAssets: Readonly<Record<string, Asset>> = {
  'start.js': { content: () => text(pageFile('start.js')), type: 'text/javascript' },
  'examples.js': { content: () => text(pageFile('examples.js')), type: 'text/javascript' },
  'accessibility.js': { content: () => text(pageFile('accessibility.js')), type: 'text/javascript' },
  'berth.css': { content: async () => `${tokensCss}${await text(pageFile('berth.css'))}`, type: 'text/css' },
  'icon.svg': { content: async () => iconSvg, type: 'image/svg+xml' },
}

/** Serves /openapi.json, /docs and the paths below it. */
export async function createReferencePages(options: ReferencePagesOptions): Promise<HttpHandler> {
  const { version } = JSON.parse(await text(new URL('../../../../package.json', import.meta.url))) as {
    version: string
  }
  const revision = await revisionOf(version)
  const builders: Readonly<Record<string, () => Promise<StaticFile>>> = {
    '/openapi.json': async () => {
      const { document } = describeApi({ ...options, comments: readComments(), version })
      return staticFile(JSON.stringify(document), {
        'content-type': 'application/json',
        'cache-control': `public, max-age=${DESCRIPTION_SECONDS}`,
      })
    },
    '/docs': async () =>
      staticFile(fillIn(await text(pageFile('docs.html')), { revision, group: GROUP }), {
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-cache',
        'content-security-policy': POLICY,
        'cross-origin-opener-policy': 'same-origin',
      }),
    ...Object.fromEntries(
      Object.entries({ ...rendererAssets, ...ownAssets }).map(([name, { content, type }]) => [
        `/docs/${revision}/${name}`,
        async () =>
          staticFile(await content(), {
            'content-type': `${type}; charset=utf-8`,
            'cache-control': `public, max-age=${YEAR_SECONDS}, immutable`,
          }),
      ]),
    ),
  }
  const files = new Map<string, Promise<StaticFile>>()

  return async (request) => {
    const path = request.url.replace(/\?.*$/s, '')
    if (path === '/docs/') return { status: 308, headers: { location: '/docs' }, body: undefined }
    const build = Object.hasOwn(builders, path) ? builders[path] : undefined
    if (build === undefined) return noSuchPath(options.errorDomain)
    const cached = files.get(path) ?? build()
    files.set(path, cached)
    return send(await cached, request)
  }
}

/** Changes with every file of the page, so that browsers may cache the files without a limit. */
async function revisionOf(version: string): Promise<string> {
  const { version: rendererVersion } = JSON.parse(await text(rendererFile('package.json'))) as {
    version: string
  }
  const hash = createHash('sha256').update(`${version} ${rendererVersion}`)
  for (const { content } of Object.values(ownAssets)) hash.update(await content())
  return `${rendererVersion}-${hash.digest('hex').slice(0, 8)}`
}

/** Replaces `{name}` by its value. */
function fillIn(template: string, values: Readonly<Record<string, string>>): string {
  return template.replaceAll(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole)
}

function text(file: URL): Promise<string> {
  return readFile(file, 'utf8')
}

async function staticFile(content: string, headers: Readonly<Record<string, string>>): Promise<StaticFile> {
  const etag = `W/"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`
  return {
    plain: Buffer.from(content),
    gzipped: await gzipAsync(content),
    headers: {
      ...headers,
      etag,
      vary: 'accept-encoding',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    },
    etag,
  }
}

function send({ plain, gzipped: zipped, headers, etag }: StaticFile, request: HttpRequest): HttpReply {
  const ifNoneMatch = request.headers['if-none-match']
  if (ifNoneMatch !== undefined && matchesEtag(ifNoneMatch, etag))
    return { status: 304, headers, body: undefined }
  if (acceptsGzip(request.headers['accept-encoding']))
    return { status: 200, headers: { ...headers, 'content-encoding': 'gzip' }, body: zipped }
  return { status: 200, headers, body: plain }
}

/** RFC 9110, section 12.5.3: a coding with the weight 0 is refused. */
function acceptsGzip(header: string | string[] | undefined): boolean {
  return String(header ?? '')
    .split(',')
    .map((coding) =>
      coding
        .trim()
        .toLowerCase()
        .split(/\s*;\s*/),
    )
    .some(([name, weight]) => name === 'gzip' && !/^q=0(?:\.0*)?$/.test(weight ?? ''))
}

function noSuchPath(errorDomain: string): HttpReply {
  const error = new ApiError(Code.NOT_FOUND, 'Not found: no such path')
  return {
    status: 404,
    headers: {
      'content-type': 'application/json',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    },
    body: errorBody(error, errorDomain),
  }
}
