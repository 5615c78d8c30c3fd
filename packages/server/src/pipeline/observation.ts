import { ApiError, type Code, isAudited } from '../api/errors.ts'
import { asApiError } from '../api/storage-faults.ts'
import { isWithin, parseUid } from '../api/uid.ts'
import type { IncomingCall } from './call.ts'
import type { Operation, StartedCall } from './operation.ts'

/** Observes how calls end: metrics, the access log, and denials in the audit log. */

export interface ObservationOptions {
  readonly recordDenial: (denial: Denial) => void
  /** Receives each call that ended. */
  readonly onEnd: (call: EndedCall) => void
}

/** For metrics. */
export interface EndedCall {
  readonly operation: Operation
  readonly incoming: IncomingCall
  readonly code: Code
  readonly ms: number
  /** uid of the caller, if known. */
  readonly identity: string | undefined
}

/** A call that a known caller was denied (code 7), for the audit log. */
export interface Denial {
  readonly operation: string
  readonly identity: string
  /** What the denial is about. */
  readonly uid: string
  readonly incoming: IncomingCall
  readonly error: ApiError
}

export interface Observer {
  /** Records a denial of a known caller, and fails with it. `scope`: what the request names. */
  deny(call: StartedCall, scope: string | undefined, failure: unknown): never
  /** Observes a call that ends. */
  end(call: Pick<StartedCall, 'operation' | 'incoming' | 'caller'>, code: Code, startMs: number): void
  /** Observes a call that fails, and fails with it. */
  fail(call: Pick<StartedCall, 'operation' | 'incoming' | 'caller'>, failure: unknown, startMs: number): never
}

export function createObserver({ recordDenial, onEnd }: ObservationOptions): Observer {
  const end: Observer['end'] = ({ operation, incoming, caller }, code, startMs) => {
    if (incoming.record !== undefined) incoming.record.code = code
    onEnd({ operation, incoming, code, ms: performance.now() - startMs, identity: caller?.identity })
  }
  return {
    end,
    deny({ operation, incoming, caller }, scope, failure) {
      if (
        failure instanceof ApiError &&
        isAudited(failure) &&
        caller !== undefined &&
        caller.isAnonymous !== true
      ) {
        const { identity } = caller
        const uid = deniedUid(scope && parseUid(scope), failure.auditUid) || identity
        recordDenial({ operation: operation.name, identity, uid, incoming, error: failure })
      }
      throw failure
    },
    fail(call, failure, startMs) {
      // Anything but an ApiError or the fault of a disk is a bug: the adapter logs it and responds with code 13.
      end(call, asApiError(failure, call.incoming.requestId).code, startMs)
      throw failure
    },
  }
}

/** What a denial is about: where the caller lacks something or, more exactly, the resource in it that was requested. */
function deniedUid(requested: string | undefined, missing: string | undefined): string | undefined {
  return requested !== undefined && isWithin(requested, missing ?? '') ? requested : missing
}
