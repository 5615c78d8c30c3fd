import { issueIdToken } from '../sts/id-token.ts'
import type { SignInContext } from './context.ts'

/** ID tokens about whoever signed in. */
export interface Identification {
  /** uid of the identity. */
  readonly identity: string
  readonly audiences: readonly string[]
  /** id of the session with which the token ends, where it can be exchanged. */
  readonly session: string | undefined
  readonly nonce: string
  readonly signedInMs: number
}

/** Undefined when the identity is gone. */
export async function identify(
  { store, keys, authUrl }: Pick<SignInContext, 'store' | 'keys' | 'authUrl'>,
  about: Identification,
): Promise<string | undefined> {
  const person = await personOf(store, about.identity)
  return person && issueIdToken({ keys, issuer: authUrl, clock: store.clock }, { ...about, ...person })
}

/** What an identity is called; undefined when it is gone. */
export async function personOf(
  { db }: Pick<SignInContext['store'], 'db'>,
  identity: string,
): Promise<{ readonly uid: string; readonly name: string; readonly email: string } | undefined> {
  return db.kysely
    .selectFrom('identities')
    .select(['uid', 'name', 'email'])
    .where('root', '=', identity)
    .where('uid', '=', identity)
    .executeTakeFirst()
}
