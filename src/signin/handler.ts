import { Hono } from 'hono'
import type { HttpHandler } from '../http.ts'
import type { PortBindings, SignInContext } from './context.ts'

/** Where people sign in: pages and forms, and the OAuth endpoints of clients, under the address of the token service. */

/** Which paths are `signInHandler`'s. */
export function isSignInPath(path: string): boolean {
  return /^\/(sign-in|setup|account|oauth|device|invite|orgcheck)(\/|$)/.test(path)
}

export type SignInOptions = Omit<SignInContext, 'placeOf'>

/** A form of the pages, and a body of an OAuth request. */
const BODY_BYTES_MAX = 64 * 1024
const USER_AGENT_CHARS_MAX = 255

/** Loads what it needs with the first request. */
export function signInHandler(options: SignInOptions): HttpHandler {
  let app: Hono<{ Bindings: PortBindings }> | undefined
  return async (request) => {
    app ??= signInApp({
      ...options,
      placeOf: (c) => ({
        address: (c.env as PortBindings).address,
        userAgent: (c.req.header('user-agent') ?? '').slice(0, USER_AGENT_CHARS_MAX),
      }),
    })
    const headers = new Headers()
    for (const [name, value] of Object.entries(request.headers)) {
      if (!name.startsWith(':') && value !== undefined) headers.set(name, [value].flat().join(', '))
    }
    const body = request.method === 'POST' ? await request.body(BODY_BYTES_MAX) : null
    const response = await app.fetch(
      new Request(new URL(request.url, options.authUrl), {
        method: request.method,
        headers,
        body: body as Uint8Array<ArrayBuffer> | null,
      }),
      { address: request.address, requestId: request.id },
    )
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: new Uint8Array(await response.arrayBuffer()),
    }
  }
}

function signInApp(_context: SignInContext) {
  const app = new Hono<{ Bindings: PortBindings }>()
  return app
}
