/** Entry of the generated table for one API method, and the types of its callers. */

export interface Operation {
  /** Kind of method, which determines the arguments: `get(uid)`, `list(filter)`, `create(parent, body)`, `update(uid, patch)`, `request(everything)`. */
  readonly kind: 'get' | 'list' | 'create' | 'update' | 'delete' | 'request'
  readonly verb: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Path template: `{uid}` is a value, `{parent?}` one that can be empty. */
  readonly path: string
  /** Whether parameters that are not in the path are sent in the JSON body; otherwise in the query. */
  readonly body?: true
  /** For a list: the field of the response that contains the items. */
  readonly items?: string
  /** When a retry is safe: with an idempotency key, or with the version of the resource. */
  readonly repeat: 'always' | 'with-key' | 'with-match' | 'never'
}

export interface CallOptions {
  /** Aborts the call, including its retries. */
  readonly signal?: AbortSignal | undefined
  /** Token to use instead of the client's. */
  readonly token?: string | undefined
}

export interface ChangeOptions extends CallOptions {
  /** The `etag` that was read. The call fails with status 412 if the resource has changed. */
  readonly ifMatch?: string | undefined
}

export interface CreateOptions extends ChangeOptions {
  /**
   * Idempotency key: within 24 hours, creates of the same caller with the same key run once, and later ones get the first response. By default
   * each call generates a key; set one to repeat a create over several calls or runs.
   */
  readonly idempotencyKey?: string | undefined
}

export interface UpdateOptions extends ChangeOptions {
  /** Paths to update, for example `description` or `claimMatch.subject`; `*` means all. Default: the fields of the patch. */
  readonly updateMask?: readonly string[] | undefined
}

/** A response with its metadata. */
export interface WithResponse<T> {
  readonly value: T
  readonly status: number
  /** Version of the resource, for `ifMatch`; undefined if the response is not a single resource. */
  readonly etag: string | undefined
  /** ID of the request in the server's log. */
  readonly requestId: string | undefined
  readonly headers: Headers
}

/** Resolves to the value when awaited; `withResponse()` resolves to the value and its metadata. Fails with a BerthError, or with the reason of the signal. */
export interface Reply<T> extends Promise<T> {
  withResponse(): Promise<WithResponse<T>>
}
