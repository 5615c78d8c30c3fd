import type { Context, Hono } from 'hono'
import { html } from 'hono/html'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { httpStatusOfError } from '../../api/error-body.ts'
import { ApiError, Code } from '../../api/errors.ts'
import { toApiError } from '../../api/storage-faults.ts'
import type { SignInContext, SignInEnv } from '../context.ts'
import { type Html, page } from './layout.ts'
import { setRetryAfter } from './retry-after.ts'

/** What somebody sees who cannot be helped any further: a heading, what happened, and where to go from here. */

const headings: Readonly<Partial<Record<Code, string>>> = {
  [Code.INVALID_ARGUMENT]: 'This cannot be read',
  [Code.NOT_FOUND]: 'Not found',
  [Code.PERMISSION_DENIED]: 'Not allowed',
  [Code.FAILED_PRECONDITION]: 'Not possible',
  [Code.RESOURCE_EXHAUSTED]: 'Too often',
  [Code.UNAUTHENTICATED]: 'Not signed in',
  [Code.UNIMPLEMENTED]: 'Not possible',
}

/** Errors of `core/errors.ts` are told, all others are logged and only named. */
export function errorPage(
  c: Context<SignInEnv>,
  { log }: SignInContext,
  failure: unknown,
): Response | Promise<Response> {
  const { requestId } = c.env
  const error = toApiError(failure, requestId, log)
  const status = httpStatusOfError(error) as ContentfulStatusCode
  const heading = headings[error.code] ?? 'Something went wrong'
  setRetryAfter(c, error)
  return c.html(messagePage(heading, toSentence(error)), status)
}

/** Answers a path that there is not (404), or that is not asked for in this way (405). */
export function notFoundPage(
  c: Context<SignInEnv>,
  context: SignInContext,
  app: Hono<SignInEnv>,
): Response | Promise<Response> {
  const allowed = ['GET', 'POST'].filter((method) =>
    app.router.match(method, c.req.path)[0].some(([[, route]]) => route.method === method),
  )
  if (allowed.length === 0) {
    return errorPage(c, context, new ApiError(Code.NOT_FOUND, 'Not found: there is no such page'))
  }
  c.header('allow', allowed.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', '))
  const message = 'Unimplemented: this page cannot be asked for in this way'
  return errorPage(c, context, new ApiError(Code.UNIMPLEMENTED, message, { httpStatus: 405 }))
}

/** A page that only says something. */
export function messagePage(heading: string, text: string, more: Html = html``): Html {
  return page(
    { title: heading },
    html`<h1>${heading}</h1>
<p>${text}</p>
${more}<p><a href="/sign-in">Go to the sign-in page</a></p>`,
  )
}

/** The message of an error without the name of its code: `Not found: there is no such page` says that in its heading. */
function toSentence({ message }: ApiError): string {
  const text = message.replace(/^[A-Z][a-z ]+: +/, '')
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}
