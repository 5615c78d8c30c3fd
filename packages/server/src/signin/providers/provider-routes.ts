import { ApiError, Code, invalidArgument } from '../../api/errors.ts'
import { limits } from '../../config/limits.ts'
import { lookupUser } from '../../iam/identities/user-lookup.ts'
import { userUid } from '../../iam/identities/user-uid.ts'
import { ownCallbackPath, SHARED_CALLBACK_PATH } from '../../iam/identity-providers/callback.ts'
import { assignShare } from '../../pipeline/request/request-context.ts'
import { recordEvent } from '../../storage/changes/audit-events.ts'
import type { Tx } from '../../storage/db.ts'
import { generateSecret, pendingStore } from '../../storage/pending-store.ts'
import type { SignedIn } from '../../tokens/sessions/sessions.ts'
import { signedInUser } from '../accounts/account-access.ts'
import type { SignInContext } from '../context.ts'
import { authorizationRequests, pathAfterSignIn, requestSecretOf } from '../oauth/authorization-requests.ts'
import { authorizationRequestExpired } from '../oauth/browser-binding.ts'
import { closeWithError } from '../oauth/consent/authorization-response.ts'
import { continuePage } from '../pages/continue-page.ts'
import { messagePage } from '../pages/error-page.ts'
import { anyBrowser, SignInRequired } from '../pages/page-operation.ts'
import { PageRoutes } from '../pages/page-routes.ts'
import { countAttempt } from '../rate-limits/attempts.ts'
import {
  type Browser,
  hashBrowserSecret,
  isEqualConstantTime,
  isSameBrowser,
  linkToken,
  signIn,
} from '../sessions/browser.ts'
import { readWaitingRequest, renderSignInPage } from '../sessions/render-sign-in-page.ts'
import type { SignInPage } from '../sessions/sign-in-page.ts'
import { withProviderErrors } from './provider-errors.ts'
import { providerPage } from './provider-page.ts'
import { confirmationToken, confirmedProviderPath } from './provider-paths.ts'
import { findOrRegisterUser } from './provider-users.ts'
import { type Provider, voucherOf } from './providers.ts'
import { completeTest, failedStart, requireTester, testPage } from './test-sign-in.ts'
import {
  type AuthorizationChecks,
  type Claims,
  callbackPathOf,
  checkResponseIssuer,
  UpstreamError,
} from './upstream.ts'

/**
 * Routes that sign in with an OpenID provider: the browser is sent there and returns to the redirect URI of that provider. A response is
 * valid once, and only for the browser, the provider and the request that it was started for (R40).
 */

/** A sign-in at a provider that waits for the response, by its state. */
interface PendingProviderSignIn extends AuthorizationChecks {
  readonly provider: string
  /** Issuer and client when the sign-in started: a response is rejected if the provider changed since. */
  readonly issuer: string
  readonly clientId: string
  /** Path that the response must arrive at. */
  readonly callback: string
  /** Hash of the secret of the browser that started the sign-in. */
  readonly browser: string
  /** What waits for the sign-in, as for `pathAfterSignIn`. */
  readonly request: string
  /** No user is signed in: the response is reported. */
  readonly isTest?: true
}

const PROVIDER_SIGN_IN_MS = 10 * 60 * 1000
const METHOD = 'berth.signin/Provider'

export function providerRoutes(context: SignInContext): PageRoutes {
  const { store, providers, upstream, authUrl } = context
  const pendingSignIns = pendingStore<PendingProviderSignIn>(store, 'departure', PROVIDER_SIGN_IN_MS)
  const app = new PageRoutes(context)

  app.get('/sign-in/provider', anyBrowser('StartProviderSignIn'), async (c, { browser }) => {
    const request = c.req.query('request') ?? ''
    const organization = c.req.query('organization')
    const id = c.req.query('with') ?? ''
    const confirmed = isEqualConstantTime(
      c.req.query('confirmed') ?? '',
      confirmationToken(context, browser, id, request),
    )
    if (!confirmed) await countAttempt(store, 'provider', c.env.address)
    const provider = await findProvider(
      organization === undefined ? id : await providers.uidByOrganizationName(organization.trim()),
    )
    if (provider === undefined) {
      if (organization === undefined) throw unknownProvider()
      const waiting = await readWaitingRequest(c, context, request)
      return renderSignInPage(
        c,
        context,
        browser,
        request,
        waiting,
        organizationWithoutProvider(organization),
        404,
      )
    }
    const href = confirmedProviderPath(context, browser, provider.id, request)
    const isConfirmed = confirmed && provider.id === id
    if (provider.organization !== '' && !isConfirmed)
      return c.html(await providerPage(context, browser, { provider, href }))
    // A link could sign the user in as another user, and end the session in this browser. No header identifies links: old browsers send no
    // Sec-Fetch-Site, and no browser does to a plain http address.
    const signedIn = browser.session !== undefined
    if (!isConfirmed && (signedIn || requestSecretOf(request) === ''))
      return c.html(
        continuePage(
          `Sign in with ${provider.label}?`,
          `A link or an application started this sign-in.${signedIn ? ' It ends your current session in this browser.' : ''} Continue only if you started it yourself.`,
          href,
        ),
      )
    await countAttempt(store, 'departure', c.env.address)
    const url = await withProviderErrors(context, c.env.requestId, provider, () =>
      depart(browser, provider, { request }),
    )
    return c.redirect(url, 303)
  })

  app.get('/sign-in/test-provider', signedInUser('TestProvider'), async (c, { browser, session }) => {
    const id = c.req.query('with') ?? ''
    await requireTester(context, session, id)
    const provider = await findProvider(id)
    if (provider?.kind !== 'organization') throw unknownProvider()
    const confirmed = linkToken(context, browser, ['provider-test', id])
    if (!isEqualConstantTime(c.req.query('confirmed') ?? '', confirmed))
      return c.html(
        testPage(provider, `/sign-in/test-provider?${new URLSearchParams({ with: id, confirmed })}`),
      )
    await countAttempt(store, 'departure', c.env.address)
    try {
      return c.redirect(await depart(browser, provider, { request: '', isTest: true }), 303)
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error
      return c.html(failedStart(provider, error))
    }
  })

  /** Stores a sign-in that waits for the response of the provider, and returns the address of the provider for the browser. */
  async function depart(
    browser: Browser,
    provider: Provider,
    waiting: Pick<PendingProviderSignIn, 'request' | 'isTest'>,
  ): Promise<string> {
    const state = generateSecret()
    const { url, sent } = await upstream.startSignIn(provider, state)
    const { issuer, clientId } = provider
    await pendingSignIns.add(
      {
        ...sent,
        ...waiting,
        provider: provider.id,
        issuer,
        clientId,
        callback: callbackPathOf(provider),
        browser: hashBrowserSecret(browser.secret),
      },
      state,
    )
    return url
  }

  async function findProvider(id: string | undefined): Promise<Provider | undefined> {
    return id === undefined ? undefined : providers.byId(id)
  }

  app.get(
    [SHARED_CALLBACK_PATH, ownCallbackPath(':name'), ownCallbackPath(':organization/:id')],
    anyBrowser('Provider'),
    async (c, { browser }) => {
      const url = new URL(c.req.url)
      const states = url.searchParams.getAll('state')
      const [state = ''] = states
      if (states.length !== 1 || state === '')
        throw invalidArgument('', 'the parameter state is required exactly once')
      const pendingSignIn = await pendingSignIns.consume(state)
      if (pendingSignIn === undefined || !isSameBrowser(browser.secret, pendingSignIn.browser))
        throw authorizationRequestExpired()
      // A response at the redirect URI of another provider contains a code of that provider.
      if (c.req.path !== pendingSignIn.callback) throw authorizationRequestExpired()
      const provider = await providers.byId(pendingSignIn.provider)
      const isSame = provider?.issuer === pendingSignIn.issuer && provider.clientId === pendingSignIn.clientId
      if (provider === undefined || !isSame) throw unknownProvider()
      if (callbackPathOf(provider) !== pendingSignIn.callback) throw authorizationRequestExpired()
      if (pendingSignIn.isTest === true) {
        if (browser.session === undefined) throw new SignInRequired()
        await requireTester(context, browser.session, provider.id)
        const response = { url: callbackUrl(url, authUrl, provider), state, sent: pendingSignIn }
        return c.html(await completeTest(context, provider, response))
      }
      await withProviderErrors(context, c.env.requestId, provider, async () =>
        checkResponseIssuer(provider, url),
      )

      const { request } = pendingSignIn
      if (url.searchParams.has('error')) {
        // The description of the error is not verified, so it is not repeated (R29).
        const declined = url.searchParams.get('error') === 'access_denied'
        return c.html(
          messagePage(
            'You were not signed in',
            declined
              ? `The sign-in with ${provider.label} was declined.`
              : `${provider.label} did not sign you in.`,
          ),
          403,
        )
      }
      const claims = await withProviderErrors(context, c.env.requestId, provider, () =>
        upstream.completeSignIn(provider, callbackUrl(url, authUrl, provider), state, pendingSignIn),
      )
      const secret = requestSecretOf(request)
      const waitingRequest = secret === '' ? undefined : await authorizationRequests(store).read(secret)
      const requestInfo = { requestId: c.env.requestId, address: c.env.address }
      const outcome = await signInWithProvider(context, provider, claims, {
        register: waitingRequest?.skipRegistration !== true,
        requestInfo,
        startSession: (user) => signIn(c, context, browser, user),
      })
      if (outcome === 'unknown-user') {
        // The uid that the identity of this user would have.
        const uid = await lookupUser(store.db.kysely, provider.issuer, claims.subject)
        context.audit.recordDenial(
          { ...requestInfo, timeMs: store.clock(), actor: uid, method: METHOD, uid },
          { code: Code.NOT_FOUND, reason: 'account not found' },
        )
        return closeWithError(c, context, secret, {
          error: 'access_denied',
          description: 'account not found',
          status: 404,
        })
      }
      if (outcome === 'provider-changed') throw unknownProvider()
      return c.redirect(pathAfterSignIn(request), 303)
    },
  )

  return app
}

interface ProviderSignInOptions {
  /** Whether an unknown user is registered. */
  readonly register: boolean
  readonly requestInfo: { readonly requestId: string; readonly address: string }
  /** Starts the session of the user that `user` returns, in one transaction with it. */
  startSession(user: (tx: Tx) => Promise<SignedIn>): Promise<void>
}

/** Signs a user of a provider in, with all writes in one transaction. */
async function signInWithProvider(
  { store }: SignInContext,
  provider: Provider,
  { subject, email, emailVerified, groups }: Claims,
  { register, requestInfo, startSession }: ProviderSignInOptions,
): Promise<'signed-in' | 'unknown-user' | 'provider-changed'> {
  const person = { issuer: provider.issuer, subject, email, emailVerified }
  const voucher = voucherOf(provider, person)
  // Of the first generation: a user who was deleted and returns has another uid.
  assignShare(userUid(provider.issuer, subject, 0))
  class SignInRejected extends Error {
    readonly outcome: 'unknown-user' | 'provider-changed'
    constructor(outcome: 'unknown-user' | 'provider-changed') {
      super(outcome)
      this.outcome = outcome
    }
  }
  try {
    await startSession(async (tx) => {
      const user = await findOrRegisterUser(store, tx, { provider, person }, { register })
      if (typeof user === 'string') throw new SignInRejected(user)
      const { uid } = user
      await recordEvent(tx, { ...requestInfo, timeMs: store.clock(), actor: uid, method: METHOD, uid })
      return {
        identity: uid,
        method: 'provider',
        voucher,
        groups,
      }
    })
    return 'signed-in'
  } catch (error) {
    if (error instanceof SignInRejected) return error.outcome
    throw error
  }
}

/** The address of the callback with our own host instead of that of the request (R39). */
function callbackUrl(url: URL, authUrl: string, provider: Provider): URL {
  return new URL(`${callbackPathOf(provider)}${url.search}`, authUrl)
}

function unknownProvider(): ApiError {
  return new ApiError(Code.NOT_FOUND, 'Not found: unknown identity provider')
}

/** The same for a name that is unknown, of an unverified organization, or of one without a provider. */
function organizationWithoutProvider(organization: string): Pick<SignInPage, 'organization' | 'problem'> {
  return {
    organization: organization.slice(0, limits.nameCharsMax),
    problem: {
      field: 'organization',
      text: 'No verified organization with this name has an identity provider. Check the name, or ask an owner of the organization for a sign-in link.',
    },
  }
}
