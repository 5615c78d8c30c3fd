import { type RawToken, SecurityTokenService } from '@berth/contract/gen/chainguard/platform/oidc/sts_pb.js'
import { type ApiError, unauthenticated } from '../../api/errors.ts'
import { timestampOf } from '../../api/messages.ts'
import { fullMethodName } from '../../api/method-name.ts'
import { bearerToken } from '../../pipeline/authenticate.ts'
import { type Call, implement } from '../../pipeline/call.ts'
import { readTokenRequest } from '../exchange/token-request.ts'
import { type ClientSessions, refreshClientTokens, verifyRefreshToken } from '../sessions/client-session.ts'

/** The method with which clients of the public contract renew their access token. The refresh token is the bearer token. */

export interface RefreshOptions extends ClientSessions {
  /** Called with the identity of the token before it is used up; may reject. */
  readonly beforeIssue: (identity: string, call: Call) => Promise<void> | undefined
  /** Records that the identity was used. */
  readonly markSeen: (uid: string) => void
  /** Records in the audit log that a genuine token was rejected. */
  readonly auditRefused: (identity: string, error: ApiError, call: Call) => void
}

export function refreshTokenService(options: RefreshOptions) {
  return implement(SecurityTokenService, {
    async exchangeRefreshToken(request, call) {
      const token = verifyRefreshToken(options, bearerToken(call.authorizationHeader))
      if (token === undefined) throw unauthenticated('the refresh token was not issued by this server')
      const requested = readTokenRequest(request, token.audiences)
      await options.beforeIssue(token.identity, call)
      const refreshed = await refreshClientTokens(options, token, {
        ...requested,
        clientInfo: { address: call.address },
        method: fullMethodName(call.requestedMethod),
        requestId: call.requestId,
      })
      if (!refreshed.ok) {
        const error = unauthenticated(refreshed.reason)
        options.auditRefused(token.identity, error, call)
        throw error
      }
      const { accessToken, expiresAtMs, refreshToken, refreshExpiresMs } = refreshed.tokens
      options.markSeen(token.identity)
      return {
        $typeName: 'chainguard.platform.oidc.TokenPair' as const,
        token: rawToken(accessToken, expiresAtMs),
        refreshToken: rawToken(refreshToken, refreshExpiresMs),
      }
    },
  })
}

function rawToken(token: string, expiresAtMs: number): RawToken {
  return {
    $typeName: 'chainguard.platform.oidc.RawToken',
    token,
    refreshToken: '',
    expiry: timestampOf(expiresAtMs),
  }
}
