import { headerRefs, rateLimitHeaders } from './error-responses.ts'
import type { Operation } from './operations.ts'

/** The export of audit events: the List without pages. It is not a method of a service, so the schema does not contain it. */
export const auditExportPath = '/audit/v1/events:export'

const pagingParameters = new Set(['page_size', 'page_token', 'order_by', 'skip'])

/** `list`: the operation of the List whose filters the export supports. */
export function auditExportOperation(list: Operation): Operation {
  return {
    ...list,
    operationId: 'ExportAuditEvents',
    summary: 'All events that match the filters, each a line of JSON',
    description:
      'Oldest first. An interrupted response lacks the end marker of its HTTP version; the server also interrupts it when the token expires and when the permissions of the caller change.',
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
