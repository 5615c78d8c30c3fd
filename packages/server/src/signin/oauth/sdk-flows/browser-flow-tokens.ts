import type { Context } from 'hono'
import { ApiError } from '../../../api/errors.ts'
import { parseUid } from '../../../api/uid.ts'
import { issueClientTokens } from '../../../tokens/sessions/client-session.ts'
import type { Session } from '../../../tokens/sessions/sessions.ts'
import type { SignInContext, SignInEnv } from '../../context.ts'
import { readSessionUser } from '../authorization-grants.ts'
import type { AuthorizationRequest } from '../authorization-requests.ts'
import type { AuthorizationErrorResponse } from '../consent/authorization-response.ts'
import { issueUserIdToken } from '../id-tokens.ts'

/** Tokens for clients of the public SDK: an API token, or an ID token that they exchange for one. */

export interface BrowserFlowTokens {
  readonly token: string
  readonly refreshToken: string | undefined
}

/**
 * Issues the token of the browser flow. It can be renewed only if it is for the user's own identity and not narrowed: otherwise a refresh
 * token would give more than the user granted.
 */
export async function issueBrowserFlowTokens(
  c: Context<SignInEnv>,
  context: SignInContext,
  request: AuthorizationRequest,
  session: Session,
): Promise<BrowserFlowTokens | AuthorizationErrorResponse> {
  const scopes = await Promise.all(request.scopes.map((scope) => resolveGroupUid(context, scope)))
  if (scopes.includes(undefined)) return { error: 'invalid_scope', description: 'unknown group', status: 400 }
  const own = request.identity === '' || request.identity === session.identity
  const issued = await issueClientTokens(context, await readSessionUser(context.store, session), {
    client: request.client,
    audiences: own ? request.audiences : [context.authUrl],
    scopes: own ? (scopes as string[]) : [],
    refreshToken: own && request.refreshToken,
    clientInfo: context.requestMetadataOf(c),
  })
  return own
    ? { token: issued.accessToken, refreshToken: issued.refreshToken }
    : assumeIdentity(c, context, request, scopes as string[], issued.accessToken)
}

/** Issues the ID token of the headless flow, which the client exchanges at the token service. */
export async function issueHeadlessIdToken(
  c: Context<SignInEnv>,
  context: SignInContext,
  request: AuthorizationRequest,
  session: Session,
): Promise<string | undefined> {
  const { session: id } = await issueClientTokens(context, await readSessionUser(context.store, session), {
    client: request.client,
    audiences: [context.authUrl],
    refreshToken: false,
    clientInfo: context.requestMetadataOf(c),
  })
  return issueUserIdToken(context, {
    identity: session.identity,
    voucher: session.voucher,
    audiences: [context.authUrl],
    session: id,
    nonce: '',
    signedInMs: session.createdMs,
  })
}

/** Exchanges the user's own token for one of an identity that they may assume. */
async function assumeIdentity(
  c: Context<SignInEnv>,
  context: SignInContext,
  { identity, audiences }: AuthorizationRequest,
  scopes: readonly string[],
  accessToken: string,
): Promise<BrowserFlowTokens | AuthorizationErrorResponse> {
  try {
    const from = { requestId: c.env.requestId, address: context.requestMetadataOf(c).address }
    const token = await context.exchange(accessToken, { identity, audiences, scopes }, from)
    return { token, refreshToken: undefined }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return { error: 'access_denied', description: 'you are not allowed to assume this identity', status: 403 }
  }
}

/** Returns the uid of a group: a uid unchanged, or that of the organization with a name. */
async function resolveGroupUid({ store }: SignInContext, scope: string): Promise<string | undefined> {
  if (parseUid(scope) !== undefined) return scope
  const row = await store.db.kysely
    .selectFrom('organization_names')
    .select('uid')
    .where('name', '=', scope)
    .executeTakeFirst()
  return row?.uid
}
