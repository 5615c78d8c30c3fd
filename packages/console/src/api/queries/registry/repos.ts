import type { Repo, RepoReadme } from '@berth/client'
import { queryOptions } from '@tanstack/react-query'
import { api } from '../../client.ts'
import type { Versioned } from '../pages.ts'

/** Repositories and their READMEs. */

const NAMED_REPOS = 10

export const repoQuery = (uid: string) =>
  queryOptions({
    queryKey: ['repo', uid],
    queryFn: async ({ signal }): Promise<Versioned<Repo>> => {
      const { value, etag } = await api.repos.get(uid, { signal }).withResponse()
      return { value, etag }
    },
  })

export const readmeQuery = (repo: string) =>
  queryOptions({
    queryKey: ['readme', repo],
    queryFn: async ({ signal }): Promise<Versioned<RepoReadme>> => {
      const { value, etag } = await api.repos.getRepoReadme(repo, { signal }).withResponse()
      return { value, etag }
    },
  })

/** The first repositories of a folder and of all folders in it, by name, with their number. */
export const reposBelowQuery = (folder: string) =>
  queryOptions({
    queryKey: ['repos-below', folder],
    queryFn: ({ signal }) => {
      const within = { uidp: { descendantsOf: folder }, orderBy: 'name', pageSize: NAMED_REPOS }
      return api.repos.list(within, { signal })
    },
  })
