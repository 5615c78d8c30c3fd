import type { Command } from 'commander'
import { UsageError } from '../installation.ts'
import { listSessions, revokeSessions } from '../operator-sessions.ts'
import { alignedRows } from './aligned-rows.ts'
import { configOrExit, withExistingInstallation } from './operator.ts'

/** `berth admin sessions`: who is signed in. */
export function addSessionCommands(admin: Command): void {
  const sessions = admin.command('sessions').description('who is signed in, in browsers and with clients')

  sessions
    .command('list')
    .description('print the sessions, the one used last first')
    .option('--identity <uid>', 'of this identity alone')
    .option('--json', 'print JSON', false)
    .addHelpText('after', '\nExample:\n  berth admin sessions list --json\n')
    .action(({ identity, json }: { identity?: string; json: boolean }) =>
      withExistingInstallation(configOrExit(), async (installation) => {
        const sessions = await listSessions(installation, identity)
        process.stdout.write(
          json
            ? `${JSON.stringify({ sessions })}\n`
            : alignedRows([
                ['SESSION', 'PERSON', 'KIND', 'CLIENT', 'ADDRESS', 'LAST USED', 'UNTIL'],
                ...sessions.map(({ id, person, kind, client, address, lastUsedTime, expireTime }) => [
                  id,
                  person,
                  kind,
                  client,
                  address,
                  lastUsedTime,
                  expireTime,
                ]),
              ]),
        )
      }),
    )

  sessions
    .command('revoke')
    .description('end a session, or all of an identity: their tokens stop working at once')
    .argument('[session]', 'id of the session')
    .option('--identity <uid>', 'all sessions of this identity')
    .option('--json', 'print JSON', false)
    .addHelpText('after', revokeHelp)
    .action((id: string | undefined, { identity, json }: { identity?: string; json: boolean }) =>
      withExistingInstallation(configOrExit(), async (installation) => {
        const revoked = await revokeSessions(installation, which(id, identity))
        process.stdout.write(
          json
            ? `${JSON.stringify({ revoked })}\n`
            : `${revoked} ${revoked === 1 ? 'session' : 'sessions'} revoked\n`,
        )
      }),
    )
}

const revokeHelp = `
Examples:
  berth admin sessions revoke 0f3b5c6d7e8f90a1b2c3d4e5f6071829
  berth admin sessions revoke --identity 7f3ac1b08e2d4956a0c7d41e5b92f6083d1ce745
`

function which(id: string | undefined, identity: string | undefined) {
  if (id !== undefined && identity === undefined) return { id }
  if (id === undefined && identity !== undefined) return { identity }
  throw new UsageError('name either a session or --identity')
}
