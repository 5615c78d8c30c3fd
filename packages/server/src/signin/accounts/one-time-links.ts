import { createHash } from 'node:crypto'
import { limits } from '../../config/limits.ts'
import { FIRST_ORGANIZATION } from '../../operator/bootstrap.ts'
import { type PendingStore, pendingStore } from '../../storage/pending-store.ts'
import type { Store } from '../../storage/store.ts'
import { type Account, accountById, hasAccounts } from './accounts.ts'

/**
 * Links that the operator gets or gives: to make the first account, and to choose a password. Each is good for one use and a
 * limited time; of its code only a hash is stored.
 */

type LinkStore = Pick<Store, 'db' | 'clock' | 'secretsKey'>

export const SETUP_PATH = '/setup'
export const CHOOSE_PASSWORD_PATH = '/sign-in/choose-password'

export function setupCodes(store: LinkStore): PendingStore<Record<string, never>> {
  return pendingStore(store, 'setup', limits.setupLinkMs)
}

/** A link to make the first account; undefined when there is one. Of several the newest is good. */
export async function createSetupLink(store: LinkStore, authUrl: string): Promise<string | undefined> {
  if (await hasAccounts(store.db.kysely)) return undefined
  return formatLink(authUrl, SETUP_PATH, await setupCodes(store).replaceAll({}))
}

/**
 * The link that a starting node prints: the nodes that start within `setupLinkSharedMs` of each other print the same one. On SQLite, which
 * has one server, each start makes a new one.
 */
export async function createStartupSetupLink(store: LinkStore, authUrl: string): Promise<string | undefined> {
  if (!store.db.rules.isShared) return createSetupLink(store, authUrl)
  if (await hasAccounts(store.db.kysely)) return undefined
  const options = { sharedMs: limits.setupLinkSharedMs, lock: FIRST_ORGANIZATION }
  return formatLink(authUrl, SETUP_PATH, await setupCodes(store).addShared({}, options))
}

interface PasswordLink {
  readonly account: string
  /** Names the password that was there: choosing another one, in whatever way, spends all links. */
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

/** Whose password a code lets choose; undefined for one that is spent. With `take` it is spent now, by one of many at once. */
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
