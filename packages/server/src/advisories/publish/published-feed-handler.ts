import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { osvRecord } from '@berth/advisory-formats/osv/write-osv.ts'
import {
  AdvisoryPublicationsService,
  GetAdvisoryPublicationRequestSchema,
} from '@berth/contract/gen/berth/vulnerabilities/v1/publications_pb.js'
import { create } from '@bufbuild/protobuf'
import { ApiError, Code } from '../../api/errors.ts'
import { matchesEtag } from '../../api/etag.ts'
import { parseUid, type Uid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import {
  commonHeaders,
  errorReply,
  RestCall,
  type RestOptions,
  withReplyHeaders,
} from '../../gateway/rest/handler.ts'
import type { RequestPipeline } from '../../pipeline/dispatch.ts'
import type { HttpHandler, HttpReply, HttpRequest } from '../../port/http.ts'
import type { Store } from '../../storage/store.ts'
import { artifactOfFileName, documentFileName, type FullFeed, fullFeeds, jsonLine } from './build-feed.ts'
import { type PublicationState, readPublicationState } from './publication-state.ts'
import type { PublishedFeedRequest, PublishedFeeds } from './published-feeds.ts'
import { hasArtifact, hasRecord, readByAdvisoryId } from './read-advisories.ts'

/**
 * What groups publish for scanners, below /vulnerabilities/feeds/. A public group's feeds are anybody's; for those of another
 * group whoever asks is judged as for reading its publication, before it is told whether there is such a group.
 */
export const PUBLISHED_FEEDS_PATH = '/vulnerabilities/feeds/'

export interface PublishedFeedHandlerOptions
  extends Pick<RestOptions, 'errorDomain' | 'log'>,
    Pick<RequestPipeline, 'authorizeHeaders' | 'admit'> {
  readonly store: Pick<Store, 'db' | 'clock'>
  readonly feeds: PublishedFeeds
  readonly baseUrl: string
}

/** Where scanners look for it below the address of a repository (VEX Repository Specification 0.1). */
const MANIFEST = 'openvex/.well-known/vex-repository.json'

const method = AdvisoryPublicationsService.method.getAdvisoryPublication
/** Part of every name and tag: changes when the same advisories are published in another way. */
const REPRESENTATION_VERSION = 2

/** What lies under a path. */
type FeedPath = { readonly group: Uid; readonly path: string } & (
  | { readonly feed: PublishedFeedRequest['feed'] }
  | { readonly record: string }
  | { readonly manifest: true }
)

export function publishedFeedHandler(options: PublishedFeedHandlerOptions): HttpHandler {
  const { store, authorizeHeaders, admit } = options
  return async (request) => {
    const incoming = new RestCall(request)
    try {
      const feedPath = parseFeedPath(request.url)
      if (feedPath === undefined) throw pathNotFound()
      await admit(method, incoming)
      const state = await readPublicationState(store.db.kysely, feedPath.group)
      const isPublic = state?.publicThrough !== undefined
      if (!isPublic) {
        const call = await authorizeHeaders(method, incoming, feedPath.group)
        await call(create(GetAdvisoryPublicationRequestSchema, { uid: feedPath.group }))
      }
      if (state === undefined) throw pathNotFound()
      return withReplyHeaders(await respond(options, request, { feedPath, state, isPublic }), incoming)
    } catch (error) {
      return withReplyHeaders(errorReply(error, request, options), incoming)
    }
  }
}

function parseFeedPath(url: string): FeedPath | undefined {
  const [path = ''] = url.slice(PUBLISHED_FEEDS_PATH.length).split('?', 1)
  const [, uid = '', rest = ''] = /^([0-9a-f]{40}(?:\/[0-9a-f]{16})*)\/(.+)$/.exec(path) ?? []
  const group = parseUid(uid)
  if (group === undefined) return undefined
  const whole = fullFeeds.find((feed): feed is FullFeed => feed === rest)
  if (whole !== undefined) return { group, path: rest, feed: whole }
  if (rest === MANIFEST) return { group, path: rest, manifest: true }
  const [, format, file = ''] = /^(osv|openvex)\/([^/]+)$/.exec(rest) ?? []
  if (format === 'openvex') {
    const artifact = artifactOfFileName(file)
    // One name, however it was encoded.
    return artifact === undefined
      ? undefined
      : { group, path: `openvex/${documentFileName(artifact)}`, feed: { artifact } }
  }
  const record = format === 'osv' ? /^([\w-]+)\.json$/.exec(file)?.[1] : undefined
  return record === undefined ? undefined : { group, path: rest, record }
}

function pathNotFound(): ApiError {
  return new ApiError(Code.NOT_FOUND, 'Not found: no such path')
}

interface FeedContext {
  readonly feedPath: FeedPath
  readonly state: PublicationState
  readonly isPublic: boolean
}

async function respond(
  options: PublishedFeedHandlerOptions,
  request: HttpRequest,
  context: FeedContext,
): Promise<HttpReply> {
  const { store, baseUrl } = options
  const { feedPath, state, isPublic } = context
  const { revision, groups, changedMs } = state
  const name = createHash('sha256')
    .update(
      JSON.stringify([
        REPRESENTATION_VERSION,
        baseUrl,
        feedPath.group,
        feedPath.path,
        revision,
        groups,
        changedMs,
      ]),
    )
    .digest('base64url')
    .slice(0, 32)
  const tags = { plain: `"${name}"`, compressed: `"${name}-gzip"` }
  const isStable = changedMs > 0 && changedMs + SECOND_MS <= store.clock()
  const headers = {
    ...commonHeaders,
    'cache-control': `${isPublic ? 'public' : 'private'}, max-age=${limits.feedMaxAgeMs / SECOND_MS}`,
    vary: isPublic ? 'accept-encoding' : 'accept-encoding, authorization',
    // A time within which more may still change would hide that from whoever asks by it.
    ...(isStable && { 'last-modified': new Date(changedMs).toUTCString() }),
  }
  if (!(await exists(options, context))) throw pathNotFound()
  const matched = matchedTag(request, tags, isStable ? changedMs : undefined)
  if (matched !== undefined) return { status: 304, headers: { ...headers, etag: matched }, body: undefined }

  const compressed = acceptsGzip(request)
  const content = await contentOf(options, context, name, compressed)
  if (content === undefined) throw pathNotFound()
  const encoded = content instanceof Uint8Array && compressed ? await gzipAsync(content) : content
  const isCompressed = encoded instanceof Uint8Array ? compressed : encoded.isCompressed
  const length = encoded instanceof Uint8Array ? undefined : encoded.bytes
  return {
    status: 200,
    headers: {
      ...headers,
      'content-type': contentTypeOf(feedPath.path),
      etag: isCompressed ? tags.compressed : tags.plain,
      ...(isCompressed && { 'content-encoding': 'gzip' }),
      ...(length !== undefined && { 'content-length': String(length) }),
    },
    body: encoded instanceof Uint8Array ? encoded : encoded.body,
  }
}

const SECOND_MS = 1000

/** The tag of the version that the caller has and that is still the one (RFC 9110, section 13). */
function matchedTag(
  { headers }: HttpRequest,
  { plain, compressed }: { readonly plain: string; readonly compressed: string },
  changedMs: number | undefined,
): string | undefined {
  const noneMatch = headers['if-none-match']
  if (noneMatch !== undefined) return [plain, compressed].find((tag) => matchesEtag(noneMatch, tag) === true)
  const since = Date.parse(headers['if-modified-since'] ?? '')
  if (changedMs === undefined || Number.isNaN(since)) return undefined
  return Math.floor(changedMs / SECOND_MS) * SECOND_MS <= since ? plain : undefined
}

function acceptsGzip({ headers }: HttpRequest): boolean {
  const accepted = [headers['accept-encoding'] ?? []].flat().join(',')
  return accepted.split(',').some((entry) => /^\s*gzip\s*(;\s*q=(1|0?\.\d*[1-9]\d*|1\.0*))?\s*$/i.test(entry))
}

const gzipAsync = promisify(gzip)

/** Whether a condition may be judged: what is not there has no version that anybody could have. */
async function exists(
  { store }: PublishedFeedHandlerOptions,
  { feedPath: asked }: FeedContext,
): Promise<boolean> {
  if ('record' in asked) return hasRecord(store.db, asked.group, asked.record)
  if (!('feed' in asked) || typeof asked.feed === 'string') return true
  return hasArtifact(store.db, asked.group, asked.feed.artifact)
}

function contentOf(
  options: PublishedFeedHandlerOptions,
  context: FeedContext,
  name: string,
  compressed: boolean,
) {
  const { feedPath: asked } = context
  if ('record' in asked) return osvRecordBytes(options, context, asked.record)
  return 'manifest' in asked
    ? vexManifest(options, asked.group)
    : serveFeed(options, context, name, compressed)
}

function vexManifest({ baseUrl }: PublishedFeedHandlerOptions, group: Uid): Uint8Array {
  const url = `${baseUrl}${PUBLISHED_FEEDS_PATH}${group}/openvex/all.zip`
  const manifest = {
    name: `Advisories of ${group}`,
    description: 'OpenVEX documents, one for each artifact',
    versions: [{ spec_version: '0.1', locations: [{ url }], update_interval: '1h' }],
  }
  return Buffer.from(jsonLine(manifest))
}

async function osvRecordBytes(
  { store }: PublishedFeedHandlerOptions,
  { feedPath: asked, state }: FeedContext,
  id: string,
): Promise<Uint8Array | undefined> {
  for await (const { advisories } of readByAdvisoryId(store.db, asked.group, id))
    return Buffer.from(jsonLine(osvRecord(advisories, state.publication.distribution)))
  return undefined
}

async function serveFeed(
  { feeds, baseUrl }: PublishedFeedHandlerOptions,
  { feedPath: asked, state }: FeedContext,
  name: string,
  compressed: boolean,
) {
  const { group } = asked
  if (!('feed' in asked)) return undefined
  const { feed } = asked
  const { publication, revision, changedMs } = state
  const { secdb, distribution } = publication
  const request: PublishedFeedRequest = {
    group,
    feed,
    settings: { secdb, distribution },
    feedsUrl: `${baseUrl}${PUBLISHED_FEEDS_PATH}${group}`,
    publisher: baseUrl,
    revision,
    changedMs,
  }
  return feeds.serve(name, request, { compressed })
}

function contentTypeOf(path: string): string {
  if (path.endsWith('.zip')) return 'application/zip'
  return path.endsWith('.csv') ? 'text/csv; charset=utf-8' : 'application/json'
}
