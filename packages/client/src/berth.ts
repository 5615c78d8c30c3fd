import { operations, type Services } from './generated/operations.ts'
import type {
  CallOptions,
  CreateOptions,
  Operation,
  Reply,
  UpdateOptions,
  WithResponse,
} from './operation.ts'
import { type ClientOptions, type Message, type Send, sender } from './send.ts'

/**
 * A client for the REST API, for browsers and Node: `createBerthClient({ baseUrl, token }).groups.list()`. See README.md. Methods and types
 * are generated from the schema; it requires only this folder and `fetch`.
 */

// biome-ignore lint/performance/noBarrelFile: the only file that the package exports
export { BerthError } from './error.ts'
export type * from './generated/types.ts'
export type * from './operation.ts'
export type { ClientOptions }

/** A property for each service of the API. */
export type BerthClient = Services

const PAGE_SIZE = 200

export function createBerthClient(options: ClientOptions): BerthClient {
  const send = sender(options)
  const services = Object.entries(operations).map(([name, methods]) => {
    const bound: Record<string, unknown> = {}
    for (const [method, operation] of Object.entries<Operation>(methods)) {
      bound[method] = bind(send, operation)
      // `list` and `all`; `listMails` and `allMails` beside them.
      if (operation.kind === 'list') bound[method.replace('list', 'all')] = iterate(send, operation)
    }
    return [name, bound]
  })
  // The types are generated from the same methods as the table; test/client.test.ts calls them with a server.
  return Object.fromEntries(services) as BerthClient
}

type Fields = Readonly<Record<string, unknown>>

function bind(send: Send, operation: Operation): unknown {
  const call = (
    message: () => Omit<Message, 'operation' | 'headers'>,
    options: UpdateOptions & CreateOptions,
  ) =>
    reply(async () => {
      const headers = {
        'if-match': options.ifMatch,
        'idempotency-key':
          operation.repeat === 'with-key' ? (options.idempotencyKey ?? newIdempotencyKey()) : undefined,
      }
      return send({ ...message(), operation, headers }, options)
    })
  switch (operation.kind) {
    case 'get':
    case 'delete':
      return (uid: string, options: CallOptions = {}) =>
        call(() => ({ url: pathOf(operation, { uid }), body: undefined }), options)
    case 'create':
      return (parent: string, body: Fields, options: CreateOptions = {}) =>
        call(() => ({ url: pathOf(operation, { parent }), body }), options)
    case 'update':
      return (uid: string, patch: Fields, options: UpdateOptions = {}) => {
        const { updateMask } = options
        const query = updateMask === undefined ? {} : { updateMask: updateMask.join(',') }
        return call(() => ({ url: pathOf(operation, { uid }) + queryOf(query), body: patch }), options)
      }
    case 'list':
    case 'request':
      return (request: Fields = {}, options: CallOptions = {}) =>
        call(() => addressOf(operation, request), options)
  }
}

/** Returns the URL and the body of a request: what is not in the path is in the body, or in the query. */
function addressOf(operation: Operation, request: Fields): Pick<Message, 'url' | 'body'> {
  const rest = { ...request }
  for (const name of variablesOf(operation)) delete rest[name]
  const path = pathOf(operation, request)
  return operation.body === true ? { url: path, body: rest } : { url: path + queryOf(rest), body: undefined }
}

/** Iterates over the items of all pages, and fetches each page when it is needed. */
function iterate(send: Send, operation: Operation) {
  const { items = '' } = operation
  return async function* (filter: Fields = {}, options: CallOptions = {}): AsyncGenerator<unknown, void> {
    let pageToken = ''
    do {
      const request = { pageSize: PAGE_SIZE, ...filter, ...(pageToken === '' ? {} : { pageToken }) }
      const message = { ...addressOf(operation, request), operation, headers: {} }
      const { value } = await send<Fields>(message, options)
      yield* value[items] as readonly unknown[]
      pageToken = String(value['nextPageToken'] ?? '')
    } while (pageToken !== '')
  }
}

function reply<T>(work: () => Promise<WithResponse<T>>): Reply<T> {
  const result = work()
  const value = result.then(({ value }) => value)
  return Object.assign(value, {
    withResponse() {
      // The other promise reports its failure.
      value.catch(() => undefined)
      return result
    },
  })
}

const variablePattern = /\{(\w+)(\??)\}/g

function variablesOf({ path }: Operation): string[] {
  return [...path.matchAll(variablePattern)].map(([, name = '']) => name)
}

/** Returns the path with its values; the slashes of a UID are kept. Throws a TypeError for a value that would change the path. */
function pathOf({ path }: Operation, values: Fields): string {
  const filled = path.replaceAll(variablePattern, (_, name: string, optional: string) => {
    const value = values[name]
    if (optional !== '' && (value === undefined || value === '')) return ''
    const segments = typeof value === 'string' ? value.split('/') : ['']
    // URLs resolve dot segments, escaped or not; an empty UID would be the path of the resource collection.
    if (segments.some((segment) => segment === '' || segment === '.' || segment === '..'))
      throw new TypeError(`${name} must be a UID, not ${JSON.stringify(value)}`)
    return segments.map(encodeURIComponent).join('/')
  })
  return filled.endsWith('/') ? filled.slice(0, -1) : filled
}

/** Returns `?a=1&b.c=2&d=3&d=4`, or an empty string. */
function queryOf(fields: Fields): string {
  const query = new URLSearchParams()
  const add = (prefix: string, value: unknown): void => {
    if (value === undefined || value === null) return
    if (Array.isArray(value)) for (const one of value) add(prefix, one)
    else if (typeof value === 'object')
      for (const [name, inner] of Object.entries(value)) add(`${prefix}.${name}`, inner)
    else query.append(prefix, String(value))
  }
  for (const [name, value] of Object.entries(fields)) add(name, value)
  const text = query.toString()
  return text === '' ? '' : `?${text}`
}

/** Creates a random value for `idempotencyKey`. Browsers have crypto.randomUUID on https pages only. */
export function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
