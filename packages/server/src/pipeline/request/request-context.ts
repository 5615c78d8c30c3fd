import { AsyncLocalStorage } from 'node:async_hooks'
import type { ApiError } from '../../api/errors.ts'
import { rootOf } from '../../api/uid.ts'

/**
 * The request that the running code belongs to, without being passed along: whose share of the database connections it uses, and
 * whether its caller still waits for the response. Code without a context belongs to a background job or to the operator's commands.
 */
export class RequestContext {
  /** Whose share of the database connections the request uses: uid of an organization or person, '' until it is known. */
  share = ''
  /** The organization that the request names, while its caller is not known yet; '' for none. */
  named = ''
  /** Root of the rows that this part of the request reads, if it is another one. It may be on another server of a distributed database. */
  readonly rowsOf: string
  /** The whole request: a part is aborted with it. */
  readonly #request: RequestContext
  #reason: ApiError | undefined = undefined
  #listeners: Set<() => void> | undefined = undefined
  #controller: AbortController | undefined = undefined

  constructor(whole?: RequestContext, rowsOf = '') {
    this.rowsOf = rowsOf
    this.#request = whole === undefined ? this : whole.#request
    if (whole === undefined) return
    this.share = whole.share
    this.named = whole.named
  }

  /** Why the request was aborted; undefined while its caller waits. */
  get aborted(): ApiError | undefined {
    return this.#request.#reason
  }

  /** Created on demand: a controller costs more than the rest of the context. */
  get signal(): AbortSignal {
    const request = this.#request
    if (request.#controller === undefined) {
      request.#controller = new AbortController()
      if (request.#reason !== undefined) request.#controller.abort(request.#reason)
    }
    return request.#controller.signal
  }

  /** Drops the queued work of the request and cancels its running statement. Only the first reason counts. */
  abort(reason: ApiError): void {
    const request = this.#request
    if (request.#reason !== undefined) return
    request.#reason = reason
    request.#controller?.abort(reason)
    for (const listener of [...(request.#listeners ?? [])]) listener()
  }

  /** Throws the reason if the request was aborted. */
  throwIfAborted(): void {
    const { aborted } = this
    if (aborted !== undefined) throw aborted
  }

  /** Calls `listener` when the request is aborted later, until the returned function is called. */
  onAbort(listener: () => void): () => void {
    const request = this.#request
    request.#listeners ??= new Set()
    request.#listeners.add(listener)
    return () => request.#listeners?.delete(listener)
  }
}

const storage = new AsyncLocalStorage<RequestContext>()

/** Runs `work`, and everything that it starts, as a part of the request. */
export function runInContext<T>(context: RequestContext, work: () => T): T {
  return storage.run(context, work)
}

/** Undefined outside of requests. */
export function currentContext(): RequestContext | undefined {
  return storage.getStore()
}

/** Counts the current request for the organization that `uid` is in; '' is in none and changes nothing. */
export function assignShare(uid: string): void {
  const context = storage.getStore()
  if (context !== undefined && uid !== '') context.share = rootOf(uid)
}

/**
 * Names the organization that the current request asks for before its caller is known: it gets its part of the share of these callers.
 * Changes nothing for a known caller.
 */
export function nameShare(uid: string): void {
  const context = storage.getStore()
  if (context !== undefined && uid !== '') context.named = rootOf(uid)
}

/** Runs work of the current request that reads rows of another organization or of a user: on a distributed database, it counts for their server. */
export function runForRowsOf<T>(uid: string, work: () => T): T {
  const context = storage.getStore()
  return context === undefined ? work() : storage.run(new RequestContext(context, rootOf(uid)), work)
}

/** Runs work of the current request that is completed even if its caller goes away. */
export function runToCompletion<T>(work: () => T): T {
  const context = new RequestContext()
  const current = storage.getStore()
  context.share = current?.share ?? ''
  context.named = current?.named ?? ''
  return storage.run(context, work)
}

/** Shares of the database connections for work of this node that is for several organizations. */
export const nodeShares = {
  /** Such as keys and metrics. */
  reads: 'reads of the node',
  /** Such as audit events and counts: those of one organization can hold up those of the others. One share for each server. */
  writes: 'writes of the node',
  /** The position of the log for read replicas. */
  replica: 'read replica',
} as const

/**
 * Runs work that several requests wait for: it ends with none of them. `share`: whose share of the database connections it uses, a uid or
 * one of `nodeShares`. `rowsOf`: of `nodeShares.writes`, an organization on the server of a distributed database that is written.
 */
export function runShared<T>(work: () => T, share: string, rowsOf = ''): T {
  const context = new RequestContext(undefined, rowsOf)
  context.share = share
  return storage.run(context, work)
}

/** Runs work that a request starts and that continues after its response. */
export function runInBackground<T>(work: () => T): T {
  return storage.exit(work)
}
