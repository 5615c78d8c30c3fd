import type { Uid } from '@berth/server/api/uid.ts'
import { registerUser } from '@berth/server/iam/identities/users.ts'
import type { SessionVoucher } from '@berth/server/pipeline/vouching.ts'
import { inTransaction } from '@berth/server/storage/db.ts'
import {
  type ClientSessions,
  type ClientTokens,
  type ClientTokensRequest,
  issueClientTokens,
} from '@berth/server/tokens/sessions/client-session.ts'
import { endSessions, type SignedIn, startSession } from '@berth/server/tokens/sessions/sessions.ts'
import { newName } from '../api/api-fixture.ts'
import type { TestBerth } from '../server/test-berth.ts'

/** People who signed in, as the sign-in leaves them behind. */

/** Signs in a new user; returns the uid of their identity. */
export function createPerson(
  { berth }: Pick<TestBerth, 'berth'>,
  {
    issuer = 'https://login.example',
    subject = newName('person'),
    email = '',
    voucher = { kind: 'operator' } as SessionVoucher,
  } = {},
): Promise<string> {
  const { store } = berth.installation
  return inTransaction(
    store.db,
    async (tx) =>
      (await registerUser(store, tx, { issuer, subject, email, emailVerified: email !== '' }, voucher)).uid,
  )
}

/** The account of a person who signs in here, with a passkey; returns its id. */
export async function createAccount(
  { berth }: Pick<TestBerth, 'berth'>,
  identity: string,
  { disabled = 0 } = {},
): Promise<string> {
  const { kysely } = berth.installation.store.db
  const id = newName('account')
  const times = { created_ms: 0, last_used_ms: 0 }
  await kysely
    .insertInto('accounts')
    .values({
      id,
      identity_uid: identity,
      email: `${id}@example.com`,
      name: 'Ada',
      password_hash: '',
      passkey_required: 0,
      disabled,
      created_ms: 0,
      updated_ms: 0,
    })
    .execute()
  await kysely
    .insertInto('passkeys')
    .values({
      id: newName('passkey'),
      account_id: id,
      name: 'laptop',
      public_key: new Uint8Array(1),
      counter: 0,
      transports: '[]',
      ...times,
    })
    .execute()
  return id
}

/** Begins a session; returns its id and secret. */
export function createSession(
  { berth }: Pick<TestBerth, 'berth'>,
  who: Pick<SignedIn, 'identity'> & Partial<SignedIn>,
  {
    kind = 'client',
    lifetimeMs = 24 * 60 * 60 * 1000,
  }: { kind?: 'client' | 'browser'; lifetimeMs?: number } = {},
) {
  const { store } = berth.installation
  return inTransaction(store.db, (tx) =>
    startSession(store, tx, {
      method: 'provider',
      voucher: { kind: 'operator' },
      groups: [],
      address: '192.0.2.7',
      userAgent: 'test',
      client: 'berth-cli',
      audiences: [berth.addresses.baseUrl],
      kind,
      lifetimeMs,
      ...who,
    }),
  )
}

export function endSession({ berth }: Pick<TestBerth, 'berth'>, id: string): Promise<number> {
  return inTransaction(berth.installation.store.db, (tx) => endSessions(tx, 'id', id))
}

/** The result of the flows of a client: its tokens for a signed-in user. */
export function createClientTokens(
  { berth }: Pick<TestBerth, 'berth'>,
  who: Pick<SignedIn, 'identity'> & Partial<SignedIn>,
  request: Partial<ClientTokensRequest> = {},
): Promise<ClientTokens> {
  return issueClientTokens(
    clientSessionsOf({ berth }),
    { method: 'provider', voucher: { kind: 'operator' }, groups: [], ...who },
    {
      client: 'berth-cli',
      audiences: [berth.addresses.baseUrl],
      clientInfo: { address: '192.0.2.7', userAgent: 'test' },
      ...request,
    },
  )
}

export function clientSessionsOf({ berth }: Pick<TestBerth, 'berth'>): ClientSessions {
  const { addresses, installation } = berth
  return { store: installation.store, tokens: installation.tokensFor(addresses), authUrl: addresses.authUrl }
}

/** A sign-in through an organization's identity provider, which states this verified address. */
export function voucherOf(provider: string, email = ''): SessionVoucher {
  return { kind: 'organization', provider: provider as Uid, email }
}
