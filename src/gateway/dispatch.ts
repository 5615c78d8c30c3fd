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
import { ApiError, aborted, Code, unauthenticated, unimplemented } from '../core/errors.ts'
import { joined } from '../core/parts.ts'

/**
 * The waist. REST and gRPC turn bytes into a message and call `dispatch`; it authenticates, authorizes and calls the handler,
 * in that order (AIP-211), for every protocol the same.
 */

export interface WaistOptions<Rule> {
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
  readonly authorize: (rule: Rule, request: Message, caller: Caller, grants: Grants) => Access
  /** Asked once per request: before its token is looked at, and when the caller is known. Each rejects with code 8. */
  readonly limits?:
    | {
        byAddress(method: DescMethod, incoming: Incoming): Promise<void> | undefined
        byIdentity(method: DescMethod, incoming: Incoming, identity: string): Promise<void> | undefined
      }
    | undefined
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
  /** What was asked, and the method as it was called: another one where version 1 asked. */
  readonly method: DescMethod
  readonly called: DescMethod
  readonly request: Message
  readonly incoming: Incoming
  readonly caller: Caller
}

export interface Waist {
  readonly dispatch: Dispatch
  /** Rate limits and the token alone, for codecs that look at them before they read the rest of a request. Throws code 8 or 16. */
  readonly authenticate: (method: DescMethod, incoming: Incoming) => void | Promise<void>
  /** Counts a call for its address alone, once, before anybody knows whether it needs a token. Throws code 8. */
  readonly admit: (method: DescMethod, incoming: Incoming) => Promise<void> | undefined
}

export function waist<Rule>(options: WaistOptions<Rule>): Waist {
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

  const call = async (
    method: DescMethod,
    request: Message,
    incoming: Incoming,
    who: { identity: string | undefined },
  ): Promise<Message> => {
    const entry = entries.get(method)
    if (entry === undefined) throw unimplemented(`${method.name} is not a method of this server`)
    const { rule, handler, translate } = entry
    if (options.isOpen(rule)) {
      const admitting = admitOpen(method, incoming)
      if (admitting !== undefined) await admitting
      return (handler ?? notOffered(method))(
        request,
        new HandledCall(incoming, { method, called: method, request, access: undefined }),
      )
    }
    const identified = identify(method, incoming)
    const caller = identified instanceof Promise ? await identified : identified
    who.identity = caller.identity
    const found = options.readGrants(caller)
    const grants = found instanceof Promise ? await found : found
    if (grants === undefined) throw goneWith(caller)
    const known: Known = { called: method, caller, grants }
    if (translate === undefined) return judged(method, request, incoming, known)
    let answered = false
    const ask: Ask = async (asked, init) => {
      // A client may take its time over the parts of an answer, and lose what it may read meanwhile.
      const asking = answered ? await knownAgain(incoming, known) : known
      return judged(asked, create(asked.input, init), incoming, asking) as ReturnType<Ask> as never
    }
    const answer = await translate(request, ask, known)
    if (incoming.takesParts !== true) return joined(answer, () => incoming.signal)
    answered = true
    return answer
  }

  /** Parts that were read with different rights would be a list of something that nobody may see, and look whole. */
  const knownAgain = async ({ authorization }: Incoming, before: Known): Promise<Known> => {
    const caller = await options.authenticate(authorization)
    const grants = await options.readGrants(caller)
    if (grants === undefined) throw goneWith(caller)
    if (!isDeepStrictEqual(grants.holdings, before.grants.holdings))
      throw aborted('what the caller may do has changed since the answer began')
    return { called: before.called, caller, grants }
  }

  /** Authorizes a known caller and calls the handler. */
  const judged = async (method: DescMethod, request: Message, incoming: Incoming, known: Known) => {
    const { rule, handler } = entries.get(method)!
    const { called, caller, grants } = known
    try {
      const access = options.authorize(rule, request, caller, grants)
      return await (handler ?? notOffered(method))(
        request,
        new HandledCall(incoming, { method, called, request, access }),
      )
    } catch (failure) {
      if (failure instanceof ApiError && failure.code === Code.PERMISSION_DENIED)
        options.denied?.({ method, called, request, incoming, caller }, failure)
      throw failure
    }
  }

  return {
    async dispatch(method, request, incoming) {
      const startMs = performance.now()
      const who = { identity: undefined }
      try {
        const reply = await call(method, request, incoming, who)
        options.observe(method, incoming, Code.OK, performance.now() - startMs, who.identity)
        return reply
      } catch (failure) {
        // What is no ApiError is a bug: the codec logs it and answers with code 13.
        const code = failure instanceof ApiError ? failure.code : Code.INTERNAL
        options.observe(method, incoming, code, performance.now() - startMs, who.identity)
        throw failure
      }
    },

    authenticate(method, incoming) {
      const entry = entries.get(method)
      if (entry === undefined) return undefined
      if (options.isOpen(entry.rule)) return admitOpen(method, incoming)
      const known = identify(method, incoming)
      return known instanceof Promise ? known.then(() => undefined) : undefined
    },

    admit(method, incoming) {
      admitted.add(incoming)
      return limits?.byAddress(method, incoming)
    },
  }
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
