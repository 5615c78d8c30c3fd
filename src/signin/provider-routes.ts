import { Hono } from 'hono'
import { ApiError, Code, invalidArgument } from '../core/errors.ts'
import { lookupUser } from '../iam/user-lookup.ts'
import { recordEvent } from '../storage/audit-events.ts'
import type { Tx } from '../storage/db.ts'
import { newSecret, pending } from '../storage/pending.ts'
import type { SignedIn } from '../sts/sessions.ts'
import { admit } from './admission.ts'
import { refuseFlow } from './answer.ts'
import { authorizationRequests, pathAfterSignIn } from './authorization.ts'
import { countBeginning } from './beginnings.ts'
import { browserOf, isSameBrowser, markOf, signIn } from './browser.ts'
import type { SignInContext, SignInEnv, SignInRoutes } from './context.ts'
import { messagePage } from './error-page.ts'
import { leavingPage } from './leaving-page.ts'
import type { Provider } from './providers.ts'
import { CALLBACK_PATH, type Claims, callbackPathOf, type SentOff, UpstreamError } from './upstream.ts'

/**
 * Signing in through an OpenID provider: the browser is sent there and comes back to `/oauth/callback`, or for one of
 * the operator's to an address below that. What came back counts once,
 * for the browser, the provider and the request that it was asked for, and for no other (R40).
 */

/** What waits for somebody to come back, by the state that was sent along. */
interface Departure extends SentOff {
  readonly provider: string
  /** Of the provider when they left: one that changed meanwhile has not been asked. */
  readonly issuer: string
  readonly clientId: string
  /** Which browser left (browser.ts). */
  readonly browser: string
  /** Secret of the authorization request that waits; '' for none. */
  readonly request: string
}

const AWAY_MS = 10 * 60 * 1000
const METHOD = 'berth.signin/Provider'

export function providerRoutes(context: SignInContext): SignInRoutes {
  const { store, providers, upstream, authUrl } = context
  const departures = pending<Departure>(store, 'departure', AWAY_MS)
  const app: SignInRoutes = new Hono<SignInEnv>()

  app.get('/sign-in/provider', async (c) => {
    const browser = await browserOf(c, context)
    const request = c.req.query('request') ?? ''
    const name = c.req.query('organization')
    const id = name === undefined ? c.req.query('with') : await providers.ofOrganization(name.trim())
    const provider = id === undefined ? undefined : await providers.byId(id)
    if (provider === undefined) {
      throw name === undefined
        ? noSuchProvider()
        : new ApiError(Code.NOT_FOUND, 'Not found: no organization of this name has a sign-in of its own')
    }
    // Tokens of ours say who somebody is here; they do not make anybody somebody else.
    if (provider.issuer === authUrl) throw noSuchProvider()
    const href = providerPath(provider.id, request)
    if (name !== undefined)
      return c.html(leavingPage(`Sign in to ${name.trim()}`, `${provider.label} signs you in.`, href))
    // Whoever follows a link would find themselves signed in as somebody else, and what they were signed in with would be over.
    const signedIn = browser.session !== undefined
    if (c.req.header('sec-fetch-site') === 'cross-site' && (signedIn || request === ''))
      return c.html(
        leavingPage(
          `Sign in with ${provider.label}?`,
          `A link on another site asks for it.${signedIn ? ' You are signed in already; that would end here.' : ''} Go on only if you expected this.`,
          href,
        ),
      )
    await countBeginning(store, 'departure', c.env.address)
    const state = newSecret()
    const { url, sent } = await orExplain(context, c.env.requestId, provider, () =>
      upstream.begin(provider, state),
    )
    const { issuer, clientId } = provider
    const departure = { ...sent, provider: provider.id, issuer, clientId, browser: markOf(browser), request }
    await departures.keep(departure, state)
    return c.redirect(url, 303)
  })

  app.on('GET', [CALLBACK_PATH, `${CALLBACK_PATH}/:name`], async (c) => {
    const browser = await browserOf(c, context)
    const url = new URL(c.req.url)
    const states = url.searchParams.getAll('state')
    const [state = ''] = states
    if (states.length !== 1 || state === '') throw invalidArgument('state', 'must be given once')
    const departure = await departures.take(state)
    if (departure === undefined || !isSameBrowser(browser, departure.browser)) throw nobodyLeft()
    const provider = await providers.byId(departure.provider)
    const isSame = provider?.issuer === departure.issuer && provider.clientId === departure.clientId
    if (provider === undefined || !isSame) throw noSuchProvider()
    if (c.req.path !== callbackPathOf(provider)) throw nobodyLeft()

    const { request } = departure
    if (url.searchParams.has('error')) {
      // Whatever it says may come from anybody, so it is not repeated (R29).
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
    const claims = await orExplain(context, c.env.requestId, provider, () =>
      upstream.finish(provider, ownAddress(url, authUrl, provider), state, departure),
    )
    const waiting = request === '' ? undefined : await authorizationRequests(store).read(request)
    const place = { requestId: c.env.requestId, address: c.env.address }
    const outcome = await enter(context, provider, claims, {
      register: waiting?.skipRegistration !== true,
      place,
      begin: (who) => signIn(c, context, browser, who),
    })
    if (outcome === 'stranger') {
      // They have no identity yet; this is the one that they would get.
      const uid = await lookupUser(store.db.kysely, provider.issuer, claims.subject)
      context.audit.refused(
        { ...place, timeMs: store.clock(), actor: uid, method: METHOD, uid },
        { code: Code.NOT_FOUND, reason: 'account not found' },
      )
      return refuseFlow(c, context, request, {
        error: 'access_denied',
        description: 'account not found',
        status: 404,
      })
    }
    if (outcome === 'gone') throw noSuchProvider()
    return c.redirect(pathAfterSignIn(request === '' ? undefined : request), 303)
  })

  return app
}

/** The way to a provider; `request` is the secret of what waits, '' for nothing. */
export function providerPath(id: string, request: string): string {
  const query = new URLSearchParams({ with: id, ...(request === '' ? {} : { request }) })
  return `/sign-in/provider?${query}`
}

interface Entry {
  /** Whether somebody who was never here may come in. */
  readonly register: boolean
  readonly place: { readonly requestId: string; readonly address: string }
  /** Begins the session of whoever `who` finds, in one transaction with finding them. */
  begin(who: (tx: Tx) => Promise<SignedIn>): Promise<void>
}

/** Lets somebody in whom their provider vouches for; all that is written for them is written at once. */
async function enter(
  { store }: SignInContext,
  provider: Provider,
  { subject, email, emailVerified, groups }: Claims,
  { register, place, begin }: Entry,
): Promise<'in' | 'stranger' | 'gone'> {
  const person = { issuer: provider.issuer, subject, email, emailVerified }
  class Turned extends Error {
    readonly outcome: 'stranger' | 'gone'
    constructor(outcome: 'stranger' | 'gone') {
      super(outcome)
      this.outcome = outcome
    }
  }
  try {
    await begin(async (tx) => {
      const admitted = await admit(store, tx, { provider, person }, { strangers: register })
      if (typeof admitted === 'string') throw new Turned(admitted)
      const { uid } = admitted
      await recordEvent(tx, { ...place, timeMs: store.clock(), actor: uid, method: METHOD, uid })
      return {
        identity: uid,
        method: 'provider',
        provider: provider.organization === '' ? '' : provider.id,
        groups,
      }
    })
    return 'in'
  } catch (error) {
    if (error instanceof Turned) return error.outcome
    throw error
  }
}

/** What the library or the guard says of it, without the answer itself, which may hold tokens. */
function causeOf({ cause }: UpstreamError): object {
  if (!(cause instanceof Error)) return {}
  const { code, error } = cause as { readonly code?: unknown; readonly error?: unknown }
  // The name of an error of OAuth, such as invalid_client.
  const named = typeof error === 'string' && /^[a-z_]{1,60}$/.test(error) ? { error } : {}
  return { cause: cause.message, ...(typeof code === 'string' ? { code } : {}), ...named }
}

/** The address under which the browser came, with our own host: the one it names is not believed (R39). */
function ownAddress(url: URL, authUrl: string, provider: Provider): URL {
  return new URL(`${callbackPathOf(provider)}${url.search}`, authUrl)
}

async function orExplain<T>(
  { log }: SignInContext,
  requestId: string,
  { id, label }: Provider,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    log.warn(
      { requestId, provider: id, why: error.message, ...causeOf(error) },
      'a provider signed nobody in',
    )
    const code = error.kind === 'unavailable' ? Code.UNAVAILABLE : Code.PERMISSION_DENIED
    const text =
      error.kind === 'unavailable'
        ? 'try again in a moment'
        : 'its administrator can find out more in the log'
    throw new ApiError(code, `${label} cannot sign you in: ${error.message}; ${text}`, { cause: error })
  }
}

function noSuchProvider(): ApiError {
  return new ApiError(Code.NOT_FOUND, 'Not found: there is no such identity provider')
}

function nobodyLeft(): ApiError {
  return new ApiError(
    Code.NOT_FOUND,
    'Not found: this sign-in is over, or was begun in another browser; begin again',
  )
}
