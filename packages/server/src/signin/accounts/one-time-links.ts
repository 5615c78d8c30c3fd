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

function passwordCodes(store: LinkStore): PendingStore<PasswordLink> {
  return pendingStore(store, 'choose-password', limits.setupLinkMs)
}

export async function createPasswordLink(
  store: LinkStore,
  authUrl: string,
  account: Account,
): Promise<string> {
  const choice = { account: account.id, before: passwordFingerprint(account) }
  return formatLink(authUrl, CHOOSE_PASSWORD_PATH, await passwordCodes(store).add(choice))
}

/** Returns the account of a code; undefined for an invalid code. With `take` the code is used up, by one of several concurrent callers. */
export async function accountByPasswordCode(
  store: LinkStore,
  code: string,
  { take }: { readonly take: boolean },
): Promise<Account | undefined> {
  const codes = passwordCodes(store)
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
