import type { BerthClient, CatalogTier, Repo, RepoInput, Tag } from '../../../client/berth.ts'
import type { CommandDeclaration, CommandGroup, OptionDeclaration } from '../client/command.ts'
import { type Invocation, UsageError } from '../client/invocation.ts'
import { groupUid, isUid, pickedUid, scopeOf, seconds } from '../client/locate.ts'
import type { View } from '../client/output.ts'
import { changes, chosen, yes } from '../iam/groups.ts'
import { recursiveOption } from '../iam/identities.ts'

/** Images: repos and their tags. */

const tiers = ['APPLICATION', 'BASE', 'FIPS', 'AI', 'DEVTOOLS', 'COMMERCIAL'] as const
const tierName = (tier: CatalogTier) =>
  tier.replace('CATALOG_TIER_', '').replace('UNSPECIFIED', '').toLowerCase()

const repoView: View<Repo> = {
  columns: [
    { title: 'ID', value: ({ uid }) => uid },
    { title: 'NAME', value: ({ name }) => name },
    { title: 'TIER', value: ({ catalogTier }) => tierName(catalogTier) },
    { title: 'BUNDLES', value: ({ bundles }) => bundles.join(', ') },
    { title: 'DESCRIPTION', value: ({ description }) => description, wide: true },
  ],
  tree: { label: ({ name, uid }) => `${name} ${uid}`, uid: ({ uid }) => uid },
  empty: 'no repos that you may see',
}

interface NamedTag extends Tag {
  readonly repo: string
}

const tagView: View<NamedTag> = {
  columns: [
    { title: 'REPO', value: ({ repo }) => repo },
    { title: 'TAG', value: ({ name }) => name },
    { title: 'DIGEST', value: ({ digest }) => digest },
    { title: 'UPDATED', value: ({ updateTime = '' }) => updateTime },
    { title: 'ID', value: ({ uid }) => uid, wide: true },
    { title: 'DEPRECATED', value: ({ deprecated }) => (deprecated ? 'yes' : ''), wide: true },
  ],
  tree: { label: ({ repo, name }) => `${repo}:${name}`, uid: ({ uid }) => uid },
  empty: 'no tags that you may see',
}

const parent: OptionDeclaration = {
  flags: '--parent <group>',
  summary: 'the organization or folder to look in',
}
const repoOption: OptionDeclaration = { flags: '--repo <repo>', summary: 'only this repo, by name or uid' }

async function repos(invocation: Invocation): Promise<AsyncIterable<Repo>> {
  const client = await invocation.client()
  const word = invocation.text('repo')
  if (isUid(word)) return one(client, word)
  return client.repos.all({ ...(await scopeOf(invocation)), ...(word === '' ? {} : { name: word }) })
}

async function* one(client: BerthClient, uid: string): AsyncGenerator<Repo> {
  yield await client.repos.get(uid)
}

const tagFilters: readonly OptionDeclaration[] = [
  { flags: '--updated-within <duration>', summary: 'only what changed since, as 24h or 7d' },
  { flags: '--show-dates', summary: 'also tags that are dates' },
  { flags: '--show-epochs', summary: 'also tags that end in a revision' },
  { flags: '--show-referrers', summary: 'also tags of signatures and attestations' },
]

async function* tags(invocation: Invocation): AsyncGenerator<NamedTag> {
  const client = await invocation.client()
  const within = invocation.text('updatedWithin')
  const filter = {
    ...(within === ''
      ? {}
      : { updatedSince: new Date(Date.now() - seconds('--updated-within', within) * 1000).toISOString() }),
    includeDates: invocation.flag('showDates') || invocation.flag('all'),
    includeEpochs: invocation.flag('showEpochs') || invocation.flag('all'),
    includeReferrers: invocation.flag('showReferrers') || invocation.flag('all'),
  }
  for await (const { uid, name } of await repos(invocation))
    for await (const tag of client.tags.all({ ...filter, uidp: { childrenOf: uid } }))
      yield { ...tag, repo: name }
}

const listTags: Omit<CommandDeclaration, 'examples'> = {
  name: 'list',
  aliases: ['ls'],
  summary: 'list the tags of repos',
  options: [
    parent,
    recursiveOption,
    repoOption,
    ...tagFilters,
    { flags: '--all', summary: 'all tags, whatever they look like' },
  ],
  run: async (invocation) => invocation.output.list(tags(invocation), tagView),
}

const settings: readonly OptionDeclaration[] = [
  { flags: '-d, --description <text>', summary: 'description, at most 255 characters' },
  { flags: '--tier <tier>', summary: 'its class', choices: tiers.map((tier) => tier.toLowerCase()) },
  { flags: '--bundles <names>', summary: 'what it belongs to', repeatable: true },
  { flags: '--source <repo>', summary: 'uid of the repo that it copies' },
]

function settingsOf(invocation: Invocation): Partial<RepoInput> {
  const tier = invocation.given('tier')
  const bundles = invocation.list('bundles')
  const source = invocation.given('source')
  if (source !== undefined && !isUid(source)) throw new UsageError('--source must be the uid of a repo')
  return {
    ...changes(invocation, 'name', 'description'),
    ...(tier === undefined ? {} : { catalogTier: `CATALOG_TIER_${tier.toUpperCase()}` as CatalogTier }),
    ...(bundles.length === 0 ? {} : { bundles }),
    ...(source === undefined ? {} : { sync_config: { source } }),
  }
}

const repo = [{ name: 'REPO', summary: 'its uid or name' }] as const
const pickedRepo = (invocation: Invocation) =>
  pickedUid(invocation, invocation.word(0), 'repo', (client) => client.repos.all())

const repoCommands: readonly CommandDeclaration[] = [
  {
    name: 'list',
    aliases: ['ls'],
    summary: 'list repos',
    options: [parent, recursiveOption, repoOption],
    examples: ['berth images repos list --parent my-org', 'berth images repos list -o id'],
    run: async (invocation) => invocation.output.list(await repos(invocation), repoView),
  },
  {
    name: 'create',
    summary: 'make a repo',
    parameters: [{ name: 'NAME', summary: 'what to call it' }],
    options: [{ flags: '--parent <group>', summary: 'where it lies' }, ...settings],
    examples: ['berth images repos create nginx --parent my-org --description "The web server"'],
    async run(invocation) {
      const name = invocation.word(0) || (await invocation.ask.text('Name of the repo?', 'NAME'))
      const group = await groupUid(invocation, invocation.text('parent'), '--parent')
      const client = await invocation.client()
      invocation.output.item(await client.repos.create(group, { ...settingsOf(invocation), name }), repoView)
    },
  },
  {
    name: 'describe',
    aliases: ['get'],
    summary: 'show a repo',
    parameters: repo,
    examples: ['berth images repos describe nginx -o yaml'],
    async run(invocation) {
      const uid = await pickedRepo(invocation)
      invocation.output.item(await (await invocation.client()).repos.get(uid), repoView)
    },
  },
  {
    name: 'update',
    summary: 'change a repo',
    parameters: repo,
    options: [{ flags: '-n, --name <name>', summary: 'new name' }, ...settings],
    examples: ['berth images repos update nginx --tier base'],
    async run(invocation) {
      const uid = await pickedRepo(invocation)
      const patch = settingsOf(invocation)
      if (Object.keys(patch).length === 0) throw new UsageError('say what is to change; see --help')
      invocation.output.item(await (await invocation.client()).repos.update(uid, patch), repoView)
    },
  },
  {
    name: 'delete',
    aliases: ['rm'],
    summary: 'delete a repo',
    parameters: repo,
    options: [yes, { flags: '--allow-missing', summary: 'one that is gone is fine' }],
    examples: ['berth images repos delete nginx --yes'],
    async run(invocation) {
      const allowMissing = invocation.flag('allowMissing')
      const client = await invocation.client()
      const word = invocation.word(0)
      if (allowMissing && word !== '' && !isUid(word)) {
        const found = chosen(client.repos.all({ name: word }), () => true)
        if ((await found.next()).done === true) return invocation.output.done(`${word} is not there`)
      }
      const uid = await pickedRepo(invocation)
      if (!(await invocation.ask.confirm(`Delete the repo ${word || uid}?`))) return
      try {
        await client.repos.delete(uid)
      } catch (error) {
        if (!(allowMissing && (error as { code?: number }).code === 5)) throw error
      }
      invocation.output.done(`deleted ${uid}`)
    },
  },
]

/** `repo:tag` or `repo@digest` of a repo by name. */
function reference(text: string): { readonly repo: string; readonly tag: string } {
  const mark = text.lastIndexOf(':')
  const tag = mark < 0 ? 'latest' : text.slice(mark + 1)
  const path = mark < 0 ? text : text.slice(0, mark)
  const repo = path.slice(path.lastIndexOf('/') + 1)
  if (repo === '' || tag === '') throw new UsageError(`${JSON.stringify(text)} must be REPO:TAG`)
  return { repo, tag }
}

export const images: CommandGroup = {
  name: 'images',
  aliases: ['image'],
  summary: 'images: repos and their tags',
  commands: [
    {
      ...listTags,
      summary: 'list images: the tags of all repos',
      examples: ['berth images list --parent my-org', 'berth images list --repo nginx --updated-within 7d'],
    },
    {
      name: 'repos',
      aliases: ['repo'],
      summary: 'repos: what holds the tags of one image',
      commands: repoCommands,
    },
    {
      name: 'tags',
      aliases: ['tag'],
      summary: 'tags: names of versions of an image',
      commands: [
        { ...listTags, examples: ['berth images tags list --repo nginx --all'] },
        {
          name: 'resolve',
          summary: 'the digest that a tag stands for',
          parameters: [{ name: 'REF', summary: 'repo:tag', required: true }],
          options: [parent],
          examples: ['berth images tags resolve nginx:1.27 -o id'],
          async run(invocation) {
            const { repo: name, tag } = reference(invocation.word(0))
            const client = await invocation.client()
            const uid = await pickedUid(invocation, name, 'repo', (api) => api.repos.all({ name }))
            const found: NamedTag[] = []
            const every = { includeDates: true, includeEpochs: true, includeReferrers: true }
            for await (const one of client.tags.all({ ...every, name: tag, uidp: { childrenOf: uid } }))
              found.push({ ...one, repo: name })
            const [only] = found
            if (only === undefined) throw new UsageError(`${name} has no tag ${JSON.stringify(tag)}`)
            invocation.output.item(only, { ...tagView, id: ({ digest }) => digest })
          },
        },
      ],
    },
  ],
}
