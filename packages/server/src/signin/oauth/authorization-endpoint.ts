import { invalidArgument } from '../../api/errors.ts'
import type { SignInContext } from '../context.ts'
import { anyClient } from '../pages/page-operation.ts'
import { PageRoutes } from '../pages/page-routes.ts'
import { resolveProviderUid } from '../providers/providers.ts'
import { countAttempt } from '../rate-limits/attempts.ts'
import { resolveAudiences } from './audiences.ts'
import { authorizationRequestDefaults } from './authorization-requests.ts'
import { startAuthorizationRequest } from './browser-binding.ts'
import { readParameters } from './parameters.ts'
import { isCodeChallenge } from './pkce.ts'
import { withQueryParameters } from './redirect-uri.ts'
import { parseScope } from './scope.ts'

/**
 * The authorization endpoint (RFC 6749 section 3.1) with code, PKCE by SHA-256 (RFC 7636) and state. Until the redirect URI is known to be
 * registered for the client, errors are shown on a page (section 4.1.2.1).
 */
export function authorizeRoutes(context: SignInContext): PageRoutes {
  const app = new PageRoutes(context)
  app.get('/oauth/authorize', anyClient('Authorize'), async (c) => {
    const sent = new URL(c.req.url).searchParams
    // These two decide where errors are sent, so they are checked first.
    const target = readParameters(selectParameters(sent, ['client_id', 'redirect_uri']))
    if (target.problem !== undefined) throw invalidArgument('', target.problem)
    const client = context.clients.byId(target.get('client_id'))
    if (client === undefined) throw invalidArgument('', 'unknown client_id')
    const redirect = context.clients.matchRedirectUri(client, target.get('redirect_uri'))
    if (redirect === undefined)
      throw invalidArgument('', 'this redirect_uri is not registered for the client')

    const parameters = readParameters(sent, { repeatable: ['audience'] })
    const state = sent.getAll('state').length === 1 ? parameters.get('state') : ''
    const refuse = (error: string, description: string) =>
      c.redirect(
        withQueryParameters(redirect, {
          error,
          error_description: description,
          state: state === '' ? undefined : state,
          iss: context.authUrl,
        }),
        303,
      )
    if (parameters.problem !== undefined) return refuse('invalid_request', parameters.problem)
    if (parameters.get('request') !== '')
      return refuse('request_not_supported', 'request objects are not supported')
    if (parameters.get('request_uri') !== '')
      return refuse('request_uri_not_supported', 'request objects are not supported')
    const type = parameters.get('response_type')
    if (type === '') return refuse('invalid_request', 'response_type is required')
    if (type !== 'code') return refuse('unsupported_response_type', 'response_type must be code')
    const mode = parameters.get('response_mode')
    if (mode !== '' && mode !== 'query') return refuse('invalid_request', 'response_mode must be query')
    if (state === '') return refuse('invalid_request', 'state is required')
    if (parameters.get('code_challenge_method') !== 'S256')
      return refuse('invalid_request', 'code_challenge_method must be S256')
    const challenge = parameters.get('code_challenge')
    if (!isCodeChallenge(challenge))
      return refuse('invalid_request', 'code_challenge must be 43 characters of base64url')
    const scope = parseScope(parameters.get('scope'))
    if (scope === undefined) return refuse('invalid_scope', 'scope contains an unknown value')
    const audiences = resolveAudiences(context.audiences, parameters.all('audience'))
    if (audiences === undefined)
      return refuse('invalid_target', `audience must be one of ${context.audiences.join(', ')}`)

    // As in the browser flow of the public SDK: the provider to sign in with.
    const idpId = parameters.get('idp_id')
    if (idpId !== '') await countAttempt(context.store, 'provider', c.env.address)
    const identityProvider = idpId === '' ? '' : await resolveProviderUid(context.store.db.kysely, idpId)
    if (identityProvider === undefined)
      return refuse(
        'invalid_request',
        'idp_id is neither an identity provider nor a verified organization that has one',
      )
    // Consent always needs a page (OpenID Connect Core 1.0 section 3.1.2.6). The last check, so that clients can verify a request.
    if (parameters.get('prompt') === 'none')
      return refuse('interaction_required', 'the user has to consent on a page')

    return startAuthorizationRequest(c, context, {
      ...authorizationRequestDefaults,
      client: client.id,
      identityProvider,
      connection: parameters.get('connection'),
      audiences,
      refreshToken: true,
      idToken: scope.idToken,
      nonce: parameters.get('nonce'),
      reply: { kind: 'code', redirect: redirect.href, state, challenge },
    })
  })
  return app
}

function selectParameters(sent: URLSearchParams, names: readonly string[]): URLSearchParams {
  return new URLSearchParams([...sent].filter(([name]) => names.includes(name)))
}
