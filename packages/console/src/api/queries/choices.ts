import type { Resource, ResourceKind } from '@berth/client'
import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { api } from '../client.ts'
import { parentOf } from './groups.ts'
import { PAGE_SIZE } from './pages.ts'

/** Folders, repositories and roles to choose from: the first ones, or those that the server finds by their names. */

export const CHOICE_CHARS_MIN = 2

export interface FoundChoice {
  readonly id: string
  readonly name: string
  readonly description: string
}

export interface FoundChoices {
  readonly choices: readonly FoundChoice[]
  /** There are more than these. */
  readonly hasMore: boolean
}

const shared = { placeholderData: keepPreviousData, refetchInterval: false } as const

/** Folders with their paths. `organization`: '' for those of all organizations. */
export const folderChoices = (organization: string, text: string) =>
  queryOptions({
    ...shared,
    queryKey: ['folder-choices', organization, text],
    queryFn: ({ signal }) =>
      text.length < CHOICE_CHARS_MIN
        ? firstFolders(organization, signal)
        : search(['RESOURCE_KIND_ORGANIZATION', 'RESOURCE_KIND_FOLDER'], organization, text, signal),
  })

/** Managed roles, and those of the organization. */
export const roleChoices = (organization: string, text: string) =>
  queryOptions({
    ...shared,
    queryKey: ['role-choices', organization, text],
    queryFn: ({ signal }) =>
      text.length < CHOICE_CHARS_MIN
        ? firstRoles(organization, signal)
        : search(['RESOURCE_KIND_ROLE'], organization, text, signal),
  })

/** Repositories of all organizations with their paths. */
export const repoChoices = (text: string) =>
  queryOptions({
    ...shared,
    queryKey: ['repo-choices', text],
    queryFn: ({ signal }) =>
      text.length < CHOICE_CHARS_MIN
        ? firstRepos(signal)
        : search(['RESOURCE_KIND_REPOSITORY'], '', text, signal),
  })

async function firstRepos(signal: AbortSignal): Promise<FoundChoices> {
  const { repos, nextPageToken } = await api.repos.list({ orderBy: 'name', pageSize: PAGE_SIZE }, { signal })
  const folders = [...new Set(repos.map(({ uid }) => parentOf(uid)))]
  const { groups } =
    folders.length === 0 ? { groups: [] } : await api.groupPaths.findGroupPaths({ uids: folders }, { signal })
  const paths = new Map(groups.map(({ uid, path }) => [uid, path]))
  const choices = repos.map(({ uid, name }) => {
    const folder = paths.get(parentOf(uid))
    return { id: uid, name: folder === undefined ? name : `${folder}/${name}`, description: '' }
  })
  return { choices, hasMore: nextPageToken !== '' }
}

/** The actor of commands on the server. */
export const OPERATOR = { id: 'system', name: 'The operator', description: 'commands on the server' } as const

/** People and workloads that the user can see, and the operator. */
export const actorChoices = (text: string) =>
  queryOptions({
    ...shared,
    queryKey: ['actor-choices', text],
    queryFn: async ({ signal }): Promise<FoundChoices> => {
      if (text.length < CHOICE_CHARS_MIN) return { choices: [OPERATOR], hasMore: true }
      const { choices, hasMore } = await search(
        ['RESOURCE_KIND_USER', 'RESOURCE_KIND_IDENTITY'],
        '',
        text,
        signal,
      )
      const isOperator = OPERATOR.name.toLowerCase().includes(text.toLowerCase())
      return { choices: isOperator ? [OPERATOR, ...choices] : choices, hasMore }
    },
  })

/** Organizations of the installation, for operators. `text`: a part of the name, or a uid. */
export const organizationChoices = (text: string) =>
  queryOptions({
    ...shared,
    queryKey: ['operator', 'organization-choices', text],
    queryFn: async ({ signal }): Promise<FoundChoices> => {
      const { organizations, nextPageToken } = await api.operatorOrganizations.list(
        { query: text, pageSize: PAGE_SIZE },
        { signal },
      )
      const choices = organizations.map(({ uid, name }) => ({ id: uid, name, description: '' }))
      return { choices, hasMore: nextPageToken !== '' }
    },
  })

/** Users of the installation, for operators. `text`: a part of the name or of the email address, or a uid. */
export const userChoices = (text: string) =>
  queryOptions({
    ...shared,
    queryKey: ['operator', 'user-choices', text],
    queryFn: async ({ signal }): Promise<FoundChoices> => {
      const { accounts, nextPageToken } = await api.operatorAccounts.list(
        { query: text, pageSize: PAGE_SIZE },
        { signal },
      )
      const choices = accounts.map(({ uid, name, email }) => ({
        id: uid,
        name: name || email || uid,
        description: email || uid,
      }))
      return { choices, hasMore: nextPageToken !== '' }
    },
  })

async function firstFolders(organization: string, signal: AbortSignal): Promise<FoundChoices> {
  const within = organization === '' ? {} : { uidp: { descendantsOf: organization } }
  const { groups, nextPageToken } = await api.groups.list(
    { ...within, orderBy: 'uid', pageSize: PAGE_SIZE },
    { signal },
  )
  const uids = groups.map(({ uid }) => uid)
  if (organization !== '') uids.unshift(organization)
  if (uids.length === 0) return { choices: [], hasMore: false }
  const found = await api.groupPaths.findGroupPaths({ uids: [...new Set(uids)] }, { signal })
  const choices = found.groups.map(({ uid, path }) => ({ id: uid, name: path, description: '' }))
  return { choices, hasMore: nextPageToken !== '' }
}

async function firstRoles(organization: string, signal: AbortSignal): Promise<FoundChoices> {
  const read = (uidp: object) => api.roles.list({ uidp, orderBy: 'name', pageSize: PAGE_SIZE }, { signal })
  const lists = await Promise.all([read({ descendantsOf: organization }), read({ inRoot: true })])
  const roles = lists.flatMap((list) => list.roles)
  return {
    choices: roles.map(({ uid, name, description }) => ({ id: uid, name, description })),
    hasMore: lists.some(({ nextPageToken }) => nextPageToken !== ''),
  }
}

async function search(
  kinds: ResourceKind[],
  organization: string,
  text: string,
  signal: AbortSignal,
): Promise<FoundChoices> {
  const { resources, incompleteKinds } = await api.search.searchResources(
    { text, kinds, organization, maxResults: PAGE_SIZE },
    { signal },
  )
  return { choices: resources.map(choiceOf), hasMore: incompleteKinds.length > 0 }
}

/** Roles, users and workloads are known by their names, although some have a path too. */
export function choiceOf({ kind, uid, name, path, detail }: Resource): FoundChoice {
  if (kind === 'RESOURCE_KIND_ROLE' || kind === 'RESOURCE_KIND_USER')
    return { id: uid, name, description: detail === name ? '' : detail }
  if (kind === 'RESOURCE_KIND_IDENTITY') return { id: uid, name, description: path }
  return { id: uid, name: path || name, description: '' }
}
