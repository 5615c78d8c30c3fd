import type { BerthClient, Group, UIDPFilter } from '../../../client/berth.ts'
import { collect } from './collect.ts'
import { type Choice, type Invocation, UsageError } from './invocation.ts'

/** What the words of a command mean: uids as they are, names and paths of names looked up, and a picker where nothing was said. */

const UID = /^[0-9a-f]{40}(\/[0-9a-f]{16})*$/

export function isUid(text: string): boolean {
  return UID.test(text)
}

/** uid of the group that something lies in. */
export function parentOf(uid: string): string {
  return uid.slice(0, uid.lastIndexOf('/'))
}

class Missing extends UsageError {}

const NOT_FOUND = 5

/** Whether something that was named is not there, by name or by uid. */
export function isMissing(error: unknown): boolean {
  return error instanceof Missing || (error as { readonly code?: unknown }).code === NOT_FOUND
}

/** The one that was meant, or a mistake that says what there is. */
function only<T extends { readonly uid: string }>(found: readonly T[], what: string, word: string): T {
  const [one, ...more] = found
  if (one === undefined) throw new Missing(`there is no ${what} ${JSON.stringify(word)} that you may see`)
  if (more.length > 0)
    throw new UsageError(
      `${JSON.stringify(word)} is the name of several: ${found.map(({ uid }) => uid).join(', ')}; give the uid`,
    )
  return one
}

export function organizations(client: BerthClient): AsyncIterable<Group> {
  return client.groups.all({ uidp: { inRoot: true }, orderBy: 'name' })
}

/** uid of an organization from its uid or name. */
export async function organizationUid(
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
    const named = await collect(client.groups.all({ name: word, uidp: { inRoot: true } }))
    return only(named, 'organization', word).uid
  }
  return invocation.ask.choose('Which organization?', missing, async () =>
    (await collect(organizations(client))).map((group) => choice(group, group.name)),
  )
}

/** uid of an organization or folder: a uid, or names from the organization down, as in `my-org/team/images`. */
export async function groupUid(invocation: Invocation, said: string, missing: string): Promise<string> {
  // Where something is put or looked for has a default; what is changed or deleted has none.
  const word = said === '' && missing === '--parent' ? invocation.property('default.group') : said
  if (isUid(word)) return word
  if (word === '') return pickedGroup(invocation, 'Which organization or folder?', missing, () => true)
  const client = await invocation.client()
  const [first = '', ...rest] = word.split('/')
  let uid = isUid(first) ? first : await organizationUid(invocation, first, missing)
  for (const name of rest) {
    const below = await collect(client.groups.all({ name, uidp: { childrenOf: uid } }))
    uid = only(below, 'folder', word).uid
  }
  return uid
}

const isFolder = ({ uid }: { readonly uid: string }) => uid.includes('/')

/** uid of a folder, and never of a whole organization. */
export async function folderUid(invocation: Invocation, word: string): Promise<string> {
  if (word === '') return pickedGroup(invocation, 'Which folder?', 'FOLDER', isFolder)
  const uid = await groupUid(invocation, word, 'FOLDER')
  if (!isFolder({ uid })) throw new UsageError(`${word} is an organization, not a folder`)
  return uid
}

async function pickedGroup(
  invocation: Invocation,
  question: string,
  missing: string,
  keep: (group: Group) => boolean,
): Promise<string> {
  return invocation.ask.choose(question, missing, async () => {
    const groups = await collect((await invocation.client()).groups.all())
    const paths = pathsOf(groups)
    return groups
      .filter(keep)
      .map((group) => choice(group, paths.get(group.uid) ?? group.name))
      .sort((one, other) => (one.name < other.name ? -1 : 1))
  })
}

/** The names from the organization down to each group, as far as they may be seen. */
function pathsOf(groups: readonly Group[]): ReadonlyMap<string, string> {
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
export interface Named<T> {
  /** `role`: how a person calls it. */
  readonly what: string
  /** The word of the command that would have said it; default: `what` in capitals. */
  readonly missing?: string
  readonly list: (client: BerthClient, filter: NameFilter) => AsyncIterable<T>
  /** Only one of these can be meant. */
  readonly keep?: (item: T) => boolean
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
export async function uidOf<T extends Item>(
  invocation: Invocation,
  word: string,
  { what, missing = what.toUpperCase().replaceAll(' ', '-'), list, keep = () => true, label }: Named<T>,
): Promise<string> {
  if (isUid(word)) return word
  const client = await invocation.client()
  if (word !== '') {
    const mark = word.lastIndexOf('/')
    const below =
      mark < 0 ? {} : { uidp: { childrenOf: await groupUid(invocation, word.slice(0, mark), missing) } }
    const found = await collect(list(client, { ...below, name: word.slice(mark + 1) }))
    return only(found.filter(keep), what, word).uid
  }
  const labelOf = label ?? ((item) => item.name ?? item.uid)
  return invocation.ask.choose(`Which ${what}?`, missing, async () =>
    (await collect(list(client, {})))
      .filter(keep)
      .map((item) => choice(item, labelOf(item)))
      .sort((one, other) => (one.name < other.name ? -1 : 1)),
  )
}

/** A role, by uid or name. `group`: one that can be given there: its own, one of above, or one that every installation has. */
export function roleUid(
  invocation: Invocation,
  word: string,
  { group, missing = '--role' }: { readonly group?: string; readonly missing?: string } = {},
): Promise<string> {
  return uidOf(invocation, word, {
    what: 'role',
    missing,
    list: (client, filter) => client.roles.all(filter),
    keep: ({ uid }) =>
      group === undefined || !uid.includes('/') || `${group}/`.startsWith(`${parentOf(uid)}/`),
  })
}

export function identityUid(invocation: Invocation, word: string, missing = 'IDENTITY'): Promise<string> {
  return uidOf(invocation, word, {
    what: 'identity',
    missing,
    list: (client, filter) => client.identities.all(filter),
  })
}

export function repoUid(invocation: Invocation, word: string, missing = 'REPO'): Promise<string> {
  return uidOf(invocation, word, {
    what: 'repo',
    missing,
    list: (client, filter) => client.repos.all(filter),
  })
}

/** The uid is shown for the one that the cursor is on. */
export function choice({ uid, description }: Item, name: string): Choice<string> {
  return { name, value: uid, description: description ? `${uid}\n${description}` : uid }
}

/** The part of the tree that a list is about: all of it, or what lies below a group, or directly in it. */
export async function scopeOf(
  invocation: Invocation,
): Promise<{ readonly uidp?: { readonly childrenOf: string } | { readonly descendantsOf: string } }> {
  const word = invocation.text('parent') || invocation.property('default.group')
  if (word === '') return {}
  const group = await groupUid(invocation, word, '--parent')
  return { uidp: invocation.flag('recursive') ? { descendantsOf: group } : { childrenOf: group } }
}
