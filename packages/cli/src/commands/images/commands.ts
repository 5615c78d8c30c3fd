import { eventTypeFilter } from '@berth/advisory-formats/history/advisory-states.ts'
import type { Advisory } from '@berth/client/berth.ts'
import type { CommandBody } from '../../invocation/command-declaration.ts'
import type { Invocation } from '../../invocation/invocation.ts'
import { listCommand } from '../../invocation/list-command.ts'
import { stateOption } from '../advisories/filters.ts'
import { advisoryView } from '../advisories/views.ts'
import { contentsCommands } from './contents.ts'
import { diffCommand } from './diff.ts'
import { inspectCommands } from './inspect.ts'
import { manifestCommands } from './manifests.ts'
import { referrersCommand } from './referrers.ts'
import { policyGroup } from './repos/policy.ts'
import { readmeCommands } from './repos/readme.ts'
import { repoSummaryCommand } from './repos/repo-summaries.ts'
import { repoCommands, repoParameters, resolveRepo } from './repos/repos.ts'
import { deleteUntaggedCommand } from './repos/untagged.ts'
import { visibilityCommands } from './repos/visibility.ts'
import { reportsCommand } from './scanner-reports.ts'
import { signaturesCommand } from './signatures.ts'
import { deleteCommand, deleteTagCommand, setTagCommand } from './tags/tag-changes.ts'
import { deprecateTagCommand, restoreTagCommand, tagHistoryCommand } from './tags/tag-history.ts'
import { resolveTagCommand, tagListCommand } from './tags/tags.ts'
import { transferCommands } from './transfer.ts'
import { verifiersGroup } from './verifiers.ts'
import { vulnsByRepoCommand, vulnsByTagCommand, vulnsHistoryCommand } from './vuln-counts.ts'
import { vulnsCommand } from './vulns.ts'

/** Commands for images, repositories and their tags. */

/** Lists the advisories of the package that a repo is named after, and of everything built from it. */
async function* listRepoAdvisories(invocation: Invocation): AsyncGenerator<Advisory> {
  const client = await invocation.client()
  const { name, uid } = await client.repos.get(await resolveRepo(invocation))
  const state = invocation.option('state')
  const filter = {
    uidp: { descendantsOf: uid.split('/')[0] ?? '' },
    ...(state !== '' && { latestEventType: eventTypeFilter(state) }),
  }
  const seen = new Set<string>()
  for (const more of [{ artifactNames: [name] }, { origin: name }])
    for await (const advisory of client.advisories.all({ ...filter, ...more })) {
      if (!seen.has(advisory.uid)) yield advisory
      seen.add(advisory.uid)
    }
}

export const imagesCommands: CommandBody = {
  commands: [
    tagListCommand({
      summary: 'List images: the tags of all repos',
      examples: [
        'berth images list --parent my-org',
        'berth images list my-org/nginx --updated-within 7d',
        "berth images list --sort 'updated desc' --limit 20",
        'berth images list docker.io/library/nginx',
      ],
    }),
    ...transferCommands,
    ...inspectCommands,
    referrersCommand,
    ...contentsCommands,
    diffCommand,
    signaturesCommand,
    vulnsCommand,
    vulnsByRepoCommand,
    vulnsByTagCommand,
    vulnsHistoryCommand,
    reportsCommand,
    deleteCommand,
    listCommand({
      name: 'advisories',
      aliases: ['advisory'],
      summary: 'List advisories of the package or image that a repo is named after',
      parameters: repoParameters,
      options: [stateOption],
      examples: [
        'berth images advisories nginx',
        'berth images advisories my-org/nginx --state affected -o csv',
      ],
      view: () => advisoryView,
      items: listRepoAdvisories,
    }),
    {
      name: 'repos',
      aliases: ['repo'],
      summary: 'Manage repositories',
      commands: [
        ...repoCommands,
        repoSummaryCommand,
        ...readmeCommands,
        deleteUntaggedCommand,
        ...visibilityCommands,
      ],
    },
    {
      name: 'tags',
      aliases: ['tag'],
      summary: 'Manage tags',
      commands: [
        tagListCommand({
          summary: 'List tags',
          examples: [
            'berth images tags list my-org/nginx --all',
            'berth images tags list docker.io/library/nginx -o id',
          ],
        }),
        setTagCommand,
        deleteTagCommand,
        tagHistoryCommand,
        restoreTagCommand,
        deprecateTagCommand,
        resolveTagCommand,
      ],
    },
    {
      name: 'manifests',
      summary: 'Inspect and delete manifests by digest',
      commands: manifestCommands,
    },
    policyGroup,
    verifiersGroup,
  ],
}
