import type { BerthClient } from '@berth/client/berth.ts'
import { isUid, parentUid } from './resource-uids.ts'

/**
 * Names of the resources that the API refers to by uid: `load` fetches those of a page of a list together, and the other functions return
 * them. A resource that the caller cannot see keeps its uid.
 */
export interface ResourceNames {
  load(references: References): Promise<void>
  /** Adds the name of a resource that was fetched for another purpose. */
  remember(resource: Person & { readonly uid: string }): void
  /** `my-org/team`: starts with the first group that is visible. */
  groupPath(uid: string): string
  /** The path of a resource by its uid and its name: `my-org/team/nginx`. */
  path(resource: { readonly uid: string; readonly name: string }): string
  roleName(uid: string): string
  /** Name and email address of an identity. */
  identityName(uid: string): string
  /** The path of a repo. */
  repoPath(uid: string): string
  /** The path of any resource, with the last part of its uid in place of an unknown name. */
  resourcePath(uid: string): string
}

/** UIDs by type. */
export interface References {
  readonly groups?: readonly string[]
  readonly roles?: readonly string[]
  readonly identities?: readonly string[]
  readonly repos?: readonly string[]
}

interface Person {
  readonly name: string
  readonly email?: string
}

/** `Ada Lovelace <ada@example.com>`; users who have no name are known by their address. */
export function formatPerson({ name, email = '' }: Person): string {
  if (email === '' || email === name) return name
  return name === '' ? email : `${name} <${email}>`
}

type Lister = (
  client: BerthClient,
  ids: readonly string[],
) => AsyncIterable<Person & { readonly uid: string }>

const listers = {
  groups: (client, ids) => client.groups.all({ uidp: { ids } }),
  roles: (client, ids) => client.roles.all({ uidp: { ids } }),
  identities: (client, ids) => client.identities.all({ uidp: { ids } }),
  repos: (client, ids) => client.repos.all({ uidp: { ids } }),
} as const satisfies Record<keyof References, Lister>

const types = Object.keys(listers) as (keyof References)[]

export function createResourceNames(client: () => Promise<BerthClient>): ResourceNames {
  const known = new Map<string, Person>()
  /** By type, also those that were not found. */
  const requested = new Set<string>()

  const load = async (type: keyof References, uids: Iterable<string>) => {
    const missing = [...new Set(uids)].filter(
      (uid) => isUid(uid) && !known.has(uid) && !requested.has(`${type}:${uid}`),
    )
    for (const uid of missing) requested.add(`${type}:${uid}`)
    for (const ids of splitByLength(missing)) {
      try {
        for await (const item of listers[type](await client(), ids)) known.set(item.uid, item)
      } catch (error) {
        if (!isDenied(error)) throw error
      }
    }
  }
  const nameOf = (uid: string) => known.get(uid)?.name ?? ''
  const groupPath = (uid: string) => {
    const names = ancestorsAndSelf(uid).map(nameOf)
    const first = names.findIndex((name) => name !== '')
    return names.at(-1) ? names.slice(first).join('/') : uid
  }
  const path: ResourceNames['path'] = ({ uid, name }) => {
    const parent = parentUid(uid)
    const group = parent === '' ? '' : groupPath(parent)
    return group === '' || group === parent ? name : `${group}/${name}`
  }
  return {
    async load(references) {
      const repos = references.repos ?? []
      const groups = [...(references.groups ?? []), ...repos.map((uid) => parentUid(uid))]
      for (const type of types)
        await load(type, type === 'groups' ? groups.flatMap(ancestorsAndSelf) : (references[type] ?? []))
    },
    remember(resource) {
      known.set(resource.uid, resource)
    },
    groupPath,
    path,
    roleName: (uid) => nameOf(uid) || uid,
    identityName: (uid) => formatPerson(known.get(uid) ?? { name: '' }) || uid,
    resourcePath(uid) {
      const [parent, last] = [parentUid(uid), uid.slice(uid.lastIndexOf('/') + 1)]
      if (nameOf(uid) !== '') return path({ uid, name: nameOf(uid) })
      return parent === '' || groupPath(parent) === parent ? uid : `${groupPath(parent)}/${last}`
    },
    repoPath: (uid) => (nameOf(uid) === '' ? uid : path({ uid, name: nameOf(uid) })),
  }
}

/** `a/b/c`: `a`, `a/b` and `a/b/c`. */
function ancestorsAndSelf(uid: string): string[] {
  const parts = uid.split('/')
  return parts.map((_, at) => parts.slice(0, at + 1).join('/'))
}

/** UIDs of one request, which are a part of its URL: proxies accept 8 KiB. */
const QUERY_CHARS_MAX = 4000
const QUERY_IDS_MAX = 100

function splitByLength(uids: readonly string[]): string[][] {
  const batches: string[][] = []
  let chars = 0
  for (const uid of uids) {
    const last = batches.at(-1)
    chars += uid.length
    if (last === undefined || chars > QUERY_CHARS_MAX || last.length === QUERY_IDS_MAX) {
      batches.push([uid])
      chars = uid.length
    } else last.push(uid)
  }
  return batches
}

const PERMISSION_DENIED = 7

/** A caller who cannot list resources of this type sees their uids. */
function isDenied(error: unknown): boolean {
  return (error as { readonly code?: unknown }).code === PERMISSION_DENIED
}
