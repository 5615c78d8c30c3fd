import { unauthenticated } from '../api/errors.ts'
import { whenReady } from '../runtime/when-ready.ts'
import type { Grants, ReadGrants } from './authorization.ts'
import type { Caller, IncomingCall } from './call.ts'
import type { LimitClass } from './limits/limit-table.ts'
import type { RateLimits } from './limits/rate-limits.ts'
import type { Operation, Proof, StartedCall } from './operation.ts'
import { assignShare, nameShare } from './request/request-context.ts'

/** The steps that check the headers of a request. pipeline.ts has their order. */

/** Undefined: done, without waiting. */
export type Step = (call: StartedCall) => Promise<void> | undefined

export interface StepOptions {
  readonly limits: RateLimits | undefined
  readonly readGrants: ReadGrants
  /** Records a denial of a known caller, and fails with it. */
  readonly deny: (call: StartedCall, scope: string | undefined, failure: unknown) => never
}

export interface Steps {
  readonly countAddress: Step
  readonly authenticate: Step
  readonly countCaller: Step
  readonly loadGrants: Step
  readonly authorizeByGrants: Step
  readonly authorizeCaller: Step
  limitAddress(operation: Operation, incoming: IncomingCall): Promise<void> | undefined
  limitVerifiedIdentity(
    limitClass: LimitClass | undefined,
    incoming: IncomingCall,
    identity: string,
  ): Promise<void> | undefined
  requireGrants(caller: Caller): Grants | Promise<Grants>
}

export function createSteps({ limits, readGrants, deny }: StepOptions): Steps {
  const limitAddress: Steps['limitAddress'] = ({ limitClass }, incoming) => {
    if (limits === undefined || limitClass === undefined || incoming.isAddressCounted === true)
      return undefined
    incoming.isAddressCounted = true
    return limits.countByAddress(limitClass, incoming)
  }
  const requireGrants: Steps['requireGrants'] = (caller) => {
    // All anonymous callers read the same grants.
    nameShare(caller.identity)
    return whenReady(readGrants(caller), (grants) => requireExisting(grants, caller))
  }
  /** Stores the proof that `authorize` returns, or records its denial. */
  const authorizeWith = (call: StartedCall, authorize: () => AuthorizeResult): Promise<void> | undefined => {
    const authorized = (proof: Proof | undefined) => {
      assignShare(proof?.authorized?.scope ?? '')
      call.proof = proof
    }
    try {
      const waiting = andThen(authorize(), authorized)
      return waiting?.catch((failure: unknown) => deny(call, call.pathScope, failure))
    } catch (failure) {
      return deny(call, call.pathScope, failure)
    }
  }

  return {
    limitAddress,
    requireGrants,
    countAddress: ({ operation, incoming }) => limitAddress(operation, incoming),
    authenticate: (call) =>
      andThen(call.operation.access!.authenticate(call.incoming), (caller) => {
        call.caller = caller
        if (caller.isAnonymous === true) return
        assignShare(caller.identity)
        if (call.incoming.record !== undefined) call.incoming.record.identity = caller.identity
      }),
    countCaller({ operation: { limitClass }, incoming, caller }) {
      if (limits === undefined || limitClass === undefined || incoming.isIdentityCounted === true)
        return undefined
      if (caller!.isAnonymous === true) return undefined
      incoming.isIdentityCounted = true
      return limits.countByIdentity(limitClass, incoming, caller!.identity)
    },
    loadGrants: (call) =>
      andThen(requireGrants(call.caller!), (grants) => {
        call.grants = grants
      }),
    authorizeByGrants(call) {
      const { operation, caller, grants, pathScope } = call
      const { access } = operation
      if (access?.decidedBy !== 'grants') throw new Error(`grants do not decide ${operation.name}`)
      return authorizeWith(call, () => access.authorize(caller!, grants!, pathScope))
    },
    authorizeCaller(call) {
      const { operation, caller } = call
      const { access } = operation
      if (access?.decidedBy !== 'caller') throw new Error(`the caller does not decide ${operation.name}`)
      return authorizeWith(call, () => access.authorize(caller!))
    },
    limitVerifiedIdentity(limitClass, incoming, identity) {
      assignShare(identity)
      if (incoming.record !== undefined) incoming.record.identity = identity
      return limitClass === undefined ? undefined : limits?.countByIdentity(limitClass, incoming, identity)
    },
  }
}

type AuthorizeResult = Proof | undefined | Promise<Proof | undefined>

/** Takes the steps one after the other; undefined if none of them has to be waited for. */
export function takeSteps(call: StartedCall, steps: readonly Step[], first = 0): Promise<void> | undefined {
  for (let at = first; at < steps.length; at++) {
    const waiting = steps[at]!(call)
    if (waiting !== undefined) return waiting.then(() => takeSteps(call, steps, at + 1))
  }
  call.decidedMs = performance.now()
  return undefined
}

function andThen<T>(value: T | Promise<T>, next: (value: T) => void): Promise<void> | undefined {
  if (value instanceof Promise) return value.then(next)
  next(value)
  return undefined
}

function requireExisting(grants: Grants | undefined, { session }: Caller): Grants {
  if (grants !== undefined) return grants
  throw unauthenticated(
    session === undefined
      ? 'the identity of this token has been deleted'
      : 'the session that this token belongs to has ended; sign in again',
  )
}
