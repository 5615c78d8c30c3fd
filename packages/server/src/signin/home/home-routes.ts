import { signedInUser } from '../accounts/account-access.ts'
import { hasAccounts } from '../accounts/accounts.ts'
import { SETUP_PATH } from '../accounts/one-time-links.ts'
import { consoleResponse } from '../console/console-routes.ts'
import type { SignInContext } from '../context.ts'
import { readUserProfile } from '../oauth/id-tokens.ts'
import { anyBrowser } from '../pages/page-operation.ts'
import { PageRoutes } from '../pages/page-routes.ts'
import { homePage } from './home-page.ts'
import { readUserGroups } from './user-groups.ts'

/** Messages of the start page, by the value of `done` in its address. */
const notices: Readonly<Record<string, string>> = {
  setup: 'Account created. You own the first organization and administer this server.',
}

/** Routes of the start page, and of the groups that the API reference fills into its examples. */
export function homeRoutes(context: SignInContext): PageRoutes {
  const { store, providers } = context
  const [apiUrl = '', registryHost = ''] = context.audiences
  const app = new PageRoutes(context)

  const respondWithConsole = consoleResponse(context)

  // A server without its console still has a page to start from.
  app.get('/', anyBrowser('ShowHome'), async (c, { browser }) => {
    const { session } = browser
    const profile = session && (await readUserProfile(store, session.identity))
    if (session === undefined || profile === undefined) {
      const canSignIn = providers.offered.length > 0 || (await hasAccounts(store.db.kysely))
      return c.redirect(canSignIn ? '/sign-in' : SETUP_PATH, 303)
    }
    return respondWithConsole?.(c, browser, session) ?? c.redirect('/start', 303)
  })

  app.get('/start', signedInUser('ShowStart'), async (c, { browser, session }) => {
    const profile = await readUserProfile(store, session.identity)
    const done = c.req.query('done') ?? ''
    return c.html(
      homePage({
        browser,
        name: profile?.name ?? '',
        email: profile?.email ?? '',
        groups: await readUserGroups(context, session),
        apiUrl,
        registryHost,
        noticeText: Object.hasOwn(notices, done) ? notices[done] : undefined,
      }),
    )
  })

  app.get('/account/groups', anyBrowser('ListOwnGroups'), async (c, { browser: { session } }) => {
    const groups = session === undefined ? [] : await readUserGroups(context, session)
    return c.json({ groups: groups.map(({ uid, path }) => ({ uid, path })) })
  })

  return app
}
