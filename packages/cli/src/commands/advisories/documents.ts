import { formats } from '@berth/advisory-formats/advisory-record.ts'
import type { AdvisorySource, BerthClient } from '@berth/client/berth.ts'
import { toArray } from '../../invocation/async-iterables.ts'
import type {
  CommandDeclaration,
  CommandGroup,
  OptionDeclaration,
} from '../../invocation/command-declaration.ts'
import { type Invocation, UsageError } from '../../invocation/invocation.ts'
import { yesOption } from '../../invocation/options.ts'
import { resolveGroupUid } from '../../invocation/resource-lookup.ts'
import type { View } from '../../output/output.ts'

/** The documents that the advisories of a group come from: with one its advisories go. */

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
  empty: 'no documents that you may see',
}

const unmappedView: View<AdvisorySource['unmapped'][number]> = {
  columns: [
    { title: 'WITHOUT A FIELD', kind: 'long', value: ({ path }) => path },
    { title: 'TIMES', kind: 'name', value: ({ count }) => String(count) },
  ],
  empty: 'everything in it has a field',
}

/** A document as people see it: a table of its own for what has no field. */
export async function printSource({ output }: Invocation, source: AdvisorySource): Promise<void> {
  output.item(source, view)
  if (!['table', 'wide', 'tree'].includes(output.format)) return
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

/** The documents that an advisory comes from. */
export function listSources(client: BerthClient, uid: string): AsyncGenerator<AdvisorySource> {
  return allPages(async (pageToken) => {
    const page = { uid, pageSize: PAGE_SIZE, pageToken }
    const { sources: items, nextPageToken } = await client.advisoryDocuments.getAdvisorySources(page)
    return { items, nextPageToken }
  })
}

const parent: OptionDeclaration = {
  flags: '--parent <group>',
  summary: 'the organization or folder that it was imported into',
}
const format: OptionDeclaration = {
  flags: '--format <format>',
  summary: 'only documents of this format',
  choices: formats,
}
const json: OptionDeclaration = { flags: '--json', summary: 'the same as -o json' }

const readFormat = (invocation: Invocation) => {
  const given = invocation.optionIfSet('format')
  return given === undefined ? {} : { format: given }
}

/** The one document that a word means. */
async function findDocument(client: BerthClient, invocation: Invocation, parent: string, id: string) {
  const found = await toArray(listDocuments(client, { parent, id, ...readFormat(invocation) }))
  const [one, ...more] = found
  if (one === undefined) throw new UsageError(`there is no document ${JSON.stringify(id)} in ${parent}`)
  if (more.length > 0)
    throw new UsageError(
      `${JSON.stringify(id)} is a document of ${found.map((each) => each.format).join(' and ')}: say which with --format`,
    )
  return one
}

const commands: readonly CommandDeclaration[] = [
  {
    name: 'list',
    aliases: ['ls'],
    summary: 'list the documents of a group, and not of those below it',
    options: [parent, format, json],
    examples: [
      'berth advisories documents list --parent my-org/security',
      'berth advisories documents list --parent my-org --format osv --json',
    ],
    async run(invocation) {
      const group = await resolveGroupUid(invocation, invocation.option('parent'), '--parent')
      const client = await invocation.client()
      const found = listDocuments(client, { parent: group, ...readFormat(invocation) })
      if (invocation.flag('json')) invocation.output.line(JSON.stringify(await toArray(found), undefined, 2))
      else await invocation.output.list(found, view)
    },
  },
  {
    name: 'describe',
    aliases: ['get'],
    summary: 'show a document, and what of it no field of an advisory has',
    parameters: [{ name: 'DOCUMENT', summary: 'what it calls itself', required: true }],
    options: [
      parent,
      format,
      { flags: '--content', summary: 'print the document itself, byte for byte' },
      json,
    ],
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
      } else if (invocation.flag('json')) {
        invocation.output.line(JSON.stringify(source, undefined, 2))
      } else {
        await printSource(invocation, { ...source, content: '' })
      }
    },
  },
  {
    name: 'delete',
    aliases: ['rm', 'remove'],
    summary: 'take documents away: advisories that no other document tells of are withdrawn',
    parameters: [{ name: 'DOCUMENT', summary: 'what they call themselves', variadic: true }],
    options: [
      parent,
      format,
      { flags: '--all', summary: 'all of the group, or of --format' },
      yesOption,
      json,
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
  if (all === ids.length > 0) throw new UsageError('name the documents, or say --all')
  // What is taken away has no default.
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
    const kind = of === undefined ? '' : ` of the format ${of}`
    await invocation.prompt.confirm(`Take all documents${kind} of ${where} away, with their advisories?`)
    for (const format of of === undefined ? formats : [of]) await remove(format, [])
  } else {
    const found = []
    for (const id of new Set(ids)) found.push(await findDocument(client, invocation, group, id))
    const names = found.map(({ format, id }) => `${format} ${id}`).join(', ')
    await invocation.prompt.confirm(`Take ${names} of ${where} away, with their advisories?`)
    for (const { format, id } of found) await remove(format, [id])
  }
  invocation.output.progress('')
  if (invocation.flag('json')) invocation.output.line(JSON.stringify(removed, undefined, 2))
  else
    invocation.output.notice(
      `took ${removed.documents} documents away: ${removed.withdrawn} advisories withdrawn`,
    )
}

export const documentsGroup: CommandGroup = {
  name: 'documents',
  aliases: ['document'],
  summary: 'documents: what was imported, and how to take it away again',
  commands,
}
