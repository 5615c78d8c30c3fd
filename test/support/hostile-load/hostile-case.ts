/** The shape of the catalog: one case is a hostile request, or a burst of them, and what the server may answer. */

/**
 * Who sends the requests: without a token, with the token of an identity without a role, of an identity that may push, or of the
 * operator, for what no other caller may do.
 */
export type Caller = 'anonymous' | 'no role' | 'pusher' | 'operator'

const allCallers: readonly Caller[] = ['anonymous', 'no role', 'pusher']

/** What the requests of the catalog refer to on the server that is attacked. */
export interface Target {
  readonly url: string
  readonly host: string
  readonly organization: string
  /** The group in which the pusher holds its roles. */
  readonly group: string
  readonly identity: string
  readonly role: string
  readonly repo: string
  /** Path of a repository below /v2/ that has an image with the tag `latest`. */
  readonly repoPath: string
  readonly imageDigest: string
  readonly configDigest: string
  /** Tokens for the API and for the registry. */
  readonly tokens: Readonly<
    Record<Exclude<Caller, 'anonymous'>, { readonly api: string; readonly registry: string }>
  >
  /** `Bearer <token>` of a caller; undefined without a token. */
  bearer(caller: Caller, audience?: 'api' | 'registry'): string | undefined
}

/** Makes the bytes of a body, when the case runs. */
export type Body = (target: Target) => Uint8Array

/** Headers; those that are undefined are not sent. */
export type Headers = Readonly<Record<string, string | undefined>>

interface Repetition {
  /** Requests in all. */
  readonly times?: number
  /** How many of them at a time, on each connection. */
  readonly parallel?: number
  /** Over so many connections. */
  readonly connections?: number
  /** Time in ms after which requests without a reply are given up. */
  readonly waitMs?: number
}

/** Request bytes that may wait in memory, in MiB: of one connection, and of all. */
export const connectionBudgetMib = 40
export const processBudgetMib = 128

/** Well-formed requests of HTTP/1.1, or of HTTP/2 where `http2` is set. */
export interface HttpAttack extends Repetition {
  readonly kind: 'http'
  readonly http2?: boolean
  readonly method: string
  readonly path: string
  readonly headers?: Headers
  readonly body?: Body | undefined
  /** Sends the body without its last bytes and waits. */
  readonly missingBytes?: number
}

/** gRPC calls by Node's own HTTP/2 client. */
export interface GrpcAttack extends Repetition {
  readonly kind: 'grpc'
  /** `<service>/<method>` */
  readonly method: string
  readonly headers?: Headers
  /** All bytes of the stream: frames with their prefixes. */
  readonly body: Body
  /** The client keeps its side of the stream open. */
  readonly staysOpen?: boolean
}

/** Bytes on TCP connections. */
export interface RawAttack {
  readonly kind: 'raw'
  readonly connections?: number
  /** How often the connections are opened anew, one round after the other. */
  readonly rounds?: number
  readonly first: Body
  /** Written after the first bytes, again and again, as fast as the server reads or every `everyMs`. */
  readonly next?: {
    readonly bytes: (at: number) => Uint8Array
    readonly times: number
    readonly everyMs?: number
  }
  /** Stays connected for so long after the last byte, unless the server closes. */
  readonly holdMs: number
  /** Does not read what the server sends. */
  readonly neverReads?: boolean
}

export type Attack = HttpAttack | GrpcAttack | RawAttack

/** Names of replies: an HTTP status, a gRPC code, `closed`, `reset`, `open`, `no reply`, `goaway <code>`. */
export type Reply = string

export interface HostileCase {
  readonly name: string
  readonly callers: readonly Caller[]
  /** Runs in `npm test` too. */
  readonly quick: boolean
  /**
   * Memory in MiB that the server may spend on callers that it does not refuse, such as for bodies that it is asked to read. Callers that
   * are refused cost none.
   */
  readonly budgetMib: number
  attack(target: Target, caller: Caller): Attack
  /** Replies that are right for a caller. */
  readonly replies: Readonly<Partial<Record<Caller, readonly Reply[]>>>
}

/** What a case has besides its attack. */
export interface CaseOptions {
  readonly callers?: readonly Caller[]
  readonly quick?: boolean
  readonly budgetMib?: number
  readonly replies?: HostileCase['replies']
}

export function hostileCase(
  name: string,
  attack: HostileCase['attack'],
  { callers = allCallers, quick = false, budgetMib = 0, replies = {} }: CaseOptions = {},
): HostileCase {
  return { name, attack, callers, quick, budgetMib, replies }
}

/** Every server may answer so when it protects itself. */
const protecting: readonly Reply[] = [
  '429',
  '503',
  '413',
  '431',
  'RESOURCE_EXHAUSTED',
  'UNAVAILABLE',
  'closed',
  'reset',
]

/** The memory in MiB that a caller may cost. */
export function budgetMibOf({ callers, budgetMib }: HostileCase, caller: Caller): number {
  return caller === 'pusher' || caller === 'operator' || callers.length === 1 ? budgetMib : 0
}

/**
 * Which of the replies are wrong for a caller; a case that names none accepts every reply but a failure of the server, and silence. The
 * gRPC code INTERNAL is what the protocol asks for where a message cannot be read; failures behind it are found in the log.
 */
export function wrongReplies({ replies }: HostileCase, caller: Caller, seen: Iterable<Reply>): Reply[] {
  const right = replies[caller]
  return [...seen].filter((reply) => {
    if (/^(5(?!03|04)..|UNKNOWN|no reply)$/.test(reply)) return !right?.includes(reply)
    return (
      right !== undefined &&
      !right.includes(reply) &&
      !protecting.includes(reply) &&
      !reply.startsWith('goaway')
    )
  })
}
