import type { BerthClient, Group, Identity, Role } from '../../../client/berth.ts'
import { type Choice, type Invocation, UsageError } from './invocation.ts'

/** What the words of a command mean: uids as they are, names and paths of names looked up, and a picker where nothing was said. */

const UID = /^[0-9a-f]{40}(\/[0-9a-f]{16})*$/

export function isUid(text: string): boolean {
  return UID.test(text)
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

/** The one that was meant, or a mistake that says what there is. */
function only<T extends { readonly uid: string }>(found: readonly T[], what: string, word: string): T {
  const [one, ...more] = found
  if (one === undefined) throw new UsageError(`there is no ${what} ${JSON.stringify(word)} that you may see`)
  if (more.length > 0)
    throw new UsageError(
      `${JSON.stringify(word)} is the name of several: ${found.map(({ uid }) => uid).join(', ')}; give the uid`,
    )
  return one
}

export function organizations(client: BerthClient): Promise<Group[]> {
  return collect(client.groups.all({ uidp: { inRoot: true }, orderBy: 'name' }))
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
    (await organizations(client)).map((group) => choice(group, group.name)),
  )
}

/** uid of an organization or folder: a uid, or names from the organization down, as in `my-org/team/images`. */
export async function groupUid(invocation: Invocation, said: string, missing: string): Promise<string> {
  // Where something is put or looked for has a default; what is changed or deleted has none.
  const word = said === '' && missing === '--parent' ? invocation.property('default.group') : said
  if (isUid(word)) return word
  const client = await invocation.client()
  if (word === '') {
    return invocation.ask.choose('Where?', missing, async () => {
      const groups = await collect(client.groups.all())
      const paths = pathsOf(groups)
      return groups
        .map((group) => choice(group, paths.get(group.uid) ?? group.name))
        .sort((one, other) => (one.name < other.name ? -1 : 1))
    })
  }
  const [first = '', ...rest] = word.split('/')
  let uid = isUid(first) ? first : await organizationUid(invocation, first, missing)
  for (const name of rest) {
    const below = await collect(client.groups.all({ name, uidp: { childrenOf: uid } }))
    uid = only(below, 'folder', word).uid
  }
  return uid
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

/** A role that can be given at a group, by uid or name: its own, one of above, or one that every installation has. */
export async function roleUid(
  invocation: Invocation,
  word: string,
  group: string,
  missing = '--role',
): Promise<string> {
  if (isUid(word)) return word
  const client = await invocation.client()
  const fitting = (roles: readonly Role[]) =>
    roles.filter(({ uid }) => !uid.includes('/') || group.startsWith(uid.slice(0, uid.lastIndexOf('/'))))
  if (word !== '') return only(fitting(await collect(client.roles.all({ name: word }))), 'role', word).uid
  return invocation.ask.choose('Which role?', missing, async () =>
    fitting(await collect(client.roles.all({ orderBy: 'name' }))).map((role) => choice(role, role.name)),
  )
}

/** An identity by uid, or by its name below a group; '' for a group looks everywhere. */
export async function identityUid(
  invocation: Invocation,
  word: string,
  group = '',
  missing = 'IDENTITY',
): Promise<string> {
  if (isUid(word)) return word
  const client = await invocation.client()
  const below = group === '' ? {} : { uidp: { descendantsOf: group } }
  if (word !== '')
    return only(await collect(client.identities.all({ ...below, name: word })), 'identity', word).uid
  return invocation.ask.choose('Which identity?', missing, async () =>
    (await collect(client.identities.all({ ...below, orderBy: 'name' }))).map((identity: Identity) =>
      choice(identity, identity.name),
    ),
  )
}

/** A resource by its uid, or picked from a list. */
export async function pickedUid<T extends { readonly uid: string; readonly name?: string }>(
  invocation: Invocation,
  word: string,
  what: string,
  list: (client: BerthClient) => AsyncIterable<T>,
  nameOf: (item: T) => string = (item) => item.name ?? item.uid,
): Promise<string> {
  if (isUid(word)) return word
  const client = await invocation.client()
  if (word !== '') {
    const named = await collect(list(client))
    return only(
      named.filter((item) => nameOf(item) === word),
      what,
      word,
    ).uid
  }
  return invocation.ask.choose(`Which ${what}?`, what.toUpperCase().replaceAll(' ', '-'), async () =>
    (await collect(list(client))).map((item) => choice(item, nameOf(item))),
  )
}

function choice({ uid, description }: { uid: string; description?: string }, name: string): Choice<string> {
  return { name: `${name}  ${uid}`, value: uid, ...(description ? { description } : {}) }
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

/** Go's durations and days, as `--ttl` takes them: `168h`, `90m`, `7d`, `1h30m`. In seconds. */
export function seconds(option: string, text: string): number {
  const units: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }
  const parts = [...text.matchAll(/(\d+)([smhd])/g)]
  if (text === '' || parts.map(([part]) => part).join('') !== text)
    throw new UsageError(`${option}: ${JSON.stringify(text)} must be a duration such as 30m, 168h or 7d`)
  return parts.reduce((sum, [, count = '0', unit = 's']) => sum + Number(count) * (units[unit] ?? 0), 0)
}
