import { type Command, Option } from 'commander'
import { parseResourceLimit, type ResourceKind, resourceKinds } from '../../api/resource-limits.ts'
import { parseUid, rootOf } from '../../api/uid.ts'
import { SetupError, UsageError } from '../../config/setup-errors.ts'
import type { Installation } from '../../installation/installation.ts'
import { bootstrap, ensureFirstOrganization } from '../bootstrap.ts'
import { organizationSettings, type StatusName, statusNames } from '../organization-settings.ts'
import { addAccountCommands } from './accounts.ts'
import { resolveAddresses } from './addresses.ts'
import { addAdoptStoreCommand } from './adopt-store.ts'
import { addBackupCommands } from './backup/backup.ts'
import { addRestoreCommand } from './backup/restore.ts'
import { addCheckCommand } from './check.ts'
import { addGarbageCollectionCommand } from './garbage-collection.ts'
import { addKeyCommands } from './keys.ts'
import { printResult } from './output.ts'
import { addScrubCommand } from './scrub.ts'
import { addSessionCommands } from './sessions.ts'
import { readConfigOrExit, withExistingInstallation, withInstallation } from './with-installation.ts'

/**
 * What the operator does on the installation itself: whoever can read the data directory or the database needs no token. Works
 * while the server runs and while it does not.
 */
export function addAdminCommands(program: Command): void {
  const admin = program
    .command('admin')
    .description("the operator's own commands, on the data directory or database itself")

  admin
    .command('bootstrap')
    .description('print the first organization, its owner and a token, making what is not there yet')
    .option('--name <name>', "the organization's name; can be chosen once")
    .option('--json', 'print JSON', false)
    .addHelpText('after', '\nExample:\n  berth admin bootstrap --name my-org --json\n')
    .action(({ name, json }: { name?: string; json: boolean }) =>
      withInstallation(readConfigOrExit(), async (installation) => {
        const first = await bootstrap(installation, name)
        const { baseUrl, authUrl } = await resolveAddresses(readConfigOrExit(), installation)
        const { token } = await installation
          .tokensFor({ authUrl })
          .issue({ identity: first.identity.uid, audiences: [baseUrl] })
        const { organization, identity } = first
        printResult(
          json,
          { ...first, token },
          `organization  ${organization.uid}  ${organization.name}\nidentity      ${identity.uid}  ${identity.name}\ntoken         ${token}\n`,
        )
      }),
    )

  admin
    .command('token')
    .description('print an API token for an hour and nothing else, no newline')
    .option('--identity <uid>', 'the identity it is for (default: the owner of the first organization)')
    .option('--audience <audience>', 'what it is for (default: the API)')
    .addHelpText(
      'after',
      '\nExample:\n  curl -H "Authorization: Bearer $(berth admin token)" http://127.0.0.1:8080/iam/v2beta1/groups\n',
    )
    .action(({ identity, audience }: { identity?: string; audience?: string }) =>
      withExistingInstallation(readConfigOrExit(), async (installation) => {
        const { baseUrl, authUrl } = await resolveAddresses(readConfigOrExit(), installation)
        const uid =
          identity === undefined
            ? (await ensureFirstOrganization(installation)).identity.uid
            : await requireIdentity(installation, identity)
        const { token } = await installation
          .tokensFor({ authUrl })
          .issue({ identity: uid, audiences: [audience ?? baseUrl] })
        process.stdout.write(token)
      }),
    )

  admin
    .command('organization')
    .description('print what holds for an organization, after changing what is given')
    .argument('<organization>', 'its uid or name')
    .addOption(
      new Option('--status <status>', 'suspended closes it to its members, ready opens it again').choices(
        statusNames,
      ),
    )
    .option(
      '--limit <kind=n>',
      'how many of a kind it may hold; none takes its own limit away (repeatable)',
      (text: string, earlier: readonly string[] = []) => [...earlier, text],
    )
    .option('--json', 'print JSON', false)
    .addHelpText('after', organizationHelp)
    .action(
      (
        organization: string,
        { status, limit = [], json }: { status?: StatusName; limit?: readonly string[]; json: boolean },
      ) =>
        withExistingInstallation(readConfigOrExit(), async (installation) => {
          const limits = new Map(limit.map(parseLimit))
          const settings = await organizationSettings(installation, organization, { status, limits })
          const { uid, name, resourceLimits, usage } = settings
          const shown = Object.entries(resourceLimits).map(([kind, n]) => `${kind}=${n}`)
          const used = Object.entries(usage).flatMap(([kind, n]) => (n === 0 ? [] : [`${kind}=${n}`]))
          printResult(
            json,
            settings,
            `organization  ${uid}  ${name}\nstatus        ${settings.status}\nlimits        ${shown.join(' ') || 'none'}\nusage         ${used.join(' ') || 'none'}\n`,
          )
        }),
    )

  addAdoptStoreCommand(admin)
  addCheckCommand(admin)
  addKeyCommands(admin)
  addSessionCommands(admin)
  addAccountCommands(admin)
  addGarbageCollectionCommand(admin)
  addScrubCommand(admin)
  addBackupCommands(admin)
  addRestoreCommand(admin)
}

const organizationHelp = `
Kinds: ${resourceKinds.join(', ')}

Examples:
  berth admin organization my-org
  berth admin organization my-org --status suspended
  berth admin organization my-org --limit identities=500 --limit repos=none --json
`

function parseLimit(text: string): [kind: ResourceKind, n: number | undefined] {
  const limit = parseResourceLimit(text)
  if (limit === undefined)
    throw new UsageError(
      `--limit: ${JSON.stringify(text)} must be KIND=NUMBER or KIND=none, where KIND is one of ${resourceKinds.join(', ')}`,
    )
  return [limit.kind, limit.n]
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
  if (row === undefined) throw new SetupError(`identity ${uid} does not exist`)
  return uid
}
