import { setTimeout } from 'node:timers/promises'
import { selectedCluster } from '../database/databases.ts'
import { send } from '../http/send.ts'
import { assertDescribed, type DescriptionOptions } from './openapi.ts'

/** A REST call in a test: what came back, body and all. */
export interface RestReply {
  readonly status: number
  readonly headers: Headers
  /** Parsed JSON; undefined for an empty body. */
  // biome-ignore lint/suspicious/noExplicitAny: assertions on JSON read better without a type for every shape
  readonly body: any
  readonly text: string
}

export interface RestRequest extends DescriptionOptions {
  readonly token?: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * `call('GET', url)`: JSON in, JSON out; a body that is a string is sent as it is. Fails when the answer is another than openapi.json
 * says, whatever it is.
 */
export async function call(method: string, url: string, request: RestRequest = {}): Promise<RestReply> {
  for (let attempt = 1; ; attempt += 1) {
    const reply = await callOnce(method, url, request)
    if (selectedCluster === undefined || attempt === BUSY_ATTEMPTS || !isBusy(reply)) return reply
    repeats += 1
    if (repeats > BUSY_REPEATS_MAX) return reply
    await setTimeout(BUSY_PAUSE_MS)
  }
}

/**
 * On a distributed database, changes that wait for each other take several times as long, and on a busy machine some wait longer than Berth
 * allows. Such a request has changed nothing (its reason is not OUTCOME_UNKNOWN); clients repeat it.
 */
const BUSY_ATTEMPTS = 10
const BUSY_PAUSE_MS = 1000
/** Of a process: more of them are a fault of the server, not of the machine. */
const BUSY_REPEATS_MAX = 30
let repeats = 0

function isBusy({ status, body }: RestReply): boolean {
  const { reason } = body?.details?.[0] ?? {}
  return (
    status === 503 &&
    (reason === 'DATABASE_BUSY' ||
      reason === 'LOCK_TIMEOUT' ||
      (reason === 'UNAVAILABLE' && /the database (does not respond|took too long)/.test(body.message)))
  )
}

async function callOnce(method: string, url: string, request: RestRequest): Promise<RestReply> {
  const { token, body, headers, ...description } = request
  const response = await send(url, {
    method,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = response.bytes.toString()
  assertDescribed({ method, url, status: response.status, headers: response.headers, text }, description)
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? undefined : JSON.parse(text),
    text,
  }
}
