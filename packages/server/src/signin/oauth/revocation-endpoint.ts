import { Hono } from 'hono'
import { recordEvent } from '../../storage/changes/audit-events.ts'
import { inTransaction } from '../../storage/db.ts'
import { verifyRefreshToken } from '../../tokens/sessions/client-session.ts'
import { endSessions } from '../../tokens/sessions/sessions.ts'
import type { SignInContext, SignInEnv, SignInRoutes } from '../context.ts'
import { clientOfSession } from '../sessions/client-of-session.ts'
import { flowEvent } from '../sessions/sign-in-events.ts'
import { clientEndpoint, oauthError } from './client-endpoint.ts'

/**
 * Revocation (RFC 7009): a client that is done with a token ends the session that it belongs to, and with it the refresh token and
 * every access token. Of a token that opens nothing any more, or never did, the answer is the same: it opens nothing (section 2.2).
 */
export function revokeRoutes(context: SignInContext): SignInRoutes {
  const app: SignInRoutes = new Hono<SignInEnv>()
  app.post(
    '/oauth/revoke',
    clientEndpoint(context, [], async (parameters, c) => {
      const client = parameters.get('client_id')
      const token = parameters.get('token')
      if (client === '') return oauthError(c, 'invalid_request', 'client_id must be given')
      if (context.clients.byId(client) === undefined)
        return oauthError(c, 'invalid_client', 'client_id is not a program that is known here', 401)
      if (token === '') return oauthError(c, 'invalid_request', 'token must be given')
      const found = await sessionOfToken(context, token)
      const owner = found === undefined ? undefined : await clientOfSession(context.store, found.session)
      if (found === undefined || owner === undefined) return c.body(null, 200)
      // A session that came of a key has no client: whoever has its token may end it.
      if (owner !== '' && owner !== client)
        return oauthError(c, 'invalid_grant', 'the token was given to another client')
      const event = flowEvent(c, context, found.identity, 'Revoke')
      await inTransaction(context.store.db, async (tx) => {
        if ((await endSessions(tx, 'id', found.session)) > 0) await recordEvent(tx, event)
      })
      return c.body(null, 200)
    }),
  )
  return app
}

/** Whose session a token of ours belongs to, whichever of the two kinds it is: what the client says of it is only a hint. */
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
