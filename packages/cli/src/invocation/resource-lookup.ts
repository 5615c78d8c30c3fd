import type { BerthClient, Group, UIDPFilter } from '@berth/client/berth.ts'
import { toArray } from './async-iterables.ts'
import { type Choice, type Invocation, UsageError } from './invocation.ts'

/** What the words of a command mean: uids as they are, names and paths of names looked up, and a picker where nothing was said. */

const UID = /^[0-9a-f]{40}(\/[0-9a-f]{16})*$/

export function isUid(text: string): boolean {
  return UID.test(text)
}

/** uid of the group that something lies in. */
export function parentUid(uid: string): string {
  return uid.slice(0, uid.lastIndexOf('/'))
}

class NotFoundError extends UsageError {}

const NOT_FOUND = 5

/** Whether something that was named is not there, by name or by uid. */
export function isNotFound(error: unknown): boolean {
  return error instanceof NotFoundError || (error as { readonly code?: unknown }).code === NOT_FOUND
}

/** The one that was meant, or a mistake that says what there is. */
function requireOne<T extends { readonly uid: string }>(found: readonly T[], what: string, word: string): T {
  const [one, ...more] = found
  if (one === undefined)
    throw new NotFoundError(`there is no ${what} ${JSON.stringify(word)} that you may see`)
  if (more.length > 0)
    throw new UsageError(
      `${JSON.stringify(word)} is the name of several: ${found.map(({ uid }) => uid).join(', ')}; give the uid`,
    )
  return one
}

export function listOrganizations(client: BerthClient): AsyncIterable<Group> {
  return client.groups.all({ uidp: { inRoot: true }, orderBy: 'name' })
}

/** uid of an organization from its uid or name. */
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

/** uid of an organization or folder: a uid, or names from the organization down, as in `my-org/team/images`. */
export async function resolveGroupUid(
  invocation: Invocation,
  given: string,
  missing: string,
): Promise<string> {
  // Where something is put or looked for has a default; what is changed or deleted has none.
  const word = given === '' && missing === '--parent' ? invocation.property('default.group') : given
  if (isUid(word)) return word
  if (word === '') return promptForGroupUid(invocation, 'Which organization or folder?', missing, () => true)
  const client = await invocation.client()
  const [first = '', ...rest] = word.split('/')
  let uid = isUid(first) ? first : await resolveOrganizationUid(invocation, first, missing)
  for (const name of rest) {
    const below = await toArray(client.groups.all({ name, uidp: { childrenOf: uid } }))
    uid = requireOne(below, 'folder', word).uid
  }
  return uid
}

const isFolder = ({ uid }: { readonly uid: string }) => uid.includes('/')

/** uid of a folder, and never of a whole organization. */
export async function resolveFolderUid(invocation: Invocation, word: string): Promise<string> {
  if (word === '') return promptForGroupUid(invocation, 'Which folder?', 'FOLDER', isFolder)
  const uid = await resolveGroupUid(invocation, word, 'FOLDER')
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
    const groups = await toArray((await invocation.client()).groups.all())
    const paths = groupPaths(groups)
    return groups
      .filter(keep)
      .map((group) => toChoice(group, paths.get(group.uid) ?? group.name))
      .sort((one, other) => (one.name < other.name ? -1 : 1))
  })
}

/** The names from the organization down to each group, as far as they may be seen. */
function groupPaths(groups: readonly Group[]): ReadonlyMap<string, string> {
  const names = new Map(groups.map(({ uid, name }) => [uid, name]))
  return new Map(
    groups.map(({ uid }) => {
      const parts = uid.split('/')
      const path = parts.map((part, at) => names.get(parts.slice(0, at + 1).join('/')) ?? part)
      return [uid, path.join('/')]
    }),
  )
}

/** How one of many is found by its name. */
export interface ResourceLookup<T> {
  /** `role`: how a person calls it. */
  readonly noun: string
  /** The word of the command that would have said it; default: `what` in capitals. */
  readonly argumentName?: string
  readonly list: (client: BerthClient, filter: NameFilter) => AsyncIterable<T>
  /** Only one of these can be meant. */
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

/** uid of something by its uid, its name, or names from the organization down to it; or picked from a list. */
export async function resolveUid<T extends Item>(
  invocation: Invocation,
  word: string,
  {
    noun: what,
    argumentName: missing = what.toUpperCase().replaceAll(' ', '-'),
    list,
    filter: keep = () => true,
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
        : { uidp: { childrenOf: await resolveGroupUid(invocation, word.slice(0, mark), missing) } }
    const found = await toArray(list(client, { ...below, name: word.slice(mark + 1) }))
    return requireOne(found.filter(keep), what, word).uid
  }
  const labelOf = label ?? ((item) => item.name ?? item.uid)
  return invocation.prompt.select(`Which ${what}?`, missing, async () =>
    (await toArray(list(client, {})))
      .filter(keep)
      .map((item) => toChoice(item, labelOf(item)))
      .sort((one, other) => (one.name < other.name ? -1 : 1)),
  )
}

/** A role, by uid or name. `group`: one that can be given there: its own, one of above, or one that every installation has. */
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

/** The uid is shown for the one that the cursor is on. */
export function toChoice({ uid, description }: Item, name: string): Choice<string> {
  return { name, value: uid, description: description ? `${uid}\n${description}` : uid }
}

/** The part of the tree that a list is about: all of it, or what lies below a group, or directly in it. */
export async function readScope(
  invocation: Invocation,
): Promise<{ readonly uidp?: { readonly childrenOf: string } | { readonly descendantsOf: string } }> {
  const word = invocation.option('parent') || invocation.property('default.group')
  if (word === '') return {}
  const group = await resolveGroupUid(invocation, word, '--parent')
  return { uidp: invocation.flag('recursive') ? { descendantsOf: group } : { childrenOf: group } }
}
