import { grpcFrame } from './bytes.ts'
import {
  type Body,
  type Caller,
  type CaseOptions,
  type GrpcAttack,
  type HostileCase,
  type HttpAttack,
  hostileCase,
  type RawAttack,
  type Reply,
  type Target,
} from './hostile-case.ts'

/** Cases by the protocol that they speak. */

/** A part of an attack, perhaps made for the target. */
type PerTarget<T> = T | ((target: Target, caller: Caller) => T)

function resolve<T>(value: PerTarget<T>, target: Target, caller: Caller): T {
  return typeof value === 'function'
    ? (value as (target: Target, caller: Caller) => T)(target, caller)
    : value
}

export type HttpOptions = CaseOptions &
  Partial<Omit<HttpAttack, 'kind' | 'method' | 'path' | 'body' | 'headers'>>

/** What an API that asks for a role says to callers without one, before it looks at what they sent. */
const refusedByStatus: HostileCase['replies'] = { anonymous: ['401'], 'no role': ['403'] }
export const refusedByCode: HostileCase['replies'] = {
  anonymous: ['UNAUTHENTICATED'],
  'no role': ['PERMISSION_DENIED'],
}

/** An HTTP request with a body and headers of its own. */
export function http(
  name: string,
  request: `${string} ${string}` | ((target: Target, caller: Caller) => string),
  body: Body | undefined,
  headers: PerTarget<HttpAttack['headers']> = {},
  options: HttpOptions = {},
): HostileCase {
  return hostileCase(
    name,
    (target, caller) => {
      const [method = '', path = ''] = splitOnce(resolve<string>(request, target, caller))
      return { ...options, kind: 'http', method, path, headers: resolve(headers, target, caller) ?? {}, body }
    },
    options,
  )
}

function splitOnce(request: string): [string, string] {
  const at = request.indexOf(' ')
  return [request.slice(0, at), request.slice(at + 1)]
}

/** A call of the REST API, with the token of the caller. */
export function rest(
  name: string,
  request: `${string} ${string}` | ((target: Target) => string),
  body?: Body,
  { type = 'application/json', ...options }: HttpOptions & { readonly type?: string } = {},
): HostileCase {
  const headers = (target: Target, caller: Caller) => ({
    authorization: target.bearer(caller),
    ...(body && { 'content-type': type }),
  })
  return http(name, request, body, headers, { replies: refusedByStatus, ...options })
}

/** A request to the registry, with the registry's token of the caller. `path` is below the attacked repository. */
export function oci(
  name: string,
  method: string,
  path: PerTarget<string>,
  body?: Body,
  { headers = {}, ...options }: HttpOptions & { readonly headers?: HttpAttack['headers'] } = {},
): HostileCase {
  return http(
    name,
    (target, caller) => `${method} /v2/${target.repoPath}/${resolve(path, target, caller)}`,
    body,
    (target, caller) => ({ authorization: target.bearer(caller, 'registry'), ...headers }),
    { replies: refusedByStatus, ...options },
  )
}

/** A form, as browsers and OAuth clients send it. */
export function form(
  name: string,
  path: string,
  body: Body,
  options: HttpOptions & { readonly headers?: HttpAttack['headers'] } = {},
): HostileCase {
  const { headers = {}, ...more } = options
  const type = { 'content-type': 'application/x-www-form-urlencoded', ...headers }
  return http(name, `POST ${path}`, body, type, { callers: ['anonymous'], ...more })
}

export type GrpcOptions = CaseOptions &
  Partial<Omit<GrpcAttack, 'kind' | 'method' | 'body'>> & {
    /** Compressed as a whole with gzip: the message is compressed already. */
    readonly gzip?: boolean
    /** All bytes of the stream, in place of one message. */
    readonly stream?: boolean
  }

/** A gRPC call with the token of the caller. */
export function grpc(
  name: string,
  method: string,
  message: Body,
  { gzip = false, stream = false, headers: more = {}, ...options }: GrpcOptions = {},
): HostileCase {
  return hostileCase(
    name,
    (target, caller) => ({
      ...options,
      kind: 'grpc',
      method,
      headers: { authorization: target.bearer(caller), ...(gzip && { 'grpc-encoding': 'gzip' }), ...more },
      body: stream ? message : grpcFrame(message, { compressed: gzip }),
    }),
    { replies: refusedByCode, ...options },
  )
}

export type RawOptions = CaseOptions & Partial<Omit<RawAttack, 'kind' | 'first'>>

/** Bytes on connections of their own. Such a client never shows a token, unless it says so. */
export function raw(name: string, first: Body, options: RawOptions = {}): HostileCase {
  const { holdMs = 300 } = options
  return hostileCase(name, () => ({ ...options, kind: 'raw', first, holdMs }), {
    callers: ['anonymous'],
    ...options,
  })
}

export function replies(
  anonymous: readonly Reply[],
  noRole: readonly Reply[] = anonymous,
): HostileCase['replies'] {
  return { anonymous, 'no role': noRole }
}
