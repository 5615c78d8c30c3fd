import type { CommandDeclaration } from '../../invocation/command-declaration.ts'
import type { AuthInvocation } from '../../invocation/invoke.ts'
import type { ResourceNames } from '../../invocation/resource-names.ts'

/** `berth auth status`: the signed-in identity, its token and its roles. */

interface Status {
  readonly valid: boolean
  readonly audience: string
  readonly identity: string
  readonly name: string
  readonly email: string
  readonly issuer: string
  readonly expiry: string
  /** Where which role is held, as the server says. */
  readonly capabilities: readonly { readonly group: string; readonly role: string }[]
}

export const statusCommand: CommandDeclaration = {
  name: 'status',
  aliases: ['whoami'],
  summary: 'Show the signed-in identity and its roles',
  options: [{ flags: '--quick', summary: 'read only the stored token, without a request to the server' }],
  examples: ['berth auth status', 'berth auth status --quick -o json'],
  async run(invocation) {
    const { settings, cache, env } = invocation as AuthInvocation
    const { requireAccessToken } = await import('../../session/current-token.ts')
    const { decodeClaims, remainingMs } = await import('../../session/token-cache.ts')
    const quick = invocation.flag('quick')
    const token = quick
      ? settings.token || cache.read('oidc-token', settings.audience)
      : await requireAccessToken({ settings, cache, env })
    const claims = decodeClaims(token)
    const local: Status = {
      valid: remainingMs(token) > 0,
      audience: [claims['aud'] ?? settings.audience].flat().join(', '),
      identity: String(claims['sub'] ?? ''),
      name: '',
      email: String(claims['email'] ?? ''),
      issuer: String(claims['iss'] ?? settings.issuer),
      expiry: typeof claims['exp'] === 'number' ? new Date(claims['exp'] * 1000).toISOString() : '',
      capabilities: [],
    }
    const status = quick ? local : { ...local, ...(await fetchStatus(invocation as AuthInvocation)) }
    await invocation.output.item(status, {
      id: ({ identity }) => identity,
      columns: [
        { title: 'VALID', value: ({ valid }) => (valid ? 'yes' : 'no') },
        { title: 'NAME', value: ({ name }) => name },
        { title: 'IDENTITY', value: ({ identity }) => identity },
        { title: 'EMAIL', value: ({ email }) => email },
        { title: 'AUDIENCE', value: ({ audience }) => audience },
        { title: 'EXPIRES', kind: 'time', value: ({ expiry }) => expiry },
        {
          title: 'ROLES',
          value: ({ capabilities }) => capabilities.map(({ group, role }) => `${group}: ${role}`).join(', '),
        },
      ],
    })
    if (!status.valid) process.exitCode = 4
  },
}

/** Returns the name of the signed-in user; '' if the server does not return it. */
export async function fetchName(invocation: AuthInvocation): Promise<string> {
  const { name = '' } = await fetchStatus(invocation).catch((): Partial<Status> => ({}))
  return name
}

async function fetchStatus(invocation: AuthInvocation): Promise<Partial<Status>> {
  const client = await invocation.client()
  const who = await client.auth.validate()
  const { names } = invocation
  await names.load({
    groups: who.capabilities.map(({ group }) => group?.id ?? ''),
    identities: [who.subject],
  })
  const name = names.identityName(who.subject)
  return {
    name: name === who.subject ? '' : name,
    email: who.email,
    capabilities: who.capabilities.map(({ group, role, capabilities }) => ({
      group: groupName(names, group),
      role: role?.name ?? summarizeNames(capabilities),
    })),
  }
}

function groupName(
  names: ResourceNames,
  group: { readonly id: string; readonly name: string } | undefined,
): string {
  if (!group?.id) return 'everywhere'
  const path = names.groupPath(group.id)
  return path === group.id ? group.name || path : path
}

const SHOWN = 3

function summarizeNames(names: readonly string[]): string {
  return names.length > SHOWN ? `${names.length} capabilities` : names.join(' ')
}
