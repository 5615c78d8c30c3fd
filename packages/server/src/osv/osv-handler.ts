import { formatMs } from '@berth/advisory-formats/publishing/published-advisory.ts'
import { AdvisoryPublicationsService } from '@berth/contract/gen/berth/vulnerabilities/v1/publications_pb.js'
import { type PublicationState, readPublicationState } from '../advisories/publish/publication-state.ts'
import {
  readOsvRecords,
  readWithdrawnRecord,
  recordModifiedMs,
  writeOsvRecord,
} from '../advisories/publish/read-osv-records.ts'
import { ApiError, Code, notFound } from '../api/errors.ts'
import { parseUid, type Uid } from '../api/uid.ts'
import { limits } from '../config/limits.ts'
import { parseInSlices } from '../gateway/json/reader.ts'
import {
  commonHeaders,
  errorReply,
  type RestOptions,
  withDeadline,
  withReplyHeaders,
} from '../gateway/rest/handler.ts'
import { GROUP_TYPE } from '../iam/groups/parent-group.ts'
import type { MethodPipeline } from '../pipeline/methods.ts'
import type { Operation } from '../pipeline/operation.ts'
import type { Pipeline } from '../pipeline/pipeline.ts'
import { nameShare } from '../pipeline/request/request-context.ts'
import type { HttpHandler, HttpRequest } from '../port/http.ts'
import { RestCall } from '../port/rest-call.ts'
import { readCursor } from '../storage/list/list.ts'
import type { Store } from '../storage/store.ts'
import { matchQueries } from './match-queries.ts'
import { type OsvQuery, parseBatch, parseQuery } from './parse-queries.ts'

/**
 * Serves OSV's API (https://google.github.io/osv.dev/api/) with the advisories of a group and its descendants, below /osv/GROUP. Access
 * is that of the group's published feeds.
 */
export const OSV_PATH = '/osv/'

interface OsvOptions extends Pick<RestOptions, 'errorDomain' | 'log'>, Pick<MethodPipeline, 'operationOf'> {
  readonly pipeline: Pick<Pipeline, 'limitAddress' | 'run' | 'start' | 'finish'>
  readonly store: Pick<Store, 'db' | 'pageTokens'>
  /** Reads advisories. */
  readonly reads: Pick<Store, 'db' | 'pageTokens'>
}

type Route =
  | { readonly name: 'Query' | 'QueryBatch' }
  | { readonly name: 'GetVulnerability'; readonly id: string }

interface Reading {
  readonly store: OsvOptions['store']
  readonly group: Uid
  readonly state: PublicationState
}

export function osvHandler(options: OsvOptions): HttpHandler {
  const { pipeline, store, reads } = options
  const base = options.operationOf(AdvisoryPublicationsService.method.getAdvisoryPublication)
  return async (request) => {
    const incoming = new RestCall(request, bearerOf(request.headers.authorization))
    try {
      const { group, route } = parseUrl(request)
      const name = `berth.osv.v1.Osv/${route.name}`
      const operation = { ...base, name }
      await pipeline.limitAddress(operation, incoming)
      nameShare(group)
      const state = await readPublicationState(store.db.kysely, group)
      const work = async () => {
        if (state === undefined) throw notFound(GROUP_TYPE, group)
        return withDeadline(respond(request, route, { store: reads, group, state }), limits.handlerTimeoutMs)
      }
      let body: string
      if (state?.publicThrough === undefined) body = await pipeline.run(operation, incoming, work, group)
      else {
        const open: Operation = { name, limitClass: base.limitClass, access: undefined }
        body = await pipeline.finish(await pipeline.start(open, incoming), work)
      }
      const headers = { 'content-type': 'application/json', ...commonHeaders }
      return withReplyHeaders({ status: 200, headers, body }, incoming)
    } catch (error) {
      return withReplyHeaders(errorReply(error, request, options), incoming)
    }
  }
}

/** Clients whose only setting is an address send a token of this server as the password of the user `_token`. */
function bearerOf(authorization: string | undefined): string | undefined {
  const [, encoded = ''] = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(authorization ?? '') ?? []
  const [, token] = /^_token:(.+)$/s.exec(Buffer.from(encoded, 'base64').toString('utf8')) ?? []
  return token === undefined ? authorization : `Bearer ${token}`
}

function parseUrl({ url, method }: HttpRequest): { readonly group: Uid; readonly route: Route } {
  const [path = ''] = url.slice(OSV_PATH.length).split('?')
  const [, uid = '', rest = ''] =
    /^([0-9a-f]{40}(?:(?:\/|%2f)[0-9a-f]{16})*)\/v1\/(query|querybatch|vulns\/[\w.:-]+)$/i.exec(path) ?? []
  const group = parseUid(uid.replaceAll(/%2f/gi, '/'))
  if (group === undefined) throw new ApiError(Code.NOT_FOUND, 'Not found: no such path')
  const isRecord = rest.startsWith('vulns/')
  const allowed = isRecord ? 'GET' : 'POST'
  if (method !== allowed)
    throw new ApiError(Code.UNIMPLEMENTED, `Unimplemented: this path supports ${allowed}`, {
      httpStatus: 405,
    })
  if (isRecord) return { group, route: { name: 'GetVulnerability', id: rest.slice('vulns/'.length) } }
  return { group, route: { name: rest === 'query' ? 'Query' : 'QueryBatch' } }
}

async function respond(request: HttpRequest, route: Route, reading: Reading): Promise<string> {
  if (route.name === 'GetVulnerability') return getRecord(route.id, reading)
  const { json } = await parseInSlices(await request.body(limits.osvRequestBytesMax))
  return route.name === 'Query' ? query(parseQuery(json), reading) : queryBatch(parseBatch(json), reading)
}

async function getRecord(id: string, { store, group, state }: Reading): Promise<string> {
  const { distribution } = state.publication
  for await (const source of readOsvRecords(store.db, group, [id]))
    return JSON.stringify(writeOsvRecord(source, distribution))
  const withdrawn = await readWithdrawnRecord(store.db, group, id)
  if (withdrawn === undefined) throw new ApiError(Code.NOT_FOUND, 'Not found: no such vulnerability')
  return JSON.stringify(writeOsvRecord(withdrawn, distribution))
}

/** Returns the ID after which the page of a query starts. */
function startOf({ pageToken, question }: OsvQuery, { store, group }: Reading): string {
  const cursor = readCursor(store.pageTokens, pageToken, `osv ${group} ${question}`)
  return String(cursor?.after[0] ?? '')
}

function tokenAfter(id: string, { question }: OsvQuery, { store, group }: Reading): string {
  return store.pageTokens.issue({ after: [id], skip: 0, skipped: 0 }, `osv ${group} ${question}`)
}

async function query(asked: OsvQuery, reading: Reading): Promise<string> {
  const after = startOf(asked, reading)
  const [ids = []] = await matchQueries(reading.store.db, reading.group, [asked])
  const open = ids.filter((id) => id > after)
  const records: string[] = []
  let chars = 0
  // Few at a time: a record can be long.
  const READ = 20
  for (
    let at = 0;
    at < open.length && chars < limits.osvPageBytesMax && at < limits.osvPageRecordsMax;
    at += READ
  ) {
    const page = open.slice(at, at + READ)
    const found = new Map<string, string>()
    for await (const source of readOsvRecords(reading.store.db, reading.group, page))
      found.set(source.id, JSON.stringify(writeOsvRecord(source, reading.state.publication.distribution)))
    for (const id of page) {
      const text = found.get(id)
      if (text !== undefined) records.push(text)
      chars += text?.length ?? 0
    }
    const last = page.at(-1) ?? ''
    const isFull = chars >= limits.osvPageBytesMax || at + READ >= limits.osvPageRecordsMax
    if (isFull && last !== open.at(-1))
      return `{"vulns":[${records.join(',')}],"next_page_token":"${tokenAfter(last, asked, reading)}"}`
  }
  return records.length === 0 ? '{}' : `{"vulns":[${records.join(',')}]}`
}

async function queryBatch(queries: readonly OsvQuery[], reading: Reading): Promise<string> {
  const starts = queries.map((one) => startOf(one, reading))
  const matched = await matchQueries(reading.store.db, reading.group, queries)
  let left = limits.osvResultsMax
  const pages = matched.map((ids, at) => {
    const start = starts[at] ?? ''
    if (ids === undefined) return { ids: [], next: start, isCut: true }
    const open = ids.filter((id) => id > start)
    const page = open.slice(0, left)
    left -= page.length
    return { ids: page, next: page.at(-1) ?? start, isCut: page.length < open.length }
  })
  const modified = new Map<string, string>()
  const all = [...new Set(pages.flatMap(({ ids }) => ids))]
  for await (const source of readOsvRecords(reading.store.db, reading.group, all))
    modified.set(source.id, formatMs(recordModifiedMs(source)))
  const results = pages.map(({ ids, next, isCut }, at) => ({
    // A record that was deleted meanwhile has no time.
    ...(ids.length > 0 && {
      vulns: ids.flatMap((id) => (modified.has(id) ? [{ id, modified: modified.get(id) }] : [])),
    }),
    ...(isCut && { next_page_token: tokenAfter(next, queries[at] as OsvQuery, reading) }),
  }))
  return JSON.stringify({ results })
}
