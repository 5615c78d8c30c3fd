import { isIP } from 'node:net'
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
  WebAuthnCredential,
} from '@simplewebauthn/server'
import { ApiError, Code } from '../../api/errors.ts'
import { limits } from '../../config/limits.ts'
import { parseUntrustedJson } from '../../runtime/json/untrusted-json.ts'
import { inTransaction, type Reader, type Tx } from '../../storage/db.ts'
import { pendingStore } from '../../storage/pending-store.ts'
import type { PasskeyRow } from '../../storage/schema/tables.ts'
import type { Store } from '../../storage/store.ts'
import { type Account, accountById } from '../accounts/accounts.ts'
import type { SignInContext } from '../context.ts'
import type { Browser } from '../sessions/browser.ts'

/**
 * Passkeys (WebAuthn level 3). Each question is asked of one browser, for one purpose, and answered once. A passkey makes sure that
 * its owner is there (user verification), so that it is enough by itself.
 */

/** What a passkey is asked for. */
export type PasskeyPurpose = 'sign-in' | 'second factor' | 'add'

interface PasskeyChallenge {
  readonly challenge: string
  readonly purpose: PasskeyPurpose
  /** id of the account that it is about; '' where the passkey says which. */
  readonly account: string
}

/** EdDSA, ES256 and RS256 (IANA COSE algorithms): every authenticator knows one of them. */
const algorithms = [-8, -7, -257]

type Transports = NonNullable<WebAuthnCredential['transports']>
type Context = Pick<SignInContext, 'store' | 'authUrl'>

/**
 * Why browsers take no passkeys for this address, in words; undefined when they do. Passkeys belong to a host name, and need a secure
 * context (W3C Secure Contexts, section 3.1).
 */
export function passkeysUnsupportedReason(authUrl: string): string | undefined {
  const { protocol, hostname, origin } = new URL(authUrl)
  if (isIP(hostname.replaceAll(/[[\]]/g, '')) !== 0)
    return `Browsers take passkeys only for a host name, and this Berth is at ${origin}, which is an IP address. ${ADVICE}`
  if (protocol === 'https:' || hostname === 'localhost' || hostname.endsWith('.localhost')) return undefined
  return `Browsers take passkeys only over https, and this Berth is at ${origin}. ${ADVICE}`
}

const ADVICE = 'Whoever runs it can set BERTH_AUTH_URL to an address such as https://berth.example.com.'

/** Throws code 9 where browsers take no passkeys. */
function requirePasskeySupport({ authUrl }: Pick<SignInContext, 'authUrl'>): void {
  const obstacle = passkeysUnsupportedReason(authUrl)
  if (obstacle !== undefined)
    throw new ApiError(Code.FAILED_PRECONDITION, `Precondition failed: ${obstacle.replace(/\.$/, '')}`)
}

export function passkeysOf(db: Reader, accountId: string): Promise<PasskeyRow[]> {
  return db
    .selectFrom('passkeys')
    .selectAll()
    .where('account_id', '=', accountId)
    .orderBy('created_ms')
    .orderBy('id')
    .execute()
}

/** What a browser needs to make a passkey for an account. */
export async function createRegistrationOptions(
  context: Context,
  browser: Browser,
  account: Account,
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  requirePasskeySupport(context)
  const { generateRegistrationOptions } = await import('@simplewebauthn/server')
  const known = await passkeysOf(context.store.db.kysely, account.id)
  const options = await generateRegistrationOptions({
    rpName: 'Berth',
    rpID: hostOf(context),
    userID: new Uint8Array(Buffer.from(account.id, 'hex')),
    userName: account.email,
    userDisplayName: account.name,
    attestationType: 'none',
    supportedAlgorithmIDs: algorithms,
    excludeCredentials: known.map(({ id, transports }) => ({ id, transports: parseTransports(transports) })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    timeout: limits.passkeyStepMs,
  })
  await saveChallenge(context.store, browser, options.challenge, 'add', account.id)
  return options
}

/** What a browser needs to use a passkey: of one account, or of whichever its owner chooses. */
export async function createAuthenticationOptions(
  context: Context,
  browser: Browser,
  purpose: 'sign-in' | 'second factor',
  account?: Account,
): Promise<PublicKeyCredentialRequestOptionsJSON> {
  requirePasskeySupport(context)
  const { generateAuthenticationOptions } = await import('@simplewebauthn/server')
  const known = account === undefined ? [] : await passkeysOf(context.store.db.kysely, account.id)
  const options = await generateAuthenticationOptions({
    rpID: hostOf(context),
    allowCredentials: known.map(({ id, transports }) => ({ id, transports: parseTransports(transports) })),
    userVerification: 'required',
    timeout: limits.passkeyStepMs,
  })
  await saveChallenge(context.store, browser, options.challenge, purpose, account?.id ?? '')
  return options
}

/** The passkey that a browser made, ready to be stored; undefined for an answer that is not to the question it was asked. */
export async function verifyNewPasskey(
  context: Context,
  browser: Browser,
  account: Account,
  responseJson: string,
): Promise<Pick<PasskeyRow, 'id' | 'public_key' | 'counter' | 'transports'> | undefined> {
  const expected = await takeChallenge(context.store, browser)
  if (expected?.purpose !== 'add' || expected.account !== account.id) return undefined
  const { verifyRegistrationResponse } = await import('@simplewebauthn/server')
  const verified = await undefinedOnError(async () =>
    verifyRegistrationResponse({
      response: parseUntrustedJson(responseJson) as RegistrationResponseJSON,
      expectedChallenge: expected.challenge,
      expectedOrigin: context.authUrl,
      expectedRPID: hostOf(context),
      requireUserVerification: true,
      supportedAlgorithmIDs: algorithms,
    }),
  )
  if (!verified?.verified) return undefined
  const { id, publicKey, counter, transports = [] } = verified.registrationInfo.credential
  return { id, public_key: publicKey, counter, transports: JSON.stringify(transports) }
}

/** Stores a new passkey; false when the account has as many as it may. */
export async function addPasskey(
  { clock }: Pick<Store, 'clock'>,
  tx: Tx,
  accountId: string,
  passkey: Pick<PasskeyRow, 'id' | 'name' | 'public_key' | 'counter' | 'transports'>,
): Promise<boolean> {
  if ((await passkeysOf(tx, accountId)).length >= limits.passkeysMax) return false
  const now = clock()
  await tx
    .insertInto('passkeys')
    .values({ ...passkey, account_id: accountId, created_ms: now, last_used_ms: now })
    .execute()
  return true
}

/**
 * Whose passkey answered; undefined for an answer that is not to the question this browser was asked for this purpose, or of a
 * passkey that is not known, not of the account that was asked for, or a copy (its counter went back).
 */
export async function verifyPasskey(
  context: Context,
  browser: Browser,
  purpose: 'sign-in' | 'second factor',
  responseJson: string,
): Promise<Account | undefined> {
  const { store } = context
  const { db, clock } = store
  const expected = await takeChallenge(store, browser)
  if (expected?.purpose !== purpose) return undefined
  const response = await undefinedOnError(
    async () => parseUntrustedJson(responseJson) as AuthenticationResponseJSON,
  )
  if (typeof response?.id !== 'string') return undefined
  const passkey = await db.kysely
    .selectFrom('passkeys')
    .selectAll()
    .where('id', '=', response.id)
    .executeTakeFirst()
  if (passkey === undefined || (expected.account !== '' && passkey.account_id !== expected.account))
    return undefined
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server')
  const verified = await undefinedOnError(() =>
    verifyAuthenticationResponse({
      response,
      expectedChallenge: expected.challenge,
      expectedOrigin: context.authUrl,
      expectedRPID: hostOf(context),
      requireUserVerification: true,
      credential: {
        id: passkey.id,
        publicKey: new Uint8Array(passkey.public_key),
        counter: passkey.counter,
        transports: parseTransports(passkey.transports),
      },
    }),
  )
  if (!verified?.verified) return undefined
  const { newCounter } = verified.authenticationInfo
  await inTransaction(db, (tx) =>
    tx
      .updateTable('passkeys')
      .set({ counter: newCounter, last_used_ms: clock() })
      .where('id', '=', passkey.id)
      .execute(),
  )
  return accountById(db.kysely, passkey.account_id)
}

function passkeyChallenges(store: SignInContext['store']) {
  return pendingStore<PasskeyChallenge>(store, 'passkey', limits.passkeyStepMs)
}

/** Kept by the browser's own secret: no other can answer, and a new question takes the place of the one before. */
function saveChallenge(
  store: SignInContext['store'],
  { secret }: Browser,
  challenge: string,
  purpose: PasskeyPurpose,
  account: string,
): Promise<void> {
  return passkeyChallenges(store).set(secret, { challenge, purpose, account })
}

function takeChallenge(
  store: SignInContext['store'],
  { secret }: Browser,
): Promise<PasskeyChallenge | undefined> {
  return passkeyChallenges(store).consume(secret)
}

function hostOf({ authUrl }: Context): string {
  return new URL(authUrl).hostname
}

function parseTransports(json: string): Transports {
  return JSON.parse(json) as Transports
}

/** An answer that cannot be read or does not verify is a wrong one, for whatever reason. */
async function undefinedOnError<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch {
    return undefined
  }
}
