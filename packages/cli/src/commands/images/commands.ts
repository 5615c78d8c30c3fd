import type { Advisory, BerthClient, CatalogTier, Repo, RepoInput, Tag } from '@berth/client/berth.ts'
import type {
  CommandBody,
  CommandDeclaration,
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
import { deleteResource, type Resource, resourceCommands } from '../../invocation/resource-commands.ts'
import {
  isNotFound,
  isUid,
  readScope,
  resolveGroupUid,
  resolveRepoUid,
} from '../../invocation/resource-lookup.ts'
import { createdColumn, descriptionColumn, idColumn, nameColumn } from '../../output/columns.ts'
import type { View } from '../../output/output.ts'
import { CommandFailed, stripStatusPrefix } from '../../session/access-token.ts'
import { getAccessToken } from '../../session/current-token.ts'
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

/** Commands for images, repositories and their tags. */

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
  empty: 'no repos visible to you',
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
  empty: 'no tags visible to you',
}

const repoOption: OptionDeclaration = {
  flags: '--repo <repo>',
  summary: 'repo (name, path or uid)',
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

/** Returns the given repo name without the host of the platform's registry. */
function readRepoName(invocation: Invocation): string {
  const { registry } = (invocation as AuthInvocation).settings
  const word = invocation.option('repo') || invocation.argument(0)
  return word.startsWith(`${registry}/`) ? word.slice(registry.length + 1) : word
}

async function* singleRepo(client: BerthClient, uid: string): AsyncGenerator<Repo> {
  yield await client.repos.get(uid)
}

const tagFilters: readonly OptionDeclaration[] = [
  { flags: '--updated-within <duration>', summary: 'only tags updated within this time, such as 24h or 7d' },
  { flags: '--show-dates', summary: 'include tags that are dates' },
  { flags: '--show-epochs', summary: 'include tags that end in a revision' },
  { flags: '--show-referrers', summary: 'include tags of signatures and attestations' },
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
  summary: 'List tags',
  parameters: [{ name: 'REPO', summary: 'repo (name, path or uid), or a repo of another registry' }],
  options: [
    ...scopeOptions,
    repoOption,
    ...tagFilters,
    { flags: '--all', summary: 'include all tags' },
    tokenHostOption,
    jsonOption,
  ],
  async run(invocation) {
    const word = invocation.argument(0)
    if (word === '' || isUid(word) || !isExternalImage(invocation, word))
      return invocation.output.list(listRepoTags(invocation), tagView)
    await withImageResolver(invocation, ({ resolve }) =>
      invocation.output.list(listRegistryTags(resolve(word)), registryTagView),
    )
  },
}

/** A tag of another registry, which lists names only. */
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
  { flags: '-d, --description <text>', summary: 'description (up to 255 characters)' },
  { flags: '--tier <tier>', summary: 'catalog tier', choices: tiers.map((tier) => tier.toLowerCase()) },
  { flags: '--bundles <names>', summary: 'bundles of the repo', repeatable: true },
  { flags: '--source <repo>', summary: 'uid of the repo to sync from' },
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

const repoParameters = [{ name: 'REPO', summary: 'uid, name or path' }] as const
const resolveRepo = (invocation: Invocation) => resolveRepoUid(invocation, invocation.argument(0))

const repoResource: Resource<Repo> = {
  noun: 'repo',
  plural: 'repos',
  command: 'berth images repos',
  example: 'nginx',
  parameter: repoParameters[0],
  view: repoView,
  list: listRepos,
  listOptions: [...scopeOptions, repoOption],
  resolveUid: resolveRepo,
  get: (client, uid) => client.repos.get(uid),
  delete: (client, uid) => client.repos.delete(uid),
}

const repos = resourceCommands(repoResource)

const repoCommands: readonly CommandDeclaration[] = [
  { ...repos.list, examples: ['berth images repos list --parent my-org', 'berth images repos list -o id'] },
  {
    name: 'create',
    summary: 'Create a repo',
    parameters: [{ name: 'NAME', summary: 'name' }],
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
  repos.describe,
  {
    name: 'update',
    summary: 'Change a repo',
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
    ...repos.delete,
    options: [yesOption, { flags: '--allow-missing', summary: 'succeed if the repo does not exist' }],
    async run(invocation) {
      try {
        await deleteResource(invocation, repoResource)
      } catch (error) {
        if (!(invocation.flag('allowMissing') && isNotFound(error))) throw error
        invocation.output.notice(`repo ${invocation.argument(0)} does not exist`)
      }
    },
  },
]

/** Parses `repo:tag`, where the repo may be a path. */
function parseTagReference(text: string): { readonly repo: string; readonly tag: string } {
  const [, repo = '', tag = 'latest'] = /^(.*?)(?::([^:/]*))?$/.exec(text) ?? []
  if (repo === '' || tag === '') throw new UsageError(`${JSON.stringify(text)} must be REPO:TAG`)
  return { repo, tag }
}

/** Finds a tag of the platform's registry by `repo:tag`. */
async function findTag(invocation: Invocation, word: string): Promise<NamedTag> {
  const { repo, tag } = parseTagReference(word)
  const parent = invocation.option('parent') || invocation.property('default.group')
  const path = repo.includes('/') || parent === '' ? repo : `${parent}/${repo}`
  const client = await invocation.client()
  const { uid, name } = await client.repos.get(await resolveRepoUid(invocation, path))
  const every = { includeDates: true, includeEpochs: true, includeReferrers: true }
  for await (const one of client.tags.all({ ...every, name: tag, uidp: { childrenOf: uid } }))
    return { ...one, repo: name }
  throw new UsageError(`tag '${tag}' not found in ${name}`)
}

const tagHistoryCommand: CommandDeclaration = {
  name: 'history',
  summary: 'Show the digests of a tag over time, newest first',
  parameters: [{ name: 'REF', summary: 'repo:tag or my-org/team/repo:tag', required: true }],
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

/** Only version 1 of the API has the history. */
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
    throw new CommandFailed(
      stripStatusPrefix(body.message ?? `cannot read the history: status ${reply.status}`),
    )
  return (body.items ?? []).map(({ updateTimestamp = '', digest = '' }) => ({
    digest,
    since: updateTimestamp,
  }))
}

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
    {
      ...listTagsCommand,
      summary: 'List images: the tags of all repos',
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
      summary: 'List advisories of the package or image that a repo is named after',
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
      summary: 'Manage repositories',
      commands: repoCommands,
    },
    {
      name: 'tags',
      aliases: ['tag'],
      summary: 'Manage tags',
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
          summary: 'Resolve a tag to its digest',
          parameters: [{ name: 'REF', summary: 'repo:tag or my-org/team/repo:tag', required: true }],
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
