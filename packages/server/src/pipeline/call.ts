import type { CapabilitySet } from '@berth/contract/capabilities.ts'
import type {
  DescMessage,
  DescMethod,
  DescMethodUnary,
  DescService,
  Message,
  MessageInitShape,
  MessageShape,
} from '@bufbuild/protobuf'
import type { Authorization } from './authorization.ts'
import type { RequestRecord } from './request/request-record.ts'
import type { Warning } from './warnings.ts'

/** What an adapter knows of a request from its headers. */
export interface IncomingCall {
  readonly protocol: 'rest' | 'grpc'
  /** Names this request in the log and in internal errors. */
  readonly requestId: string
  /** The whole value of the Authorization header, not verified. */
  readonly authorizationHeader: string | undefined
  /** IP address that the request came from. */
  readonly address: string
  /** The headers or metadata of these names, as sent. */
  readonly ifMatch: string | undefined
  readonly idempotencyKey: string | undefined
  /** Another header of an HTTP request, by its lower-case name; absent for gRPC. */
  header?(name: string): string | undefined
  /** Aborted when the client disconnects or its deadline passes; absent if the adapter does not know. */
  readonly signal?: AbortSignal | undefined
  /** What is recorded of the request; undefined if nothing is. */
  readonly record?: RequestRecord | undefined
  /** The adapter sends responses in parts (response-parts.ts), each as soon as it is ready; others get them joined. */
  readonly acceptsParts?: boolean
  /** Headers or metadata of the response, of an error too; lower-case names. */
  replyHeaders?: Readonly<Record<string, string>> | undefined
  /** What the handler warns of; the adapter spells the fields. */
  warnings?: readonly Warning[] | undefined
  /** Set by the pipeline: rate limits count a request once, however many operations it runs. */
  isAddressCounted?: boolean
  isIdentityCounted?: boolean
}

/** The caller, as its token proves. */
export interface Caller {
  /** uid of the identity. */
  readonly identity: string
  /** The token is valid in these groups only (uids); undefined: wherever the identity is bound. */
  readonly scopes: readonly string[] | undefined
  /** The token grants at most these capabilities; undefined: all that the identity holds. */
  readonly capabilities: CapabilitySet | undefined
  /** Id of the client's session that the token belongs to and ends with; undefined for workloads. */
  readonly session: string | undefined
  /** `berth admin` issued the token on the server. */
  readonly isFromServer?: true
  /** All that a token of the registry's token endpoint is valid for; undefined for other tokens. */
  readonly registryScopes?: readonly RegistryScope[]
  /** Without a token, or with one that the registry's token endpoint issued without credentials. Not counted, not audited. */
  readonly isAnonymous?: true
}

/** As in Docker's token specification: `repository`, `acme/nginx`, `['pull']`. */
export interface RegistryScope {
  readonly type: string
  readonly name: string
  readonly actions: readonly string[]
}

/** The facts about one request that a handler may read. */
export interface Call extends IncomingCall {
  readonly method: DescMethod
  /** The method that the client called, for the audit log: another one than `method` if version 1 is mapped to it. */
  readonly requestedMethod: DescMethod
  readonly request: Message
  /** The proof that the caller is authorized. Undefined for open methods (ping, exchange). */
  readonly authorization: Authorization | undefined
}

/** Calls a method for a request of any protocol. Rejects with an ApiError; anything else is a bug. */
export type Dispatch = (method: DescMethod, request: Message, incoming: IncomingCall) => Promise<Message>

/** The handlers of one service; a method without one responds with UNIMPLEMENTED. */
export type Handlers<S extends DescService> = {
  readonly [K in keyof S['method']]?: (
    request: MessageShape<S['method'][K]['input']>,
    call: Call,
  ) => Promise<MessageShape<S['method'][K]['output']>>
}

/** A service and its handlers. */
export interface ServiceImplementation {
  readonly service: DescService
  readonly handlers: Readonly<Record<string, Handler | undefined>>
}

export type Handler = (request: Message, call: Call) => Promise<Message>

/** Calls a method for the authenticated caller, and authorizes the call like one from outside. */
export type InvokeMethod = <I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  request: MessageInitShape<I>,
) => Promise<MessageShape<O>>

/** The handler of a method of version 1 that is mapped to methods of newer services. It decides nothing: the invoked methods authorize. */
export type Translator = (
  request: Message,
  invoke: InvokeMethod,
  access: Pick<Authorization, 'grants'>,
) => Promise<Message>

/** A service and its translators. A method without one has a handler, or responds with UNIMPLEMENTED. */
export interface ServiceTranslation {
  readonly service: DescService
  readonly translators: Readonly<Record<string, Translator | undefined>>
  /** Maps the fields of newer warnings to the names of version 1. */
  readonly toV1Path?: (field: string) => string
}

/** Joins a service's descriptor with its handlers; the compiler checks every request and response type. */
export function implement<S extends DescService>(service: S, handlers: Handlers<S>): ServiceImplementation {
  return { service, handlers: handlers as Readonly<Record<string, Handler | undefined>> }
}
