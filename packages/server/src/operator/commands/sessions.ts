import type { Column } from '@berth/cli/output/output.ts'
import type { Command } from 'commander'
import { UsageError } from '../../config/setup-errors.ts'
import { listSessions, revokeSessions, type SessionSummary } from '../sessions.ts'
import { printResult, renderTable } from './output.ts'
import { readConfigOrExit, withExistingInstallation } from './with-installation.ts'

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
      withExistingInstallation(readConfigOrExit(), async (installation) => {
        const sessions = await listSessions(installation, identity)
        printResult(json, { sessions }, renderTable(sessions, columns, 'nobody is signed in'))
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
      withExistingInstallation(readConfigOrExit(), async (installation) => {
        const revoked = await revokeSessions(installation, sessionSelector(id, identity))
        printResult(json, { revoked }, `${revoked} ${revoked === 1 ? 'session' : 'sessions'} revoked\n`)
      }),
    )
}

const columns: readonly Column<SessionSummary>[] = [
  { title: 'SESSION', kind: 'name', value: ({ id }) => id },
  { title: 'PERSON', kind: 'name', value: ({ person }) => person },
  { title: 'KIND', value: ({ kind }) => kind },
  {
    title: 'VOUCHED BY',
    value: ({ vouchedBy, identityProvider }) => identityProvider || vouchedBy || 'unknown',
  },
  { title: 'CLIENT', value: ({ client }) => client },
  { title: 'ADDRESS', value: ({ address }) => address },
  { title: 'LAST USED', kind: 'time', value: ({ lastUsedTime }) => lastUsedTime },
  { title: 'UNTIL', kind: 'time', value: ({ expireTime }) => expireTime },
]

const revokeHelp = `
Examples:
  berth admin sessions revoke 0f3b5c6d7e8f90a1b2c3d4e5f6071829
  berth admin sessions revoke --identity 7f3ac1b08e2d4956a0c7d41e5b92f6083d1ce745
`

function sessionSelector(id: string | undefined, identity: string | undefined) {
  if (id !== undefined && identity === undefined) return { id }
  if (id === undefined && identity !== undefined) return { identity }
  throw new UsageError('name either a session or --identity')
}
