import type { Column } from '@berth/cli/output/output.ts'
import type { Command } from 'commander'
import { parseUid, rootOf } from '../../api/uid.ts'
import { SetupError, UsageError } from '../../config/setup-errors.ts'
import type { Installation } from '../../installation/installation.ts'
import {
  type Account,
  accountByEmail,
  checkAccount,
  createAccount,
  deleteAccount,
  resetPassword,
  setAccountDisabled,
} from '../../signin/accounts/accounts.ts'
import { createPasswordLink, createSetupLink } from '../../signin/accounts/one-time-links.ts'
import { recordEvent } from '../../storage/changes/audit-events.ts'
import { inTransaction, type Tx } from '../../storage/db.ts'
import { resolveAddresses } from './addresses.ts'
import { printResult, renderTable } from './output.ts'
import { readConfigOrExit, withExistingInstallation } from './with-installation.ts'

/** The operator's commands for people who sign in with an account of this installation. */
export function addAccountCommands(admin: Command): void {
  admin
    .command('setup-link')
    .description('print a link that makes the first account: once, within 24 hours, while there is none')
    .option('--json', 'print JSON', false)
    .addHelpText('after', '\nExample:\n  berth admin setup-link\n')
    .action(({ json }: JsonFlag) =>
      withExistingInstallation(readConfigOrExit(), async (installation) => {
        const { authUrl } = await resolveAddresses(readConfigOrExit(), installation)
        const link = await createSetupLink(installation.store, authUrl)
        if (link === undefined)
          throw new SetupError('there is an account already; berth admin accounts create makes others')
        printResult(json, { link }, `${link}\n`)
      }),
    )

  const accounts = admin
    .command('accounts')
    .description('people who sign in here with a password or a passkey')
    .addHelpText(
      'after',
      '\nExamples:\n  berth admin accounts list --json\n  berth admin accounts create ada@example.com --name "Ada Lovelace"\n  berth admin accounts disable ada@example.com\n',
    )

  accounts
    .command('list')
    .description('print all accounts')
    .option('--json', 'print JSON', false)
    .addHelpText('after', '\nExample:\n  berth admin accounts list\n')
    .action(({ json }: JsonFlag) =>
      withExistingInstallation(readConfigOrExit(), async ({ store }) => {
        const rows = await store.db.kysely.selectFrom('accounts').selectAll().orderBy('email').execute()
        const list = rows.map(accountSummary)
        printResult(json, { accounts: list }, renderTable(list, columns, 'there is no account yet'))
      }),
    )

  accounts
    .command('create')
    .description('make an account and print a link with which its owner chooses a password')
    .argument('<email>', 'the address that its owner signs in with')
    .option('--name <name>', 'what its owner is called (default: the address)')
    .option('--identity <uid>', 'an identity that has no account (default: a new one)')
    .option('--json', 'print JSON', false)
    .addHelpText('after', '\nExample:\n  berth admin accounts create ada@example.com --name "Ada Lovelace"\n')
    .action(
      (email: string, { name = email, identity, json }: JsonFlag & { name?: string; identity?: string }) =>
        withExistingInstallation(readConfigOrExit(), async (installation) => {
          const { store } = installation
          const wrong = checkAccount({ email, name })
          if (wrong !== undefined) throw new UsageError(`${wrong.field} ${wrong.description}`)
          const { authUrl } = await resolveAddresses(readConfigOrExit(), installation)
          const adopted = identity === undefined ? undefined : await requireIdentity(installation, identity)
          const account = await changeAccount(installation, 'create', async (tx) => {
            const created = { email, name, passwordHash: '' }
            return createAccount(store, tx, authUrl, created, adopted).catch((error: unknown) => {
              if (!store.db.rules.isUniqueViolation(error)) throw error
              throw new SetupError(`${email}, or the identity, has an account already`)
            })
          })
          await printLink(installation, account, json)
        }),
    )

  accounts
    .command('reset-password')
    .description('end the password and every session of an account, and print a link to choose another one')
    .argument('<email>', 'of the account')
    .option('--passkeys', 'remove its passkeys as well', false)
    .option('--json', 'print JSON', false)
    .addHelpText('after', '\nExample:\n  berth admin accounts reset-password ada@example.com\n')
    .action((email: string, { passkeys, json }: JsonFlag & { passkeys: boolean }) =>
      withExistingInstallation(readConfigOrExit(), async (installation) => {
        const { store } = installation
        const reset = await changeAccount(installation, 'reset-password', async (tx) => {
          const account = await requireAccount(tx, email)
          return resetPassword(store, tx, account, { passkeys })
        })
        await printLink(installation, reset, json)
      }),
    )

  for (const [name, disabled, description] of [
    ['disable', true, 'close an account: its sessions, and the tokens that came of them, end at once'],
    ['enable', false, 'open an account again'],
  ] as const) {
    accounts
      .command(name)
      .description(description)
      .argument('<email>', 'of the account')
      .option('--json', 'print JSON', false)
      .addHelpText('after', `\nExample:\n  berth admin accounts ${name} ada@example.com\n`)
      .action((email: string, { json }: JsonFlag) =>
        withExistingInstallation(readConfigOrExit(), async (installation) => {
          const account = await changeAccount(installation, name, async (tx) => {
            const account = await requireAccount(tx, email)
            await setAccountDisabled(installation.store, tx, account, disabled)
            return { ...account, disabled: disabled ? 1 : 0 }
          })
          printResult(
            json,
            accountSummary(account),
            `${account.email} is ${disabled ? 'disabled' : 'enabled'}${account.password_hash === '' ? ', and has no password' : ''}\n`,
          )
        }),
      )
  }

  accounts
    .command('delete')
    .description('delete an account, its identity and what that may do')
    .argument('<email>', 'of the account')
    .option('--json', 'print JSON', false)
    .addHelpText(
      'after',
      '\nThe owner that the installation began with keeps the identity; berth admin token acts as it.\n\nExample:\n  berth admin accounts delete ada@example.com\n',
    )
    .action((email: string, { json }: JsonFlag) =>
      withExistingInstallation(readConfigOrExit(), async (installation) => {
        const account = await changeAccount(installation, 'delete', async (tx) => {
          const account = await requireAccount(tx, email)
          await deleteAccount(installation.store, tx, account)
          return account
        })
        printResult(json, accountSummary(account), `${account.email} is deleted\n`)
      }),
    )
}

interface JsonFlag {
  readonly json: boolean
}

/** Runs a change of an account and records it, in one transaction. */
function changeAccount(
  { store }: Installation,
  command: string,
  work: (tx: Tx) => Promise<Account>,
): Promise<Account> {
  return inTransaction(store.db, async (tx) => {
    const account = await work(tx)
    await recordEvent(tx, {
      timeMs: store.clock(),
      actor: 'system',
      method: `berth admin accounts ${command}`,
      uid: account.identity_uid,
      requestId: '',
      address: '',
    })
    return account
  })
}

async function requireAccount(tx: Tx, email: string): Promise<Account> {
  const account = await accountByEmail(tx, email)
  if (account === undefined) throw new SetupError(`there is no account with the address ${email}`)
  return account
}

/** The uid of a person's identity: they are roots. */
async function requireIdentity({ store }: Installation, identity: string): Promise<string> {
  const uid = parseUid(identity)
  if (uid === undefined || rootOf(uid) !== uid)
    throw new UsageError('--identity must be the uid of a person: 40 hex digits')
  const row = await store.db.kysely
    .selectFrom('identities')
    .select('uid')
    .where('root', '=', uid)
    .where('uid', '=', uid)
    .executeTakeFirst()
  if (row === undefined) throw new SetupError(`identity ${uid} does not exist`)
  return uid
}

async function printLink(installation: Installation, account: Account, json: boolean): Promise<void> {
  const { authUrl } = await resolveAddresses(readConfigOrExit(), installation)
  const link = await createPasswordLink(installation.store, authUrl, account)
  printResult(
    json,
    { ...accountSummary(account), link },
    `${account.email} chooses a password with this link, once, within 24 hours:\n\n  ${link}\n\n`,
  )
}

const columns: readonly Column<ReturnType<typeof accountSummary>>[] = [
  { title: 'EMAIL', kind: 'name', value: ({ email }) => email },
  { title: 'STATE', kind: 'name', value: ({ state }) => state },
  { title: 'IDENTITY', kind: 'uid', value: ({ identity }) => identity },
  { title: 'NAME', kind: 'name', value: ({ name }) => name },
]

function stateOf({ disabled, password_hash }: Account): 'disabled' | 'without password' | 'enabled' {
  if (disabled !== 0) return 'disabled'
  return password_hash === '' ? 'without password' : 'enabled'
}

function accountSummary(account: Account) {
  const { email, name, identity_uid, created_ms } = account
  return {
    email,
    name,
    identity: identity_uid,
    state: stateOf(account),
    createTime: new Date(created_ms).toISOString(),
  }
}
