import { type Context, Hono } from 'hono'
import { codeOfHttpStatus } from '../../api/error-body.ts'
import type { LimitClass } from '../../pipeline/limits/limit-table.ts'
import type { Operation } from '../../pipeline/operation.ts'
import type { SignInContext, SignInEnv } from '../context.ts'
import { setSessionCookie } from '../sessions/browser.ts'
import { authenticateBrowser, type BrowserCaller } from '../sessions/session-cookie.ts'
import type { ClientOperation, PageOperation, PageProof } from './page-operation.ts'

/**
 * The adapter between the routes of the sign-in and the request pipeline. GET counts as a read for rate limits, and POST as a write. The
 * pipeline authenticates the browser; a handler gets it from there alone, with what the access rule of its operation proves.
 */

type Handler<P> = (c: Context<SignInEnv>, proof: P) => Promise<Response>

/** The routes of one area. */
export class PageRoutes {
  readonly app = new Hono<SignInEnv>()
  readonly #context: SignInContext

  constructor(context: SignInContext) {
    this.#context = context
  }

  get<P extends PageProof>(path: string | string[], operation: PageOperation<P>, handler: Handler<P>): void
  get(path: string, operation: ClientOperation, handler: Handler<undefined>): void
  get(path: string | string[], operation: PageOperation<PageProof> | ClientOperation, handler: never): void {
    this.#add('GET', path, operation, handler)
  }

  post<P extends PageProof>(path: string, operation: PageOperation<P>, handler: Handler<P>): void
  post(path: string, operation: ClientOperation, handler: Handler<undefined>): void
  post(path: string, operation: PageOperation<PageProof> | ClientOperation, handler: never): void {
    this.#add('POST', path, operation, handler)
  }

  #add(
    method: 'GET' | 'POST',
    path: string | string[],
    declared: PageOperation<PageProof> | ClientOperation,
    handler: Handler<PageProof | undefined>,
  ): void {
    const context = this.#context
    const { pipeline } = context
    const operation = operationOf(context, declared, method === 'GET' ? 'read' : 'write')
    const { renderError } = declared
    this.app.on(method, [path].flat(), async (c) => {
      const { incoming } = c.env
      try {
        const call = await pipeline.start(operation, incoming)
        setHeaders(c, incoming.replyHeaders)
        const { proof } = call
        if (proof?.browser.isNew) setSessionCookie(c, context, proof.browser.secret)
        const handle = () => pipeline.handle(call, noScope, () => handler(c, proof))
        return await pipeline.finish(call, handle, codeOfResponse)
      } catch (failure) {
        setHeaders(c, incoming.replyHeaders)
        if (renderError === undefined) throw failure
        return renderError(c, failure)
      }
    })
  }
}

function operationOf(
  context: SignInContext,
  { name, authorize }: PageOperation<PageProof> | ClientOperation,
  limitClass: LimitClass,
): Operation<PageProof> {
  return {
    name: `berth.signin/${name}`,
    limitClass,
    access: authorize && {
      decidedBy: 'caller',
      authenticate: (incoming) => authenticateBrowser(context, incoming),
      authorize: (caller: BrowserCaller) => authorize(caller, context),
    },
  }
}

/** A denial is about the caller. */
const noScope = () => undefined

function setHeaders(c: Context, headers: Readonly<Record<string, string>> = {}): void {
  for (const [name, value] of Object.entries(headers)) c.header(name, value)
}

/** A page that reports a problem, such as a form to correct, is a response, not an error. */
const codeOfResponse = ({ status }: Response) => codeOfHttpStatus(status)
