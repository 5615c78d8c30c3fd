import type { BerthClient } from '@berth/client/berth.ts'
import type { Command } from 'commander'
import {
  configPath,
  type Environment,
  type Flags,
  readConfigFile,
  resolveSettings,
} from '../config/settings.ts'
import { createResourceNames, type ResourceNames } from '../invocation/resource-names.ts'
import { parentUid } from '../invocation/resource-uids.ts'
import { createClient } from '../session/client.ts'
import { getAccessToken } from '../session/current-token.ts'
import { openTokenCache } from '../session/token-cache.ts'
import type { Candidate } from './complete.ts'
import { readCachedValues, writeCachedValues } from './value-cache.ts'

/** Finds the values of parameters and options, by the name of the placeholder: `GROUP`, `--role <role>`. */

interface Source {
  readonly client: BerthClient
  readonly names: ResourceNames
  readonly signal: AbortSignal
}

type Finder = (source: Source, typed: string) => Promise<readonly Candidate[]>

/** Most names that are fetched for one completion: five pages. */
const NAMES_MAX = 1000
/** Bash inserts candidates without quotes: a name that means something to the shell is not offered. */
const PLAIN = /^[\w./:@%+=,-]+$/
/** A shell waits for the completion. */
const TIMEOUT_MS = 2000

const finders: Readonly<Record<string, Finder>> = {
  group: findGroups,
  location: findGroups,
  folder: findGroups,
  organization: async ({ client, signal }) =>
    toNames(client.groups.all({ uidp: { inRoot: true }, orderBy: 'name' }, { signal })),
  role: async ({ client, signal }) => toNames(client.roles.all({ orderBy: 'name' }, { signal })),
  identity: (source, typed) =>
    findPaths(source, typed, (scope) => source.client.identities.all(scope, { signal: source.signal })),
  repo: (source, typed) =>
    findPaths(source, typed, (scope) => source.client.repos.all(scope, { signal: source.signal })),
  provider: (source, typed) =>
    findPaths(source, typed, (scope) =>
      source.client.identityProviders.all(scope, { signal: source.signal }),
    ),
  image: findImages,
  ref: findImages,
  feed: async ({ client, signal }) =>
    (await take(client.advisoryFeeds.all({}, { signal }))).map(({ url }) => ({ value: url })),
  invite: async ({ client, signal }) =>
    (await take(client.groupInvites.all({}, { signal }))).map(({ keyId, email, role }) => ({
      value: keyId,
      description: [role?.name, email].filter(Boolean).join(' '),
    })),
  binding: async ({ client, signal }) =>
    (await take(client.roleBindings.all({}, { signal }))).map(({ uid, identity, role, group }) => ({
      value: uid,
      description: `${identity?.name || identity?.email}: ${role?.name} in ${group?.name}`,
    })),
}

export function isFileKind(placeholder: string): boolean {
  return /^(file|dir|directory|path|token\|file)$/i.test(placeholder)
}

export async function findValues(
  placeholder: string,
  typed: string,
  { program, words }: { readonly program: Command; readonly words: readonly string[] },
): Promise<readonly Candidate[]> {
  const kind = placeholder.toLowerCase().replace(/^uid$/, 'identity')
  const flags = readFlags(program, words)
  if (kind === 'profile') return listProfiles(process.env, flags)
  if (kind === 'capability') return listCapabilities()
  const find = finders[kind]
  return find === undefined ? [] : findOnServer(kind, find, typed, flags)
}

function readFlags(program: Command, words: readonly string[]): Flags {
  program.parseOptions([...words])
  return program.opts()
}

function listProfiles(env: Environment, flags: Flags): Candidate[] {
  const { profiles } = readConfigFile(configPath(env, flags))
  return Object.keys(profiles).map((value) => ({ value }))
}

async function listCapabilities(): Promise<Candidate[]> {
  const { capabilityNames } = await import('@berth/contract/capabilities.ts')
  return capabilityNames.map(({ name }) => ({ value: name }))
}

/** Uses the sign-in, and never prompts for one. */
async function findOnServer(
  kind: string,
  find: Finder,
  typed: string,
  flags: Flags,
): Promise<readonly Candidate[]> {
  const cache = openTokenCache(process.env)
  const settings = resolveSettings(process.env, flags)
  const source = { settings, cache, env: process.env }
  const token = await getAccessToken(source)
  // What is typed before the last colon or slash selects what is fetched.
  const scope = typed.slice(0, Math.max(typed.indexOf('/'), typed.lastIndexOf(':')) + 1)
  const key = [settings.api, token, kind, scope].join('\n')
  const cached = readCachedValues(cache.directory, key)
  if (cached !== undefined) return cached
  const client = await createClient(source, () => undefined)
  const names = createResourceNames(() => Promise.resolve(client))
  const all = await find({ client, names, signal: AbortSignal.timeout(TIMEOUT_MS) }, scope)
  const found = all.filter(({ value }) => PLAIN.test(value))
  writeCachedValues(cache.directory, key, found)
  return found
}

async function take<T>(items: AsyncIterable<T>): Promise<T[]> {
  const taken: T[] = []
  for await (const item of items) {
    taken.push(item)
    if (taken.length === NAMES_MAX) break
  }
  return taken
}

async function toNames(
  items: AsyncIterable<{ readonly name: string; readonly description: string }>,
): Promise<Candidate[]> {
  return (await take(items)).map(({ name, description }) => ({ value: name, description }))
}

/** Everything, or the descendants of the organization that starts the path. */
async function readScope({ client, signal }: Source, typed: string) {
  const [organization = '', ...rest] = typed.split('/')
  if (rest.length === 0) return {}
  for await (const { uid } of client.groups.all({ name: organization, uidp: { inRoot: true } }, { signal }))
    return { uidp: { descendantsOf: uid } }
  return {}
}

async function findGroups(source: Source, typed: string): Promise<Candidate[]> {
  const { client, names, signal } = source
  const groups = await take(client.groups.all(await readScope(source, typed), { signal }))
  for (const group of groups) names.remember(group)
  await names.load({ groups: groups.map(({ uid }) => uid) })
  return groups.map(({ uid, description }) => ({ value: names.groupPath(uid), description }))
}

async function findPaths<
  T extends { readonly uid: string; readonly name: string; readonly description: string },
>(source: Source, typed: string, list: (scope: object) => AsyncIterable<T>): Promise<Candidate[]> {
  const items = await take(list(await readScope(source, typed)))
  await source.names.load({ groups: items.map(({ uid }) => parentUid(uid)) })
  return items.map((item) => ({ value: source.names.path(item), description: item.description }))
}

/** Repos; after a colon, the tags of the repo. */
async function findImages(source: Source, typed: string): Promise<readonly Candidate[]> {
  const { client, signal } = source
  const repos = (scope: object) => client.repos.all(scope, { signal })
  if (!typed.endsWith(':')) return findPaths(source, typed, repos)
  const path = typed.slice(0, -1)
  const name = path.slice(path.lastIndexOf('/') + 1)
  for await (const repo of repos({ ...(await readScope(source, path)), name })) {
    await source.names.load({ groups: [parentUid(repo.uid)] })
    if (path !== name && source.names.path(repo) !== path) continue
    const every = { includeDates: true, includeEpochs: true, includeReferrers: false }
    const tags = await take(client.tags.all({ ...every, uidp: { childrenOf: repo.uid } }, { signal }))
    return tags.map((tag) => ({ value: typed + tag.name }))
  }
  return []
}
