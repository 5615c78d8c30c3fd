import type { GroupInvite, ReceivedInvite } from '@berth/client/berth.ts'
import { filterItems } from '../../invocation/async-iterables.ts'
import type { CommandDeclaration, CommandGroup } from '../../invocation/command-declaration.ts'
import { parseDurationOption } from '../../invocation/durations.ts'
import { type Invocation, UsageError } from '../../invocation/invocation.ts'
import type { ListRequest } from '../../invocation/list-command.ts'
import { scopeOptions, yesOption } from '../../invocation/options.ts'
import { type Resource, resourceCommands } from '../../invocation/resource-commands.ts'
import { readScope, resolveGroupUid, resolveRoleUid, resolveUid } from '../../invocation/resource-lookup.ts'
import type { ResourceNames } from '../../invocation/resource-names.ts'
import { createdColumn, groupColumn, idColumn, loadGroups } from '../../output/columns.ts'
import type { View } from '../../output/output.ts'

/** Invites: links and codes that grant a role. */

/** `sent`, `queued` or `failed: <problem>`; empty if there is no email. */
function describeMail({ mail }: GroupInvite): string {
  if (mail === undefined) return ''
  const state = mail.state.replace(/^STATE_/, '').toLowerCase()
  return mail.problem === '' ? state : `${state}: ${mail.problem}`
}

/** Describes what the creator of an invite does with it. */
function describeNext({ link, code, email, mail }: GroupInvite): string {
  // A server before 0.7 returns no link.
  const shown =
    link === ''
      ? `Invite code (not shown again):\n\n  ${code}\n`
      : `Invite link (not shown again):\n\n  ${link}\n`
  const more = []
  if (mail?.state === 'STATE_FAILED') more.push(`No email was sent to ${email}: ${mail.problem}.`)
  else if (mail !== undefined)
    more.push(
      `Berth sends an email with its own link to ${email}; berth iam invites list -o wide shows whether it was sent.`,
    )
  else if (email !== '')
    more.push(
      `Berth sends no email: send the link to ${email}. Accepting it requires an account with this address, which the operator can create with berth admin accounts create ${email}.`,
    )
  else more.push('Send the link to the user. Anyone who has it can accept the invite.')
  more.push('In a terminal: berth auth login --invite-code CODE, where CODE is the part after #.')
  return `\n${shown}\n${more.join('\n')}`
}

const view = (names: ResourceNames): View<GroupInvite> => ({
  columns: [
    { title: 'ROLE', kind: 'name', value: ({ role, roleUid }) => role?.name ?? roleUid },
    groupColumn(names),
    { title: 'EMAIL', kind: 'name', value: ({ email }) => email },
    { title: 'EXPIRATION', kind: 'time', value: ({ expirationTime = '' }) => expirationTime },
    { title: 'KEYID', kind: 'name', value: ({ keyId }) => keyId },
    { title: 'EMAIL STATE', value: describeMail, wide: true },
    { title: 'SINGLE USE', value: ({ singleUse }) => (singleUse ? 'yes' : 'no'), wide: true },
    idColumn,
    createdColumn,
  ],
  empty: 'no invites visible to you',
  load: loadGroups(names),
})

const isExpired = ({ expirationTime = '' }: GroupInvite) => Date.parse(expirationTime) <= Date.now()

const labelOf = ({ keyId, role, email }: GroupInvite) => `${keyId} ${role?.name ?? ''} ${email}`.trimEnd()

async function listInvites(
  invocation: Invocation,
  request: ListRequest,
): Promise<AsyncIterable<GroupInvite>> {
  const client = await invocation.client()
  const all = client.groupInvites.all({ ...request, ...(await readScope(invocation)) })
  return filterItems(all, (one) => !invocation.flag('expired') || isExpired(one))
}

/** Resolves an invite by its uid or key id. */
function resolveInviteUid(invocation: Invocation, word: string): Promise<string> {
  return resolveUid(invocation, word, {
    noun: 'invite',
    list: (client, { name, ...filter }) =>
      client.groupInvites.all({ ...filter, ...(name !== undefined && { keyId: name }) }),
    label: labelOf,
  })
}

const inviteResource: Resource<GroupInvite> = {
  noun: 'invite',
  plural: 'invites',
  command: 'berth iam invites',
  example: '$INVITE',
  parameter: { name: 'INVITE', summary: 'key id or uid' },
  view,
  list: listInvites,
  listOptions: [...scopeOptions, { flags: '--expired', summary: 'only expired invites' }],
  serverSort: { created: 'created_at', id: 'uid' },
  serverFilters: { keyid: 'keyId' },
  resolveUid: (invocation) => resolveInviteUid(invocation, invocation.argument(0)),
  get: (client, uid) => client.groupInvites.get(uid),
  delete: (client, uid) => client.groupInvites.delete(uid),
  label: labelOf,
}

const shared = resourceCommands(inviteResource)

const commands: readonly CommandDeclaration[] = [
  {
    name: 'create',
    summary: 'Create an invite and print its link, once',
    parameters: [{ name: 'GROUP', summary: 'organization or folder' }],
    options: [
      { flags: '--role <role>', summary: 'role to grant' },
      { flags: '--ttl <duration>', summary: 'lifetime, such as 24h or 7d', default: '168h' },
      {
        flags: '--email <address>',
        summary:
          'email address that may accept the invite; Berth sends the link there if the operator has configured email',
      },
      { flags: '--single-use', summary: 'allow the invite to be accepted only once' },
    ],
    examples: [
      'berth iam invites create my-org --role editor --single-use',
      'berth iam invites create my-org/team --role viewer --email ada@example.com --ttl 2d -o json',
    ],
    async run(invocation) {
      const ttl = `${parseDurationOption('--ttl', invocation.option('ttl'))}s`
      const group = await resolveGroupUid(invocation, invocation.argument(0), 'GROUP')
      const role = await resolveRoleUid(invocation, invocation.option('role'), { group })
      const client = await invocation.client()
      const email = invocation.option('email')
      const invite = await client.groupInvites.create(group, {
        roleUid: role,
        ttl,
        singleUse: invocation.flag('singleUse'),
        ...(email === '' ? {} : { email }),
      })
      await invocation.output.item(invite, view(invocation.names))
      if (invocation.output.isForPeople) invocation.output.notice(describeNext(invite))
    },
  },
  {
    ...shared.list,
    summary: 'List invites, including expired ones',
    examples: ['berth iam invites list --parent my-org', 'berth iam invites list --sort expiration'],
  },
  shared.describe,
  {
    ...shared.delete,
    summary: 'Revoke invites',
    parameters: [{ name: 'INVITE', summary: 'key ids or uids of the invites', variadic: true }],
    options: [
      { flags: '--expired', summary: 'revoke all expired invites' },
      { flags: '--parent <group>', summary: 'organization or folder to search for expired invites' },
      yesOption,
    ],
    examples: ['berth iam invites delete $INVITE', 'berth iam invites delete --expired --yes'],
    async run(invocation) {
      const client = await invocation.client()
      const expired = invocation.flag('expired')
      const uids: string[] = []
      for (const word of invocation.variadicArgument(0)) uids.push(await resolveInviteUid(invocation, word))
      if (expired) for await (const { uid } of await listInvites(invocation, {})) uids.push(uid)
      else if (uids.length === 0) uids.push(await resolveInviteUid(invocation, ''))
      if (uids.length === 0) return invocation.output.notice('no expired invites')
      const what = uids.length === 1 ? 'the invite' : `${uids.length} invites`
      await invocation.prompt.confirm(`Revoke ${what}?`)
      for (const uid of uids) await client.groupInvites.delete(uid)
      invocation.output.notice(`revoked ${what}`)
    },
  },
]

const receivedView: View<ReceivedInvite> = {
  columns: [
    { title: 'GROUP', kind: 'name', value: ({ groupPath }) => groupPath },
    { title: 'ROLE', kind: 'name', value: ({ roleName }) => roleName },
    { title: 'FROM', kind: 'name', value: ({ inviter }) => inviter },
    { title: 'EXPIRATION', kind: 'time', value: ({ expirationTime = '' }) => expirationTime },
    idColumn,
  ],
  empty: 'no open invites for your verified email address',
}

const receivedCommands: readonly CommandDeclaration[] = [
  {
    name: 'received',
    summary: 'List the open invites for your verified email address, in all organizations',
    examples: ['berth iam invites received', 'berth iam invites received -o json'],
    async run(invocation) {
      const client = await invocation.client()
      const { invites, more } = await client.invitations.findReceivedInvites({})
      await invocation.output.list(invites, receivedView)
      if (more) invocation.output.notice('there may be more invites: accept those with their links')
    },
  },
  {
    name: 'accept',
    summary: 'Accept an invite for your verified email address',
    parameters: [{ name: 'INVITE', summary: 'uid, or path of the group; default: the only one' }],
    examples: ['berth iam invites accept', 'berth iam invites accept my-org/team'],
    async run(invocation) {
      const client = await invocation.client()
      const { invites, more } = await client.invitations.findReceivedInvites({})
      const word = invocation.argument(0)
      const matching = invites.filter(
        ({ uid, groupPath }) => word === '' || uid === word || groupPath === word,
      )
      const [invite, ...others] = matching
      if (invite === undefined)
        throw new UsageError(
          `${word === '' ? receivedView.empty : `no open invite for your verified email address is ${word}`}; accept a link or code with berth auth login --invite-code`,
        )
      if (others.length > 0)
        throw new UsageError(
          `${matching.length} invites match; name one by its uid: ${matching.map(({ uid }) => uid).join(', ')}`,
        )
      if (word === '' && more)
        throw new UsageError(
          `there may be more invites than the one to ${invite.groupPath}; name it by its uid: ${invite.uid}`,
        )
      await client.invitations.acceptReceivedInvite({ uid: invite.uid })
      invocation.output.notice(`you have the role ${invite.roleName} in ${invite.groupPath}`)
    },
  },
]

export const invitesGroup: CommandGroup = {
  name: 'invites',
  aliases: ['invite'],
  summary: 'Manage invites',
  commands: [...commands, ...receivedCommands],
}
