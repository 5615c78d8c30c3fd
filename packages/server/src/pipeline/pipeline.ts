import { ApiError, Code, isAudited, unauthenticated } from '../api/errors.ts'
import { asApiError } from '../api/storage-faults.ts'
import { isWithin, parseUid } from '../api/uid.ts'
import type { Tracer } from '../runtime/tracer.ts'
import type { Authorization, Grants } from './authorization.ts'
import type { Caller, IncomingCall } from './call.ts'
import type { LimitClass } from './limits/limit-table.ts'
import type { RateLimits } from './limits/rate-limits.ts'
import { assignShare } from './request-context.ts'

/**
 * The request pipeline. Each request of each protocol takes the same steps in the same order: limits, authentication, authorization,
 * handler, observation. The headers are checked before a byte of the body is read (R28). Adapters translate between a protocol and
 * these steps: methods.ts for REST and gRPC, registry/oci, advisories/publish.
 */

/** What the pipeline knows of an operation. `A`: the proof that its handler takes. */
export interface Operation<A extends Authorization = Authorization> {
  /** In metrics, the access log and the audit log; undefined for pages and documents, which have no place there. */
  readonly name: string | undefined
  /** Undefined: its calls are not limited. */
  readonly limitClass: LimitClass | undefined
  /** Who may call it; undefined: anyone, and the operation has no caller. */
  readonly access: OperationAccess<A> | undefined
  /** Calls are counted by identity, too: of version 1, to see who still uses it. */
  readonly isV1?: boolean
}

export interface OperationAccess<A extends Authorization = Authorization> {
  /** Throws code 16. */
  authenticate(incoming: IncomingCall): Caller | Promise<Caller>
  /**
   * Decides by the headers of a request; undefined if the message has to decide. Throws code 7 if no message could be allowed.
   * `pathScope`: what the path has in the place of the scope.
   */
  authorize(
    caller: Caller,
    grants: Grants,
    pathScope: string | undefined,
  ): A | undefined | Promise<A | undefined>
}

export interface PipelineOptions {
  readonly limits: RateLimits | undefined
  /** Reads what a caller may do; undefined if its identity or session does not exist any more. */
  readonly readGrants: (caller: Caller) => Grants | undefined | Promise<Grants | undefined>
  readonly recordDenial: (denial: Denial) => void
  /** Receives each call that ended. */
  readonly onEnd: (call: EndedCall) => void
  readonly tracer?: Tracer | undefined
}

/** For metrics. */
export interface EndedCall {
  readonly operation: Operation
  readonly name: string
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

/** A call on its way through the pipeline. */
export class StartedCall<A extends Authorization = Authorization> {
  readonly operation: Operation<A>
  readonly incoming: IncomingCall
  readonly pathScope: string | undefined
  readonly startMs: number = performance.now()
  /** When the last of the headers' steps was done. */
  decidedMs: number = 0
  caller: Caller | undefined = undefined
  grants: Grants | undefined = undefined
  /** What the headers decided. */
  authorization: A | undefined = undefined

  constructor(operation: Operation<A>, incoming: IncomingCall, pathScope: string | undefined) {
    this.operation = operation
    this.incoming = incoming
    this.pathScope = pathScope
  }
}

/** Undefined: done, without waiting. */
type Step = (call: StartedCall) => Promise<void> | undefined

export interface Pipeline {
  /** Judges a request by its headers. Synchronous if nothing has to be waited for. Throws code 7, 8 or 16. */
  start<A extends Authorization>(
    operation: Operation<A>,
    incoming: IncomingCall,
    pathScope?: string,
  ): StartedCall<A> | Promise<StartedCall<A>>
  /** Runs the rest of a started call and observes its end. */
  finish<R>(call: StartedCall, work: () => Promise<R>): Promise<R>
  /** Runs a handler, and records a denial. `scopeOf`: the scope that the request names. */
  handle<R>(call: StartedCall, scopeOf: () => string | undefined, handler: () => Promise<R>): Promise<R>
  /** Runs a whole call whose headers decide everything. */
  run<A extends Authorization, R>(
    operation: Operation<A>,
    incoming: IncomingCall,
    handler: (authorization: A) => Promise<R>,
    pathScope?: string,
  ): Promise<R>
  /** Observes a request that fails before its operation starts. */
  reject(operation: Operation, incoming: IncomingCall, failure: unknown, startMs: number): void
  /** Counts a call for its address, once. Throws code 8. */
  limitAddress(operation: Operation, incoming: IncomingCall): Promise<void> | undefined
  /** Counts a call for the identity that the handler of an open operation has verified. Throws code 8. */
  limitIdentity(
    limitClass: LimitClass | undefined,
    incoming: IncomingCall,
    identity: string,
  ): Promise<void> | undefined
  /** Reads what a caller may do. Throws code 16 if its identity or session does not exist any more. */
  requireGrants(caller: Caller): Grants | Promise<Grants>
}

export function createPipeline({
  limits,
  readGrants,
  recordDenial,
  onEnd,
  tracer,
}: PipelineOptions): Pipeline {
  const limitAddress: Pipeline['limitAddress'] = ({ limitClass }, incoming) => {
    if (limits === undefined || limitClass === undefined || incoming.isAddressCounted === true)
      return undefined
    incoming.isAddressCounted = true
    return limits.countByAddress(limitClass, incoming)
  }
  const limitByAddress: Step = ({ operation, incoming }) => limitAddress(operation, incoming)

  const authenticate: Step = (call) =>
    andThen(call.operation.access!.authenticate(call.incoming), (caller) => {
      call.caller = caller
      if (caller.isAnonymous !== true) assignShare(caller.identity)
      if (call.incoming.record !== undefined) call.incoming.record.identity = caller.identity
    })

  const limitByIdentity: Step = ({ operation: { limitClass }, incoming, caller }) => {
    if (limits === undefined || limitClass === undefined || incoming.isIdentityCounted === true)
      return undefined
    if (caller!.isAnonymous === true) return undefined
    incoming.isIdentityCounted = true
    return limits.countByIdentity(limitClass, incoming, caller!.identity)
  }

  const requireGrants: Pipeline['requireGrants'] = (caller) => {
    const grants = readGrants(caller)
    return grants instanceof Promise
      ? grants.then((late) => requireExisting(late, caller))
      : requireExisting(grants, caller)
  }
  const loadGrants: Step = (call) =>
    andThen(requireGrants(call.caller!), (grants) => {
      call.grants = grants
    })

  const authorize: Step = (call) => {
    const { operation, caller, grants, pathScope } = call
    const authorized = (authorization: Authorization | undefined) => {
      assignShare(authorization?.authorized?.scope ?? '')
      call.authorization = authorization
    }
    try {
      const waiting = andThen(operation.access!.authorize(caller!, grants!, pathScope), authorized)
      return waiting?.catch((failure: unknown) => deny(call, pathScope, failure))
    } catch (failure) {
      return deny(call, pathScope, failure)
    }
  }

  /** The order in which the headers of a request are judged. */
  const steps: readonly Step[] = [limitByAddress, authenticate, limitByIdentity, loadGrants, authorize]
  const openSteps: readonly Step[] = [limitByAddress]

  const judge = (call: StartedCall): StartedCall | Promise<StartedCall> => {
    const waiting = takeSteps(call, call.operation.access === undefined ? openSteps : steps)
    if (waiting === undefined) return call
    return waiting.then(
      () => call,
      (failure: unknown) => fail(call, failure, call.startMs),
    )
  }
  const start = (operation: Operation, incoming: IncomingCall, pathScope?: string) => {
    const call = new StartedCall(operation, incoming, pathScope)
    if (incoming.record !== undefined && operation.name !== undefined) incoming.record.method = operation.name
    try {
      return tracer === undefined ? judge(call) : tracer.span('authorize', {}, () => judge(call))
    } catch (failure) {
      return fail(call, failure, call.startMs)
    }
  }

  const handle: Pipeline['handle'] = async (call, scopeOf, handler) => {
    try {
      return await handler()
    } catch (failure) {
      return deny(call, scopeOf(), failure)
    }
  }

  const finish: Pipeline['finish'] = async (call, work) => {
    // Waiting for the body is the client's time.
    const startMs = performance.now() - (call.decidedMs - call.startMs)
    try {
      const result = await work()
      observe(call.operation, call.incoming, Code.OK, startMs, call.caller?.identity)
      return result
    } catch (failure) {
      return fail(call, failure, startMs)
    }
  }

  /** Records a denial of a known caller, and fails with it. */
  const deny = (
    { operation, incoming, caller }: StartedCall,
    scope: string | undefined,
    failure: unknown,
  ): never => {
    if (
      failure instanceof ApiError &&
      isAudited(failure) &&
      caller !== undefined &&
      caller.isAnonymous !== true
    ) {
      const { name = '' } = operation
      const { identity } = caller
      const uid = deniedUid(scope && parseUid(scope), failure.auditUid) || identity
      recordDenial({ operation: name, identity, uid, incoming, error: failure })
    }
    throw failure
  }
  /** Observes a call that fails, and fails with it. */
  const fail = ({ operation, incoming, caller }: StartedCall, failure: unknown, startMs: number): never => {
    reject(operation, incoming, failure, startMs, caller?.identity)
    throw failure
  }
  const reject = (
    operation: Operation,
    incoming: IncomingCall,
    failure: unknown,
    startMs: number,
    identity?: string,
  ) => {
    // Anything but an ApiError or the fault of a disk is a bug: the adapter logs it and responds with code 13.
    observe(operation, incoming, asApiError(failure, incoming.requestId).code, startMs, identity)
  }
  const observe = (
    operation: Operation,
    incoming: IncomingCall,
    code: Code,
    startMs: number,
    identity: string | undefined,
  ) => {
    if (operation.name === undefined) return
    if (incoming.record !== undefined) incoming.record.code = code
    onEnd({ operation, name: operation.name, incoming, code, ms: performance.now() - startMs, identity })
  }

  return {
    start: start as Pipeline['start'],
    finish,
    handle,
    async run(operation, incoming, handler, pathScope) {
      const call = await start(operation, incoming, pathScope)
      const { authorization } = call
      if (authorization === undefined) throw new Error(`the headers do not decide ${operation.name}`)
      return finish(call, () =>
        handle(
          call,
          () => pathScope,
          () => handler(authorization as never),
        ),
      )
    },
    reject,
    limitAddress,
    limitIdentity(limitClass, incoming, identity) {
      assignShare(identity)
      if (incoming.record !== undefined) incoming.record.identity = identity
      return limitClass === undefined ? undefined : limits?.countByIdentity(limitClass, incoming, identity)
    },
    requireGrants,
  }
}

/** Takes the steps one after the other; undefined if none of them has to be waited for. */
function takeSteps(call: StartedCall, steps: readonly Step[], first = 0): Promise<void> | undefined {
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

/** What a denial is about: where the caller lacks something or, more exactly, the resource in it that was requested. */
function deniedUid(requested: string | undefined, missing: string | undefined): string | undefined {
  return requested !== undefined && isWithin(requested, missing ?? '') ? requested : missing
}
