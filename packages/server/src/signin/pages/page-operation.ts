import type { Context } from 'hono'
import { ApiError, Code } from '../../api/errors.ts'
import type { Proof } from '../../pipeline/operation.ts'
import type { Session } from '../../tokens/sessions/sessions.ts'
import type { SignInContext, SignInEnv } from '../context.ts'
import type { Browser } from '../sessions/browser.ts'
import type { BrowserCaller } from '../sessions/session-cookie.ts'

/**
 * Operations of pages, and their access rules. A rule is a function from the name of an operation to the operation:
 * `anyBrowser('ShowInvite')`. The name is in metrics, the access log and the audit log, after `berth.signin/`.
 */

/** What the handler of a page gets. */
export interface PageProof extends Proof {
  readonly browser: Browser
}

/** Returns what the handler gets. Throws code 7, or code 16. */
type AuthorizeBrowser<P extends PageProof> = (caller: BrowserCaller, context: SignInContext) => P | Promise<P>

interface NamedOperation {
  readonly name: string
  /** Default: the error page. */
  readonly renderError?: ((c: Context<SignInEnv>, failure: unknown) => Response) | undefined
}

/** An operation of a browser. */
export interface PageOperation<P extends PageProof> extends NamedOperation {
  readonly authorize: AuthorizeBrowser<P>
}

/** An operation that clients call without a browser session. Their credentials, if any, are in the message. */
export interface ClientOperation extends NamedOperation {
  readonly authorize: undefined
}

/** Creates an access rule. */
export function accessRule<P extends PageProof>(
  authorize: AuthorizeBrowser<P>,
): (name: string) => PageOperation<P> {
  return (name) => ({ name, authorize })
}

/** Anyone, without a browser session. */
export function anyClient(name: string, renderError?: NamedOperation['renderError']): ClientOperation {
  return { name, authorize: undefined, renderError }
}

/** Any browser, with or without a signed-in user. */
export const anyBrowser = accessRule((caller) => ({ caller, browser: caller.browser }))

/** A browser with a signed-in user. */
export interface SessionProof extends PageProof {
  readonly session: Session
}

/** Returns the signed-in user of a browser. Other browsers are sent to the sign-in page, or get an error if they send a form. */
export function requireSession(caller: BrowserCaller): SessionProof {
  const { browser } = caller
  const { session } = browser
  if (session === undefined) throw new SignInRequired()
  return { caller, browser, session }
}

/** The page is for signed-in users. The error page redirects the GET of a page to the sign-in. */
export class SignInRequired extends ApiError {
  constructor() {
    super(Code.UNAUTHENTICATED, 'Unauthenticated: you are no longer signed in. Sign in and try again')
  }
}
