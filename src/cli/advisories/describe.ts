import type { Advisory, BerthClient } from '../../../client/berth.ts'
import { collect } from '../client/collect.ts'
import type { CommandDeclaration } from '../client/command.ts'
import { type Invocation, UsageError } from '../client/invocation.ts'
import { isUid, scopeOf } from '../client/locate.ts'
import { within } from '../client/options.ts'
import { newestFirst } from './states.ts'
import { detailView, eventView } from './views.ts'

export const describeCommand: CommandDeclaration = {
  name: 'describe',
  aliases: ['get'],
  summary: 'show an advisory, with what happened in the order of time',
  parameters: [
    { name: 'ADVISORY', summary: 'its id or uid, or a vulnerability that one has', required: true },
  ],
  options: within,
  examples: [
    'berth advisories describe CGA-2222-3333-4444',
    'berth advisories describe CVE-2024-6119 -o yaml',
  ],
  async run(invocation) {
    const advisory = await found(invocation)
    const { output } = invocation
    output.item(advisory, detailView)
    if (!['table', 'wide', 'tree'].includes(output.format)) return
    output.text('')
    await output.list(newestFirst(advisory).toReversed(), eventView)
  },
}

async function found(invocation: Invocation): Promise<Advisory> {
  const word = invocation.word(0)
  const client = await invocation.client()
  if (isUid(word)) return client.advisories.get(word)
  const scope = await scopeOf(invocation)
  for (const look of looks) {
    const [one, ...more] = await collect(look(client, word, scope))
    if (one !== undefined && more.length === 0) return one
    if (one !== undefined)
      throw new UsageError(
        `${more.length + 1} advisories have ${JSON.stringify(word)}: give the uid of one, or its folder with --parent`,
      )
  }
  throw new UsageError(`there is no advisory ${JSON.stringify(word)} that you may see`)
}

type Scope = Awaited<ReturnType<typeof scopeOf>>

const looks: readonly ((client: BerthClient, word: string, scope: Scope) => AsyncIterable<Advisory>)[] = [
  (client, word, scope) => client.advisories.all({ ...scope, advisoryIds: [word] }),
  (client, word, scope) => client.advisories.all({ ...scope, legacyAdvisoryIds: [word] }),
  (client, word, scope) => client.advisories.all({ ...scope, aliases: [word] }),
]
