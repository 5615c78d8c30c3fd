import type { Advisory, BerthClient, CatalogTier, Repo, RepoInput, Tag } from '@berth/client/berth.ts'
import type {
  CommandDeclaration,
  CommandGroup,
  OptionDeclaration,
} from '../../invocation/command-declaration.ts'
import { parseDurationOption } from '../../invocation/durations.ts'
import { type Invocation, UsageError } from '../../invocation/invocation.ts'
import type { AuthInvocation } from '../../invocation/invoke.ts'
import {
  newNameOption,
  parentFilterOption,
  parentOption,
  readOptions,
  requireChange,
  scopeOptions,
  yesOption,
} from '../../invocation/options.ts'
import {
  isNotFound,
  isUid,
  readScope,
  resolveGroupUid,
  resolveRepoUid,
} from '../../invocation/resource-lookup.ts'
import { createdColumn, descriptionColumn, idColumn, nameColumn } from '../../output/columns.ts'
import type { View } from '../../output/output.ts'
import { CommandFailed, getAccessToken, stripStatusPrefix } from '../../session/access-token.ts'
import { request } from '../../session/http.ts'
import { stateOption } from '../advisories/filters.ts'
import { eventTypeFilter } from '../advisories/states.ts'
import { advisoryView } from '../advisories/views.ts'
import {
  type ImageLocation,
  isExternalImage,
  jsonOption,
  tokenHostOption,
  withImageResolver,
} from './image-location.ts'
import { inspectCommands } from './inspect.ts'
import { policyGroup } from './policy.ts'
import { referrersCommand } from './referrers.ts'
import { deleteCommand, deleteTagCommand, setTagCommand } from './tag-changes.ts'
import { transferCommands } from './transfer.ts'

/** Images: what is copied and looked at, repos and their tags. */

const tiers = ['APPLICATION', 'BASE', 'FIPS', 'AI', 'DEVTOOLS', 'COMMERCIAL'] as const
const tierName = (tier: CatalogTier) =>
  tier.replace('CATALOG_TIER_', '').replace('UNSPECIFIED', '').toLowerCase()

const repoView: View<Repo> = {
  columns: [
    idColumn,
    nameColumn,
    { title: 'TIER', value: ({ catalogTier }) => tierName(catalogTier) },
    { title: 'BUNDLES', value: ({ bundles }) => bundles.join(', ') },
    { ...descriptionColumn, wide: true },
    { title: 'SOURCE', kind: 'uid', value: ({ sync_config }) => sync_config?.source ?? '', wide: true },
    createdColumn,
  ],
  tree: { label: ({ name, uid }) => `${name} ${uid}`, uid: ({ uid }) => uid },
  empty: 'no repos that you may see',
}

interface NamedTag extends Tag {
  readonly repo: string
}

const tagView: View<NamedTag> = {
  columns: [
    { title: 'REPO', kind: 'name', value: ({ repo }) => repo },
    { title: 'TAG', kind: 'name', value: ({ name }) => name },
    { title: 'DIGEST', value: ({ digest }) => digest },
    { title: 'UPDATED', kind: 'time', value: ({ updateTime = '' }) => updateTime },
    { ...idColumn, wide: true },
    { title: 'DEPRECATED', value: ({ deprecated }) => (deprecated ? 'yes' : ''), wide: true },
  ],
  tree: { label: ({ repo, name }) => `${repo}:${name}`, uid: ({ uid }) => uid },
  empty: 'no tags that you may see',
}

const repoOption: OptionDeclaration = {
  flags: '--repo <repo>',
  summary: 'only this repo, by name, path or uid',
}

async function listRepos(invocation: Invocation): Promise<AsyncIterable<Repo>> {
  const client = await invocation.client()
  const word = readRepoName(invocation)
  if (word.includes('/')) return singleRepo(client, await resolveRepoUid(invocation, word))
  return client.repos.all({
    orderBy: 'name',
    ...(await readScope(invocation)),
    ...(word === '' ? {} : { name: word }),
  })
}

/** The repo that was named: with the host of the platform's registry before it, too. */
function readRepoName(invocation: Invocation): string {
  const { registry } = (invocation as AuthInvocation).settings
  const word = invocation.option('repo') || invocation.argument(0)
  return word.startsWith(`${registry}/`) ? word.slice(registry.length + 1) : word
}

async function* singleRepo(client: BerthClient, uid: string): AsyncGenerator<Repo> {
  yield await client.repos.get(uid)
}

const tagFilters: readonly OptionDeclaration[] = [
  { flags: '--updated-within <duration>', summary: 'only what changed since, as 24h or 7d' },
  { flags: '--show-dates', summary: 'also tags that are dates' },
  { flags: '--show-epochs', summary: 'also tags that end in a revision' },
  { flags: '--show-referrers', summary: 'also tags of signatures and attestations' },
]

async function* listRepoTags(invocation: Invocation): AsyncGenerator<NamedTag> {
  const client = await invocation.client()
  const within = invocation.option('updatedWithin')
  const filter = {
    ...(within === ''
      ? {}
      : {
          updatedSince: new Date(
            Date.now() - parseDurationOption('--updated-within', within) * 1000,
          ).toISOString(),
        }),
    includeDates: invocation.flag('showDates') || invocation.flag('all'),
    includeEpochs: invocation.flag('showEpochs') || invocation.flag('all'),
    includeReferrers: invocation.flag('showReferrers') || invocation.flag('all'),
  }
  for await (const { uid, name } of await listRepos(invocation))
    for await (const tag of client.tags.all({ ...filter, orderBy: 'name', uidp: { childrenOf: uid } }))
      yield { ...tag, repo: name }
}

const listTagsCommand: Omit<CommandDeclaration, 'examples'> = {
  name: 'list',
  aliases: ['ls'],
  summary: 'list the tags of repos',
  parameters: [{ name: 'REPO', summary: 'only this one: as --repo, or one of another registry' }],
  options: [
    ...scopeOptions,
    repoOption,
    ...tagFilters,
    { flags: '--all', summary: 'all tags, whatever they look like' },
    tokenHostOption,
    jsonOption,
  ],
  async run(invocation) {
    const word = invocation.argument(0)
    if (word === '' || isUid(word) || !isExternalImage(invocation, word))
      return invocation.output.list(listRepoTags(invocation), tagView)
    await withImageResolver(invocation, ({ resolve: at }) =>
      invocation.output.list(listRegistryTags(at(word)), registryTagView),
    )
  },
}

/** Of a registry that has but the protocol: it tells names. */
interface RegistryTag {
  readonly repo: string
  readonly name: string
}

const registryTagView: View<RegistryTag> = {
  id: ({ name }) => name,
  columns: [
    { title: 'REPO', kind: 'name', value: ({ repo }) => repo },
    { title: 'TAG', kind: 'name', value: ({ name }) => name },
  ],
  empty: 'no tags',
}

async function* listRegistryTags({ store, name: repo }: ImageLocation): AsyncGenerator<RegistryTag> {
  for await (const name of store.listTags()) yield { repo, name }
}

const repoOptions: readonly OptionDeclaration[] = [
  { flags: '-d, --description <text>', summary: 'description, at most 255 characters' },
  { flags: '--tier <tier>', summary: 'its class', choices: tiers.map((tier) => tier.toLowerCase()) },
  { flags: '--bundles <names>', summary: 'what it belongs to', repeatable: true },
  { flags: '--source <repo>', summary: 'uid of the repo that it copies' },
]

function readRepoFields(invocation: Invocation): Partial<RepoInput> {
  const tier = invocation.optionIfSet('tier')
  const bundles = invocation.optionValues('bundles')
  const source = invocation.optionIfSet('source')
  if (source !== undefined && !isUid(source)) throw new UsageError('--source must be the uid of a repo')
  return {
    ...readOptions(invocation, 'name', 'description'),
    ...(tier === undefined ? {} : { catalogTier: `CATALOG_TIER_${tier.toUpperCase()}` as CatalogTier }),
    ...(bundles.length === 0 ? {} : { bundles }),
    ...(source === undefined ? {} : { sync_config: { source } }),
  }
}

const repoParameters = [{ name: 'REPO', summary: 'its uid or name' }] as const
const resolveRepo = (invocation: Invocation) => resolveRepoUid(invocation, invocation.argument(0))

const repoCommands: readonly CommandDeclaration[] = [
  {
    name: 'list',
    aliases: ['ls'],
    summary: 'list repos',
    options: [...scopeOptions, repoOption],
    examples: ['berth images repos list --parent my-org', 'berth images repos list -o id'],
    run: async (invocation) => invocation.output.list(await listRepos(invocation), repoView),
  },
  {
    name: 'create',
    summary: 'make a repo',
    parameters: [{ name: 'NAME', summary: 'what to call it' }],
    options: [parentOption, ...repoOptions],
    examples: ['berth images repos create nginx --parent my-org --description "The web server"'],
    async run(invocation) {
      const name = invocation.argument(0) || (await invocation.prompt.input('Name of the repo?', 'NAME'))
      const group = await resolveGroupUid(invocation, invocation.option('parent'), '--parent')
      const client = await invocation.client()
      invocation.output.item(
        await client.repos.create(group, { ...readRepoFields(invocation), name }),
        repoView,
      )
    },
  },
  {
    name: 'describe',
    aliases: ['get'],
    summary: 'show a repo',
    parameters: repoParameters,
    examples: ['berth images repos describe nginx -o yaml'],
    async run(invocation) {
      const uid = await resolveRepo(invocation)
      invocation.output.item(await (await invocation.client()).repos.get(uid), repoView)
    },
  },
  {
    name: 'update',
    summary: 'change a repo',
    parameters: repoParameters,
    options: [newNameOption, ...repoOptions],
    examples: ['berth images repos update nginx --tier base'],
    async run(invocation) {
      const uid = await resolveRepo(invocation)
      const patch = requireChange(readRepoFields(invocation))
      invocation.output.item(await (await invocation.client()).repos.update(uid, patch), repoView)
    },
  },
  {
    name: 'delete',
    aliases: ['rm'],
    summary: 'delete a repo',
    parameters: repoParameters,
    options: [yesOption, { flags: '--allow-missing', summary: 'one that is gone is fine' }],
    examples: ['berth images repos delete nginx --yes'],
    async run(invocation) {
      try {
        const uid = await resolveRepo(invocation)
        const client = await invocation.client()
        const { name } = await client.repos.get(uid)
        await invocation.prompt.confirm(`Delete the repo ${name} (${uid})?`)
        await client.repos.delete(uid)
        invocation.output.notice(`deleted ${name} (${uid})`)
      } catch (error) {
        if (!(invocation.flag('allowMissing') && isNotFound(error))) throw error
        invocation.output.notice(`${invocation.argument(0)} is not there`)
      }
    },
  },
]

/** `repo:tag`, where the repo may have a path before it. */
function parseTagReference(text: string): { readonly repo: string; readonly tag: string } {
  const [, repo = '', tag = 'latest'] = /^(.*?)(?::([^:/]*))?$/.exec(text) ?? []
  if (repo === '' || tag === '') throw new UsageError(`${JSON.stringify(text)} must be REPO:TAG`)
  return { repo, tag }
}

/** A tag of the platform's registry, by `repo:tag`. */
async function findTag(invocation: Invocation, word: string): Promise<NamedTag> {
  const { repo, tag } = parseTagReference(word)
  const parent = invocation.option('parent') || invocation.property('default.group')
  const path = repo.includes('/') || parent === '' ? repo : `${parent}/${repo}`
  const client = await invocation.client()
  const { uid, name } = await client.repos.get(await resolveRepoUid(invocation, path))
  const every = { includeDates: true, includeEpochs: true, includeReferrers: true }
  for await (const one of client.tags.all({ ...every, name: tag, uidp: { childrenOf: uid } }))
    return { ...one, repo: name }
  throw new UsageError(`${name} has no tag ${JSON.stringify(tag)}`)
}

const tagHistoryCommand: CommandDeclaration = {
  name: 'history',
  summary: 'the digests that a tag has stood for, the latest first',
  parameters: [{ name: 'REF', summary: 'repo:tag, or my-org/team/repo:tag', required: true }],
  options: [parentFilterOption, jsonOption],
  examples: ['berth images tags history my-org/nginx:1.27'],
  async run(invocation) {
    const { uid } = await findTag(invocation, invocation.argument(0))
    await invocation.output.list(await fetchTagHistory(invocation as AuthInvocation, uid), {
      id: ({ digest }) => digest,
      columns: [
        { title: 'DIGEST', value: ({ digest }) => digest },
        { title: 'SINCE', kind: 'time', value: ({ since }) => since },
      ],
    })
  },
}

/** Version 1 of the API alone has it. */
async function fetchTagHistory(invocation: AuthInvocation, uid: string) {
  const { settings } = invocation
  const token = await getAccessToken(invocation)
  const reply = await request(`${settings.api}/registry/v1/tags/${uid}/history`, {
    headers: { authorization: `Bearer ${token}` },
  })
  const body = (await reply.json()) as {
    readonly message?: string
    readonly items?: readonly { readonly updateTimestamp?: string; readonly digest?: string }[]
  }
  if (!reply.ok)
    throw new CommandFailed(stripStatusPrefix(body.message ?? `the history cannot be read (${reply.status})`))
  return (body.items ?? []).map(({ updateTimestamp = '', digest = '' }) => ({
    digest,
    since: updateTimestamp,
  }))
}

/** Advisories of what a repo holds: of its own name, and of all that is built from the package of that name. */
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

export const imagesGroup: CommandGroup = {
  name: 'images',
  aliases: ['image'],
  summary: 'images: copied, looked at and named; their repos',
  commands: [
    {
      ...listTagsCommand,
      summary: 'list images: the tags of all repos',
      examples: [
        'berth images list --parent my-org',
        'berth images list my-org/nginx --updated-within 7d',
        'berth images list docker.io/library/nginx',
      ],
    },
    ...transferCommands,
    ...inspectCommands,
    referrersCommand,
    deleteCommand,
    {
      name: 'advisories',
      aliases: ['advisory'],
      summary: 'the advisories about the package or image that a repo is named after',
      parameters: repoParameters,
      options: [stateOption],
      examples: [
        'berth images advisories nginx',
        'berth images advisories my-org/nginx --state affected -o csv',
      ],
      run: async (invocation) => invocation.output.list(listRepoAdvisories(invocation), advisoryView),
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
        {
          ...listTagsCommand,
          examples: [
            'berth images tags list my-org/nginx --all',
            'berth images tags list docker.io/library/nginx -o id',
          ],
        },
        setTagCommand,
        deleteTagCommand,
        tagHistoryCommand,
        {
          name: 'resolve',
          summary: 'the digest that a tag stands for',
          parameters: [{ name: 'REF', summary: 'repo:tag, or my-org/team/repo:tag', required: true }],
          options: [parentFilterOption],
          examples: [
            'berth images tags resolve nginx:1.27 -o id',
            'berth images tags resolve my-org/nginx:1.27',
          ],
          run: async (invocation) => {
            const only = await findTag(invocation, invocation.argument(0))
            invocation.output.item(only, { ...tagView, id: ({ digest }) => digest })
          },
        },
      ],
    },
    policyGroup,
  ],
}
