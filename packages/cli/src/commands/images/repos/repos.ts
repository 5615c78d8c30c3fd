import type { BerthClient, CatalogTier, Repo, RepoInput } from '@berth/client/berth.ts'
import type { CommandDeclaration, OptionDeclaration } from '../../../invocation/command-declaration.ts'
import { type Invocation, UsageError } from '../../../invocation/invocation.ts'
import type { AuthInvocation } from '../../../invocation/invoke.ts'
import { type ListRequest, nameSort } from '../../../invocation/list-command.ts'
import {
  newNameOption,
  parentOption,
  readOptions,
  requireChange,
  scopeOptions,
  yesOption,
} from '../../../invocation/options.ts'
import { deleteResource, type Resource, resourceCommands } from '../../../invocation/resource-commands.ts'
import {
  isNotFound,
  readScope,
  resolveGroupUid,
  resolveRepoUid,
} from '../../../invocation/resource-lookup.ts'
import type { ResourceNames } from '../../../invocation/resource-names.ts'
import { isUid, parentUid } from '../../../invocation/resource-uids.ts'
import { createdColumn, descriptionColumn, idColumn, pathColumn } from '../../../output/columns.ts'
import type { View } from '../../../output/output.ts'

/** Repositories. */

const tiers = ['APPLICATION', 'BASE', 'FIPS', 'AI', 'DEVTOOLS', 'COMMERCIAL'] as const
const tierName = (tier: CatalogTier) =>
  tier.replace('CATALOG_TIER_', '').replace('UNSPECIFIED', '').toLowerCase()

const repoView = (names: ResourceNames): View<Repo> => ({
  columns: [
    pathColumn(names, 'REPO'),
    idColumn,
    { title: 'TIER', value: ({ catalogTier }) => tierName(catalogTier) },
    { title: 'BUNDLES', value: ({ bundles }) => bundles.join(', ') },
    descriptionColumn,
    {
      title: 'SOURCE',
      kind: 'path',
      value: ({ sync_config }) => (sync_config?.source ? names.repoPath(sync_config.source) : ''),
      wide: true,
    },
    createdColumn,
  ],
  tree: { label: (repo) => names.path(repo), uid: ({ uid }) => uid },
  empty: 'no repos visible to you',
  load: (repos) =>
    names.load({
      groups: repos.map(({ uid }) => parentUid(uid)),
      repos: repos.map(({ sync_config }) => sync_config?.source ?? ''),
    }),
})

/** What refers to a repo. */
export const REPO_FORMS = 'uid, name or path'

export const repoOption: OptionDeclaration = {
  flags: '--repo <repo>',
  summary: `repo (${REPO_FORMS})`,
}

export async function listRepos(
  invocation: Invocation,
  request: ListRequest = {},
): Promise<AsyncIterable<Repo>> {
  const client = await invocation.client()
  const word = readRepoName(invocation)
  if (word.includes('/')) return singleRepo(client, await resolveRepoUid(invocation, word))
  return client.repos.all({
    orderBy: 'name',
    ...request,
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

const repoOptions: readonly OptionDeclaration[] = [
  { flags: '-d, --description <text>', summary: 'description (up to 512 characters)' },
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

export const repoParameters = [{ name: 'REPO', summary: REPO_FORMS }] as const
export const resolveRepo = (invocation: Invocation) => resolveRepoUid(invocation, invocation.argument(0))

const repoResource: Resource<Repo> = {
  noun: 'repo',
  plural: 'repos',
  command: 'berth images repos',
  example: 'nginx',
  parameter: repoParameters[0],
  view: repoView,
  list: listRepos,
  listOptions: [...scopeOptions, repoOption],
  serverSort: nameSort,
  defaultSort: 'repo',
  resolveUid: resolveRepo,
  get: (client, uid) => client.repos.get(uid),
  delete: (client, uid) => client.repos.delete(uid),
  label: (repo, names) => names.path(repo),
}

const repos = resourceCommands(repoResource)

export const repoCommands: readonly CommandDeclaration[] = [
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
      await invocation.output.item(
        await client.repos.create(group, { ...readRepoFields(invocation), name }),
        repoView(invocation.names),
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
      await invocation.output.item(
        await (await invocation.client()).repos.update(uid, patch),
        repoView(invocation.names),
      )
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
