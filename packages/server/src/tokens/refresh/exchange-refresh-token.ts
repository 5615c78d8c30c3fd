import { type RawToken, SecurityTokenService } from '@berth/contract/gen/chainguard/platform/oidc/sts_pb.js'
import { type ApiError, unauthenticated } from '../../api/errors.ts'
import { timestampOf } from '../../api/messages.ts'
import { fullMethodName } from '../../api/method-name.ts'
import { bearerToken } from '../../pipeline/authenticate.ts'
import { type Call, implement } from '../../pipeline/call.ts'
import { readTokenRequest } from '../exchange/token-request.ts'
import { type ClientSessions, refreshClientTokens, verifyRefreshToken } from '../sessions/client-session.ts'

/** The method by which clients of the public contract renew their access token. The refresh token is the bearer value. */

export interface RefreshOptions extends ClientSessions {
  /** Told whose token it is, before it is used up; may reject. */
  readonly beforeIssue: (identity: string, call: Call) => Promise<void> | undefined
  /** Notes that the identity was used. */
  readonly markSeen: (uid: string) => void
  /** For the audit log: a token that was made here did not open anything. */
  readonly auditRefused: (identity: string, why: ApiError, call: Call) => void
}

export function refreshTokenService(options: RefreshOptions) {
  return implement(SecurityTokenService, {
    async exchangeRefreshToken(request, call) {
      const token = verifyRefreshToken(options, bearerToken(call.authorizationHeader))
      if (token === undefined) throw unauthenticated('the refresh token is not one of this server')
      const requested = readTokenRequest(request, token.audiences)
      await options.beforeIssue(token.identity, call)
      const refreshed = await refreshClientTokens(options, token, {
        ...requested,
        clientInfo: { address: call.address },
        method: fullMethodName(call.requestedMethod),
        requestId: call.requestId,
      })
      if (!refreshed.ok) {
        const why = unauthenticated(refreshed.reason)
        options.auditRefused(token.identity, why, call)
        throw why
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
