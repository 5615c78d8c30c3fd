import type { CommandDeclaration, CommandGroup } from '@berth/cli/invocation/command-declaration.ts'
import type { Invocation } from '@berth/cli/invocation/invocation.ts'
import type { View } from '@berth/cli/output/output.ts'
import { parseUid, rootOf } from '../api/uid.ts'
import { SetupError, UsageError } from '../config/setup-errors.ts'
import type { Installation } from '../installation/installation.ts'
import {
  AccountExists,
  addAccount,
  disableAccount,
  removeAccount,
  resetAccount,
} from '../operator/accounts.ts'
import { commandActor, type OperatorActor } from '../operator/actor.ts'
import { type Account, accountByEmail, checkAccount } from '../signin/accounts/accounts.ts'
import { createPasswordLink, createSetupLink } from '../signin/accounts/one-time-links.ts'
import type { Tx } from '../storage/db.ts'
import { resolveAddresses } from './addresses.ts'
import { jsonOption } from './options.ts'
import { installationList, readConfigOrExit, withExistingInstallation } from './with-installation.ts'

const emailParameter = [{ name: 'EMAIL', summary: 'email address of the account', required: true }] as const

export const setupLinkCommand: CommandDeclaration = {
  name: 'setup-link',
  summary: 'Print a link that creates the owner account',
  options: [jsonOption],
  notes: 'The link works once, within 24 hours, and only while there is no account.',
  examples: ['berth admin setup-link'],
  run: ({ output }) =>
    withExistingInstallation(readConfigOrExit(), async (installation) => {
      const { authUrl } = await resolveAddresses(readConfigOrExit(), installation)
      const link = await createSetupLink(installation.store, authUrl)
      if (link === undefined)
        throw new SetupError('an account exists already; create more with berth admin accounts create')
      output.result({ link }, `${link}\n`)
    }),
}

const setDisabledCommand = (
  name: 'disable' | 'enable',
  isDisabled: boolean,
  summary: string,
): CommandDeclaration => ({
  name,
  summary,
  parameters: emailParameter,
  options: [jsonOption],
  examples: [`berth admin accounts ${name} ada@example.com`],
  run: ({ argument, output }) =>
    withExistingInstallation(readConfigOrExit(), async (installation) => {
      const { store } = installation
      const find = (tx: Tx) => requireAccount(tx, argument(0))
      const account = await disableAccount(store, actorOf(store, name), find, isDisabled)
      const suffix = account.password_hash === '' ? '; it has no password' : ''
      output.result(accountSummary(account), `${name}d ${account.email}${suffix}\n`)
    }),
})

/** `berth admin accounts`: accounts that sign in with a password or a passkey. */
export const accountsGroup: CommandGroup = {
  name: 'accounts',
  summary: 'Manage accounts that sign in with a password or a passkey',
  commands: [
    installationList(
      {
        summary: 'List accounts',
        options: [jsonOption],
        examples: ['berth admin accounts list'],
        view: () => view,
      },
      async ({ store }) => {
        const rows = await store.db.kysely.selectFrom('accounts').selectAll().orderBy('email').execute()
        return rows.map(accountSummary)
      },
    ),
    {
      name: 'create',
      summary: 'Create an account and print a link to choose its password',
      parameters: emailParameter,
      options: [
        { flags: '--name <name>', summary: 'display name (default: the email address)' },
        {
          flags: '--identity <uid>',
          summary: 'existing identity without an account (default: a new identity)',
        },
        jsonOption,
      ],
      examples: ['berth admin accounts create ada@example.com --name "Ada Lovelace"'],
      run: (invocation) => withExistingInstallation(readConfigOrExit(), (to) => runCreate(invocation, to)),
    },
    {
      name: 'reset-password',
      summary:
        'Revoke the password and all sessions of an account, and print a link to choose a new password',
      parameters: emailParameter,
      options: [{ flags: '--passkeys', summary: 'also remove its passkeys' }, jsonOption],
      examples: ['berth admin accounts reset-password ada@example.com'],
      run: (invocation) =>
        withExistingInstallation(readConfigOrExit(), async (installation) => {
          const { store } = installation
          const find = (tx: Tx) => requireAccount(tx, invocation.argument(0))
          const passkeys = invocation.flag('passkeys')
          const account = await resetAccount(store, actorOf(store, 'reset-password'), find, { passkeys })
          await printLink(invocation, installation, account)
        }),
    },
    setDisabledCommand('disable', true, 'Disable an account and revoke its sessions and tokens'),
    setDisabledCommand('enable', false, 'Enable a disabled account'),
    {
      name: 'delete',
      summary: 'Delete an account, its identity and all its access',
      parameters: emailParameter,
      options: [jsonOption],
      notes: 'The identity of the first owner is not deleted; berth admin token acts as this identity.',
      examples: ['berth admin accounts delete ada@example.com'],
      run: ({ argument, output }) =>
        withExistingInstallation(readConfigOrExit(), async ({ store }) => {
          const find = (tx: Tx) => requireAccount(tx, argument(0))
          const account = await removeAccount(store, actorOf(store, 'delete'), find)
          output.result(accountSummary(account), `deleted ${account.email}\n`)
        }),
    },
  ],
}

async function runCreate(invocation: Invocation, installation: Installation): Promise<void> {
  const { store } = installation
  const email = invocation.argument(0)
  const name = invocation.optionIfSet('name') ?? email
  const identity = invocation.optionIfSet('identity')
  const problem = checkAccount({ email, name })
  if (problem !== undefined) throw new UsageError(`${problem.field} ${problem.description}`)
  const { authUrl } = await resolveAddresses(readConfigOrExit(), installation)
  const existing = identity === undefined ? undefined : await requireUserIdentity(installation, identity)
  const fields = { email, name, authUrl, identity: existing }
  const account = await addAccount(store, actorOf(store, 'create'), fields).catch((error: unknown) => {
    throw error instanceof AccountExists ? new SetupError(error.message) : error
  })
  await printLink(invocation, installation, account)
}

function actorOf(store: Installation['store'], command: string): OperatorActor {
  return commandActor(store, `berth admin accounts ${command}`)
}

async function requireAccount(tx: Tx, email: string): Promise<Account> {
  const account = await accountByEmail(tx, email)
  if (account === undefined) throw new SetupError(`account ${email} not found`)
  return account
}

/** Returns the uid of a user's identity, which is a root uid. Throws if it does not exist. */
async function requireUserIdentity({ store }: Installation, identity: string): Promise<string> {
  const uid = parseUid(identity)
  if (uid === undefined || rootOf(uid) !== uid)
    throw new UsageError('--identity must be the uid of a user: 40 hex digits')
  const row = await store.db.kysely
    .selectFrom('identities')
    .select('uid')
    .where('root', '=', uid)
    .where('uid', '=', uid)
    .executeTakeFirst()
  if (row === undefined) throw new SetupError(`identity ${uid} not found`)
  return uid
}

async function printLink(
  { output }: Invocation,
  installation: Installation,
  account: Account,
): Promise<void> {
  const { authUrl } = await resolveAddresses(readConfigOrExit(), installation)
  const link = await createPasswordLink(installation.store, authUrl, account)
  output.result(
    { ...accountSummary(account), link },
    `Link for ${account.email} to choose a password (works once, within 24 hours):\n\n  ${link}\n\n`,
  )
}

const view: View<ReturnType<typeof accountSummary>> = {
  columns: [
    { title: 'EMAIL', kind: 'name', value: ({ email }) => email },
    { title: 'STATE', kind: 'name', value: ({ state }) => state },
    { title: 'IDENTITY', kind: 'uid', value: ({ identity }) => identity },
    { title: 'NAME', kind: 'name', value: ({ name }) => name },
  ],
  id: ({ email }) => email,
  empty: 'no accounts',
}

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
