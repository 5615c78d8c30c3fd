import { failedPrecondition } from '../api/errors.ts'
import { limits, MINUTE_MS } from '../config/limits.ts'
import { authorizationOf } from '../pipeline/authorization.ts'
import type { Call } from '../pipeline/call.ts'
import type { Store } from '../storage/store.ts'

/**
 * Throws code 9, type `RECENT_SIGN_IN_REQUIRED`, unless the caller signed in recently in a browser: a browser that is left open, or a stolen
 * session, must not take over accounts. The session of a client does not count: a browser can start one without another sign-in. The
 * token of `berth admin token` requires none. Other tokens without a session do not count: they are exchanged for a token of another issuer,
 * which can be old.
 */
export async function requireRecentSignIn(
  { db, clock }: Pick<Store, 'db' | 'clock'>,
  call: Call,
): Promise<void> {
  const { session, isFromServer } = authorizationOf(call).caller
  if (isFromServer === true) return
  const row =
    session === undefined
      ? undefined
      : await db.kysely
          .selectFrom('sessions')
          .select(['kind', 'created_ms'])
          .where('id', '=', session)
          .executeTakeFirst()
  if (row?.kind === 'browser' && Number(row.created_ms) > clock() - limits.recentSignInMs) return
  throw failedPrecondition(
    'RECENT_SIGN_IN_REQUIRED',
    `this change requires that you signed in to the console in the last ${limits.recentSignInMs / MINUTE_MS} minutes. Sign in again, or use berth admin on the server`,
  )
}
