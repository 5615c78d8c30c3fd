import type { Advisory, BerthClient } from '../../../client/berth.ts'
import { collect } from '../client/collect.ts'
import type { CommandDeclaration } from '../client/command.ts'
import { type Invocation, UsageError } from '../client/invocation.ts'
import { isUid } from '../client/locate.ts'
import { newestFirst } from './states.ts'
import { detailView, eventView } from './views.ts'

export const describeCommand: CommandDeclaration = {
  name: 'describe',
  aliases: ['get'],
  summary: 'show an advisory, with what happened in the order of time',
  parameters: [
    { name: 'ADVISORY', summary: 'its id or uid, or a vulnerability that one has', required: true },
  ],
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
  for (const look of looks) {
    const [one, ...more] = await collect(look(client, word))
    if (one !== undefined && more.length === 0) return one
    if (one !== undefined)
      throw new UsageError(
        `${more.length + 1} advisories have ${JSON.stringify(word)}: berth advisories list --cve ${word} shows them`,
      )
  }
  throw new UsageError(`there is no advisory ${JSON.stringify(word)} that you may see`)
}

const looks: readonly ((client: BerthClient, word: string) => AsyncIterable<Advisory>)[] = [
  (client, word) => client.advisories.all({ advisoryIds: [word] }),
  (client, word) => client.advisories.all({ legacyAdvisoryIds: [word] }),
  (client, word) => client.advisories.all({ aliases: [word] }),
]
