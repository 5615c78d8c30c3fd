import type { BerthClient, Group, UIDPFilter } from '@berth/client/berth.ts'
import { toArray } from './async-iterables.ts'
import { type Choice, type Invocation, UsageError } from './invocation.ts'
import { isUid, parentUid } from './resource-uids.ts'

/** Resolves arguments to uids: a uid is used as it is, a name or path of names is looked up, and a missing argument opens a prompt. */

class NotFoundError extends UsageError {}

const NOT_FOUND = 5

/** Reports whether a lookup by name or uid found nothing. */
export function isNotFound(error: unknown): boolean {
  return error instanceof NotFoundError || (error as { readonly code?: unknown }).code === NOT_FOUND
}

/** Returns the only match. Throws a UsageError for none or several. */
function requireOne<T extends { readonly uid: string }>(found: readonly T[], what: string, word: string): T {
  const [one, ...more] = found
  if (one === undefined)
    throw new NotFoundError(`${what} ${JSON.stringify(word)} not found or not visible to you`)
  if (more.length > 0)
    throw new UsageError(
      `${JSON.stringify(word)} matches several: ${found.map(({ uid }) => uid).join(', ')}; use the uid`,
    )
  return one
}

export function listOrganizations(client: BerthClient): AsyncIterable<Group> {
  return client.groups.all({ uidp: { inRoot: true }, orderBy: 'name' })
}

/** Resolves an organization by uid or name. */
export async function resolveOrganizationUid(
  invocation: Invocation,
  word: string,
  missing: string,
): Promise<string> {
  if (isUid(word)) {
    if (word.includes('/')) throw new UsageError(`${word} is a folder, not an organization`)
    return word
  }
  const client = await invocation.client()
  if (word !== '') {
    const named = await toArray(client.groups.all({ name: word, uidp: { inRoot: true } }))
    return requireOne(named, 'organization', word).uid
  }
  return invocation.prompt.select('Which organization?', missing, async () =>
    (await toArray(listOrganizations(client))).map((group) => toChoice(group, group.name)),
  )
}

/**
 * Resolves an organization or folder by uid or by path, for example `my-org/team/images`. A path may start with a folder whose parent is not
 * visible.
 */
export async function resolveGroupUid(
  invocation: Invocation,
  given: string,
  missing: string,
): Promise<string> {
  // Only --parent has a default: a command must name the resource that it changes or deletes.
  const word = given === '' && missing === '--parent' ? invocation.property('default.group') : given
  if (isUid(word)) return word
  if (word === '') return promptForGroupUid(invocation, 'Which organization or folder?', missing, () => true)
  const client = await invocation.client()
  return resolveVisiblePath(invocation, client, word, missing).catch(async (error: unknown) => {
    if (!(error instanceof NotFoundError)) throw error
    const { groups } = await client.groupPaths.findGroupPaths({ paths: [word] }).catch((failure: unknown) => {
      // An older server does not have the method.
      throw isNotFound(failure) ? error : failure
    })
    if (groups.length === 0) throw error
    return requireOne(groups, 'organization or folder', word).uid
  })
}

/** Resolves a path whose groups are all visible. */
async function resolveVisiblePath(
  invocation: Invocation,
  client: BerthClient,
  word: string,
  missing: string,
): Promise<string> {
  const [first = '', ...rest] = word.split('/')
  let uid = isUid(first) ? first : await resolveOrganizationUid(invocation, first, missing)
  for (const name of rest) {
    const below = await toArray(client.groups.all({ name, uidp: { childrenOf: uid } }))
    uid = requireOne(below, 'folder', word).uid
  }
  return uid
}

const isFolder = ({ uid }: { readonly uid: string }) => uid.includes('/')

/** Resolves a folder. Throws a UsageError for an organization. */
export async function resolveFolderUid(invocation: Invocation, word: string): Promise<string> {
  if (word === '') return promptForGroupUid(invocation, 'Which folder?', 'FOLDER', isFolder)
  const uid = await resolveGroupUid(invocation, word, 'FOLDER').catch((error: unknown) => {
    if (!(error instanceof NotFoundError) || word.includes('/')) throw error
    throw new NotFoundError(
      `folder ${JSON.stringify(word)} not found or not visible to you; the path of a folder starts with its organization, such as my-org/${word}`,
    )
  })
  if (!isFolder({ uid })) throw new UsageError(`${word} is an organization, not a folder`)
  return uid
}

async function promptForGroupUid(
  invocation: Invocation,
  question: string,
  missing: string,
  keep: (group: Group) => boolean,
): Promise<string> {
  return invocation.prompt.select(question, missing, async () => {
    const { names } = invocation
    const groups = await toArray((await invocation.client()).groups.all())
    for (const group of groups) names.remember(group)
    await names.load({ groups: groups.map(({ uid }) => uid) })
    return groups
      .filter(keep)
      .map((group) => toChoice(group, names.groupPath(group.uid)))
      .sort((one, other) => (one.name < other.name ? -1 : 1))
  })
}

/** How a resource is looked up by name. */
export interface ResourceLookup<T> {
  /** `role`: used in messages. */
  readonly noun: string
  /** The argument that names it; default: the noun in capitals. */
  readonly argumentName?: string
  readonly list: (client: BerthClient, filter: NameFilter) => AsyncIterable<T>
  /** Restricts the candidates. */
  readonly filter?: (item: T) => boolean
  /** Default: its name. */
  readonly label?: (item: T) => string
}

export interface NameFilter {
  readonly name?: string
  readonly uidp?: UIDPFilter
}

interface Item {
  readonly uid: string
  readonly name?: string
  readonly description?: string
}

/** Resolves a resource by uid, name or path, or with a prompt. */
export async function resolveUid<T extends Item>(
  invocation: Invocation,
  word: string,
  {
    noun,
    argumentName = noun.toUpperCase().replaceAll(' ', '-'),
    list,
    filter = () => true,
    label,
  }: ResourceLookup<T>,
): Promise<string> {
  if (isUid(word)) return word
  const client = await invocation.client()
  if (word !== '') {
    const mark = word.lastIndexOf('/')
    const below =
      mark < 0
        ? {}
        : { uidp: { childrenOf: await resolveGroupUid(invocation, word.slice(0, mark), argumentName) } }
    const found = await toArray(list(client, { ...below, name: word.slice(mark + 1) }))
    return requireOne(found.filter(filter), noun, word).uid
  }
  const labelOf = label ?? ((item) => item.name ?? item.uid)
  return invocation.prompt.select(`Which ${noun}?`, argumentName, async () =>
    (await toArray(list(client, {})))
      .filter(filter)
      .map((item) => toChoice(item, labelOf(item)))
      .sort((one, other) => (one.name < other.name ? -1 : 1)),
  )
}

/** Resolves a role by uid or name. `group`: only roles that can be granted there: managed roles, and roles of the group or its ancestors. */
export function resolveRoleUid(
  invocation: Invocation,
  word: string,
  { group, missing = '--role' }: { readonly group?: string; readonly missing?: string } = {},
): Promise<string> {
  return resolveUid(invocation, word, {
    noun: 'role',
    argumentName: missing,
    list: (client, filter) => client.roles.all(filter),
    filter: ({ uid }) =>
      group === undefined || !uid.includes('/') || `${group}/`.startsWith(`${parentUid(uid)}/`),
  })
}

export function resolveIdentityUid(
  invocation: Invocation,
  word: string,
  missing = 'IDENTITY',
): Promise<string> {
  return resolveUid(invocation, word, {
    noun: 'identity',
    argumentName: missing,
    list: (client, filter) => client.identities.all(filter),
  })
}

export function resolveRepoUid(invocation: Invocation, word: string, missing = 'REPO'): Promise<string> {
  return resolveUid(invocation, word, {
    noun: 'repo',
    argumentName: missing,
    list: (client, filter) => client.repos.all(filter),
  })
}

/** The prompt shows the uid of the highlighted choice. */
export function toChoice({ uid, description }: Item, name: string): Choice<string> {
  return { name, value: uid, description: description ? `${uid}\n${description}` : uid }
}

/** Returns the scope of a list: everything, the descendants of a group, or its direct children. */
export async function readScope(
  invocation: Invocation,
): Promise<{ readonly uidp?: { readonly childrenOf: string } | { readonly descendantsOf: string } }> {
  const word = invocation.option('parent') || invocation.property('default.group')
  if (word === '') return {}
  const group = await resolveGroupUid(invocation, word, '--parent')
  return { uidp: invocation.flag('recursive') ? { descendantsOf: group } : { childrenOf: group } }
}
