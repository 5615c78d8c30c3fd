import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { osvRecord } from '@berth/advisory-formats/osv/write-osv.ts'
import { AdvisoryPublicationsService } from '@berth/contract/gen/berth/vulnerabilities/v1/publications_pb.js'
import { ApiError, Code, invalidArgument, notFound } from '../../api/errors.ts'
import { matchesEtag } from '../../api/etag.ts'
import { parseUid, type Uid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { commonHeaders, errorReply, type RestOptions, withReplyHeaders } from '../../gateway/rest/handler.ts'
import { GROUP_TYPE } from '../../iam/groups/parent-group.ts'
import { type AuthorizedScope, publishedScope } from '../../pipeline/authorization.ts'
import type { MethodPipeline } from '../../pipeline/methods.ts'
import type { Pipeline } from '../../pipeline/pipeline.ts'
import { nameShare } from '../../pipeline/request/request-context.ts'
import type { HttpHandler, HttpReply, HttpRequest } from '../../port/http.ts'
import { RestCall } from '../../port/rest-call.ts'
import type { Store } from '../../storage/store.ts'
import { artifactOfFileName, documentFileName, type FullFeed, fullFeeds, jsonLine } from './build-feed.ts'
import { type PublicationState, readPublicationState } from './publication-state.ts'
import type { PublishedFeedRequest, PublishedFeeds } from './published-feeds.ts'
import { hasArtifact, hasRecord, readByAdvisoryId } from './read-advisories.ts'

/**
 * Serves what groups publish for scanners, below /vulnerabilities/feeds/. Anyone may read the feeds of a public group. A caller of the
 * feeds of another group is authorized as for reading its publication, before the response shows whether the group exists.
 */
export const PUBLISHED_FEEDS_PATH = '/vulnerabilities/feeds/'

export interface PublishedFeedHandlerOptions
  extends Pick<RestOptions, 'errorDomain' | 'log'>,
    Pick<MethodPipeline, 'operationOf'> {
  readonly pipeline: Pick<Pipeline, 'limitAddress' | 'run'>
  readonly store: Pick<Store, 'db' | 'clock'>
  readonly feeds: PublishedFeeds
  readonly baseUrl: string
}

/** The path at which scanners look for it, relative to the address of a repository (VEX Repository Specification 0.1). */
const MANIFEST = 'openvex/.well-known/vex-repository.json'

const method = AdvisoryPublicationsService.method.getAdvisoryPublication
/** Part of every name and tag: increase it when the same advisories are published differently. */
const REPRESENTATION_VERSION = 2

/** The feed at a path. */
type FeedPath = { readonly path: string } & (
  | { readonly feed: PublishedFeedRequest['feed'] }
  | { readonly record: string }
  | { readonly manifest: true }
)

export function publishedFeedHandler(options: PublishedFeedHandlerOptions): HttpHandler {
  const { store, pipeline } = options
  const operation = options.operationOf(method)
  return async (request) => {
    const incoming = new RestCall(request)
    try {
      const { group, feedPath } = parseFeedUrl(request.url)
      await pipeline.limitAddress(operation, incoming)
      nameShare(group)
      const state = await readPublicationState(store.db.kysely, group)
      const isPublic = state?.publicThrough !== undefined
      const scope = isPublic
        ? publishedScope(group)
        : await pipeline.run(
            operation,
            incoming,
            async ({ authorized }) => {
              if (state === undefined) throw notFound(GROUP_TYPE, group)
              return authorized
            },
            group,
          )
      if (state === undefined || scope === undefined) throw pathNotFound()
      return withReplyHeaders(await respond(options, request, { scope, feedPath, state, isPublic }), incoming)
    } catch (error) {
      return withReplyHeaders(errorReply(error, request, options), incoming)
    }
  }
}

/** Throws NOT_FOUND for a path that cannot belong to a group, and code 3 for parameters: a filter that has no effect would mislead. */
function parseFeedUrl(url: string): { readonly group: Uid; readonly feedPath: FeedPath } {
  const [path = '', ...query] = url.slice(PUBLISHED_FEEDS_PATH.length).split('?')
  // Some clients escape the slashes of a uid.
  const [, uid = '', rest = ''] =
    /^([0-9a-f]{40}(?:(?:\/|%2f)[0-9a-f]{16})*)(?:\/|%2f)(.+)$/i.exec(path) ?? []
  const group = parseUid(uid.replaceAll(/%2f/gi, '/'))
  const feedPath = parseFeedPath(rest)
  if (group === undefined || feedPath === undefined) throw pathNotFound()
  const [parameter] = query.join('?').split('&')
  if (parameter !== undefined && parameter !== '')
    throw invalidArgument(parameter.split('=', 1)[0]!.slice(0, 100), 'is unknown: feeds have no parameters')
  return { group, feedPath }
}

function parseFeedPath(encoded: string): FeedPath | undefined {
  // In the name of a file an escaped slash belongs to the name.
  const path = encoded.replace(/^([a-z]+)%2f/i, '$1/')
  const whole = fullFeeds.find((feed): feed is FullFeed => feed === path)
  if (whole !== undefined) return { path, feed: whole }
  if (path.replaceAll(/%2f/gi, '/') === MANIFEST) return { path: MANIFEST, manifest: true }
  const [, format, file = ''] = /^(osv|openvex)\/([^/]+)$/.exec(path) ?? []
  if (format === 'openvex') {
    const artifact = artifactOfFileName(file)
    // The canonical name, however the caller encoded it.
    return artifact === undefined
      ? undefined
      : { path: `openvex/${documentFileName(artifact)}`, feed: { artifact } }
  }
  const record = format === 'osv' ? /^([\w-]+)\.json$/.exec(file)?.[1] : undefined
  return record === undefined ? undefined : { path, record }
}

function pathNotFound(): ApiError {
  return new ApiError(Code.NOT_FOUND, 'Not found: no such path')
}

interface FeedContext {
  /** The group whose feed the caller may read. */
  readonly scope: AuthorizedScope
  readonly feedPath: FeedPath
  readonly state: PublicationState
  readonly isPublic: boolean
}

function groupOf({ scope }: FeedContext): Uid {
  return scope.scope as Uid
}

async function respond(
  options: PublishedFeedHandlerOptions,
  request: HttpRequest,
  context: FeedContext,
): Promise<HttpReply> {
  const { store, baseUrl } = options
  const { scope, feedPath, state, isPublic } = context
  const { revision, groups, changedMs } = state
  const name = createHash('sha256')
    .update(
      JSON.stringify([
        REPRESENTATION_VERSION,
        baseUrl,
        scope.scope,
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
    // More changes may follow within the same time unit; a time would hide them from conditional requests.
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

/** Returns the tag of the caller's version if it is still current (RFC 9110, section 13). */
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

/** Whether conditions apply: a missing document has no version. */
async function exists({ store }: PublishedFeedHandlerOptions, context: FeedContext): Promise<boolean> {
  const { feedPath } = context
  if ('record' in feedPath) return hasRecord(store.db, groupOf(context), feedPath.record)
  if (!('feed' in feedPath) || typeof feedPath.feed === 'string') return true
  return hasArtifact(store.db, groupOf(context), feedPath.feed.artifact)
}

function contentOf(
  options: PublishedFeedHandlerOptions,
  context: FeedContext,
  name: string,
  compressed: boolean,
) {
  const { feedPath } = context
  if ('record' in feedPath) return osvRecordBytes(options, context, feedPath.record)
  return 'manifest' in feedPath
    ? vexManifest(options, groupOf(context))
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
  context: FeedContext,
  id: string,
): Promise<Uint8Array | undefined> {
  const { distribution } = context.state.publication
  for await (const { advisories } of readByAdvisoryId(store.db, groupOf(context), id))
    return Buffer.from(jsonLine(osvRecord(advisories, distribution)))
  return undefined
}

async function serveFeed(
  { feeds, baseUrl }: PublishedFeedHandlerOptions,
  context: FeedContext,
  name: string,
  compressed: boolean,
) {
  const { feedPath, state } = context
  if (!('feed' in feedPath)) return undefined
  const { feed } = feedPath
  const group = groupOf(context)
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
