import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { iconSvg } from '@berth/look/icon.ts'
import { tokensCss } from '@berth/look/tokens.ts'
import { errorBody } from '../api/error-body.ts'
import { ApiError, Code } from '../api/errors.ts'
import {
  type Asset,
  assetFinder,
  type StaticFile,
  sendStaticFile,
  staticFile,
} from '../port/documents/static-file.ts'
import type { HttpHandler, HttpReply } from '../port/http.ts'
import { readComments } from './comments.ts'
import { GROUP } from './example-values.ts'
import type { ReferencePagesOptions } from './handler.ts'
import { describeApi } from './openapi.ts'

/** The description and its pages, ready to be sent. */

/** How long clients may cache the description. */
const DESCRIPTION_SECONDS = 300

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

/** The directories of the renderer and of our own files. */
const rendererAt = import.meta.resolve('swagger-ui-dist/package.json')
const pageAt = new URL('page/', import.meta.url)
const rendererFile = (name: string) => new URL(name, rendererAt)
const pageFile = (name: string) => new URL(name, pageAt)

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
  'openapi-30.js': { content: () => text(pageFile('openapi-30.js')), type: 'text/javascript' },
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
  }
  const findAsset = assetFinder(
    Object.fromEntries(
      Object.entries({ ...rendererAssets, ...ownAssets }).map(([name, asset]) => [
        `/docs/${revision}/${name}`,
        asset,
      ]),
    ),
  )
  const files = new Map<string, Promise<StaticFile>>()

  return async (request) => {
    const path = request.url.replace(/\?.*$/s, '')
    if (path === '/docs/') return { status: 308, headers: { location: '/docs' }, body: undefined }
    const asset = findAsset(path)
    if (asset !== undefined) return sendStaticFile(await asset, request)
    const build = Object.hasOwn(builders, path) ? builders[path] : undefined
    if (build === undefined) return noSuchPath(options.errorDomain)
    const cached = files.get(path) ?? build()
    files.set(path, cached)
    return sendStaticFile(await cached, request)
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
