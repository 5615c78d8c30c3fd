import type { IncomingCall } from '../pipeline/call.ts'
import { currentContext } from '../pipeline/request/request-context.ts'
import type { RequestRecord } from '../pipeline/request/request-record.ts'
import type { HttpRequest } from './http.ts'

/** What the pipeline reads of an HTTP request. A class, because accessors in object literals are slow. */
export class RestCall implements IncomingCall {
  readonly protocol = 'rest'
  readonly acceptsParts = true
  readonly requestId: string
  readonly authorizationHeader: string | undefined
  readonly record: RequestRecord | undefined
  replyHeaders: IncomingCall['replyHeaders'] = undefined
  warnings: IncomingCall['warnings'] = undefined
  readonly #request: HttpRequest

  /** `authorization`: the header, if the adapter has rewritten it. */
  constructor(request: HttpRequest, authorization = request.headers.authorization) {
    this.requestId = request.id
    this.authorizationHeader = authorization
    this.record = request.record
    this.#request = request
  }

  get address(): string {
    return this.#request.address
  }

  get signal(): AbortSignal | undefined {
    return currentContext()?.signal
  }

  get ifMatch(): string | undefined {
    return this.#request.headers['if-match']
  }

  get idempotencyKey(): string | undefined {
    return this.header('idempotency-key')
  }

  /** A header of the request, as sent; several lines of one name joined. */
  header(name: string): string | undefined {
    const value = this.#request.headers[name]
    return Array.isArray(value) ? value.join(', ') : value
  }
}
