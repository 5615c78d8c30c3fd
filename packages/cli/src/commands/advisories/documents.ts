import { formats } from '@berth/advisory-formats/advisory-record.ts'
import type { AdvisorySource, BerthClient } from '@berth/client/berth.ts'
import { toArray } from '../../invocation/async-iterables.ts'
import type {
  CommandDeclaration,
  CommandGroup,
  OptionDeclaration,
} from '../../invocation/command-declaration.ts'
import { type Invocation, UsageError } from '../../invocation/invocation.ts'
import { listCommand } from '../../invocation/list-command.ts'
import { yesOption } from '../../invocation/options.ts'
import { resolveGroupUid } from '../../invocation/resource-lookup.ts'
import type { View } from '../../output/output.ts'
import { plural } from '../../output/plural.ts'

/** Source documents of the advisories of a group. Deleting a document withdraws its advisories. */

const view: View<AdvisorySource> = {
  columns: [
    { title: 'FORMAT', kind: 'name', value: ({ format }) => format },
    { title: 'ID', kind: 'name', value: ({ id }) => id },
    { title: 'FILE', value: ({ name }) => name },
    { title: 'REVISION', kind: 'time', value: ({ revisionTime = '' }) => revisionTime },
    { title: 'IMPORTED', kind: 'time', value: ({ importTime = '' }) => importTime },
    { title: 'UNMAPPED', value: ({ unmapped }) => (unmapped.length > 0 ? String(unmapped.length) : '') },
  ],
  id: ({ id }) => id,
  empty: 'no documents visible to you',
}

const unmappedView: View<AdvisorySource['unmapped'][number]> = {
  columns: [
    { title: 'UNMAPPED FIELD', kind: 'long', value: ({ path }) => path },
    { title: 'COUNT', kind: 'name', value: ({ count }) => String(count) },
  ],
  empty: 'no unmapped fields',
}

/** Prints a document, with a table of its unmapped fields. */
export async function printSource({ output }: Invocation, source: AdvisorySource): Promise<void> {
  await output.item(source, view)
  if (!output.isForPeople) return
  output.line('')
  await output.list(source.unmapped, unmappedView)
}

type Page = (
  pageToken: string,
) => Promise<{ readonly items: readonly AdvisorySource[]; readonly nextPageToken: string }>

async function* allPages(page: Page): AsyncGenerator<AdvisorySource> {
  for (let pageToken = ''; ; ) {
    const { items, nextPageToken } = await page(pageToken)
    yield* items
    if (nextPageToken === '') return
    pageToken = nextPageToken
  }
}

const PAGE_SIZE = 200

function listDocuments(
  client: BerthClient,
  query: { readonly parent: string; readonly format?: string; readonly id?: string },
): AsyncGenerator<AdvisorySource> {
  return allPages(async (pageToken) => {
    const page = { ...query, pageSize: PAGE_SIZE, pageToken }
    const { documents: items, nextPageToken } = await client.advisoryDocuments.getAdvisoryDocuments(page)
    return { items, nextPageToken }
  })
}

/** Lists the source documents of an advisory. */
export function listSources(client: BerthClient, uid: string): AsyncGenerator<AdvisorySource> {
  return allPages(async (pageToken) => {
    const page = { uid, pageSize: PAGE_SIZE, pageToken }
    const { sources: items, nextPageToken } = await client.advisoryDocuments.getAdvisorySources(page)
    return { items, nextPageToken }
  })
}

const parent: OptionDeclaration = {
  flags: '--parent <group>',
  summary: 'organization or folder of the documents',
}
const format: OptionDeclaration = {
  flags: '--format <format>',
  summary: 'document format',
  choices: formats,
}

const readFormat = (invocation: Invocation) => {
  const given = invocation.optionIfSet('format')
  return given === undefined ? {} : { format: given }
}

/** Finds a document by id. Throws a UsageError for none or several. */
async function findDocument(client: BerthClient, invocation: Invocation, parent: string, id: string) {
  const found = await toArray(listDocuments(client, { parent, id, ...readFormat(invocation) }))
  const [one, ...more] = found
  if (one === undefined) throw new UsageError(`document ${JSON.stringify(id)} not found in ${parent}`)
  if (more.length > 0)
    throw new UsageError(
      `${JSON.stringify(id)} exists in the formats ${found.map((each) => each.format).join(' and ')}: choose one with --format`,
    )
  return one
}

const commands: readonly CommandDeclaration[] = [
  listCommand({
    summary: 'List the documents of a group, without its subfolders',
    options: [parent, format],
    examples: [
      'berth advisories documents list --parent my-org/security',
      'berth advisories documents list --parent my-org --format osv --json',
    ],
    view: () => view,
    async items(invocation) {
      const group = await resolveGroupUid(invocation, invocation.option('parent'), '--parent')
      return listDocuments(await invocation.client(), { parent: group, ...readFormat(invocation) })
    },
  }),
  {
    name: 'describe',
    aliases: ['get'],
    summary: 'Show a document and its unmapped fields',
    parameters: [{ name: 'DOCUMENT', summary: 'document id', required: true }],
    options: [parent, format, { flags: '--content', summary: 'print the original document' }],
    examples: [
      'berth advisories documents describe GHSA-xxxx-yyyy-zzzz --parent my-org',
      'berth advisories documents describe openssl --parent my-org --format wolfi --content',
    ],
    async run(invocation) {
      const group = await resolveGroupUid(invocation, invocation.option('parent'), '--parent')
      const client = await invocation.client()
      const { content: _, ...source } = await findDocument(client, invocation, group, invocation.argument(0))
      if (invocation.flag('content')) {
        const { format, id } = source
        const one = { parent: group, format, id, content: true }
        const { documents } = await client.advisoryDocuments.getAdvisoryDocuments(one)
        process.stdout.write(Buffer.from(documents[0]?.content ?? '', 'base64'))
      } else if (invocation.output.format === 'json') {
        invocation.output.line(JSON.stringify(source, undefined, 2))
      } else {
        await printSource(invocation, { ...source, content: '' })
      }
    },
  },
  {
    name: 'delete',
    aliases: ['rm', 'remove'],
    summary: 'Delete documents, and withdraw advisories that have no other document',
    parameters: [{ name: 'DOCUMENT', summary: 'document ids', variadic: true }],
    options: [
      parent,
      format,
      { flags: '--all', summary: 'delete all documents of the group, or of --format' },
      yesOption,
    ],
    examples: [
      'berth advisories documents delete GHSA-xxxx-yyyy-zzzz --parent my-org',
      'berth advisories documents delete --all --parent my-org/old --yes',
      'berth advisories documents delete --all --format secdb --parent my-org --yes --json',
    ],
    run: runDelete,
  },
]

interface DeleteResult {
  documents: number
  withdrawn: number
}

async function runDelete(invocation: Invocation): Promise<void> {
  const ids = invocation.variadicArgument(0)
  const all = invocation.flag('all')
  if (all === ids.length > 0) throw new UsageError('give either document ids or --all')
  // --parent has no default for a deletion.
  const group = await resolveGroupUid(invocation, invocation.option('parent'), '--parent GROUP')
  const client = await invocation.client()
  const where = invocation.option('parent') || group
  const of = invocation.optionIfSet('format')
  const removed: DeleteResult = { documents: 0, withdrawn: 0 }
  const remove = async (format: string, some: readonly string[]) => {
    for (;;) {
      const request = { parent: group, format, ids: [...some] }
      const { documents, withdrawn, more } = await client.advisoryDocuments.deleteAdvisoryDocuments(request)
      removed.documents += documents
      removed.withdrawn += withdrawn
      invocation.output.progress(`${removed.documents} documents`)
      if (!more) return
    }
  }
  if (all) {
    const kind = of === undefined ? '' : ` of format ${of}`
    await invocation.prompt.confirm(`Delete all documents${kind} in ${where}, and withdraw their advisories?`)
    for (const format of of === undefined ? formats : [of]) await remove(format, [])
  } else {
    const found = []
    for (const id of new Set(ids)) found.push(await findDocument(client, invocation, group, id))
    const names = found.map(({ format, id }) => `${format} ${id}`).join(', ')
    await invocation.prompt.confirm(`Delete ${names} in ${where}, and withdraw their advisories?`)
    for (const { format, id } of found) await remove(format, [id])
  }
  invocation.output.progress('')
  if (invocation.output.format === 'json') invocation.output.line(JSON.stringify(removed, undefined, 2))
  else
    invocation.output.notice(
      `deleted ${plural(removed.documents, 'document')}, withdrew ${plural(removed.withdrawn, 'advisory', 'advisories')}`,
    )
}

export const documentsGroup: CommandGroup = {
  name: 'documents',
  aliases: ['document'],
  summary: 'Manage imported documents',
  commands,
}
