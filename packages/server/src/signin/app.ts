import { Hono } from 'hono'
import { routePath } from 'hono/route'
import { assetFinder, sendStaticFile } from '../port/documents/static-file.ts'
import type { HttpHandler, HttpRequest } from '../port/http.ts'
import { RestCall } from '../port/rest-call.ts'
import { accountRoutes } from './accounts/account-routes.ts'
import { inviteRoutes } from './accounts/invite-routes.ts'
import { registerRoutes } from './accounts/register-routes.ts'
import { setupRoutes } from './accounts/setup-routes.ts'
import { consoleAssets } from './console/console-files.ts'
import { consoleRoutes } from './console/console-routes.ts'
import type { PortBindings, SignInContext, SignInEnv } from './context.ts'
import type { SignInOptions } from './handler.ts'
import { homeRoutes } from './home/home-routes.ts'
import { authorizeRoutes } from './oauth/authorization-endpoint.ts'
import { consentRoutes } from './oauth/consent/consent-routes.ts'
import { deviceRoutes } from './oauth/device/device-routes.ts'
import { revokeRoutes } from './oauth/revocation-endpoint.ts'
import { browserFlowRoutes } from './oauth/sdk-flows/browser-flow-routes.ts'
import { tokenRoutes } from './oauth/token-endpoint.ts'
import { pageAssets } from './pages/assets.ts'
import { errorPage, notFoundPage } from './pages/error-page.ts'
import { securityHeaders } from './pages/security-headers.ts'
import { passkeyRoutes } from './passkeys/passkey-routes.ts'
import { choosePasswordRoutes } from './passwords/choose-password-routes.ts'
import { resetPasswordRoutes } from './passwords/reset-password-routes.ts'
import { providerRoutes } from './providers/provider-routes.ts'
import { signInRoutes } from './sessions/sign-in-routes.ts'

/** The application behind `signInHandler`: the middleware of all of its paths, and their routes. */

/** Largest form of a page or body of an OAuth request. */
const BODY_BYTES_MAX = 64 * 1024
const USER_AGENT_CHARS_MAX = 255

export function createSignInHandler(options: SignInOptions): HttpHandler {
  const app = signInApp({
    ...options,
    requestMetadataOf: (c) => ({
      address: (c.env as PortBindings).address,
      userAgent: (c.req.header('user-agent') ?? '').slice(0, USER_AGENT_CHARS_MAX),
    }),
  })
  const findAsset = assetFinder({ ...pageAssets(), ...consoleAssets() })
  return async (request) => {
    if (request.method === 'GET') {
      const asset = findAsset(pathOf(request))
      if (asset !== undefined) return sendStaticFile(await asset, request)
    }
    const response = await app.fetch(toWebRequest(request, options.authUrl), {
      address: request.address,
      requestId: request.id,
      record: request.record,
      incoming: new RestCall(request),
    })
    return {
      status: response.status,
      // Of several cookies the last one counts: a sign-in replaces the cookie of a browser that was not signed in.
      headers: Object.fromEntries(response.headers),
      body: response.body === null ? undefined : new Uint8Array(await response.arrayBuffer()),
    }
  }
}

/** The routes of all pages and endpoints, with what they share. */
export function signInApp(context: SignInContext): Hono<SignInEnv> {
  const app = new Hono<SignInEnv>()
  app.use(securityHeaders)
  app.use(async (c, next) => {
    await next()
    if (c.env.record !== undefined) c.env.record.route = routePath(c, -1)
  })
  app.onError((error, c) => errorPage(c, context, error))
  app.notFound((c) => notFoundPage(c, context, app))
  for (const routes of [
    homeRoutes,
    signInRoutes,
    passkeyRoutes,
    setupRoutes,
    choosePasswordRoutes,
    resetPasswordRoutes,
    registerRoutes,
    accountRoutes,
    providerRoutes,
    authorizeRoutes,
    consentRoutes,
    tokenRoutes,
    revokeRoutes,
    browserFlowRoutes,
    deviceRoutes,
    inviteRoutes,
    consoleRoutes,
  ])
    app.route('/', routes(context).app)
  return app
}

const pathOf = ({ url }: HttpRequest) => url.replace(/\?.*$/s, '')

function toWebRequest(request: HttpRequest, authUrl: string): Request {
  const headers = new Headers()
  for (const [name, value] of Object.entries(request.headers)) {
    if (!name.startsWith(':') && value !== undefined) headers.set(name, [value].flat().join(', '))
  }
  // Always our own host, never that of the request (R39).
  const url = new URL(authUrl + request.url)
  const { method } = request
  if (method === 'GET') return new Request(url, { method, headers })
  // Read on demand, so that the handler that reads a body reports it as too large or too slow.
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      controller.enqueue(await request.body(BODY_BYTES_MAX))
      controller.close()
    },
  })
  return new Request(url, { method, headers, body, duplex: 'half' })
}
