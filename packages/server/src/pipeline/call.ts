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
import type { RequestRecord } from './request-record.ts'

/** What a codec knows of a request before anybody looked into it. */
export interface IncomingCall {
  readonly protocol: 'rest' | 'grpc'
  /** Names this request in the log and in internal errors. */
  readonly requestId: string
  /** The whole value of the Authorization header, not yet looked at. */
  readonly authorizationHeader: string | undefined
  /** IP address that the request came from. */
  readonly address: string
  /** The headers or metadata of these names, as sent. */
  readonly ifMatch: string | undefined
  readonly idempotencyKey: string | undefined
  /** Aborted when the caller went away or its deadline passed; absent where a codec cannot tell. */
  readonly signal?: AbortSignal | undefined
  /** What is recorded of the request; undefined if nothing is. */
  readonly record?: RequestRecord | undefined
  /** The codec sends answers in parts (parts.ts), each as soon as it is there; others are given them joined. */
  readonly acceptsParts?: boolean
  /** Headers or metadata that the answer is to have, an error too; lower-case names. */
  replyHeaders?: Readonly<Record<string, string>> | undefined
}

/** Who is asking, as proven by the token. */
export interface Caller {
  /** uid of the identity. */
  readonly identity: string
  /** The token holds in these groups only (uids); undefined: wherever the identity is bound. */
  readonly scopes: readonly string[] | undefined
  /** The token carries at most these capabilities; undefined: all the identity has. */
  readonly capabilities: CapabilitySet | undefined
  /** Id of the client's session that the token came of and ends with; undefined for workloads. */
  readonly session: string | undefined
  /** What a token of the registry's token endpoint holds for, and nothing else; undefined for all other tokens. */
  readonly registryScopes?: readonly RegistryScope[]
}

/** As Docker's token specification has it: `repository`, `acme/nginx`, `['pull']`. */
export interface RegistryScope {
  readonly type: string
  readonly name: string
  readonly actions: readonly string[]
}

/** The facts about one request that a handler may read: never a service, never the database. */
export interface Call extends IncomingCall {
  readonly method: DescMethod
  /** The method as it was called, which is another one where version 1 asks a newer method: what the audit log names. */
  readonly requestedMethod: DescMethod
  readonly request: Message
  /** What authorize() found. Absent on methods whose authorization is disabled (ping, exchange). */
  readonly authorization: Authorization | undefined
}

/** Calls a method for a request of any protocol (gateway/dispatch.ts). Rejects with an ApiError; anything else is a bug. */
export type Dispatch = (method: DescMethod, request: Message, incoming: IncomingCall) => Promise<Message>

/** The handlers of one service; a method left out answers UNIMPLEMENTED. */
export type Handlers<S extends DescService> = {
  readonly [K in keyof S['method']]?: (
    request: MessageShape<S['method'][K]['input']>,
    call: Call,
  ) => Promise<MessageShape<S['method'][K]['output']>>
}

/** A service and its handlers, as server.ts lists them. */
export interface ServiceImplementation {
  readonly service: DescService
  readonly handlers: Readonly<Record<string, Handler | undefined>>
}

export type Handler = (request: Message, call: Call) => Promise<Message>

/** Calls a method for a caller who is known already, and judges it as if it had been called from outside. */
export type InvokeMethod = <I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  request: MessageInitShape<I>,
) => Promise<MessageShape<O>>

/**
 * The handler of a method that is only another way to say what methods of newer services do. It decides nothing: whatever it
 * answers it has asked for.
 */
export type Translator = (
  request: Message,
  ask: InvokeMethod,
  access: Pick<Authorization, 'grants'>,
) => Promise<Message>

/** A service and its translators; a method left out is answered like any other, by a handler or with UNIMPLEMENTED. */
export interface ServiceTranslation {
  readonly service: DescService
  readonly translators: Readonly<Record<string, Translator | undefined>>
}

/** Joins a service's descriptor with its handlers; the compiler checks every request and response type. */
export function implement<S extends DescService>(service: S, handlers: Handlers<S>): ServiceImplementation {
  return { service, handlers: handlers as Readonly<Record<string, Handler | undefined>> }
}
