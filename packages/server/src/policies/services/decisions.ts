import {
  type Decision,
  type DecisionFilter,
  DecisionSchema,
  Decisions,
} from '@berth/contract/gen/chainguard/platform/policies/v1/decisions_pb.js'
import type { Date as CivilDate } from '@berth/contract/gen/google/type/date_pb.js'
import { create } from '@bufbuild/protobuf'
import { invalidArgument } from '../../api/errors.ts'
import { parseUid, rootOf } from '../../api/uid.ts'
import { DAY_MS } from '../../config/limits.ts'
import { type Call, implement } from '../../pipeline/call.ts'
import { type ColumnCondition, listPage } from '../../storage/list/list.ts'
import type { PolicyDecisionRow } from '../../storage/schema/tables.ts'
import type { Store } from '../../storage/store.ts'
import type { DecisionRecorder } from '../pull/decision-recorder.ts'

/** The decisions that were recorded about pulls. */
export function decisionsService(store: Store, recorder: Pick<DecisionRecorder, 'flush'>) {
  return implement(Decisions, {
    async listDecisions(request, call) {
      const conditions = [
        ...dayCondition('since', '>=', request.since),
        ...dayCondition('until', '<=', request.until),
      ]
      await recorder.flush(listedOrganizations(request.uidp, call))
      const { policyId, digest, mode, result } = request
      const { rows, ...page } = await listPage(store, call, request, {
        table: 'policy_decisions',
        sortFields: { id: 'uid', pulled_on: 'day', pulledOn: 'day' },
        defaultOrder: 'pulled_on desc',
        equals: {
          policy: policyId,
          digest,
          mode: mode === 0 ? undefined : mode,
          result: result === 0 ? undefined : result,
        },
        conditions,
      })
      return {
        $typeName: 'chainguard.platform.policies.v1.DecisionList' as const,
        items: rows.map(toDecision),
        ...page,
      }
    },
  })
}

/** Returns the organizations that a list can be about; undefined for all. */
function listedOrganizations(uidp: DecisionFilter['uidp'], call: Call): readonly string[] | undefined {
  const named = parseUid(uidp?.descendantsOf || uidp?.childrenOf || '')
  if (named !== undefined) return [rootOf(named)]
  const scopes = call.authorization?.visible?.scopes ?? ['']
  return scopes.includes('') ? undefined : scopes.map(rootOf)
}

function dayCondition(
  field: 'since' | 'until',
  comparison: '>=' | '<=',
  date: CivilDate | undefined,
): ColumnCondition[] {
  if (date === undefined) return []
  const { year, month, day } = date
  const ms = Date.UTC(year, month - 1, day)
  const parsed = new Date(ms)
  const isDate =
    year >= 1970 && year <= 9999 && parsed.getUTCMonth() === month - 1 && parsed.getUTCDate() === day
  if (!isDate) throw invalidArgument(field, 'must be a day from the year 1970 on, with year, month and day')
  return [{ column: 'day', comparison, value: Math.floor(ms / DAY_MS) }]
}

function toDecision(row: PolicyDecisionRow): Decision {
  const day = new Date(Number(row.day) * DAY_MS)
  return create(DecisionSchema, {
    id: row.uid,
    repoId: row.parent,
    digest: row.digest,
    policyId: row.policy,
    policyName: row.policy_name,
    mode: Number(row.mode),
    result: Number(row.result),
    reason: row.reason,
    pulledOn: {
      $typeName: 'google.type.Date',
      year: day.getUTCFullYear(),
      month: day.getUTCMonth() + 1,
      day: day.getUTCDate(),
    },
  })
}
