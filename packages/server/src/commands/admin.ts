import type { CommandBody, CommandDeclaration } from '@berth/cli/invocation/command-declaration.ts'
import { parseUid, rootOf } from '../api/uid.ts'
import { SetupError, UsageError } from '../config/setup-errors.ts'
import type { Installation } from '../installation/installation.ts'
import { bootstrap, ensureFirstOrganization } from '../operator/bootstrap.ts'
import { accountsGroup, setupLinkCommand } from './accounts.ts'
import { resolveAddresses } from './addresses.ts'
import { adoptStoreCommand } from './adopt-store.ts'
import { backupCommand } from './backup/backup.ts'
import { restoreCommand } from './backup/restore.ts'
import { checkCommand } from './check.ts'
import { keysGroup } from './keys.ts'
import { mailGroup } from './mail/mail.ts'
import { operatorsGroup } from './operators/operators.ts'
import { jsonOption } from './options.ts'
import { organizationCommand } from './organizations/organization.ts'
import { organizationsGroup } from './organizations/organizations.ts'
import { collectCommand } from './runs/garbage-collection.ts'
import { runsCommand } from './runs/runs.ts'
import { scrubCommand } from './runs/scrub.ts'
import { sessionsGroup } from './sessions.ts'
import { readConfigOrExit, withExistingInstallation, withInstallation } from './with-installation.ts'

const bootstrapCommand: CommandDeclaration = {
  name: 'bootstrap',
  summary: 'Create the first organization and its owner if they do not exist, and print them with a token',
  options: [
    { flags: '--name <name>', summary: 'name of the organization; cannot be changed by a later run' },
    jsonOption,
  ],
  examples: ['berth admin bootstrap --name my-org --json'],
  run: ({ optionIfSet, output }) =>
    withInstallation(readConfigOrExit(), async (installation) => {
      const first = await bootstrap(installation, optionIfSet('name'))
      const { baseUrl, authUrl } = await resolveAddresses(readConfigOrExit(), installation)
      const { token } = await installation
        .tokensFor({ authUrl })
        .issue({ identity: first.identity.uid, audiences: [baseUrl], isFromServer: true })
      const { organization, identity } = first
      output.result(
        { ...first, token },
        `organization  ${organization.uid}  ${organization.name}\nidentity      ${identity.uid}  ${identity.name}\ntoken         ${token}\n`,
      )
    }),
}

const tokenCommand: CommandDeclaration = {
  name: 'token',
  summary: 'Print an API token that is valid for one hour, without a newline',
  options: [
    {
      flags: '--identity <uid>',
      summary: 'uid of the identity (default: the owner of the first organization)',
    },
    { flags: '--audience <audience>', summary: 'token audience (default: the API)' },
  ],
  examples: ['curl -H "Authorization: Bearer $(berth admin token)" http://127.0.0.1:8080/iam/v2beta1/groups'],
  run: ({ optionIfSet }) =>
    withExistingInstallation(readConfigOrExit(), async (installation) => {
      const { baseUrl, authUrl } = await resolveAddresses(readConfigOrExit(), installation)
      const identity = optionIfSet('identity')
      const uid =
        identity === undefined
          ? (await ensureFirstOrganization(installation)).identity.uid
          : await requireIdentity(installation, identity)
      const { token } = await installation
        .tokensFor({ authUrl })
        .issue({ identity: uid, audiences: [optionIfSet('audience') ?? baseUrl], isFromServer: true })
      process.stdout.write(token)
    }),
}

/**
 * `berth admin`: commands that work on the data directory or database itself and need no token. The server may be running.
 */
export const adminCommands: CommandBody = {
  commands: [
    bootstrapCommand,
    tokenCommand,
    organizationCommand,
    organizationsGroup,
    adoptStoreCommand,
    checkCommand,
    keysGroup,
    sessionsGroup,
    setupLinkCommand,
    accountsGroup,
    operatorsGroup,
    mailGroup,
    collectCommand,
    scrubCommand,
    runsCommand,
    backupCommand,
    restoreCommand,
  ],
}

async function requireIdentity({ store }: Installation, identity: string): Promise<string> {
  const uid = parseUid(identity)
  if (uid === undefined)
    throw new UsageError('--identity must be a uid: 40 hex digits, then segments of /16 hex digits')
  const row = await store.db.kysely
    .selectFrom('identities')
    .select('uid')
    .where('root', '=', rootOf(uid))
    .where('uid', '=', uid)
    .executeTakeFirst()
  if (row === undefined) throw new SetupError(`identity ${uid} not found`)
  return uid
}
