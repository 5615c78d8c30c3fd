import { Hono } from 'hono'
import { countBeginning } from './beginnings.ts'
import { browserOf } from './browser.ts'
import type { SignInContext, SignInEnv, SignInRoutes } from './context.ts'
import { readForm } from './form.ts'
import { byAddress, guess } from './guesses.ts'
import { enterAccount, recordRefusal } from './local-session.ts'
import { askForPasskey, passkeyObstacle, readPasskey } from './passkeys.ts'
import { endSecondFactor, halfIn } from './second-factor.ts'
import { DISABLED, showSignIn, waitingRequest } from './show-sign-in.ts'
import { secondFactorPage } from './sign-in-page.ts'

/** Signing in with a passkey: by itself, or after the password of an account that asks for both. */
export function passkeyRoutes(context: SignInContext): SignInRoutes {
  const { store } = context
  const obstacle = passkeyObstacle(context.authUrl)
  const app: SignInRoutes = new Hono<SignInEnv>()

  app.post('/sign-in/passkey/options', async (c) => {
    const browser = await browserOf(c, context)
    await readForm(c, browser)
    await countBeginning(store, 'passkey', c.env.address)
    return c.json(await askForPasskey(context, browser, 'sign-in'))
  })

  app.post('/sign-in/passkey', async (c) => {
    const browser = await browserOf(c, context)
    const form = await readForm(c, browser)
    const request = form.text('request')
    const account = await guess(store, byAddress(context.placeOf(c).address), () =>
      readPasskey(context, browser, 'sign-in', form.text('answer')),
    )
    const refused = async (problem: string) =>
      showSignIn(c, context, browser, request, await waitingRequest(c, context, request), { problem }, 401)
    if (account === undefined)
      return refused('This passkey is not known here, or the page was open too long.')
    if (account.disabled !== 0) {
      recordRefusal(c, context, { account, method: 'passkey', reason: 'the account is disabled' })
      return refused(DISABLED)
    }
    return enterAccount(c, context, browser, { account, method: 'passkey', request })
  })

  app.get('/sign-in/second-factor', async (c) => {
    const browser = await browserOf(c, context)
    await halfIn(context, browser)
    return c.html(secondFactorPage({ browser, request: c.req.query('request') ?? '', obstacle }))
  })

  app.post('/sign-in/second-factor/options', async (c) => {
    const browser = await browserOf(c, context)
    await readForm(c, browser)
    return c.json(await askForPasskey(context, browser, 'second factor', await halfIn(context, browser)))
  })

  app.post('/sign-in/second-factor', async (c) => {
    const browser = await browserOf(c, context)
    const form = await readForm(c, browser)
    const request = form.text('request')
    const account = await halfIn(context, browser)
    const owner = await guess(store, byAddress(context.placeOf(c).address), () =>
      readPasskey(context, browser, 'second factor', form.text('answer')),
    )
    if (owner?.id !== account.id) {
      recordRefusal(c, context, { account, method: 'passkey', reason: 'wrong passkey after the password' })
      return c.html(
        secondFactorPage({
          browser,
          request,
          obstacle,
          problem: 'That was not a passkey of this account. Try again.',
        }),
        401,
      )
    }
    await endSecondFactor(context, browser)
    return enterAccount(c, context, browser, { account, method: 'password', request })
  })

  return app
}
