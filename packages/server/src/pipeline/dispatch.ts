import { isDeepStrictEqual } from 'node:util'
import { create, type DescMethod, type Message } from '@bufbuild/protobuf'
import { ApiError, aborted, Code, isAudited, unauthenticated, unimplemented } from '../api/errors.ts'
import { asApiError } from '../api/storage-faults.ts'
import { limits as sharedLimits } from '../config/limits.ts'
import type { Tracer } from '../runtime/tracer.ts'
import type { Authorization, Grants } from './authorization.ts'
import type {
  Call,
  Caller,
  Dispatch,
  Handler,
  IncomingCall,
  InvokeMethod,
  ServiceImplementation,
  ServiceTranslation,
  Translator,
} from './call.ts'
import { assignShare } from './request-context.ts'
import { joinParts } from './response-parts.ts'

/**
 * The request pipeline of every protocol: rate limits, authentication, authorization, handler, in this order (AIP-211). What the headers
 * decide is decided before a codec reads or decodes the body (R28).
 */

export interface PipelineOptions<Rule> {
  /** Every method of the contract; one without a handler among `services` answers UNIMPLEMENTED to callers who may call it. */
  readonly methods: readonly DescMethod[]
  readonly services: readonly ServiceImplementation[]
  /** Services that ask those above: they authenticate and count like every method, and have no rule of their own. */
  readonly translations?: readonly ServiceTranslation[]
  /** Reads who may call a method from its options; throws for a method without any, so the server does not start. */
  readonly ruleOf: (method: DescMethod) => Rule
  readonly isOpen: (rule: Rule) => boolean
  readonly authenticate: (authorization: string | undefined) => Caller | Promise<Caller>
  readonly readGrants: (caller: Caller) => Grants | undefined | Promise<Grants | undefined>
  /**
   * Decides without the message: returns the access where the path or the rule alone decides it, undefined where the message has to.
   * Throws code 7 if no message could be allowed. `pathScope`: what the path has in the place of the scope.
   */
  readonly authorizeHeaders: (
    rule: Rule,
    pathScope: string | undefined,
    caller: Caller,
    grants: Grants,
  ) => Authorization | undefined
  readonly authorize: (rule: Rule, request: Message, caller: Caller, grants: Grants) => Authorization
  /** Returns the scope that a request names, undefined if it names none. */
  readonly scopeOf: (rule: Rule, request: Message) => string | undefined
  /** Asked once per request: before its token is looked at, and when the caller is known. Each rejects with code 8. */
  readonly limits?:
    | {
        countByAddress(method: DescMethod, incoming: IncomingCall): Promise<void> | undefined
        countByIdentity(
          method: DescMethod,
          incoming: IncomingCall,
          identity: string,
        ): Promise<void> | undefined
      }
    | undefined
  readonly tracer?: Tracer | undefined
  /** Told of each call that a known caller was denied (code 7). */
  readonly onDenied?: (call: DeniedCall, why: ApiError) => void
  /** Told of each call that ended, with its RPC code, how long it took and, where it is known, the identity that called. */
  readonly observe: (
    method: DescMethod,
    incoming: IncomingCall,
    code: Code,
    ms: number,
    identity: string | undefined,
  ) => void
}

export interface DeniedCall {
  /** The method as it was called; in version 1 a newer method may decide. */
  readonly requestedMethod: DescMethod
  /** The scope that the request names; undefined where it names none, or its message was not decoded. */
  readonly scope: string | undefined
  readonly incoming: IncomingCall
  readonly caller: Caller
}

/** Runs a call that its headers do not refuse, with its decoded message. */
export type AdmittedCall = (request: Message) => Promise<Message>

export interface RequestPipeline {
  /**
   * Decides on the headers of a call, before its body is read: rate limits, authentication, and whether the caller may call the method
   * at `pathScope` or, where the path has no scope, anywhere. Throws code 7, 8 or 16. Synchronous if nothing has to be waited for.
   */
  readonly authorizeHeaders: AuthorizeHeaders
  /** `authorizeHeaders` and the call, for callers that have a message already. */
  readonly dispatch: Dispatch
  /** Counts a call for its address alone, once, before anything shows whether it needs a token. Throws code 8. */
  readonly admit: (method: DescMethod, incoming: IncomingCall) => Promise<void> | undefined
}

export type AuthorizeHeaders = (
  method: DescMethod,
  incoming: IncomingCall,
  pathScope?: string,
) => AdmittedCall | Promise<AdmittedCall>

export function createRequestPipeline<Rule>(options: PipelineOptions<Rule>): RequestPipeline {
  const handlers = new Map<DescMethod, Handler>()
  for (const { service, handlers: byName } of options.services) {
    for (const method of service.methods) {
      const handler = byName[method.localName]
      if (handler !== undefined) handlers.set(method, handler)
    }
  }
  const translators = new Map<DescMethod, Translator>()
  for (const { service, translators: byName } of options.translations ?? []) {
    for (const method of service.methods) {
      const translate = byName[method.localName]
      if (translate !== undefined) translators.set(method, translate)
    }
  }
  const entries = new Map(
    options.methods.map((method) => [
      method,
      { rule: options.ruleOf(method), handler: handlers.get(method), translate: translators.get(method) },
    ]),
  )

  const { limits } = options
  const counted = new WeakSet<IncomingCall>()
  const admitted = new WeakSet<IncomingCall>()
  const markCounted = (incoming: IncomingCall) => {
    const first = !counted.has(incoming)
    counted.add(incoming)
    return first
  }
  /** Synchronous when the answer is remembered and nothing is counted; waiting for nothing would cost a turn. */
  const identify = (method: DescMethod, incoming: IncomingCall): Caller | Promise<Caller> =>
    limits === undefined || !markCounted(incoming)
      ? options.authenticate(incoming.authorizationHeader)
      : identifyCounting(limits, method, incoming)
  const identifyCounting = async (
    { countByAddress, countByIdentity }: NonNullable<typeof limits>,
    method: DescMethod,
    incoming: IncomingCall,
  ) => {
    if (!admitted.has(incoming)) await countByAddress(method, incoming)
    const caller = await options.authenticate(incoming.authorizationHeader)
    await countByIdentity(method, incoming, caller.identity)
    return caller
  }
  /** Open methods know no caller before their handler does. */
  const admitUnauthenticated = (method: DescMethod, incoming: IncomingCall) =>
    limits !== undefined && markCounted(incoming) ? limits.countByAddress(method, incoming) : undefined

  /** Reports the end of a step that fails, and fails with it. */
  const failed = (call: StartedCall, failure: unknown, startMs: number): never => {
    // Anything but an ApiError or the fault of a disk is a bug: the codec logs it and answers with code 13.
    const { code } = asApiError(failure, call.incoming.requestId)
    options.observe(call.method, call.incoming, code, performance.now() - startMs, call.identity)
    throw failure
  }
  const reportDenied = (denied: Omit<DeniedCall, 'incoming'>, incoming: IncomingCall, failure: unknown) => {
    if (failure instanceof ApiError && isAudited(failure))
      options.onDenied?.({ ...denied, incoming }, failure)
  }

  const authorizeCall = (
    call: StartedCall,
    pathScope: string | undefined,
    caller: Caller,
    grants: Grants | undefined,
  ): AdmittedCall => {
    if (grants === undefined) throw callerNotFound(caller)
    const { method, incoming } = call
    const { rule, translate } = entries.get(method)!
    try {
      const access = options.authorizeHeaders(rule, pathScope, caller, grants)
      assignShare(access?.authorized?.scope ?? '')
      const known: AuthenticatedCaller = { requestedMethod: method, caller, grants }
      call.access = translate === undefined ? access : undefined
      return admittedCall(call, known)
    } catch (failure) {
      reportDenied({ requestedMethod: method, scope: pathScope, caller }, incoming, failure)
      throw failure
    }
  }

  const startCall = (
    call: StartedCall,
    pathScope: string | undefined,
  ): AdmittedCall | Promise<AdmittedCall> => {
    const { method, incoming } = call
    const entry = entries.get(method)
    if (entry === undefined) throw unimplemented(`${method.name} is not a method of this server`)
    if (options.isOpen(entry.rule)) {
      const admitting = admitUnauthenticated(method, incoming)
      const admitted = admittedCall(call, undefined)
      return admitting === undefined ? admitted : admitting.then(() => admitted)
    }
    const withCaller = (caller: Caller): AdmittedCall | Promise<AdmittedCall> => {
      call.identity = caller.identity
      assignShare(caller.identity)
      if (call.incoming.record !== undefined) call.incoming.record.identity = caller.identity
      const grants = options.readGrants(caller)
      return grants instanceof Promise
        ? grants.then((found) => authorizeCall(call, pathScope, caller, found))
        : authorizeCall(call, pathScope, caller, grants)
    }
    const caller = identify(method, incoming)
    return caller instanceof Promise ? caller.then(withCaller) : withCaller(caller)
  }

  /** `known`: undefined for open methods. */
  const admittedCall = (call: StartedCall, known: AuthenticatedCaller | undefined): AdmittedCall => {
    const decidedMs = performance.now()
    return async (request) => {
      const { method, incoming } = call
      // Waiting for the body is the client's time.
      const startMs = performance.now() - (decidedMs - call.startMs)
      try {
        const isStale = performance.now() - decidedMs > sharedLimits.grantsMaxAgeMs
        const reply = await run(call, request, known, isStale)
        options.observe(method, incoming, Code.OK, performance.now() - startMs, call.identity)
        return reply
      } catch (failure) {
        return failed(call, failure, startMs)
      }
    }
  }

  const run = async (
    { method, incoming, access }: StartedCall,
    request: Message,
    decided: AuthenticatedCaller | undefined,
    isStale: boolean,
  ): Promise<Message> => {
    const { handler, translate } = entries.get(method)!
    if (decided === undefined)
      return (handler ?? unimplementedMethod(method))(
        request,
        new HandledCall(incoming, { method, requestedMethod: method, request, authorization: undefined }),
      )
    // A body that came late counts for what its caller may do now (R12).
    const known = isStale ? await reauthenticate(incoming, method) : decided
    if (translate === undefined)
      return callHandler(method, request, incoming, known, isStale ? undefined : access)
    let answered = false
    const ask: InvokeMethod = async (asked, init) => {
      // A client may take its time over the parts of an answer, and lose what it may read meanwhile.
      const asking = answered ? await reauthenticateUnchanged(incoming, known) : known
      return callHandler(
        asked,
        create(asked.input, init),
        incoming,
        asking,
        undefined,
      ) as ReturnType<InvokeMethod> as never
    }
    const answer = await translate(request, ask, known)
    if (incoming.acceptsParts !== true) return joinParts(answer, () => incoming.signal)
    answered = true
    return answer
  }

  const reauthenticate = async (
    { authorizationHeader: authorization }: IncomingCall,
    called: DescMethod,
  ): Promise<AuthenticatedCaller> => {
    const caller = await options.authenticate(authorization)
    const grants = await options.readGrants(caller)
    if (grants === undefined) throw callerNotFound(caller)
    return { requestedMethod: called, caller, grants }
  }

  /** Throws if the rights of the caller changed: parts read with different rights would look like one list that no caller may see. */
  const reauthenticateUnchanged = async (
    incoming: IncomingCall,
    before: AuthenticatedCaller,
  ): Promise<AuthenticatedCaller> => {
    const known = await reauthenticate(incoming, before.requestedMethod)
    if (!isDeepStrictEqual(known.grants.capabilitiesByScope, before.grants.capabilitiesByScope))
      throw aborted('what the caller may do has changed since the answer began')
    return known
  }

  /** Authorizes a known caller, unless its `decided` access is known as well, and calls the handler. */
  const callHandler = async (
    method: DescMethod,
    request: Message,
    incoming: IncomingCall,
    { requestedMethod: called, caller, grants }: AuthenticatedCaller,
    decided: Authorization | undefined,
  ) => {
    const { rule, handler } = entries.get(method)!
    try {
      const access = decided ?? options.authorize(rule, request, caller, grants)
      assignShare(access.authorized?.scope ?? '')
      return await (handler ?? unimplementedMethod(method))(
        request,
        new HandledCall(incoming, { method, requestedMethod: called, request, authorization: access }),
      )
    } catch (failure) {
      reportDenied(
        { requestedMethod: called, scope: options.scopeOf(rule, request), caller },
        incoming,
        failure,
      )
      throw failure
    }
  }

  const decide: AuthorizeHeaders = (method, incoming, pathScope) => {
    const startMs = performance.now()
    const call: StartedCall = { method, incoming, startMs, identity: undefined, access: undefined }
    try {
      const opened = startCall(call, pathScope)
      return opened instanceof Promise
        ? opened.catch((failure: unknown) => failed(call, failure, startMs))
        : opened
    } catch (failure) {
      return failed(call, failure, startMs)
    }
  }

  const { tracer } = options
  const authorizeHeaders: AuthorizeHeaders =
    tracer === undefined ? decide : (...call) => tracer.span('authorize', {}, () => decide(...call))

  return {
    authorizeHeaders,
    async dispatch(method, request, incoming) {
      return (await authorizeHeaders(method, incoming))(request)
    },
    admit(method, incoming) {
      admitted.add(incoming)
      return limits?.countByAddress(method, incoming)
    },
  }
}

interface StartedCall {
  readonly method: DescMethod
  readonly incoming: IncomingCall
  readonly startMs: number
  /** uid of the caller, once it is known. */
  identity: string | undefined
  /** What the headers decided. */
  access: Authorization | undefined
}

/** Who calls what, and what they hold. */
interface AuthenticatedCaller {
  readonly requestedMethod: DescMethod
  readonly caller: Caller
  readonly grants: Grants
}

function unimplementedMethod({ name }: DescMethod): () => never {
  return () => {
    throw unimplemented(`this server does not offer ${name} yet`)
  }
}

function callerNotFound({ session }: Caller): ApiError {
  return unauthenticated(
    session === undefined
      ? 'the identity of this token does not exist any more'
      : 'the session that this token came of has ended; sign in again',
  )
}

/**
 * The request as its handler sees it. A class, so that the codec's signal, which is costly to make, is only made when a handler
 * asks for it.
 */
class HandledCall implements Call {
  readonly protocol: IncomingCall['protocol']
  readonly requestId: string
  readonly authorizationHeader: string | undefined
  readonly method: DescMethod
  readonly requestedMethod: DescMethod
  readonly request: Message
  readonly authorization: Authorization | undefined
  readonly #incoming: IncomingCall

  constructor(
    incoming: IncomingCall,
    {
      method,
      requestedMethod: called,
      request,
      authorization: access,
    }: Pick<Call, 'method' | 'requestedMethod' | 'request' | 'authorization'>,
  ) {
    this.protocol = incoming.protocol
    this.requestId = incoming.requestId
    this.authorizationHeader = incoming.authorizationHeader
    this.method = method
    this.requestedMethod = called
    this.request = request
    this.authorization = access
    this.#incoming = incoming
  }

  get address(): string {
    return this.#incoming.address
  }

  get ifMatch(): string | undefined {
    return this.#incoming.ifMatch
  }

  get idempotencyKey(): string | undefined {
    return this.#incoming.idempotencyKey
  }

  get record(): IncomingCall['record'] {
    return this.#incoming.record
  }

  get signal(): AbortSignal | undefined {
    return this.#incoming.signal
  }

  get replyHeaders(): IncomingCall['replyHeaders'] {
    return this.#incoming.replyHeaders
  }

  set replyHeaders(headers: IncomingCall['replyHeaders']) {
    this.#incoming.replyHeaders = headers
  }
}
