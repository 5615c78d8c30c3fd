import type { GroupInvite } from '@berth/client/berth.ts'
import { filterItems, toArray } from '../../invocation/async-iterables.ts'
import type { CommandDeclaration, CommandGroup } from '../../invocation/command-declaration.ts'
import { parseDurationOption } from '../../invocation/durations.ts'
import { UsageError } from '../../invocation/invocation.ts'
import { scopeOptions, yesOption } from '../../invocation/options.ts'
import {
  isUid,
  readScope,
  resolveGroupUid,
  resolveRoleUid,
  toChoice,
} from '../../invocation/resource-lookup.ts'
import { createdColumn, idColumn } from '../../output/columns.ts'
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

const view: View<GroupInvite> = {
  columns: [
    idColumn,
    { title: 'EXPIRATION', kind: 'time', value: ({ expirationTime = '' }) => expirationTime },
    { title: 'KEYID', kind: 'name', value: ({ keyId }) => keyId },
    { title: 'ROLE', kind: 'name', value: ({ role, roleUid }) => role?.name ?? roleUid },
    { title: 'EMAIL', value: ({ email }) => email, wide: true },
    { title: 'MAIL', value: describeMail, wide: true },
    { title: 'SINGLE USE', value: ({ singleUse }) => (singleUse ? 'yes' : 'no'), wide: true },
    createdColumn,
  ],
  empty: 'no invites visible to you',
}

const isExpired = ({ expirationTime = '' }: GroupInvite) => Date.parse(expirationTime) <= Date.now()

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
      invocation.output.item(invite, view)
      if (['table', 'wide', 'tree'].includes(invocation.output.format))
        invocation.output.notice(describeNext(invite))
    },
  },
  {
    name: 'list',
    aliases: ['ls'],
    summary: 'List invites, including expired ones',
    options: [...scopeOptions, { flags: '--expired', summary: 'only expired invites' }],
    examples: ['berth iam invites list --parent my-org'],
    async run(invocation) {
      const client = await invocation.client()
      const all = client.groupInvites.all(await readScope(invocation))
      const expired = invocation.flag('expired')
      await invocation.output.list(
        filterItems(all, (one) => !expired || isExpired(one)),
        view,
      )
    },
  },
  {
    name: 'delete',
    aliases: ['rm'],
    summary: 'Revoke invites',
    parameters: [{ name: 'INVITE', summary: 'uids of the invites', variadic: true }],
    options: [
      { flags: '--expired', summary: 'revoke all expired invites' },
      { flags: '--parent <group>', summary: 'organization or folder to search for expired invites' },
      yesOption,
    ],
    examples: ['berth iam invites delete $INVITE', 'berth iam invites delete --expired --yes'],
    async run(invocation) {
      const client = await invocation.client()
      const uids = [...invocation.variadicArgument(0)]
      const wrong = uids.find((uid) => !isUid(uid))
      if (wrong !== undefined) throw new UsageError(`${JSON.stringify(wrong)} is not a uid`)
      if (invocation.flag('expired')) {
        for await (const one of client.groupInvites.all(await readScope(invocation)))
          if (isExpired(one)) uids.push(one.uid)
        if (uids.length === 0) return invocation.output.notice('no expired invites')
      } else if (uids.length === 0) {
        uids.push(
          await invocation.prompt.select('Which invite?', 'INVITE', async () =>
            (await toArray(client.groupInvites.all())).map((one) =>
              toChoice(one, `${one.keyId} ${one.role?.name ?? ''} ${one.email}`.trimEnd()),
            ),
          ),
        )
      }
      const what = uids.length === 1 ? 'the invite' : `${uids.length} invites`
      await invocation.prompt.confirm(`Revoke ${what}?`)
      for (const uid of uids) await client.groupInvites.delete(uid)
      invocation.output.notice(`revoked ${what}`)
    },
  },
]

export const invitesGroup: CommandGroup = {
  name: 'invites',
  aliases: ['invite'],
  summary: 'Manage invites',
  commands,
}
