import type { Context, Hono } from 'hono'
import { html } from 'hono/html'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { httpStatusOfError } from '../../api/error-body.ts'
import { ApiError, Code } from '../../api/errors.ts'
import { toApiError } from '../../api/storage-faults.ts'
import type { SignInContext, SignInEnv } from '../context.ts'
import { isConsolePath, signInPath } from '../oauth/authorization-requests.ts'
import { type Html, page } from './layout.ts'
import { SignInRequired } from './page-operation.ts'
import { setRetryAfter } from './retry-after.ts'

/** Error pages: a heading, what happened, and a link to the sign-in page. */

const headings: Readonly<Partial<Record<Code, string>>> = {
  [Code.INVALID_ARGUMENT]: 'Invalid request',
  [Code.NOT_FOUND]: 'Not found',
  [Code.PERMISSION_DENIED]: 'Permission denied',
  [Code.FAILED_PRECONDITION]: 'Not possible',
  [Code.RESOURCE_EXHAUSTED]: 'Too many attempts',
  [Code.UNAUTHENTICATED]: 'Not signed in',
  [Code.UNIMPLEMENTED]: 'Method not allowed',
}

/** Renders an ApiError with its message. Any other error is logged, and its message is not shown. */
export function errorPage(
  c: Context<SignInEnv>,
  { log }: SignInContext,
  failure: unknown,
): Response | Promise<Response> {
  if (failure instanceof SignInRequired && c.req.method === 'GET') return c.redirect(signInPathFrom(c), 303)
  const { requestId } = c.env
  const error = toApiError(failure, requestId, log)
  const status = httpStatusOfError(error) as ContentfulStatusCode
  const heading = headings[error.code] ?? 'Something went wrong'
  setRetryAfter(c, error)
  return c.html(messagePage(heading, toSentence(error)), status)
}

/** The sign-in page, which leads back to a page of the console. */
function signInPathFrom(c: Context<SignInEnv>): string {
  const { pathname, search } = new URL(c.req.url)
  const path = pathname + search
  return isConsolePath(path) ? signInPath(path) : '/sign-in'
}

/** Renders 404 for an unknown path, and 405 for a method that the path does not have. */
export function notFoundPage(
  c: Context<SignInEnv>,
  context: SignInContext,
  app: Hono<SignInEnv>,
): Response | Promise<Response> {
  const allowed = ['GET', 'POST'].filter((method) =>
    app.router.match(method, c.req.path)[0].some(([[, route]]) => route.method === method),
  )
  if (allowed.length === 0) {
    return errorPage(c, context, new ApiError(Code.NOT_FOUND, 'Not found: this page does not exist'))
  }
  c.header('allow', allowed.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', '))
  const message = 'Unimplemented: this page does not support the method of the request'
  return errorPage(c, context, new ApiError(Code.UNIMPLEMENTED, message, { httpStatus: 405 }))
}

/** Renders a page with a message and a link to the sign-in page. */
export function messagePage(heading: string, text: string, more: Html = html``): Html {
  return page(
    { title: heading },
    html`<h1>${heading}</h1>
<p>${text}</p>
${more}<p><a href="/sign-in">Go to the sign-in page</a></p>`,
  )
}

/** The message of an error without the name of its code, which is in the heading of the page. */
function toSentence({ message }: ApiError): string {
  const text = message.replace(/^[A-Z][a-z ]+: +/, '')
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}
