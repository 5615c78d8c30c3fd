/** What the generated table says of one method of the API, and what its callers give and get. */

export interface Operation {
  /** Decides the arguments: `get(uid)`, `list(filter)`, `create(parent, body)`, `update(uid, patch)`, `request(everything)`. */
  readonly kind: 'get' | 'list' | 'create' | 'update' | 'delete' | 'request'
  readonly verb: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** `{uid}` stands for a value, `{parent?}` for one that may be empty. */
  readonly path: string
  /** Of a request: what is not in the path goes into the JSON body; otherwise into the query. */
  readonly body?: true
  /** Of a list: the member of the answer that holds the items. */
  readonly items?: string
  /** When sending it again can do no harm: with an idempotency key, or with the version that is to be changed. */
  readonly repeat: 'always' | 'with-key' | 'with-match' | 'never'
}

export interface CallOptions {
  /** Ends the call, its retries included. */
  readonly signal?: AbortSignal | undefined
  /** In place of the client's own token. */
  readonly token?: string | undefined
}

export interface CreateOptions extends CallOptions {
  /**
   * A create with a key of the same caller happens once in 24 hours, however often it is sent; later ones get the first answer.
   * Each call makes a key of its own; give one to repeat a create over several calls or runs.
   */
  readonly idempotencyKey?: string | undefined
}

export interface DeleteOptions extends CallOptions {
  /** The `etag` that was read: fails with status 412 when the resource was changed since. */
  readonly ifMatch?: string | undefined
}

export interface UpdateOptions extends DeleteOptions {
  /** Paths that change, such as `description` or `claimMatch.subject`; `*` is all. Default: the members of the patch. */
  readonly updateMask?: readonly string[] | undefined
}

/** An answer with what came beside it. */
export interface Answered<T> {
  readonly value: T
  readonly status: number
  /** The version of the resource, for `ifMatch`; undefined where the answer is no single resource. */
  readonly etag: string | undefined
  /** Names the request in the server's log. */
  readonly requestId: string | undefined
  readonly headers: Headers
}

/** The answer itself when awaited; all that came with it by `withResponse()`. Fails with a BerthError, or as the signal says. */
export interface Reply<T> extends Promise<T> {
  withResponse(): Promise<Answered<T>>
}
