import { currentState, newestFirst } from '@berth/advisory-formats/history/advisory-states.ts'
import type { Advisory, BerthClient } from '@berth/client/berth.ts'
import { toArray } from '../../invocation/async-iterables.ts'
import type { CommandDeclaration } from '../../invocation/command-declaration.ts'
import { type Invocation, UsageError } from '../../invocation/invocation.ts'
import { scopeOptions } from '../../invocation/options.ts'
import { readScope } from '../../invocation/resource-lookup.ts'
import { isUid } from '../../invocation/resource-uids.ts'
import { sanitizeText, truncate } from '../../output/text-width.ts'
import { listSources, printSource } from './documents.ts'
import { detailView, eventView } from './views.ts'

export const describeCommand: CommandDeclaration = {
  name: 'describe',
  aliases: ['get'],
  summary: 'Show an advisory with its events and source documents',
  parameters: [
    { name: 'ADVISORY', summary: 'advisory id, uid, or the id of its vulnerability', required: true },
  ],
  options: scopeOptions,
  examples: [
    'berth advisories describe CGA-2222-3333-4444',
    'berth advisories describe CVE-2024-6119 -o yaml',
  ],
  async run(invocation) {
    const advisory = await findAdvisory(invocation)
    const { output } = invocation
    await output.item(advisory, detailView)
    if (!output.isForPeople) return
    output.line('')
    await output.list(newestFirst(advisory).toReversed(), eventView)
    for await (const source of listSources(await invocation.client(), advisory.uid)) {
      output.line('')
      await printSource(invocation, source)
    }
  },
}

async function findAdvisory(invocation: Invocation): Promise<Advisory> {
  const word = invocation.argument(0)
  const client = await invocation.client()
  if (isUid(word)) return client.advisories.get(word)
  const scope = await readScope(invocation)
  for (const look of lookups) {
    const found = await toArray(look(client, word, scope))
    const [one, ...more] = found
    if (one !== undefined && more.length === 0) return one
    if (one !== undefined) {
      const shown = found.slice(0, CANDIDATES_MAX).map(candidateLine)
      const left = found.length - shown.length
      const lines = [...shown, ...(left > 0 ? [`and ${left} more; see berth advisories list`] : [])]
      throw new UsageError(
        `${found.length} advisories match ${JSON.stringify(word)}: use the id or uid of one, or its folder with --parent\n${lines.map((line) => `  ${line}`).join('\n')}`,
      )
    }
  }
  throw new UsageError(`advisory ${JSON.stringify(word)} not found or not visible to you`)
}

const CANDIDATES_MAX = 20
const FIELD_CHARS_MAX = 60

/** Describes a candidate in one line. */
function candidateLine(advisory: Advisory): string {
  const words = [advisory.artifactName, advisory.artifactArchitecture, currentState(advisory) ?? '']
  const about = words
    .filter((word) => word !== '')
    .map((word) => truncate(sanitizeText(word), FIELD_CHARS_MAX))
  return `${advisory.advisoryId}  ${advisory.uid}  ${about.join(', ')}`
}

type Scope = Awaited<ReturnType<typeof readScope>>

const lookups: readonly ((client: BerthClient, word: string, scope: Scope) => AsyncIterable<Advisory>)[] = [
  (client, word, scope) => client.advisories.all({ ...scope, advisoryIds: [word] }),
  (client, word, scope) => client.advisories.all({ ...scope, legacyAdvisoryIds: [word] }),
  (client, word, scope) => client.advisories.all({ ...scope, aliases: [word] }),
]
