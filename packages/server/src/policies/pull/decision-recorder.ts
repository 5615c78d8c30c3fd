import { createHash } from 'node:crypto'
import { Result } from '@berth/contract/gen/chainguard/platform/policies/v1/decisions_pb.js'
import { PolicyMode } from '@berth/contract/gen/chainguard/platform/policies/v1/modes_pb.js'
import { rootOf } from '../../api/uid.ts'
import { DAY_MS, limits } from '../../config/limits.ts'
import { createGrowingCache } from '../../runtime/caches/growing-cache.ts'
import { insertRows } from '../../storage/bulk-rows.ts'
import { createDropCount } from '../../storage/changes/drop-count.ts'
import { createServerQueues } from '../../storage/changes/server-queues.ts'
import { type Db, inTransaction } from '../../storage/db.ts'
import type { PolicyDecisionRow } from '../../storage/schema/tables.ts'

/** A decision about a pull. */
export type Decision = Pick<
  PolicyDecisionRow,
  'digest' | 'policy' | 'policy_name' | 'mode' | 'result' | 'reason'
> & { readonly repo: string }

/**
 * Records decisions. A pull must not wait for a write, so decisions wait in memory for a few seconds and are written together. Equal ones of a
 * day (repo, digest, policy, mode and result) are one row: its uid follows from them. A crash loses the waiting ones, and a database server
 * that accepts no writes for long the newest.
 */
export interface DecisionRecorder {
  record(decision: Decision): void
  /** Writes what waits, for a list that follows: on the database servers of some organizations, or all. */
  flush(organizations?: readonly string[]): Promise<void>
  /** Writes what waits, and stops. */
  stop(): Promise<void>
}

/** As metrics name them. */
export type DecisionMode = 'enforced' | 'dry-run'
export type DecisionResult = 'allowed' | 'denied' | 'error'

const modeName = ({ mode }: Pick<Decision, 'mode'>): DecisionMode =>
  mode === PolicyMode.ENFORCED ? 'enforced' : 'dry-run'

function resultName({ result }: Pick<Decision, 'result'>): DecisionResult {
  if (result === Result.ALLOWED) return 'allowed'
  return result === Result.DENIED ? 'denied' : 'error'
}

export interface DecisionRecorderOptions {
  readonly db: Db
  readonly clock: () => number
  readonly flushMs?: number | undefined
  readonly onError: (error: unknown) => void
  /** Receives the mode and the result of every decision, also of those that are one row a day. */
  readonly onDecision: (mode: DecisionMode, result: DecisionResult) => void
  /** Receives the number of decisions that were lost because too many waited. */
  readonly onDropped: (decisions: number) => void
}

export function createDecisionRecorder(options: DecisionRecorderOptions): DecisionRecorder {
  const { db, clock, flushMs = limits.policyDecisionFlushMs, onError, onDropped, onDecision } = options
  /** Keys of decisions that were written or wait. */
  const known = createGrowingCache<true>(limits.policyDecisionsKnownMax)
  const dropped = createDropCount(onDropped)
  const queues = createServerQueues<PolicyDecisionRow>({
    db,
    max: limits.policyDecisionsPendingMax,
    intervalMs: flushMs,
    rootOf: ({ root }) => root,
    async write(rows) {
      dropped.report()
      try {
        // In the order of keys: nodes that write the same rows do not wait for each other in a circle.
        const sorted = rows.toSorted((a, b) => (a.uid < b.uid ? -1 : 1))
        await inTransaction(db, (tx) => insertRows(db, tx, 'policy_decisions', sorted, { ifAbsent: true }))
        return { rows: [], hasFailed: false }
      } catch (error) {
        onError(error)
        return { rows, hasFailed: true }
      }
    },
    onDropped,
  })

  return {
    record({ repo, ...decision }) {
      onDecision(modeName(decision), resultName(decision))
      const day = Math.floor(clock() / DAY_MS)
      const key = [repo, day, decision.digest, decision.policy, decision.mode, decision.result].join(' ')
      if (known.has(key)) return
      const uid = `${repo}/${createHash('sha256').update(key).digest('hex').slice(0, 16)}`
      const reason = decision.reason.toWellFormed().slice(0, limits.policyReasonCharsMax).toWellFormed()
      if (queues.add({ root: rootOf(repo), uid, parent: repo, day, ...decision, reason }))
        known.set(key, true)
      else dropped.add()
    },
    flush: (organizations) => queues.flush(organizations),
    async stop() {
      await queues.stop()
      dropped.report()
    },
  }
}
