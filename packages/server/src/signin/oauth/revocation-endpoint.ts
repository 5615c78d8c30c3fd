import { assignShare } from '../../pipeline/request/request-context.ts'
import { recordEvent } from '../../storage/changes/audit-events.ts'
import { inTransaction } from '../../storage/db.ts'
import { verifyRefreshToken } from '../../tokens/sessions/client-session.ts'
import { endSessions } from '../../tokens/sessions/sessions.ts'
import type { SignInContext } from '../context.ts'
import { PageRoutes } from '../pages/page-routes.ts'
import { clientOfSession } from '../sessions/client-of-session.ts'
import { flowEvent } from '../sessions/sign-in-events.ts'
import { clientEndpoint, clientOperation, oauthError } from './client-endpoint.ts'

/**
 * Revocation (RFC 7009): ends the session of a token, with its refresh token and all its access tokens. The response for an invalid token is
 * the same (section 2.2).
 */
export function revokeRoutes(context: SignInContext): PageRoutes {
  const app = new PageRoutes(context)
  app.post(
    '/oauth/revoke',
    clientOperation(context, 'Revoke'),
    clientEndpoint([], async (parameters, c) => {
      const client = parameters.get('client_id')
      const token = parameters.get('token')
      if (client === '') return oauthError(c, 'invalid_request', 'client_id is required')
      if (context.clients.byId(client) === undefined)
        return oauthError(c, 'invalid_client', 'unknown client_id', 401)
      if (token === '') return oauthError(c, 'invalid_request', 'token is required')
      const found = await sessionOfToken(context, token)
      assignShare(found?.identity ?? '')
      const owner = found === undefined ? undefined : await clientOfSession(context.store, found.session)
      if (found === undefined || owner === undefined) return c.body(null, 200)
      // A session without a client, such as that of a headless flow, can be ended by any holder of its token.
      if (owner !== '' && owner !== client)
        return oauthError(c, 'invalid_grant', 'the token was issued to another client')
      const event = flowEvent(c, context, found.identity, 'Revoke')
      await inTransaction(context.store.db, async (tx) => {
        if ((await endSessions(tx, 'id', found.session)) > 0) await recordEvent(tx, event)
      })
      return c.body(null, 200)
    }),
  )
  return app
}

/** Finds the session of a refresh token or access token. The `token_type_hint` of the client is not needed. */
async function sessionOfToken(
  context: SignInContext,
  token: string,
): Promise<{ readonly identity: string; readonly session: string } | undefined> {
  const refresh = verifyRefreshToken(context, token)
  if (refresh !== undefined) return refresh
  const access = await context.tokens.verify(token)
  if (access instanceof Error || access.caller.session === undefined) return undefined
  return { identity: access.caller.identity, session: access.caller.session }
}
