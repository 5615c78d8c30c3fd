import { isDeepStrictEqual } from 'node:util'
import { create, type DescMethod, type Message } from '@bufbuild/protobuf'
import type { Access, Grants } from '../core/allowed.ts'
import type {
  Ask,
  Call,
  Caller,
  Dispatch,
  Handler,
  Incoming,
  ServiceImplementation,
  ServiceTranslation,
  Translator,
} from '../core/call.ts'
import { ApiError, aborted, Code, isAudited, unauthenticated, unimplemented } from '../core/errors.ts'
import { limits as sharedLimits } from '../core/limits.ts'
import { joined } from '../core/parts.ts'
import { useShareOf } from '../core/request-context.ts'
import { asApiError } from '../core/storage-faults.ts'
import type { Tracer } from '../core/tracer.ts'

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
  ) => Access | undefined
  readonly authorize: (rule: Rule, request: Message, caller: Caller, grants: Grants) => Access
  /** Returns the scope that a request names, undefined if it names none. */
  readonly scopeOf: (rule: Rule, request: Message) => string | undefined
  /** Asked once per request: before its token is looked at, and when the caller is known. Each rejects with code 8. */
  readonly limits?:
    | {
        byAddress(method: DescMethod, incoming: Incoming): Promise<void> | undefined
        byIdentity(method: DescMethod, incoming: Incoming, identity: string): Promise<void> | undefined
      }
    | undefined
  readonly tracer?: Tracer | undefined
  /** Told of each call that a known caller was denied (code 7). */
  readonly denied?: (call: DeniedCall, why: ApiError) => void
  /** Told of each call that ended, with its RPC code, how long it took and, where it is known, the identity that called. */
  readonly observe: (
    method: DescMethod,
    incoming: Incoming,
    code: Code,
    ms: number,
    identity: string | undefined,
  ) => void
}

export interface DeniedCall {
  /** The method as it was called; in version 1 a newer method may decide. */
  readonly called: DescMethod
  /** The scope that the request names; undefined where it names none, or its message was not decoded. */
  readonly scope: string | undefined
  readonly incoming: Incoming
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
  readonly admit: (method: DescMethod, incoming: Incoming) => Promise<void> | undefined
}

export type AuthorizeHeaders = (
  method: DescMethod,
  incoming: Incoming,
  pathScope?: string,
) => AdmittedCall | Promise<AdmittedCall>

export function requestPipeline<Rule>(options: PipelineOptions<Rule>): RequestPipeline {
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
  const counted = new WeakSet<Incoming>()
  const admitted = new WeakSet<Incoming>()
  const isFirstLook = (incoming: Incoming) => {
    const first = !counted.has(incoming)
    counted.add(incoming)
    return first
  }
  /** Synchronous when the answer is remembered and nothing is counted; waiting for nothing would cost a turn. */
  const identify = (method: DescMethod, incoming: Incoming): Caller | Promise<Caller> =>
    limits === undefined || !isFirstLook(incoming)
      ? options.authenticate(incoming.authorization)
      : identifyCounting(limits, method, incoming)
  const identifyCounting = async (
    { byAddress, byIdentity }: NonNullable<typeof limits>,
    method: DescMethod,
    incoming: Incoming,
  ) => {
    if (!admitted.has(incoming)) await byAddress(method, incoming)
    const caller = await options.authenticate(incoming.authorization)
    await byIdentity(method, incoming, caller.identity)
    return caller
  }
  /** Open methods know no caller before their handler does. */
  const admitOpen = (method: DescMethod, incoming: Incoming) =>
    limits !== undefined && isFirstLook(incoming) ? limits.byAddress(method, incoming) : undefined

  /** Reports the end of a step that fails, and fails with it. */
  const failed = (call: StartedCall, failure: unknown, startMs: number): never => {
    // Anything but an ApiError or the fault of a disk is a bug: the codec logs it and answers with code 13.
    const { code } = asApiError(failure, call.incoming.requestId)
    options.observe(call.method, call.incoming, code, performance.now() - startMs, call.identity)
    throw failure
  }
  const reportDenied = (denied: Omit<DeniedCall, 'incoming'>, incoming: Incoming, failure: unknown) => {
    if (failure instanceof ApiError && isAudited(failure)) options.denied?.({ ...denied, incoming }, failure)
  }

  const authorizeCall = (
    call: StartedCall,
    pathScope: string | undefined,
    caller: Caller,
    grants: Grants | undefined,
  ): AdmittedCall => {
    if (grants === undefined) throw goneWith(caller)
    const { method, incoming } = call
    const { rule, translate } = entries.get(method)!
    try {
      const access = options.authorizeHeaders(rule, pathScope, caller, grants)
      useShareOf(access?.allowed?.scope ?? '')
      const known: Known = { called: method, caller, grants }
      call.access = translate === undefined ? access : undefined
      return admittedCall(call, known)
    } catch (failure) {
      reportDenied({ called: method, scope: pathScope, caller }, incoming, failure)
      throw failure
    }
  }

  const open = (call: StartedCall, pathScope: string | undefined): AdmittedCall | Promise<AdmittedCall> => {
    const { method, incoming } = call
    const entry = entries.get(method)
    if (entry === undefined) throw unimplemented(`${method.name} is not a method of this server`)
    if (options.isOpen(entry.rule)) {
      const admitting = admitOpen(method, incoming)
      const admitted = admittedCall(call, undefined)
      return admitting === undefined ? admitted : admitting.then(() => admitted)
    }
    const withCaller = (caller: Caller): AdmittedCall | Promise<AdmittedCall> => {
      call.identity = caller.identity
      useShareOf(caller.identity)
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
  const admittedCall = (call: StartedCall, known: Known | undefined): AdmittedCall => {
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
    decided: Known | undefined,
    isStale: boolean,
  ): Promise<Message> => {
    const { handler, translate } = entries.get(method)!
    if (decided === undefined)
      return (handler ?? notOffered(method))(
        request,
        new HandledCall(incoming, { method, called: method, request, access: undefined }),
      )
    // A body that came late counts for what its caller may do now (R12).
    const known = isStale ? await knownAgain(incoming, method) : decided
    if (translate === undefined)
      return callHandler(method, request, incoming, known, isStale ? undefined : access)
    let answered = false
    const ask: Ask = async (asked, init) => {
      // A client may take its time over the parts of an answer, and lose what it may read meanwhile.
      const asking = answered ? await knownUnchanged(incoming, known) : known
      return callHandler(
        asked,
        create(asked.input, init),
        incoming,
        asking,
        undefined,
      ) as ReturnType<Ask> as never
    }
    const answer = await translate(request, ask, known)
    if (incoming.takesParts !== true) return joined(answer, () => incoming.signal)
    answered = true
    return answer
  }

  const knownAgain = async ({ authorization }: Incoming, called: DescMethod): Promise<Known> => {
    const caller = await options.authenticate(authorization)
    const grants = await options.readGrants(caller)
    if (grants === undefined) throw goneWith(caller)
    return { called, caller, grants }
  }

  /** Throws if the rights of the caller changed: parts read with different rights would look like one list that no caller may see. */
  const knownUnchanged = async (incoming: Incoming, before: Known): Promise<Known> => {
    const known = await knownAgain(incoming, before.called)
    if (!isDeepStrictEqual(known.grants.holdings, before.grants.holdings))
      throw aborted('what the caller may do has changed since the answer began')
    return known
  }

  /** Authorizes a known caller, unless its `decided` access is known as well, and calls the handler. */
  const callHandler = async (
    method: DescMethod,
    request: Message,
    incoming: Incoming,
    { called, caller, grants }: Known,
    decided: Access | undefined,
  ) => {
    const { rule, handler } = entries.get(method)!
    try {
      const access = decided ?? options.authorize(rule, request, caller, grants)
      useShareOf(access.allowed?.scope ?? '')
      return await (handler ?? notOffered(method))(
        request,
        new HandledCall(incoming, { method, called, request, access }),
      )
    } catch (failure) {
      reportDenied({ called, scope: options.scopeOf(rule, request), caller }, incoming, failure)
      throw failure
    }
  }

  const decide: AuthorizeHeaders = (method, incoming, pathScope) => {
    const startMs = performance.now()
    const call: StartedCall = { method, incoming, startMs, identity: undefined, access: undefined }
    try {
      const opened = open(call, pathScope)
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
      return limits?.byAddress(method, incoming)
    },
  }
}

interface StartedCall {
  readonly method: DescMethod
  readonly incoming: Incoming
  readonly startMs: number
  /** uid of the caller, once it is known. */
  identity: string | undefined
  /** What the headers decided. */
  access: Access | undefined
}

/** Who calls what, and what they hold. */
interface Known {
  readonly called: DescMethod
  readonly caller: Caller
  readonly grants: Grants
}

function notOffered({ name }: DescMethod): () => never {
  return () => {
    throw unimplemented(`this server does not offer ${name} yet`)
  }
}

function goneWith({ session }: Caller): ApiError {
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
  readonly protocol: Incoming['protocol']
  readonly requestId: string
  readonly authorization: string | undefined
  readonly method: DescMethod
  readonly called: DescMethod
  readonly request: Message
  readonly access: Access | undefined
  readonly #incoming: Incoming

  constructor(
    incoming: Incoming,
    { method, called, request, access }: Pick<Call, 'method' | 'called' | 'request' | 'access'>,
  ) {
    this.protocol = incoming.protocol
    this.requestId = incoming.requestId
    this.authorization = incoming.authorization
    this.method = method
    this.called = called
    this.request = request
    this.access = access
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

  get record(): Incoming['record'] {
    return this.#incoming.record
  }

  get signal(): AbortSignal | undefined {
    return this.#incoming.signal
  }

  get replyHeaders(): Incoming['replyHeaders'] {
    return this.#incoming.replyHeaders
  }

  set replyHeaders(headers: Incoming['replyHeaders']) {
    this.#incoming.replyHeaders = headers
  }
}
