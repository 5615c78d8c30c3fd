import type { Context } from 'hono'
import { html } from 'hono/html'
import { version } from '../../config/version.ts'
import type { Session } from '../../tokens/sessions/sessions.ts'
import type { SignInContext, SignInEnv } from '../context.ts'
import { page } from '../pages/layout.ts'
import { accessRule, requireSession } from '../pages/page-operation.ts'
import { PageRoutes } from '../pages/page-routes.ts'
import type { Browser } from '../sessions/browser.ts'
import { consolePage, withSession } from './console-files.ts'

/** The page of the console. Its scripts show what its address names, and call the REST API with the session (ADR 42). */

/**
 * The style that react-aria adds to the document for elements that can be pressed: a constant text
 * (test/console/ has a browser that reports violations of the policy).
 */
const PRESSABLE_STYLE = "'sha256-38RhXrc7EdReTKsOm23ZPOCUgniTUUcjky8QOOrQx6o='"

/** What the page may do: run its own scripts, and call its own server. Nothing may frame it, and no script may write markup. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  `style-src 'self' ${PRESSABLE_STYLE}`,
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const signedInUser = accessRule(requireSession)

export function consoleRoutes(context: SignInContext): PageRoutes {
  const app = new PageRoutes(context)
  const respond = consoleResponse(context)

  app.get(['/console', '/console/*'], signedInUser('ShowConsole'), async (c, { browser, session }) => {
    return respond?.(c, browser, session) ?? c.html(notBuiltPage(browser), 503)
  })

  return app
}

/** Returns what responds with the page of the console; undefined if the console is not built. */
export function consoleResponse(context: SignInContext) {
  const built = consolePage()
  if (built === undefined) return undefined
  const [apiUrl = '', registryHost = ''] = context.audiences
  const release = version()
  return (c: Context<SignInEnv>, browser: Browser, session: Session) => {
    // For reads of pages at plain http addresses, browsers state their origin nowhere else.
    c.header('referrer-policy', 'same-origin')
    c.header('content-security-policy', POLICY)
    return c.html(
      withSession(built, {
        identity: session.identity,
        csrfToken: browser.formToken,
        apiUrl,
        registryHost,
        version: release,
      }),
    )
  }
}

const notBuiltPage = (browser: Browser) =>
  page(
    { title: 'Console', browser },
    html`<h1>The console is not built</h1>
<p>This server was installed without its console. Run <code>npm run build:console</code> in the folder of Berth and restart the server. Your <a href="/account">account</a>, the API and the command line work without it.</p>`,
  )
