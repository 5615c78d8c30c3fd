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
  #reason: ApiError | undefined = undefined
  #listeners: Set<() => void> | undefined = undefined
  #controller: AbortController | undefined = undefined

  /** Why the request was aborted; undefined while its caller waits. */
  get aborted(): ApiError | undefined {
    return this.#reason
  }

  /** Created on demand: a controller costs more than the rest of the context. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#reason !== undefined) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  /** Drops the queued work of the request and cancels its running statement. Only the first reason counts. */
  abort(reason: ApiError): void {
    if (this.#reason !== undefined) return
    this.#reason = reason
    this.#controller?.abort(reason)
    for (const listener of [...(this.#listeners ?? [])]) listener()
  }

  /** Throws the reason if the request was aborted. */
  throwIfAborted(): void {
    if (this.#reason !== undefined) throw this.#reason
  }

  /** Calls `listener` when the request is aborted later, until the returned function is called. */
  onAbort(listener: () => void): () => void {
    this.#listeners ??= new Set()
    this.#listeners.add(listener)
    return () => this.#listeners?.delete(listener)
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

/** Runs work of the current request that is completed even if its caller goes away. */
export function runToCompletion<T>(work: () => T): T {
  const context = new RequestContext()
  context.share = storage.getStore()?.share ?? ''
  return storage.run(context, work)
}

/**
 * Runs work that several requests wait for: it ends with none of them and counts for no organization. `share`: of the database connections,
 * if not that of callers that are not known yet.
 */
export function runShared<T>(work: () => T, share = ''): T {
  const context = new RequestContext()
  context.share = share
  return storage.run(context, work)
}
