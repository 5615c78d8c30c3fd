import {
  type AuditEvent,
  AuditService,
  type ListAuditEventsRequest,
} from '@berth/contract/gen/berth/audit/v1/audit_pb.js'
import { timestampMs } from '@berth/contract/timestamp-text.ts'
import type { DescMethod } from '@bufbuild/protobuf'
import { notFound } from '../api/errors.ts'
import { checkUid, requireValid } from '../api/fields.ts'
import { timestampOf } from '../api/messages.ts'
import { fullMethodName } from '../api/method-name.ts'
import { requireScope } from '../pipeline/authorization.ts'
import { implement } from '../pipeline/call.ts'
import { firstEventId, readEvent } from '../storage/changes/audit-events.ts'
import { type ColumnCondition, listPage } from '../storage/list/list.ts'
import type { AuditEventRow } from '../storage/schema/tables.ts'
import type { Store } from '../storage/store.ts'

/** Reads the audit log, for callers who may receive the events of a group. The API has no method that writes it. */

const TYPE = 'berth.dev/AuditEvent'

/** Ids sort by time, and the table is ordered by them. */
const sortFields = { created_at: 'id', create_time: 'id', createTime: 'id' }

/** `methods`: every method of the contract, for filters by a method's short name. */
export function auditService(store: Store, methods: readonly DescMethod[]) {
  const fullNames = new Map<string, string[]>()
  for (const method of methods)
    fullNames.set(method.name, [...(fullNames.get(method.name) ?? []), fullMethodName(method)])

  return implement(AuditService, {
    async listAuditEvents(request, call) {
      requireValid(checkUid('actor', request.actor, 'system'), checkUid('resource_uid', request.resourceUid))
      const { rows, ...page } = await listPage(store, call, request, {
        table: 'audit_events',
        sortFields,
        defaultOrder: 'created_at desc',
        equals: { actor: request.actor, parent: request.resourceUid, code: request.code },
        conditions: [...timeConditions(request), ...methodConditions(request.method, fullNames)],
      })
      return {
        $typeName: 'berth.audit.v1.ListAuditEventsResponse' as const,
        events: rows.map(toAuditEvent),
        ...page,
      }
    },

    async getAuditEvent(_request, call) {
      const { scope } = requireScope(call)
      const row = await readEvent(store.db, scope)
      if (row === undefined) throw notFound(TYPE, scope)
      return toAuditEvent(row)
    },
  })
}

function toAuditEvent(row: AuditEventRow): AuditEvent {
  return {
    $typeName: 'berth.audit.v1.AuditEvent',
    uid: row.uid,
    createTime: timestampOf(row.created_ms),
    actor: row.actor,
    method: row.method,
    resourceUid: row.parent,
    code: row.code,
    reason: row.reason,
    requestId: row.request_id,
    address: row.address,
    issuer: row.issuer,
    subject: row.subject,
    count: row.n,
  }
}

function timeConditions({ since, until }: ListAuditEventsRequest): ColumnCondition[] {
  const conditions: ColumnCondition[] = []
  // Events are recorded with milliseconds.
  if (since !== undefined)
    conditions.push({ column: 'id', comparison: '>=', value: firstEventId(timestampMs(since)) })
  if (until !== undefined)
    conditions.push({ column: 'id', comparison: '<', value: firstEventId(timestampMs(until)) })
  return conditions
}

function methodConditions(
  method: string,
  fullNames: ReadonlyMap<string, readonly string[]>,
): ColumnCondition[] {
  return method === '' ? [] : [{ column: 'method', values: [method, ...(fullNames.get(method) ?? [])] }]
}
