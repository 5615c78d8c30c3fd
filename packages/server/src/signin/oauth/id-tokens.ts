import { isTrustedEverywhere, type Voucher } from '../../pipeline/vouching.ts'
import { issueIdToken } from '../../tokens/id-token.ts'
import type { SignInContext } from '../context.ts'

/** Options of an ID token of a signed-in user. */
export interface UserIdTokenOptions {
  /** uid of the identity. */
  readonly identity: string
  /** The email address is in the token only if the voucher is trusted everywhere. */
  readonly voucher: Voucher
  readonly audiences: readonly string[]
  /** id of the session with which the token ends, if it can be exchanged. */
  readonly session: string | undefined
  readonly nonce: string
  readonly signedInMs: number
}

/** Issues an ID token; undefined if the identity no longer exists. */
export async function issueUserIdToken(
  { store, keys, authUrl }: Pick<SignInContext, 'store' | 'keys' | 'authUrl'>,
  { voucher, ...about }: UserIdTokenOptions,
): Promise<string | undefined> {
  const profile = await readUserProfile(store, about.identity)
  if (profile === undefined) return undefined
  const { name, verifiedEmail } = profile
  const email = isTrustedEverywhere(voucher) ? verifiedEmail : ''
  return issueIdToken({ keys, issuer: authUrl, clock: store.clock }, { ...about, name, email })
}

export interface UserProfile {
  readonly uid: string
  /** As the user wrote it, or the name of the identity for users without an account. */
  readonly name: string
  /** Possibly unverified: only for pages that the user sees. */
  readonly email: string
  /** '' if the address is not verified for all organizations. */
  readonly verifiedEmail: string
}

/** Reads the profile of a user's identity; undefined if it no longer exists. */
export async function readUserProfile(
  { db }: Pick<SignInContext['store'], 'db'>,
  identity: string,
): Promise<UserProfile | undefined> {
  const row = await db.kysely
    .selectFrom('identities')
    .leftJoin('accounts', 'accounts.identity_uid', 'identities.uid')
    .select((eb) => [
      'identities.uid',
      'identities.email',
      'identities.email_unverified',
      eb.fn.coalesce('accounts.name', 'identities.name').as('name'),
    ])
    .where('identities.root', '=', identity)
    .where('identities.uid', '=', identity)
    .executeTakeFirst()
  if (row === undefined) return undefined
  const { uid, name, email } = row
  return { uid, name, email: email || row.email_unverified, verifiedEmail: email }
}
