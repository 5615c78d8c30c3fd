import type { SignInContext } from '../context.ts'
import { readForm } from '../pages/form.ts'
import { anyBrowser } from '../pages/page-operation.ts'
import { PageRoutes } from '../pages/page-routes.ts'
import { countAttempt } from '../rate-limits/attempts.ts'
import { byAddress, limitGuesses } from '../rate-limits/guesses.ts'
import { recordFailedSignIn, signInToAccount } from '../sessions/account-sign-in.ts'
import { ACCOUNT_DISABLED, readWaitingRequest, renderSignInPage } from '../sessions/render-sign-in-page.ts'
import { secondFactorPage } from '../sessions/sign-in-page.ts'
import { createAuthenticationOptions, passkeysUnsupportedReason, verifyPasskey } from './passkeys.ts'
import { completeSecondFactor, requireFirstFactor } from './second-factor.ts'

/** Routes that sign in with a passkey: alone, or after the password of an account that requires both. */
export function passkeyRoutes(context: SignInContext): PageRoutes {
  const { store } = context
  const unsupportedReason = passkeysUnsupportedReason(context.authUrl)
  const app = new PageRoutes(context)

  app.post('/sign-in/passkey/options', anyBrowser('CreatePasskeyOptions'), async (c, { browser }) => {
    await readForm(c, browser)
    await countAttempt(store, 'passkey', c.env.address)
    return c.json(await createAuthenticationOptions(context, browser, 'sign-in'))
  })

  app.post('/sign-in/passkey', anyBrowser('Passkey'), async (c, { browser }) => {
    const form = await readForm(c, browser)
    const request = form.text('request')
    const account = await limitGuesses(store, byAddress(context.requestMetadataOf(c).address), () =>
      verifyPasskey(context, browser, 'sign-in', form.text('answer')),
    )
    const rejected = async (problem: string) =>
      renderSignInPage(
        c,
        context,
        browser,
        request,
        await readWaitingRequest(c, context, request),
        { problem },
        401,
      )
    if (account === undefined) return rejected('Unknown passkey, or the page was open too long. Try again.')
    if (account.disabled !== 0) {
      recordFailedSignIn(c, context, { account, method: 'passkey', reason: 'the account is disabled' })
      return rejected(ACCOUNT_DISABLED)
    }
    return signInToAccount(c, context, browser, { account, method: 'passkey', request })
  })

  app.get('/sign-in/second-factor', anyBrowser('ShowSecondFactor'), async (c, { browser }) => {
    await requireFirstFactor(context, browser)
    return c.html(secondFactorPage({ browser, request: c.req.query('request') ?? '', unsupportedReason }))
  })

  app.post(
    '/sign-in/second-factor/options',
    anyBrowser('CreateSecondFactorOptions'),
    async (c, { browser }) => {
      await readForm(c, browser)
      return c.json(
        await createAuthenticationOptions(
          context,
          browser,
          'second factor',
          await requireFirstFactor(context, browser),
        ),
      )
    },
  )

  app.post('/sign-in/second-factor', anyBrowser('SecondFactor'), async (c, { browser }) => {
    const form = await readForm(c, browser)
    const request = form.text('request')
    const account = await requireFirstFactor(context, browser)
    const owner = await limitGuesses(store, byAddress(context.requestMetadataOf(c).address), () =>
      verifyPasskey(context, browser, 'second factor', form.text('answer')),
    )
    if (owner?.id !== account.id) {
      recordFailedSignIn(c, context, {
        account,
        method: 'passkey',
        reason: 'wrong passkey after the password',
      })
      return c.html(
        secondFactorPage({
          browser,
          request,
          unsupportedReason,
          problem: 'This is not a passkey of this account. Try again.',
        }),
        401,
      )
    }
    await completeSecondFactor(context, browser)
    return signInToAccount(c, context, browser, { account, method: 'password', request })
  })

  return app
}
