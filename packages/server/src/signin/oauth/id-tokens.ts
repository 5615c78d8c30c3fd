import { isTrustedEverywhere, type Voucher } from '../../pipeline/vouching.ts'
import { issueIdToken } from '../../tokens/id-token.ts'
import type { SignInContext } from '../context.ts'

/** ID tokens about whoever signed in. */
export interface UserIdTokenOptions {
  /** uid of the identity. */
  readonly identity: string
  /** An address is in the token only where it counts everywhere. */
  readonly voucher: Voucher
  readonly audiences: readonly string[]
  /** id of the session with which the token ends, where it can be exchanged. */
  readonly session: string | undefined
  readonly nonce: string
  readonly signedInMs: number
}

/** Undefined when the identity is gone. */
export async function issueUserIdToken(
  { store, keys, authUrl }: Pick<SignInContext, 'store' | 'keys' | 'authUrl'>,
  { voucher, ...about }: UserIdTokenOptions,
): Promise<string | undefined> {
  const person = await readUserProfile(store, about.identity)
  if (person === undefined) return undefined
  const { name, verifiedEmail } = person
  const email = isTrustedEverywhere(voucher) ? verifiedEmail : ''
  return issueIdToken({ keys, issuer: authUrl, clock: store.clock }, { ...about, name, email })
}

export interface UserProfile {
  readonly uid: string
  readonly name: string
  /** What they go by, on pages that only they see. */
  readonly email: string
  /** '' where nobody vouches for it to everybody. */
  readonly verifiedEmail: string
}

/** What an identity is called; undefined when it is gone. */
export async function readUserProfile(
  { db }: Pick<SignInContext['store'], 'db'>,
  identity: string,
): Promise<UserProfile | undefined> {
  const row = await db.kysely
    .selectFrom('identities')
    .select(['uid', 'name', 'email', 'email_unverified'])
    .where('root', '=', identity)
    .where('uid', '=', identity)
    .executeTakeFirst()
  if (row === undefined) return undefined
  const { uid, name, email } = row
  return { uid, name, email: email || row.email_unverified, verifiedEmail: email }
}
