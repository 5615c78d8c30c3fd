import { isIP } from 'node:net'
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
  WebAuthnCredential,
} from '@simplewebauthn/server'
import { ApiError, Code } from '../core/errors.ts'
import { parseForeignJson } from '../core/foreign-json.ts'
import { limits } from '../core/limits.ts'
import { inTransaction, type Reader, type Tx } from '../storage/db.ts'
import { pending } from '../storage/pending.ts'
import type { Store } from '../storage/store.ts'
import type { PasskeyRow } from '../storage/tables.ts'
import { type Account, accountById } from './accounts.ts'
import type { Browser } from './browser.ts'
import type { SignInContext } from './context.ts'

/**
 * Passkeys (WebAuthn level 3). Each question is asked of one browser, for one purpose, and answered once. A passkey makes sure that
 * its owner is there (user verification), so that it is enough by itself.
 */

/** What a passkey is asked for. */
export type PasskeyPurpose = 'sign-in' | 'second factor' | 'add'

interface Question {
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
export function passkeyObstacle(authUrl: string): string | undefined {
  const { protocol, hostname, origin } = new URL(authUrl)
  if (isIP(hostname.replaceAll(/[[\]]/g, '')) !== 0)
    return `Browsers take passkeys only for a host name, and this Berth is at ${origin}, which is an IP address. ${ADVICE}`
  if (protocol === 'https:' || hostname === 'localhost' || hostname.endsWith('.localhost')) return undefined
  return `Browsers take passkeys only over https, and this Berth is at ${origin}. ${ADVICE}`
}

const ADVICE = 'Whoever runs it can set BERTH_AUTH_URL to an address such as https://berth.example.com.'

/** Throws code 9 where browsers take no passkeys. */
function checkPasskeys({ authUrl }: Pick<SignInContext, 'authUrl'>): void {
  const obstacle = passkeyObstacle(authUrl)
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
export async function askForNewPasskey(
  context: Context,
  browser: Browser,
  account: Account,
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  checkPasskeys(context)
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
    excludeCredentials: known.map(({ id, transports }) => ({ id, transports: transportsIn(transports) })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    timeout: limits.passkeyStepMs,
  })
  await remember(context.store, browser, options.challenge, 'add', account.id)
  return options
}

/** What a browser needs to use a passkey: of one account, or of whichever its owner chooses. */
export async function askForPasskey(
  context: Context,
  browser: Browser,
  purpose: 'sign-in' | 'second factor',
  account?: Account,
): Promise<PublicKeyCredentialRequestOptionsJSON> {
  checkPasskeys(context)
  const { generateAuthenticationOptions } = await import('@simplewebauthn/server')
  const known = account === undefined ? [] : await passkeysOf(context.store.db.kysely, account.id)
  const options = await generateAuthenticationOptions({
    rpID: hostOf(context),
    allowCredentials: known.map(({ id, transports }) => ({ id, transports: transportsIn(transports) })),
    userVerification: 'required',
    timeout: limits.passkeyStepMs,
  })
  await remember(context.store, browser, options.challenge, purpose, account?.id ?? '')
  return options
}

/** The passkey that a browser made, ready to be stored; undefined for an answer that is not to the question it was asked. */
export async function readNewPasskey(
  context: Context,
  browser: Browser,
  account: Account,
  answer: string,
): Promise<Pick<PasskeyRow, 'id' | 'public_key' | 'counter' | 'transports'> | undefined> {
  const question = await takeQuestion(context.store, browser)
  if (question?.purpose !== 'add' || question.account !== account.id) return undefined
  const { verifyRegistrationResponse } = await import('@simplewebauthn/server')
  const verified = await orNothing(async () =>
    verifyRegistrationResponse({
      response: parseForeignJson(answer) as RegistrationResponseJSON,
      expectedChallenge: question.challenge,
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
export async function readPasskey(
  context: Context,
  browser: Browser,
  purpose: 'sign-in' | 'second factor',
  answer: string,
): Promise<Account | undefined> {
  const { store } = context
  const { db, clock } = store
  const question = await takeQuestion(store, browser)
  if (question?.purpose !== purpose) return undefined
  const response = await orNothing(async () => parseForeignJson(answer) as AuthenticationResponseJSON)
  if (typeof response?.id !== 'string') return undefined
  const passkey = await db.kysely
    .selectFrom('passkeys')
    .selectAll()
    .where('id', '=', response.id)
    .executeTakeFirst()
  if (passkey === undefined || (question.account !== '' && passkey.account_id !== question.account))
    return undefined
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server')
  const verified = await orNothing(() =>
    verifyAuthenticationResponse({
      response,
      expectedChallenge: question.challenge,
      expectedOrigin: context.authUrl,
      expectedRPID: hostOf(context),
      requireUserVerification: true,
      credential: {
        id: passkey.id,
        publicKey: new Uint8Array(passkey.public_key),
        counter: passkey.counter,
        transports: transportsIn(passkey.transports),
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

function questions(store: SignInContext['store']) {
  return pending<Question>(store, 'passkey', limits.passkeyStepMs)
}

/** Kept by the browser's own secret: no other can answer, and a new question takes the place of the one before. */
function remember(
  store: SignInContext['store'],
  { secret }: Browser,
  challenge: string,
  purpose: PasskeyPurpose,
  account: string,
): Promise<void> {
  return questions(store).put(secret, { challenge, purpose, account })
}

function takeQuestion(store: SignInContext['store'], { secret }: Browser): Promise<Question | undefined> {
  return questions(store).take(secret)
}

function hostOf({ authUrl }: Context): string {
  return new URL(authUrl).hostname
}

function transportsIn(json: string): Transports {
  return JSON.parse(json) as Transports
}

/** An answer that cannot be read or does not verify is a wrong one, for whatever reason. */
async function orNothing<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch {
    return undefined
  }
}
