import type { HttpHandler, HttpReply, HttpRequest } from '../port/http.ts'
import { isBrowserRequest } from './browser-request.ts'
import type { SignInContext } from './context.ts'

/** The sign-in: pages and forms for users, and OAuth endpoints for clients, under the address of the token service. */

/** Whether `signInHandler` serves a request. Only browsers get a page for `/`. */
export function isSignInRequest(path: string, request: Pick<HttpRequest, 'method' | 'headers'>): boolean {
  if (path === '/') return isBrowserRequest(request)
  return /^\/(sign-in|sign-out|setup|start|account|oauth|device|invite|orgcheck|console|console-assets)(\/|$)/.test(
    path,
  )
}

export type SignInOptions = Omit<SignInContext, 'requestMetadataOf'>

/** Loads the application with the first request. */
export function signInHandler(options: SignInOptions): HttpHandler {
  let pages: Promise<HttpHandler> | undefined
  return async (request) => {
    pages ??= import('./app.ts').then(({ createSignInHandler }) => createSignInHandler(options))
    return (await pages)(request)
  }
}

/** Replies to browsers with a page instead of the JSON of an error. */
export function withErrorPages(handler: HttpHandler): HttpHandler {
  return (request) => {
    const reply = handler(request)
    if (!isBrowserRequest(request) || isClientPath(request.url)) return reply
    return Promise.resolve(reply).then((reply) =>
      isJsonError(reply) ? errorPageReply(reply, request) : reply,
    )
  }
}

/** Whether only clients call the address: endpoints of OAuth, of the token service and of the registry, whose errors have a form of their own. */
function isClientPath(url: string): boolean {
  return /^\/(oauth\/(token|revoke|device_authorization)|sts|token|v2)(?![^/?])/.test(url)
}

function isJsonError({ status, headers }: HttpReply): boolean {
  return status >= 400 && /^application\/json\b/.test(headers['content-type'] ?? '')
}

async function errorPageReply(reply: HttpReply, request: HttpRequest): Promise<HttpReply> {
  const { errorPageOfReply } = await import('./pages/error-page.ts')
  return errorPageOfReply(reply, request)
}
