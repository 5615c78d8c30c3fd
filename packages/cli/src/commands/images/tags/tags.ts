import type { Tag } from '@berth/client/berth.ts'
import type { CommandDeclaration, OptionDeclaration } from '../../../invocation/command-declaration.ts'
import { parseDurationOption } from '../../../invocation/durations.ts'
import { type Invocation, UsageError } from '../../../invocation/invocation.ts'
import { type ListDeclaration, listCommand, printList } from '../../../invocation/list-command.ts'
import { parentFilterOption, scopeOptions } from '../../../invocation/options.ts'
import { resolveRepoUid } from '../../../invocation/resource-lookup.ts'
import { isUid } from '../../../invocation/resource-uids.ts'
import { loadGroups } from '../../../output/columns.ts'
import type { View } from '../../../output/output.ts'
import { type ImageLocation, isExternalImage, tokenHostOption, withImageResolver } from '../image-location.ts'
import { listRepos, REPO_FORMS, repoOption } from '../repos/repos.ts'

/** Tags, of the platform's registry and of others. */

/** A tag with the path of its repo. Tags of other registries have a name only. */
interface NamedTag extends Partial<Tag> {
  readonly repo: string
  readonly name: string
}

export const tagView: View<NamedTag> = {
  columns: [
    { title: 'REPO', kind: 'path', value: ({ repo }) => repo },
    { title: 'TAG', kind: 'name', value: ({ name }) => name },
    { title: 'DIGEST', value: ({ digest = '' }) => digest },
    { title: 'UPDATED', kind: 'time', value: ({ updateTime = '' }) => updateTime },
    { title: 'ID', kind: 'uid', value: ({ uid = '' }) => uid, wide: true },
    { title: 'DEPRECATED', value: ({ deprecated }) => (deprecated ? 'yes' : ''), wide: true },
  ],
  tree: { label: ({ repo, name }) => `${repo}:${name}`, uid: ({ uid = '' }) => uid },
  empty: 'no tags visible to you',
}

const registryTagView: View<NamedTag> = {
  id: ({ name }) => name,
  columns: tagView.columns.slice(0, 2),
  empty: 'no tags',
}

const tagFilters: readonly OptionDeclaration[] = [
  { flags: '--name-prefix <text>', summary: 'start of the tag' },
  { flags: '--updated-within <duration>', summary: 'only tags updated within this time, such as 24h or 7d' },
  { flags: '--show-dates', summary: 'include tags that are dates' },
  { flags: '--show-epochs', summary: 'include tags that end in a revision' },
  { flags: '--show-referrers', summary: 'include tags of signatures and attestations' },
]

async function* listRepoTags(invocation: Invocation): AsyncGenerator<NamedTag> {
  const client = await invocation.client()
  const within = invocation.option('updatedWithin')
  const namePrefix = invocation.option('namePrefix')
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
  for await (const repo of await listRepos(invocation)) {
    await loadGroups(invocation.names)([repo])
    const path = invocation.names.path(repo)
    for await (const tag of client.tags.all({ ...filter, orderBy: 'name', uidp: { childrenOf: repo.uid } }))
      if (tag.name.startsWith(namePrefix)) yield { ...tag, repo: path }
  }
}

async function* listRegistryTags({ store, name: repo }: ImageLocation): AsyncGenerator<NamedTag> {
  for await (const name of store.listTags()) yield { repo, name }
}

const isInOtherRegistry = (invocation: Invocation) => {
  const word = invocation.argument(0)
  return word !== '' && !isUid(word) && isExternalImage(invocation, word)
}

/** As the list of all images, and as that of tags. */
export function tagListCommand(
  texts: Pick<ListDeclaration<NamedTag>, 'summary' | 'examples'>,
): CommandDeclaration {
  const list: ListDeclaration<NamedTag> = {
    ...texts,
    parameters: [{ name: 'REPO', summary: `repo (${REPO_FORMS}), or a repo of another registry` }],
    options: [
      ...scopeOptions,
      repoOption,
      ...tagFilters,
      { flags: '--all', summary: 'include all tags' },
      tokenHostOption,
    ],
    view: () => tagView,
    items: listRepoTags,
    defaultSort: 'repo',
  }
  return {
    ...listCommand(list),
    async run(invocation) {
      if (!isInOtherRegistry(invocation)) return printList(invocation, list)
      await withImageResolver(invocation, ({ resolve }) => {
        const items = () => listRegistryTags(resolve(invocation.argument(0)))
        return printList(invocation, { ...texts, view: () => registryTagView, items })
      })
    },
  }
}

/** Parses `repo:tag`, where the repo may be a path. */
function parseTagReference(text: string): { readonly repo: string; readonly tag: string } {
  const [, repo = '', tag = 'latest'] = /^(.*?)(?::([^:/]*))?$/.exec(text) ?? []
  if (repo === '' || tag === '') throw new UsageError(`${JSON.stringify(text)} must be REPO:TAG`)
  return { repo, tag }
}

/** Finds a tag of the platform's registry by `repo:tag`. */
export async function findTag(
  invocation: Invocation,
  word: string,
): Promise<Tag & { readonly repo: string }> {
  const { repo, tag } = parseTagReference(word)
  const parent = invocation.option('parent') || invocation.property('default.group')
  const path = repo.includes('/') || parent === '' ? repo : `${parent}/${repo}`
  const client = await invocation.client()
  const found = await client.repos.get(await resolveRepoUid(invocation, path))
  await loadGroups(invocation.names)([found])
  const name = invocation.names.path(found)
  const every = { includeDates: true, includeEpochs: true, includeReferrers: true }
  for await (const one of client.tags.all({ ...every, name: tag, uidp: { childrenOf: found.uid } }))
    return { ...one, repo: name }
  throw new UsageError(`tag '${tag}' not found in ${name}`)
}

export const referenceParameters = [
  { name: 'REF', summary: 'repo:tag or my-org/team/repo:tag', required: true },
] as const

export const resolveTagCommand: CommandDeclaration = {
  name: 'resolve',
  summary: 'Resolve a tag to its digest',
  parameters: referenceParameters,
  options: [parentFilterOption],
  examples: ['berth images tags resolve nginx:1.27 -o id', 'berth images tags resolve my-org/nginx:1.27'],
  run: async (invocation) => {
    const only = await findTag(invocation, invocation.argument(0))
    await invocation.output.item(only, { ...tagView, id: ({ digest = '' }) => digest })
  },
}
