import type { CommandGroup } from '@berth/cli/invocation/command-declaration.ts'
import type { View } from '@berth/cli/output/output.ts'
import { parseUid, type Uid } from '../api/uid.ts'
import { SetupError, UsageError } from '../config/setup-errors.ts'
import type { Installation } from '../installation/installation.ts'
import { listSessions, revokeSessions, type SessionSummary } from '../operator/sessions.ts'
import { listUsers } from '../operator/user-list.ts'
import { jsonOption } from './options.ts'
import { installationList, readConfigOrExit, withExistingInstallation } from './with-installation.ts'

/** How many sessions are listed, the most recently used. */
const LISTED_SESSIONS_MAX = 1000

type SessionLine = ReturnType<typeof sessionLine>

/** The fields of `--json`. */
function sessionLine(session: SessionSummary) {
  const { createdMs, lastUsedMs, expiresMs, userAgent: _, ...rest } = session
  const time = (ms: number) => new Date(ms).toISOString()
  return {
    ...rest,
    createTime: time(createdMs),
    lastUsedTime: time(lastUsedMs),
    expireTime: time(expiresMs),
  }
}

const view: View<SessionLine> = {
  columns: [
    { title: 'SESSION', kind: 'name', value: ({ id }) => id },
    { title: 'USER', kind: 'name', value: ({ person }) => person },
    { title: 'KIND', value: ({ kind }) => kind },
    {
      title: 'PROVIDER',
      value: ({ vouchedBy, identityProvider }) => identityProvider || vouchedBy || 'unknown',
    },
    { title: 'CLIENT', value: ({ client }) => client },
    { title: 'ADDRESS', value: ({ address }) => address },
    { title: 'LAST USED', kind: 'time', value: ({ lastUsedTime }) => lastUsedTime },
    { title: 'EXPIRES', kind: 'time', value: ({ expireTime }) => expireTime },
  ],
  id: ({ id }) => id,
  empty: 'no active sessions',
}

/** `berth admin sessions`: active sessions of users. */
export const sessionsGroup: CommandGroup = {
  name: 'sessions',
  summary: 'Manage active sessions of browsers and clients',
  commands: [
    installationList(
      {
        summary: 'List active sessions, most recently used first',
        options: [
          { flags: '--user <user>', summary: 'email address or name of a user' },
          { flags: '--identity <uid>', summary: 'uid of an identity' },
          jsonOption,
        ],
        examples: ['berth admin sessions list --user ada@example.com', 'berth admin sessions list --json'],
        view: () => view,
      },
      async (installation, { optionIfSet }) => {
        const sessions = await listSessions(installation, {
          identity: await findIdentity(installation, optionIfSet('identity'), optionIfSet('user')),
          max: LISTED_SESSIONS_MAX,
        })
        return sessions.map(sessionLine)
      },
    ),
    {
      name: 'revoke',
      summary: 'Revoke a session, or all sessions of an identity, and their tokens',
      parameters: [{ name: 'SESSION', summary: 'session id' }],
      options: [
        { flags: '--user <user>', summary: 'revoke all sessions of a user, by email address or name' },
        { flags: '--identity <uid>', summary: 'revoke all sessions of this identity' },
        jsonOption,
      ],
      examples: [
        'berth admin sessions revoke 0f3b5c6d7e8f90a1b2c3d4e5f6071829',
        'berth admin sessions revoke --user ada@example.com',
        'berth admin sessions revoke --identity 7f3ac1b08e2d4956a0c7d41e5b92f6083d1ce745',
      ],
      run: ({ argument, optionIfSet, output }) =>
        withExistingInstallation(readConfigOrExit(), async (installation) => {
          const identity = await findIdentity(installation, optionIfSet('identity'), optionIfSet('user'))
          const selector = sessionSelector(argument(0), identity)
          const revoked = await revokeSessions(installation, selector)
          output.result({ revoked }, `revoked ${revoked} ${revoked === 1 ? 'session' : 'sessions'}\n`)
        }),
    },
  ],
}

function sessionSelector(id: string, identity: Uid | undefined) {
  if (id !== '' && identity === undefined) return { id }
  if (id === '' && identity !== undefined) return { identity }
  throw new UsageError('give either SESSION, --user or --identity')
}

/** Returns the identity that an option names; undefined without an option. */
async function findIdentity(
  installation: Installation,
  identity: string | undefined,
  user: string | undefined,
): Promise<Uid | undefined> {
  if (identity !== undefined && user !== undefined) throw new UsageError('give either --user or --identity')
  if (identity !== undefined) return requireUid(identity)
  return user === undefined ? undefined : userNamed(installation, user)
}

/** How many users with one name are printed. */
const LISTED_USERS_MAX = 10

async function userNamed({ store }: Installation, named: string): Promise<Uid> {
  // Users without an email address have an empty one.
  if (named.trim() === '') throw new UsageError('--user must not be empty')
  const users = await listUsers(store, { named }, { max: LISTED_USERS_MAX })
  const [user, ...others] = users
  if (user === undefined) throw new SetupError(`user ${named} not found`)
  if (others.length > 0) {
    const choices = users.map(({ uid, email }) => `${uid} ${email}`.trim()).join(', ')
    throw new UsageError(`several users have the name ${named}: use --identity with one of ${choices}`)
  }
  return requireUid(user.uid)
}

function requireUid(identity: string): Uid {
  const uid = parseUid(identity)
  if (uid === undefined)
    throw new UsageError('--identity must be a uid: 40 hex digits, then segments of /16 hex digits')
  return uid
}
