import {
  AuditEventSchema,
  AuditService,
  type ListAuditEventsRequest,
  ListAuditEventsRequestSchema,
  type ListAuditEventsResponse,
} from '@berth/contract/gen/berth/audit/v1/audit_pb.js'
import { create, type Message } from '@bufbuild/protobuf'
import type { FieldViolation } from '../api/errors.ts'
import { requireValid } from '../api/fields.ts'
import { limits } from '../config/limits.ts'
import { createJsonWriter } from '../gateway/json/writer.ts'
import { commonHeaders, errorReply, withDeadline, withReplyHeaders } from '../gateway/rest/handler.ts'
import { createQueryReader } from '../gateway/rest/query-reader.ts'
import type { MethodPipeline } from '../pipeline/methods.ts'
import type { BodyStream, HttpHandler } from '../port/http.ts'
import { RestCall } from '../port/rest-call.ts'
import type { Log } from '../runtime/log.ts'

/**
 * Exports the audit log: every event that a list would return, a line of JSON each, oldest first. Each page is a call of
 * ListAuditEvents, so a caller who loses the right to read it during the export gets no more.
 */
export const AUDIT_EXPORT_PATH = '/audit/v1/events:export'

export interface AuditExportOptions extends Pick<MethodPipeline, 'authorizeHeaders' | 'dispatch'> {
  readonly errorDomain: string
  readonly log: Log
}

const method = AuditService.method.listAuditEvents
const readQuery = createQueryReader(ListAuditEventsRequestSchema, [], 'refused')
const writeEvent = createJsonWriter(AuditEventSchema)
const headers = { 'content-type': 'application/x-ndjson', ...commonHeaders }

/**
 * Serves `GET /audit/v1/events:export`, with the filters of ListAuditEvents as parameters. A failure before the first page is an error
 * response as in REST; a later one cuts the response off. Events that are recorded after the start are left to the next export.
 */
export function createAuditExportHandler(options: AuditExportOptions): HttpHandler {
  const { authorizeHeaders, dispatch } = options
  return async (request) => {
    const incoming = new RestCall(request)
    const pageOf = (reply: Promise<Message>) =>
      withDeadline(reply as Promise<ListAuditEventsResponse>, limits.handlerTimeoutMs)
    try {
      const call = await authorizeHeaders(method, incoming)
      const listRequest = parseRequest(request.url)
      const first = await pageOf(call(listRequest))
      const next = (pageToken: string) => {
        const request: ListAuditEventsRequest = { ...listRequest, pageToken }
        return pageOf(dispatch(method, request, incoming))
      }
      return withReplyHeaders({ status: 200, headers, body: linesOf(first, next) }, incoming)
    } catch (error) {
      return withReplyHeaders(errorReply(error, request, options), incoming)
    }
  }
}

function parseRequest(url: string): ListAuditEventsRequest {
  const request = create(ListAuditEventsRequestSchema)
  const mark = url.indexOf('?')
  if (mark >= 0) readQuery?.(request, [url.slice(mark + 1)])
  requireValid(
    rejectParameter('page_size', request.pageSize !== 0),
    rejectParameter('page_token', request.pageToken !== ''),
    rejectParameter('order_by', request.orderBy !== ''),
    rejectParameter('skip', request.skip !== 0),
  )
  return { ...request, pageSize: limits.pageSizeMax, orderBy: 'created_at asc' }
}

function rejectParameter(field: string, given: boolean): FieldViolation | undefined {
  return given ? { field, description: 'is not allowed: an export has every event, oldest first' } : undefined
}

/** Yields a piece for each page, up to the number of events at the start. */
async function* linesOf(
  first: ListAuditEventsResponse,
  next: (pageToken: string) => Promise<ListAuditEventsResponse>,
): BodyStream {
  let remaining = first.totalCount === undefined ? Number.POSITIVE_INFINITY : Number(first.totalCount)
  for (let page = first; ; page = await next(page.nextPageToken)) {
    const events = page.events.slice(0, remaining)
    yield events.map((event) => `${writeEvent(event)}\n`).join('')
    remaining -= events.length
    if (remaining <= 0) return
    if (page.nextPageToken === '') break
  }
  // A caller who lost the right to read some of them gets a shorter list.
  if (remaining < Number.POSITIVE_INFINITY) throw new Error(`${remaining} events are missing in the export`)
}
