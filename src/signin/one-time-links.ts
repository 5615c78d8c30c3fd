import { createHash } from 'node:crypto'
import { FIRST_ORGANIZATION } from '../bootstrap.ts'
import { limits } from '../core/limits.ts'
import { type Pending, pending } from '../storage/pending.ts'
import type { Store } from '../storage/store.ts'
import { type Account, accountById, hasAccounts } from './accounts.ts'

/**
 * Links that the operator gets or gives: to make the first account, and to choose a password. Each is good for one use and a
 * limited time; of its code only a hash is stored.
 */

type Kept = Pick<Store, 'db' | 'clock' | 'secretsKey'>

export const SETUP_PATH = '/setup'
export const CHOOSE_PASSWORD_PATH = '/sign-in/choose-password'

export function setupCodes(store: Kept): Pending<Record<string, never>> {
  return pending(store, 'setup', limits.setupLinkMs)
}

/** A link to make the first account; undefined when there is one. Of several the newest is good. */
export async function newSetupLink(store: Kept, authUrl: string): Promise<string | undefined> {
  if (await hasAccounts(store.db.kysely)) return undefined
  return linkTo(authUrl, SETUP_PATH, await setupCodes(store).keepOnly({}))
}

/**
 * The link that a starting node prints: the nodes that start within `setupLinkSharedMs` of each other print the same one. On SQLite, which
 * has one server, each start makes a new one.
 */
export async function setupLinkOfStart(store: Kept, authUrl: string): Promise<string | undefined> {
  if (store.db.engine === 'sqlite') return newSetupLink(store, authUrl)
  if (await hasAccounts(store.db.kysely)) return undefined
  const options = { sharedMs: limits.setupLinkSharedMs, lock: FIRST_ORGANIZATION }
  return linkTo(authUrl, SETUP_PATH, await setupCodes(store).keepShared({}, options))
}

interface PasswordChoice {
  readonly account: string
  /** Names the password that was there: choosing another one, in whatever way, spends all links. */
  readonly before: string
}

function passwordCodes(store: Kept): Pending<PasswordChoice> {
  return pending(store, 'choose-password', limits.setupLinkMs)
}

export async function newPasswordLink(store: Kept, authUrl: string, account: Account): Promise<string> {
  const choice = { account: account.id, before: passwordMark(account) }
  return linkTo(authUrl, CHOOSE_PASSWORD_PATH, await passwordCodes(store).keep(choice))
}

/** Whose password a code lets choose; undefined for one that is spent. With `take` it is spent now, by one of many at once. */
export async function accountOfPasswordCode(
  store: Kept,
  code: string,
  { take }: { readonly take: boolean },
): Promise<Account | undefined> {
  const codes = passwordCodes(store)
  const choice = await (take ? codes.take(code) : codes.read(code))
  const account = choice && (await accountById(store.db.kysely, choice.account))
  return account !== undefined && account.disabled === 0 && passwordMark(account) === choice?.before
    ? account
    : undefined
}

function passwordMark({ password_hash }: Account): string {
  return createHash('sha256').update(password_hash).digest('base64url')
}

function linkTo(authUrl: string, path: string, code: string): string {
  return `${authUrl}${path}?code=${code}`
}
