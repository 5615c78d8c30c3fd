import type { AuditEvent, ListAuditEventsRequest } from '@berth/client/berth.ts'
import type { CommandBody, CommandDeclaration } from '../../invocation/command-declaration.ts'
import { parseTimeOption } from '../../invocation/durations.ts'
import { type Invocation, UsageError } from '../../invocation/invocation.ts'
import { type ListDeclaration, listCommand, printList } from '../../invocation/list-command.ts'
import { scopeOptions } from '../../invocation/options.ts'
import { readScope, resolveIdentityUid } from '../../invocation/resource-lookup.ts'
import { isUid } from '../../invocation/resource-uids.ts'
import { eventView, resultNames } from './event-view.ts'
import { followEvents } from './follow.ts'

/** Events of the audit log: changes, denied calls and issued tokens. */

const EVENTS_DEFAULT = 50

/** Returns the filters of the API that the options describe. */
async function readEventFilter(invocation: Invocation): Promise<ListAuditEventsRequest> {
  const { option } = invocation
  const [actor, method, resource, result] = [
    option('actor'),
    option('method'),
    option('resource'),
    option('result'),
  ]
  if (resource !== '' && !isUid(resource)) throw new UsageError('--resource must be a uid')
  const [since, until] = [
    parseTimeOption('--since', option('since')),
    parseTimeOption('--until', option('until')),
  ]
  return {
    ...(await readScope(invocation)),
    ...(actor !== '' && { actor: actor === 'system' ? actor : await resolveIdentityUid(invocation, actor) }),
    ...(method !== '' && { method }),
    ...(resource !== '' && { resourceUid: resource }),
    ...(result !== '' && {
      code: Number(Object.keys(resultNames).find((code) => resultNames[code] === result)),
    }),
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
  }
}

const list: ListDeclaration<AuditEvent> = {
  summary: `List events, newest first (default: the newest ${EVENTS_DEFAULT})`,
  options: [
    ...scopeOptions,
    { flags: '--actor <identity>', summary: 'identity that acted (uid or name), or system' },
    { flags: '--method <name>', summary: 'called method, such as CreateGroup' },
    { flags: '--resource <uid>', summary: 'uid of the changed resource' },
    { flags: '--result <result>', summary: 'result of the call', choices: Object.values(resultNames) },
    { flags: '--since <time>', summary: 'start: a time, or a duration before now such as 24h' },
    { flags: '--until <time>', summary: 'end: a time, or a duration before now' },
    {
      flags: '-f, --follow',
      summary: 'print new events until Ctrl-C; with -o json one per line',
      conflicts: ['until', 'sort', 'filter', 'limit'],
    },
  ],
  examples: [
    'berth audit list --parent my-org --since 24h',
    'berth audit list --result denied --limit 200 -o csv',
    'berth audit list --actor ci --method CreateRoleBinding',
    'berth audit list --follow',
  ],
  serverSort: { time: 'created_at', created: 'created_at' },
  defaultLimit: EVENTS_DEFAULT,
  view: ({ names }) => eventView(names),
  async items(invocation, request) {
    const filter = await readEventFilter(invocation)
    return (await invocation.client()).audit.all({ ...request, ...filter })
  },
}

const listAuditCommand: CommandDeclaration = {
  ...listCommand(list),
  run: async (invocation) =>
    invocation.flag('follow')
      ? followEvents(invocation, await readEventFilter(invocation))
      : printList(invocation, list),
}

const { name: _, aliases: __, summary: ___, ...listBody } = listAuditCommand

/** Without a subcommand it lists events. */
export const auditCommands: CommandBody = {
  ...listBody,
  commands: [
    listAuditCommand,
    {
      name: 'describe',
      aliases: ['get'],
      summary: 'Show an event',
      parameters: [{ name: 'EVENT', summary: 'uid', required: true }],
      examples: ['berth audit describe $EVENT', 'berth audit describe $EVENT -o json'],
      async run(invocation) {
        const event = await (await invocation.client()).audit.get(invocation.argument(0))
        await invocation.output.item(event, eventView(invocation.names))
      },
    },
  ],
}
