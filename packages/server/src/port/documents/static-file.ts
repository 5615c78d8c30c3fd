import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { matchesEtag } from '../../api/etag.ts'
import type { HttpReply, HttpRequest } from '../http.ts'

/** Files that the server sends as they are: pages, stylesheets, scripts. Each is compressed once. */

const brotliAsync = promisify(brotliCompress)
const gzipAsync = promisify(gzip)

const YEAR_SECONDS = 365 * 24 * 3600
/** Larger saves a few percent, and takes many times as long. */
const BROTLI_QUALITY = 9

const IMMUTABLE = `public, max-age=${YEAR_SECONDS}, immutable`

/** A file as it is kept: no request compresses or decompresses anything. */
export interface StaticFile {
  readonly headers: Readonly<Record<string, string>>
  readonly etag: string
  /** By content coding. */
  readonly bodies: Readonly<Record<Coding, Uint8Array>>
}

/** The most compact one first. */
const codings = ['br', 'gzip', 'identity'] as const
type Coding = (typeof codings)[number]

/** `headers`: lower-case names, at least `content-type` and `cache-control`. */
export async function staticFile(
  content: string | Uint8Array,
  headers: Readonly<Record<string, string>>,
): Promise<StaticFile> {
  const plain = Buffer.from(content)
  const etag = `W/"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"`
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } }
  const [br, zipped] = await Promise.all([brotliAsync(plain, quality), gzipAsync(plain)])
  return {
    bodies: { br, gzip: zipped, identity: plain },
    headers: {
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      ...headers,
      etag,
      vary: 'accept-encoding',
    },
    etag,
  }
}

/** A file that pages load, at an address that changes with the content. */
export interface Asset {
  readonly content: () => string | Uint8Array | Promise<string>
  /** Without a character set: text is UTF-8. */
  readonly type: string
}

/** Returns a look-up by path. Each asset is read and compressed when it is first requested. */
export function assetFinder(
  assets: Readonly<Record<string, Asset>>,
): (path: string) => Promise<StaticFile> | undefined {
  const files = new Map<string, Promise<StaticFile>>()
  const load = async ({ content, type }: Asset) =>
    staticFile(await content(), {
      'content-type': `${type}; charset=utf-8`,
      'cache-control': IMMUTABLE,
      'cross-origin-resource-policy': 'same-origin',
    })
  return (path) => {
    const asset = Object.hasOwn(assets, path) ? assets[path] : undefined
    if (asset === undefined) return undefined
    const file = files.get(path) ?? load(asset)
    files.set(path, file)
    return file
  }
}

export function sendStaticFile(
  { bodies, headers, etag }: StaticFile,
  request: Pick<HttpRequest, 'headers'>,
): HttpReply {
  const ifNoneMatch = request.headers['if-none-match']
  if (ifNoneMatch !== undefined && matchesEtag(ifNoneMatch, etag))
    return { status: 304, headers, body: undefined }
  const accepted = acceptedCodings(request.headers['accept-encoding'])
  const coding = codings.find((name) => accepted.has(name)) ?? 'identity'
  const encoding = coding === 'identity' ? {} : { 'content-encoding': coding }
  return { status: 200, headers: { ...headers, ...encoding }, body: bodies[coding] }
}

/** RFC 9110, section 12.5.3: a coding with the weight 0 is refused. */
function acceptedCodings(header: string | string[] | undefined): ReadonlySet<string> {
  const entries = String(header ?? '')
    .toLowerCase()
    .split(',')
    .map((entry) => entry.trim().split(/\s*;\s*/))
  return new Set(entries.flatMap(([name = '', weight = '']) => (/^q=0(?:\.0*)?$/.test(weight) ? [] : [name])))
}
