import { Hono } from 'hono'
import { invalidArgument } from '../core/errors.ts'
import { checkName } from '../core/fields.ts'
import { parseUid } from '../core/uid.ts'
import type { AuthorizationRequest } from './authorization.ts'
import { countBeginning } from './beginnings.ts'
import type { SignInContext, SignInEnv, SignInRoutes } from './context.ts'
import { beginFlow } from './flow-browser.ts'
import { isHeadlessCode } from './headless.ts'
import { refusedAddress } from './loopback-answer.ts'
import { type OAuthParameters, readParameters } from './oauth-parameters.ts'
import { providerNamed, providerOfOrganization } from './providers.ts'
import { loopbackAddress } from './redirect.ts'
import { audiencesAmong } from './requested-audience.ts'

/**
 * The browser flow and the headless flow of the public SDK, parameter by parameter. The browser flow answers with a token in an
 * address, so that address is one of the machine that the browser runs on, and of no other.
 */

type Flow = Omit<AuthorizationRequest, 'browser' | 'reply'>

/** Why a request will not do, as the SDK's client is told: text and an HTTP status, of which 404 means an unknown account. */
interface Refusal {
  readonly error: string
  readonly status: number
}

export function browserFlowRoutes(context: SignInContext): SignInRoutes {
  const app: SignInRoutes = new Hono<SignInEnv>()

  app.get('/oauth', async (c) => {
    const sent = new URL(c.req.url).searchParams
    const codes = sent.getAll('headless_code')
    if (codes.length > 0) {
      const parameters = readParameters(sent)
      if (parameters.problem !== undefined) throw invalidArgument('', parameters.problem)
      const [code = ''] = codes
      if (!isHeadlessCode(code)) throw invalidArgument('headless_code', 'is not the code of a program')
      for (const name of ['redirect', 'audience', 'identity', 'scope', 'create_refresh_token'])
        if (parameters.get(name) !== '') throw invalidArgument(name, 'does not go with headless_code')
      const flow = await readFlow(context, parameters, [], c.env.address)
      if ('error' in flow) throw invalidArgument('', flow.error)
      return beginFlow(c, context, { ...flow, reply: { kind: 'headless', code } })
    }

    const redirects = sent.getAll('redirect')
    const redirect = redirects.length === 1 ? loopbackAddress(redirects[0] ?? '') : undefined
    if (redirect === undefined)
      throw invalidArgument('redirect', 'must be one address of the machine that the browser runs on')
    const parameters = readParameters(sent, { repeatable: ['scope'] })
    const audiences = parameters.get('audience').split(',')
    const flow: Flow | Refusal =
      parameters.problem === undefined
        ? await readFlow(
            context,
            parameters,
            audiences.filter((one) => one !== ''),
            c.env.address,
          )
        : { error: parameters.problem, status: 400 }
    if ('error' in flow) return c.redirect(refusedAddress(redirect, flow), 303)
    return beginFlow(c, context, { ...flow, reply: { kind: 'loopback', redirect: redirect.href } })
  })

  app.get('/orgcheck', async (c) => {
    const name = c.req.query('name') ?? ''
    if (name === '') return c.json(false, 400)
    await countBeginning(context.store, 'provider', c.env.address)
    return c.json((await providerOfOrganization(context.store.db.kysely, name)) !== undefined)
  })

  return app
}

const NO_PROVIDER: Refusal = { error: 'there is no such identity provider', status: 400 }

async function readFlow(
  { audiences: allowed, store }: SignInContext,
  parameters: OAuthParameters,
  asked: readonly string[],
  address: string,
): Promise<Flow | Refusal> {
  const no = (error: string): Refusal => ({ error, status: 400 })
  const exit = parameters.get('exit')
  if (exit !== '' && exit !== 'redirect') return no('exit must be redirect')
  const flags = { skip_registration: false, create_refresh_token: false }
  for (const name of ['skip_registration', 'create_refresh_token'] as const) {
    const value = parameters.get(name)
    if (!['', 'true', 'false'].includes(value)) return no(`${name} must be true or false`)
    flags[name] = value === 'true'
  }
  const audiences = audiencesAmong(allowed, asked)
  if (audiences === undefined) return no(`audience must be among ${allowed.join(', ')}`)
  const identity = parameters.get('identity')
  if (identity !== '' && parseUid(identity) === undefined) return no('identity must be a uid')
  const scopes = parameters.all('scope').map(decodedOnce)
  if (!scopes.every(isScope)) return no('scope must be the uid or the name of a group')

  const provider = parameters.get('idp_id')
  const client = parameters.get('client_id')
  const connection = parameters.get('connection')
  if (provider !== '' && (client !== '' || connection !== ''))
    return no('idp_id does not go with client_id or connection')
  if (provider !== '') await countBeginning(store, 'provider', address)
  const identityProvider = provider === '' ? '' : await providerNamed(store.db.kysely, provider)
  if (identityProvider === undefined) return NO_PROVIDER
  return {
    client,
    identityProvider,
    connection,
    skipRegistration: flags.skip_registration,
    invite: parameters.get('invite'),
    audiences,
    scopes: [...new Set(scopes)],
    identity,
    refreshToken: flags.create_refresh_token,
    idToken: false,
    nonce: '',
  }
}

/** The SDK encodes scopes twice; whoever does it once has nothing in a uid or a name that decoding would change. */
function decodedOnce(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function isScope(text: string): boolean {
  return parseUid(text) !== undefined || checkName(text) === undefined
}
