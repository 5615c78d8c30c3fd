import { createHash } from 'node:crypto'
import { limits } from '../../config/limits.ts'
import { FIRST_ORGANIZATION } from '../../iam/first-organization.ts'
import { type PendingStore, pendingStore } from '../../storage/pending-store.ts'
import type { Store } from '../../storage/store.ts'
import { type Account, accountById, hasAccounts } from './accounts.ts'

/**
 * One-time links of the operator: to create the owner account, and to choose a password. Each expires and can be used once; of its code
 * only a hash is stored.
 */

type LinkStore = Pick<Store, 'db' | 'clock' | 'secretsKey'>

export const SETUP_PATH = '/setup'
export const CHOOSE_PASSWORD_PATH = '/sign-in/choose-password'
/** Page on which a user requests an email that resets the password. */
export const FORGOT_PASSWORD_PATH = '/sign-in/forgot-password'
export const RESET_PASSWORD_PATH = '/sign-in/reset-password'

export function setupCodes(store: LinkStore): PendingStore<Record<string, never>> {
  return pendingStore(store, 'setup', limits.setupLinkMs)
}

/** Returns a link to create the owner account; undefined if an account exists. It replaces earlier links. */
export async function createSetupLink(store: LinkStore, authUrl: string): Promise<string | undefined> {
  if (await hasAccounts(store.db.kysely)) return undefined
  return formatLink(authUrl, SETUP_PATH, await setupCodes(store).replaceAll({}))
}

/**
 * Returns the link that a starting node prints: nodes that start within `setupLinkSharedMs` of each other print the same one. On SQLite,
 * which has one server, each start creates a new one.
 */
export async function createStartupSetupLink(store: LinkStore, authUrl: string): Promise<string | undefined> {
  if (!store.db.rules.isShared) return createSetupLink(store, authUrl)
  if (await hasAccounts(store.db.kysely)) return undefined
  const options = { sharedMs: limits.setupLinkSharedMs, lock: FIRST_ORGANIZATION }
  return formatLink(authUrl, SETUP_PATH, await setupCodes(store).addShared({}, options))
}

interface PasswordLink {
  readonly account: string
  /** Fingerprint of the password at that time: any change of the password invalidates all links. */
  readonly before: string
}

/** Whether the operator created the link for a password, or Berth sent it to a user who forgot theirs. */
export type PasswordCodeKind = 'choose-password' | 'reset-password'

const lifetimes = { 'choose-password': limits.setupLinkMs, 'reset-password': limits.passwordResetMs } as const

function passwordCodes(store: LinkStore, kind: PasswordCodeKind): PendingStore<PasswordLink> {
  return pendingStore(store, kind, lifetimes[kind])
}

export async function createPasswordLink(
  store: LinkStore,
  authUrl: string,
  account: Account,
): Promise<string> {
  return formatLink(
    authUrl,
    CHOOSE_PASSWORD_PATH,
    await passwordCodes(store, 'choose-password').add(linkOf(account)),
  )
}

/** Returns the link of an email with which a user resets a forgotten password. The code is after `#`, so it is in no log. */
export async function createPasswordResetLink(
  store: LinkStore,
  authUrl: string,
  account: Account,
): Promise<string> {
  return `${authUrl}${RESET_PASSWORD_PATH}#${await passwordCodes(store, 'reset-password').add(linkOf(account))}`
}

function linkOf(account: Account): PasswordLink {
  return { account: account.id, before: passwordFingerprint(account) }
}

/** Returns the account of a code; undefined for an invalid code. With `take` the code is used up, by one of several concurrent callers. */
export async function accountByPasswordCode(
  store: LinkStore,
  code: string,
  { kind, take }: { readonly kind: PasswordCodeKind; readonly take: boolean },
): Promise<Account | undefined> {
  const codes = passwordCodes(store, kind)
  const choice = await (take ? codes.consume(code) : codes.read(code))
  const account = choice && (await accountById(store.db.kysely, choice.account))
  return account !== undefined && account.disabled === 0 && passwordFingerprint(account) === choice?.before
    ? account
    : undefined
}

function passwordFingerprint({ password_hash }: Account): string {
  return createHash('sha256').update(password_hash).digest('base64url')
}

function formatLink(authUrl: string, path: string, code: string): string {
  return `${authUrl}${path}?code=${code}`
}
