import type { TagHistoryEntry } from '@berth/client/berth.ts'
import type { CommandDeclaration } from '../../../invocation/command-declaration.ts'
import { type Invocation, UsageError } from '../../../invocation/invocation.ts'
import { listCommand } from '../../../invocation/list-command.ts'
import { parentFilterOption, yesOption } from '../../../invocation/options.ts'
import { parentUid } from '../../../invocation/resource-uids.ts'
import { findTag, referenceParameters, tagView } from './tags.ts'

/** Commands that show what a tag has pointed to, move it back, and mark it as deprecated. */

export const tagHistoryCommand = listCommand<TagHistoryEntry>({
  name: 'history',
  summary: 'Show the digests of a tag over time, newest first',
  parameters: referenceParameters,
  options: [parentFilterOption],
  examples: ['berth images tags history my-org/nginx:1.27'],
  view: () => ({
    id: ({ digest }) => digest,
    columns: [
      { title: 'DIGEST', value: ({ digest }) => digest },
      { title: 'SINCE', kind: 'time', value: ({ updateTime = '' }) => updateTime },
      { title: 'BY', kind: 'name', value: ({ actor, actorName }) => actorName || actor },
      { title: 'AVAILABLE', value: ({ available }) => (available ? 'yes' : 'no') },
    ],
  }),
  async items(invocation) {
    const { uid } = await findTag(invocation, invocation.argument(0))
    return (await invocation.client()).tagHistory.all({ uid })
  },
})

/** Returns the latest digest of the history that a tag does not have now. */
async function previousDigest(invocation: Invocation, uid: string, current: string): Promise<string> {
  const client = await invocation.client()
  for await (const { digest, available } of client.tagHistory.all({ uid }))
    if (available && digest !== current) return digest
  throw new UsageError('the tag has no earlier digest that still exists; specify --digest')
}

export const restoreTagCommand: CommandDeclaration = {
  name: 'restore',
  aliases: ['rollback'],
  summary: 'Move a tag back to an earlier digest',
  parameters: referenceParameters,
  options: [
    { flags: '--digest <digest>', summary: 'digest of an image of the repo (default: the previous one)' },
    parentFilterOption,
    yesOption,
  ],
  examples: [
    'berth images tags restore my-org/nginx:1.27',
    'berth images tags restore my-org/nginx:1.27 --digest sha256:… --yes',
  ],
  async run(invocation) {
    const tag = await findTag(invocation, invocation.argument(0))
    const { uid, repo, name } = tag
    const client = await invocation.client()
    // The version that the question is about.
    const { etag } = await client.tags.get(uid).withResponse()
    const digest = invocation.option('digest') || (await previousDigest(invocation, uid, tag.digest))
    await invocation.prompt.confirm(`Move ${repo}:${name} from ${tag.digest} to ${digest}?`)
    const moved = await client.tagHistory.moveTag({ uid, digest }, { ifMatch: etag })
    await invocation.output.item({ ...moved, repo }, tagView)
  },
}

export const deprecateTagCommand: CommandDeclaration = {
  name: 'deprecate',
  summary: 'Mark a tag as deprecated: clients that pull it print a warning',
  parameters: referenceParameters,
  options: [{ flags: '--undo', summary: 'remove the mark' }, parentFilterOption],
  examples: [
    'berth images tags deprecate my-org/nginx:1.25',
    'berth images tags deprecate my-org/nginx:1.25 --undo',
  ],
  async run(invocation) {
    const { uid, repo } = await findTag(invocation, invocation.argument(0))
    const client = await invocation.client()
    const { value: tag, etag } = await client.tags.get(uid).withResponse()
    const { name, digest, bundles } = tag
    const changed = await client.tags.create(
      parentUid(uid),
      { name, digest, bundles, deprecated: !invocation.flag('undo') },
      { ifMatch: etag },
    )
    await invocation.output.item({ ...changed, repo }, tagView)
  },
}
