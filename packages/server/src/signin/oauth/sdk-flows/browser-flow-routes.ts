import { invalidArgument } from '../../../api/errors.ts'
import { checkName } from '../../../api/fields.ts'
import { parseUid } from '../../../api/uid.ts'
import type { SignInContext } from '../../context.ts'
import { anyClient } from '../../pages/page-operation.ts'
import { PageRoutes } from '../../pages/page-routes.ts'
import { findProviderUidOfOrganization, resolveProviderUid } from '../../providers/providers.ts'
import { countAttempt } from '../../rate-limits/attempts.ts'
import { resolveAudiences } from '../audiences.ts'
import type { AuthorizationRequest } from '../authorization-requests.ts'
import { startAuthorizationRequest } from '../browser-binding.ts'
import { type OAuthParameters, readParameters } from '../parameters.ts'
import { parseLoopbackUri } from '../redirect-uri.ts'
import { isHeadlessCode } from './headless.ts'
import { loopbackErrorUrl } from './loopback-response.ts'

/**
 * The browser flow and the headless flow of the public SDK. The browser flow returns the token in a redirect URI, which must therefore be on
 * the machine of the browser.
 */

type FlowRequest = Omit<AuthorizationRequest, 'browser' | 'reply'>

/** An error for clients of the SDK: text and an HTTP status; 404 means an unknown account. */
interface FlowError {
  readonly error: string
  readonly status: number
}

export function browserFlowRoutes(context: SignInContext): PageRoutes {
  const app = new PageRoutes(context)

  app.get('/oauth', anyClient('StartBrowserFlow'), async (c) => {
    const sent = new URL(c.req.url).searchParams
    const codes = sent.getAll('headless_code')
    if (codes.length > 0) {
      const parameters = readParameters(sent)
      if (parameters.problem !== undefined) throw invalidArgument('', parameters.problem)
      const [code = ''] = codes
      if (!isHeadlessCode(code)) throw invalidArgument('', 'invalid headless_code')
      for (const name of ['redirect', 'audience', 'identity', 'scope', 'create_refresh_token'])
        if (parameters.get(name) !== '')
          throw invalidArgument('', `the parameter ${name} cannot be combined with headless_code`)
      const flow = await readFlowRequest(context, parameters, [], c.env.address)
      if ('error' in flow) throw invalidArgument('', flow.error)
      return startAuthorizationRequest(c, context, { ...flow, reply: { kind: 'headless', code } })
    }

    const redirects = sent.getAll('redirect')
    const redirect = redirects.length === 1 ? parseLoopbackUri(redirects[0] ?? '') : undefined
    if (redirect === undefined) throw invalidArgument('', 'redirect must be one loopback address')
    const parameters = readParameters(sent, { repeatable: ['scope'] })
    const audiences = parameters.get('audience').split(',')
    const flow: FlowRequest | FlowError =
      parameters.problem === undefined
        ? await readFlowRequest(
            context,
            parameters,
            audiences.filter((one) => one !== ''),
            c.env.address,
          )
        : { error: parameters.problem, status: 400 }
    if ('error' in flow) return c.redirect(loopbackErrorUrl(redirect, flow), 303)
    return startAuthorizationRequest(c, context, {
      ...flow,
      reply: { kind: 'loopback', redirect: redirect.href },
    })
  })

  app.get('/orgcheck', anyClient('CheckOrganization'), async (c) => {
    const name = c.req.query('name') ?? ''
    if (name === '') return c.json(false, 400)
    await countAttempt(context.store, 'provider', c.env.address)
    return c.json((await findProviderUidOfOrganization(context.store.db.kysely, name)) !== undefined)
  })

  return app
}

const NO_PROVIDER: FlowError = { error: 'unknown identity provider', status: 400 }

async function readFlowRequest(
  { audiences: allowed, store }: SignInContext,
  parameters: OAuthParameters,
  requestedAudiences: readonly string[],
  address: string,
): Promise<FlowRequest | FlowError> {
  const invalid = (error: string): FlowError => ({ error, status: 400 })
  const exit = parameters.get('exit')
  if (exit !== '' && exit !== 'redirect') return invalid('exit must be redirect')
  const flags = { skip_registration: false, create_refresh_token: false }
  for (const name of ['skip_registration', 'create_refresh_token'] as const) {
    const value = parameters.get(name)
    if (!['', 'true', 'false'].includes(value)) return invalid(`${name} must be true or false`)
    flags[name] = value === 'true'
  }
  const audiences = resolveAudiences(allowed, requestedAudiences)
  if (audiences === undefined) return invalid(`audience must be one of ${allowed.join(', ')}`)
  const identity = parameters.get('identity')
  if (identity !== '' && parseUid(identity) === undefined) return invalid('identity must be a uid')
  const scopes = parameters.all('scope').map(decodeScope)
  if (!scopes.every(isScope)) return invalid('scope must be the uid or the name of a group')

  const provider = parameters.get('idp_id')
  const client = parameters.get('client_id')
  const connection = parameters.get('connection')
  if (provider !== '' && (client !== '' || connection !== ''))
    return invalid('idp_id cannot be combined with client_id or connection')
  if (provider !== '') await countAttempt(store, 'provider', address)
  const identityProvider = provider === '' ? '' : await resolveProviderUid(store.db.kysely, provider)
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

/** The SDK encodes scopes twice. Decoding does not change a uid or a name that was encoded once. */
function decodeScope(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function isScope(text: string): boolean {
  return parseUid(text) !== undefined || checkName(text) === undefined
}
