import { isDeepStrictEqual } from 'node:util'
import { isV1 } from '@berth/contract/schema-files.ts'
import { create, type DescMethod, type DescService, type Message } from '@bufbuild/protobuf'
import { aborted, unimplemented } from '../api/errors.ts'
import { fullMethodName } from '../api/method-name.ts'
import { limits } from '../config/limits.ts'
import { whenReady } from '../runtime/when-ready.ts'
import type { Authorization } from './authorization.ts'
import { type AccessRule, accessRuleOf, authorize, authorizeHeaders, requestedScope } from './authorize.ts'
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
import { limitClassOf } from './limits/limit-class.ts'
import { type Operation, StartedCall } from './operation.ts'
import type { Pipeline } from './pipeline.ts'
import { assignShare } from './request/request-context.ts'
import { joinParts } from './response-parts.ts'
import { renameWarningFields } from './warnings.ts'

/** RPC methods in the request pipeline, for REST and gRPC: what a method's options say is its operation. */

type StartedMethod = StartedCall<Authorization>

/** Runs a call whose headers are authorized, with its decoded message. */
export type AdmittedCall = (request: Message) => Promise<Message>

/**
 * Checks and authorizes a call by its headers, before its body is read. `pathScope`: what the path has in the place of the scope. Throws
 * code 7, 8 or 16. Synchronous if nothing has to be waited for.
 */
export type AuthorizeHeaders = (
  method: DescMethod,
  incoming: IncomingCall,
  pathScope?: string,
) => AdmittedCall | Promise<AdmittedCall>

/** What options of a method in the schema, and its service, make of it. */
export interface MethodOperation extends Operation<Authorization> {
  readonly method: DescMethod
  readonly rule: AccessRule
  readonly handler: Handler
  /** Of a method of version 1 that is mapped to newer methods. */
  readonly translate: Translator | undefined
  /** Maps the fields of warnings of the newer methods to the names of version 1. */
  readonly toV1Path: ServiceTranslation['toV1Path']
}

export interface MethodOptions {
  /** Every method of the contract. Throws for one whose options do not say who may call it, so the server does not start. */
  readonly methods: readonly DescMethod[]
  /** A method without a handler responds with UNIMPLEMENTED to callers who may call it. */
  readonly services: readonly ServiceImplementation[]
  /** Methods that invoke those above: they authenticate and count like every method, and the invoked methods authorize. */
  readonly translations: readonly ServiceTranslation[]
  /** Returns the caller of a request by its credentials. Throws code 16. */
  readonly authenticate: (incoming: IncomingCall) => Caller | Promise<Caller>
}

export interface MethodPipeline {
  readonly authorizeHeaders: AuthorizeHeaders
  /** `authorizeHeaders` and the call, for a message that is decoded already. */
  readonly dispatch: Dispatch
  readonly operationOf: (method: DescMethod) => MethodOperation
}

export function createMethodPipeline(pipeline: Pipeline, options: MethodOptions): MethodPipeline {
  const operations = methodOperations(options)
  const operationOf = (method: DescMethod): MethodOperation => {
    const operation = operations.get(method)
    if (operation === undefined) throw unimplemented(`${method.name} is not a method of this server`)
    return operation
  }

  const admit =
    (operation: MethodOperation, call: StartedMethod): AdmittedCall =>
    (request) =>
      pipeline.finish(call, () => respond(operation, call, request))

  const respond = async (
    operation: MethodOperation,
    call: StartedMethod,
    request: Message,
  ): Promise<Message> => {
    const { access, translate, toV1Path } = operation
    if (access === undefined) return operation.handler(request, new HandledCall(call, operation, request))
    // A body that came late counts for what its caller may do now (R12).
    const isStale = performance.now() - call.decidedMs > limits.grantsMaxAgeMs
    const current = isStale ? await reauthenticate(call) : call
    if (translate === undefined) return invoke(operation, current, request, current.proof)
    const response = await respondTranslated(translate, current, request)
    if (toV1Path !== undefined) renameWarningFields(current.incoming, toV1Path)
    return response
  }

  /** Authorizes a known caller by the message, unless the headers have `decided`, and calls the handler. */
  const invoke = (
    operation: MethodOperation,
    call: StartedMethod,
    request: Message,
    decided: Authorization | undefined,
  ): Promise<Message> =>
    pipeline.handle(
      call,
      () => requestedScope(operation.rule, request),
      () => {
        const authorization = decided ?? authorize(operation.rule, request, call.caller!, call.grants!)
        assignShare(authorization.authorized?.scope ?? '')
        return operation.handler(request, new HandledCall(call, operation, request, authorization))
      },
    )

  const respondTranslated = async (translate: Translator, call: StartedMethod, request: Message) => {
    let hasResponded = false
    const invokeMethod: InvokeMethod = async (method, init) => {
      // A client may take its time over the parts of a response, and lose rights meanwhile.
      const current = hasResponded ? await reauthenticateUnchanged(call) : call
      const operation = operationOf(method)
      return invoke(
        operation,
        current,
        create(method.input, init),
        undefined,
      ) as ReturnType<InvokeMethod> as never
    }
    const response = await translate(request, invokeMethod, { grants: call.grants! })
    if (call.incoming.acceptsParts !== true) return joinParts(response, () => call.incoming.signal)
    hasResponded = true
    return response
  }

  const reauthenticate = async (call: StartedMethod): Promise<StartedMethod> => {
    const current = new StartedCall<Authorization>(call.operation, call.incoming, call.pathScope)
    current.caller = await options.authenticate(call.incoming)
    current.grants = await pipeline.requireGrants(current.caller)
    return current
  }

  /** Throws if the rights of the caller changed: parts read with different rights would look like one list that no caller may see. */
  const reauthenticateUnchanged = async (call: StartedMethod): Promise<StartedMethod> => {
    const current = await reauthenticate(call)
    if (!isDeepStrictEqual(current.grants!.capabilitiesByScope, call.grants!.capabilitiesByScope))
      throw aborted('the rights of the caller have changed since the response started')
    return current
  }

  const authorizeHeaders: AuthorizeHeaders = (method, incoming, pathScope) => {
    const operation = operationOf(method)
    return whenReady(pipeline.start(operation, incoming, pathScope), (call) => admit(operation, call))
  }
  return {
    authorizeHeaders,
    async dispatch(method, request, incoming) {
      return (await authorizeHeaders(method, incoming))(request)
    },
    operationOf,
  }
}

function methodOperations({
  methods,
  services,
  translations,
  authenticate,
}: MethodOptions): ReadonlyMap<DescMethod, MethodOperation> {
  const handlers = new Map<DescMethod, Handler>()
  const translators = new Map<DescMethod, Translator>()
  const v1Paths = new Map(translations.map(({ service, toV1Path }) => [service, toV1Path]))
  for (const { service, handlers: byName } of services) addMethods(handlers, service, byName)
  for (const { service, translators: byName } of translations) addMethods(translators, service, byName)
  return new Map(
    methods.map((method): [DescMethod, MethodOperation] => {
      const rule = accessRuleOf(method)
      return [
        method,
        {
          name: fullMethodName(method),
          limitClass: limitClassOf(method),
          access:
            rule.kind === 'open'
              ? undefined
              : {
                  decidedBy: 'grants',
                  authenticate,
                  authorize: (caller, grants, pathScope) => authorizeHeaders(rule, pathScope, caller, grants),
                },
          isV1: isV1(method.parent),
          method,
          rule,
          handler: handlers.get(method) ?? unimplementedMethod(method),
          translate: translators.get(method),
          toV1Path: v1Paths.get(method.parent),
        },
      ]
    }),
  )
}

function addMethods<T>(
  found: Map<DescMethod, T>,
  service: DescService,
  byName: Readonly<Record<string, T | undefined>>,
): void {
  for (const method of service.methods) {
    const value = byName[method.localName]
    if (value !== undefined) found.set(method, value)
  }
}

function unimplementedMethod({ name }: DescMethod): Handler {
  return async () => {
    throw unimplemented(`this server does not implement ${name}`)
  }
}

/** The request as its handler sees it. A class, so that the signal of the codec, which is costly, is only created if a handler reads it. */
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
    { operation, incoming }: StartedMethod,
    { method }: MethodOperation,
    request: Message,
    authorization?: Authorization,
  ) {
    this.protocol = incoming.protocol
    this.requestId = incoming.requestId
    this.authorizationHeader = incoming.authorizationHeader
    this.method = method
    this.requestedMethod = (operation as MethodOperation).method
    this.request = request
    this.authorization = authorization
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

  get warnings(): IncomingCall['warnings'] {
    return this.#incoming.warnings
  }

  set warnings(warnings: IncomingCall['warnings']) {
    this.#incoming.warnings = warnings
  }
}
