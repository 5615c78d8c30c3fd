import type { Context } from 'hono'
import { Code } from '../../api/errors.ts'
import { assignShare } from '../../pipeline/request/request-context.ts'
import { recordEvent } from '../../storage/changes/audit-events.ts'
import { inTransaction } from '../../storage/db.ts'
import {
  type ClientTokens,
  issueClientTokens,
  refreshClientTokens,
  verifyRefreshToken,
} from '../../tokens/sessions/client-session.ts'
import { endSessions } from '../../tokens/sessions/sessions.ts'
import type { SignInContext, SignInEnv } from '../context.ts'
import { PageRoutes } from '../pages/page-routes.ts'
import { clientOfSession } from '../sessions/client-of-session.ts'
import { flowEvent } from '../sessions/sign-in-events.ts'
import { resolveAudiences } from './audiences.ts'
import { authorizationCodes } from './authorization-codes.ts'
import { type AuthorizationGrant, isGrantActive } from './authorization-grants.ts'
import { clientEndpoint, clientOperation, oauthError } from './client-endpoint.ts'
import { deviceCodes } from './device/device-codes.ts'
import { issueUserIdToken } from './id-tokens.ts'
import type { OAuthParameters } from './parameters.ts'
import { parseScope } from './scope.ts'

/** The token endpoint (RFC 6749 section 3.2), at which a client exchanges a grant for tokens. */

const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

interface ClientCall {
  readonly c: Context<SignInEnv>
  readonly context: SignInContext
  readonly parameters: OAuthParameters
  /** id of the client. */
  readonly client: string
}

const grantHandlers: Readonly<Record<string, (call: ClientCall) => Promise<Response>>> = {
  authorization_code: redeemAuthorizationCode,
  refresh_token: redeemRefreshToken,
  [DEVICE_GRANT]: redeemDeviceCode,
}

const grantTypes: readonly string[] = Object.keys(grantHandlers)

export function tokenRoutes(context: SignInContext): PageRoutes {
  const app = new PageRoutes(context)
  app.post(
    '/oauth/token',
    clientOperation(context, 'IssueTokens'),
    clientEndpoint(['audience'], async (parameters, c) => {
      const type = parameters.get('grant_type')
      if (type === '') return oauthError(c, 'invalid_request', 'grant_type is required')
      const grant = Object.hasOwn(grantHandlers, type) ? grantHandlers[type] : undefined
      if (grant === undefined)
        return oauthError(c, 'unsupported_grant_type', `grant_type must be among ${grantTypes.join(', ')}`)
      const client = parameters.get('client_id')
      if (client === '') return oauthError(c, 'invalid_request', 'client_id is required')
      if (context.clients.byId(client) === undefined)
        return oauthError(c, 'invalid_client', 'unknown client_id', 401)
      return grant({ c, context, parameters, client })
    }),
  )
  return app
}

async function redeemAuthorizationCode(call: ClientCall): Promise<Response> {
  const { c, context, parameters, client } = call
  const missing = ['code', 'redirect_uri', 'code_verifier'].find((name) => parameters.get(name) === '')
  if (missing !== undefined) return oauthError(c, 'invalid_request', `${missing} is required`)
  const codes = authorizationCodes(context.store)
  const code = parameters.get('code')
  const redeemed = await codes.redeem(code, {
    client,
    redirect: parameters.get('redirect_uri'),
    verifier: parameters.get('code_verifier'),
  })
  if (redeemed.kind === 'refused') {
    if (redeemed.identity !== undefined) {
      const event = flowEvent(c, context, redeemed.identity, 'RedeemCode')
      context.audit.recordDenial(event, { code: Code.UNAUTHENTICATED, reason: redeemed.reason })
    }
    return oauthError(c, 'invalid_grant', redeemed.reason)
  }
  if (redeemed.kind === 'replayed') return endReplayedSession(call, redeemed.identity, redeemed.session)
  return issueTokens(call, redeemed.grant, [client], (session) => codes.attachSession(code, session))
}

async function redeemDeviceCode(call: ClientCall): Promise<Response> {
  const { c, context, parameters, client } = call
  const deviceCode = parameters.get('device_code')
  if (deviceCode === '') return oauthError(c, 'invalid_request', 'device_code is required')
  const result = await deviceCodes(context.store).poll(deviceCode, client)
  if (result.kind === 'unknown') return oauthError(c, 'invalid_grant', 'unknown device code')
  if (result.kind !== 'granted') return oauthError(c, result.kind, deviceErrorDescriptions[result.kind])
  // Clients of the public SDK exchange the ID token, so the token service is an audience of it.
  return issueTokens(call, { ...result.grant, idToken: true }, [client, context.authUrl])
}

/** A refresh token belongs to the client that it was issued to (RFC 6749 section 6); an attempt of another client does not use it up. */
async function redeemRefreshToken({ c, context, parameters, client }: ClientCall): Promise<Response> {
  const text = parameters.get('refresh_token')
  if (text === '') return oauthError(c, 'invalid_request', 'refresh_token is required')
  const token = verifyRefreshToken(context, text)
  assignShare(token?.identity ?? '')
  if (token === undefined || (await clientOfSession(context.store, token.session)) !== client)
    return oauthError(
      c,
      'invalid_grant',
      'the refresh token was not issued to this client, or its session has ended',
    )
  if (parseScope(parameters.get('scope')) === undefined)
    return oauthError(c, 'invalid_scope', 'scope contains an unknown value')
  const requested = parameters.all('audience')
  const audiences = requested.length === 0 ? token.audiences : resolveAudiences(token.audiences, requested)
  if (audiences === undefined)
    return oauthError(c, 'invalid_target', 'audience must be one of the granted audiences')
  const refreshed = await refreshClientTokens(context, token, {
    audiences,
    clientInfo: context.requestMetadataOf(c),
    method: 'berth.signin/RefreshToken',
    requestId: c.env.requestId,
  })
  return refreshed.ok
    ? c.json(tokenResponse(context, refreshed.tokens))
    : oauthError(c, 'invalid_grant', refreshed.reason)
}

const deviceErrorDescriptions = {
  authorization_pending: 'the user has not confirmed the code yet',
  slow_down: 'wait longer between two requests',
  access_denied: 'the user denied the request',
  expired_token: 'the code expired before the user confirmed it',
} as const

/** Issues the tokens of a grant. `onIssued` receives the session and returns false if it must end. */
async function issueTokens(
  call: ClientCall,
  grant: AuthorizationGrant,
  idTokenAudiences: readonly string[],
  onIssued: (session: string) => Promise<boolean> = async () => true,
): Promise<Response> {
  const { c, context, parameters } = call
  assignShare(grant.who.identity)
  if (!(await isGrantActive(context.store, grant)))
    return oauthError(c, 'invalid_grant', 'the user who granted access is no longer signed in')
  const requested = parameters.all('audience')
  const audiences = requested.length === 0 ? grant.audiences : resolveAudiences(grant.audiences, requested)
  if (audiences === undefined)
    return oauthError(c, 'invalid_target', 'audience must be one of the granted audiences')
  const tokens = await issueClientTokens(context, grant.who, {
    client: grant.client,
    audiences: grant.audiences,
    tokenAudiences: audiences,
    clientInfo: context.requestMetadataOf(c),
  })
  if (!(await onIssued(tokens.session))) return endReplayedSession(call, grant.who.identity, tokens.session)
  const idToken = grant.idToken
    ? await issueUserIdToken(context, {
        identity: grant.who.identity,
        voucher: grant.who.voucher,
        audiences: idTokenAudiences,
        session: idTokenAudiences.length > 1 ? tokens.session : undefined,
        nonce: grant.nonce,
        signedInMs: grant.signedInMs,
      })
    : undefined
  return c.json(tokenResponse(context, tokens, idToken))
}

/** RFC 6749 section 5.1. */
function tokenResponse(
  { store }: Pick<SignInContext, 'store'>,
  { accessToken, expiresAtMs, refreshToken }: Omit<ClientTokens, 'session'>,
  idToken?: string,
) {
  return {
    access_token: accessToken,
    token_type: 'Bearer',
    expires_in: Math.floor((expiresAtMs - store.clock()) / 1000),
    // JSON omits undefined members.
    refresh_token: refreshToken,
    id_token: idToken,
  }
}

/** Ends the session of a replayed code (RFC 6749 section 4.1.2); `session` is '' if the code has started none yet. */
async function endReplayedSession(
  { c, context }: ClientCall,
  identity: string,
  session: string,
): Promise<Response> {
  const { store } = context
  await inTransaction(store.db, async (tx) => {
    if (session !== '' && (await endSessions(tx, 'id', session)) > 0)
      await recordEvent(tx, flowEvent(c, context, identity, 'EndReplayedCode'))
  })
  return oauthError(c, 'invalid_grant', 'the code was already used')
}
