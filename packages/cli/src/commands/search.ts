import type { Resource, ResourceKind, SearchResourcesRequest } from '@berth/client/berth.ts'
import type { CommandBody } from '../invocation/command-declaration.ts'
import { UsageError } from '../invocation/invocation.ts'
import { type ListDeclaration, listCommand } from '../invocation/list-command.ts'
import { resolveGroupUid } from '../invocation/resource-lookup.ts'
import { idColumn } from '../output/columns.ts'
import type { View } from '../output/output.ts'

/** Finds resources of all kinds by name or identifier. */

const PREFIX = 'RESOURCE_KIND_'

const kinds = [
  'organization',
  'folder',
  'repository',
  'tag',
  'manifest',
  'identity',
  'user',
  'role',
  'advisory',
] as const

const RESULTS_MAX = 50

const toKind = (name: string) => `${PREFIX}${name.toUpperCase()}` as ResourceKind
const kindName = (kind: string) => kind.replace(PREFIX, '').toLowerCase()

const searchView: View<Resource> = {
  columns: [
    { title: 'KIND', kind: 'name', value: ({ kind }) => kindName(kind) },
    { title: 'PATH', kind: 'path', value: ({ path, name }) => path || name },
    { title: 'DETAIL', kind: 'long', value: ({ detail }) => detail },
    { title: 'UPDATED', kind: 'time', value: ({ updateTime = '' }) => updateTime },
    idColumn,
  ],
  empty: 'nothing found that you can see',
}

const list: ListDeclaration<Resource> = {
  name: 'search',
  aliases: [],
  summary: 'Find resources by name, tag, digest, CVE ID or uid',
  parameters: [
    { name: 'TEXT', summary: 'name or start of a word in it, repo:tag, digest, ID', required: true },
  ],
  options: [
    {
      flags: '--kind <kind>',
      summary: `only this kind (repeatable): ${kinds.join(', ')}`,
      choices: kinds,
      repeatable: true,
    },
    { flags: '--parent <group>', summary: 'organization or folder to search in' },
  ],
  notes: `Prints at most ${RESULTS_MAX} resources of each kind, the best matches first.`,
  examples: [
    'berth search web',
    'berth search web:1.2 --kind tag',
    'berth search sha256:4f53cda',
    'berth search CVE-2025-12345 --parent my-org',
  ],
  view: () => searchView,
  async items(invocation) {
    const { output } = invocation
    const text = invocation.argument(0)
    if (text.trim().length < 2) throw new UsageError('TEXT must have at least 2 characters')
    const parent = invocation.option('parent')
    const chosen = invocation.optionValues('kind')
    const request: SearchResourcesRequest = {
      text,
      maxResults: RESULTS_MAX,
      ...(chosen.length > 0 && { kinds: chosen.map(toKind) }),
      ...(parent !== '' && { organization: await resolveGroupUid(invocation, parent, '--parent') }),
    }
    const client = await invocation.client()
    const { resources, incompleteKinds } = await client.search.searchResources(request)
    if (incompleteKinds.length > 0)
      output.notice(`there are more: ${incompleteKinds.map(kindName).join(', ')}. Search for a longer text.`)
    return resources
  },
}

const { name: _, summary: __, ...search } = listCommand(list)
export const searchCommand: CommandBody = search
