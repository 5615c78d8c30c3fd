import { headerRefs, rateLimitHeaders } from './error-responses.ts'
import type { Operation } from './operations.ts'

/** The export of audit events: the List of them without pages. It is no method of a service, so the schema does not have it. */
export const auditExportPath = '/audit/v1/events:export'

const pagingParameters = new Set(['page_size', 'page_token', 'order_by', 'skip'])

/** `list`: the operation of the List whose filters the export takes. */
export function auditExportOperation(list: Operation): Operation {
  return {
    ...list,
    operationId: 'ExportAuditEvents',
    summary: 'All events that the filters keep, each a line of JSON',
    description:
      'Oldest first. An answer that is cut off lacks the end that its version of HTTP marks; it is also cut off when the token expires and when the rights of the caller change.',
    parameters: (list.parameters ?? []).filter(
      (parameter) => !('name' in parameter) || !pagingParameters.has(parameter.name),
    ),
    responses: {
      ...list.responses,
      200: {
        description: 'Lines, each an AuditEvent.',
        headers: headerRefs(...rateLimitHeaders),
        content: { 'application/x-ndjson': { schema: { type: 'string' } } },
      },
    },
  }
}
