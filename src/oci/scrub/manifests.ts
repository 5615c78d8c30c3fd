import type { ManifestRow } from '../../storage/tables.ts'
import { type Algorithm, digestOf } from '../digests.ts'
import { checkManifest, type Descriptor, type Needs, needsOf, unbounded } from '../manifest-check.ts'
import { type Finding, foundRepo } from './findings.ts'
import type { ScrubOptions } from './run.ts'

/** Every manifest: its bytes against its digest, and what it needs against what its repo has. */

type Key = Pick<ManifestRow, 'root' | 'repo' | 'digest'>

const KEYS_AT_ONCE = 500
const DIGESTS_AT_ONCE = 200

export async function scrubManifests(options: ScrubOptions): Promise<number> {
  const { signal } = options
  let manifests = 0
  for (let after: Key = { root: '', repo: '', digest: '' }; ; ) {
    const keys = await keysAfter(options, after)
    for (const key of keys) {
      signal?.throwIfAborted()
      await scrubManifest(options, key)
      manifests++
    }
    const last = keys.at(-1)
    if (last === undefined || keys.length < KEYS_AT_ONCE) return manifests
    after = last
  }
}

function keysAfter({ store }: ScrubOptions, { root, repo, digest }: Key): Promise<Key[]> {
  return store.db.kysely
    .selectFrom('manifests')
    .select(['root', 'repo', 'digest'])
    .where((row) =>
      row.or([
        row('root', '>', root),
        row.and([row('root', '=', root), row('repo', '>', repo)]),
        row.and([row('root', '=', root), row('repo', '=', repo), row('digest', '>', digest)]),
      ]),
    )
    .orderBy('root')
    .orderBy('repo')
    .orderBy('digest')
    .limit(KEYS_AT_ONCE)
    .execute()
}

async function scrubManifest(options: ScrubOptions, key: Key): Promise<void> {
  const row = await manifestAt(options, key)
  if (row === undefined) return
  const problems = await problemsOf(options, row)
  // What it needs may go once it is deleted itself.
  if (problems.length === 0 || (await manifestAt(options, key)) === undefined) return
  const repos = [await foundRepo(options.store.db, key.repo)]
  for (const problem of problems)
    options.onFinding({ location: '', repaired: false, ...problem, repos, repoCount: 1 })
}

function manifestAt({ store }: ScrubOptions, { root, repo, digest }: Key) {
  return store.db.kysely
    .selectFrom('manifests')
    .selectAll()
    .where('root', '=', root)
    .where('repo', '=', repo)
    .where('digest', '=', digest)
    .executeTakeFirst()
}

type Problem = Pick<Finding, 'kind' | 'what' | 'digest' | 'bytes' | 'reason'>

async function problemsOf(options: ScrubOptions, row: ManifestRow): Promise<Problem[]> {
  const { digest, content } = row
  const size = Number(row.size)
  const damaged = (reason: string): Problem[] => [
    { kind: 'damaged', what: 'manifest', digest, bytes: size, reason },
  ]
  const actual = digestOf(digest.slice(0, digest.indexOf(':')) as Algorithm, content)
  if (actual !== digest) return damaged(`its bytes have the digest ${actual}`)
  if (content.length !== size) return damaged(`it has ${content.length} bytes, not ${size}`)
  let needs: Needs
  try {
    needs = needsOf(checkManifest(content, row.media_type, unbounded))
  } catch (error) {
    return damaged((error as Error).message)
  }
  const known = await referencesOf(options, row)
  if (!agree(known, needs)) return damaged('the database has other references of it than its bytes name')
  const blobs = needs.blobs.filter((blob) => !needs.optional.has(blob) || known.has(blob.digest))
  const lacking = await lackingOf(options, row, 'repo_blobs', blobs)
  const deleted = await lackingOf(options, row, 'manifests', needs.manifests)
  const toProblem =
    (kind: Finding['kind'], what: Finding['what']) =>
    ({ wanted, found }: Lacking): Problem => ({
      kind,
      what,
      digest: wanted.digest,
      bytes: wanted.size,
      reason:
        found === undefined
          ? `the manifest ${digest} needs it, and its repo does not have it`
          : `the manifest ${digest} gives it ${wanted.size} bytes, and its repo ${found}`,
    })
  return [...lacking.map(toProblem('missing', 'blob')), ...deleted.map(toProblem('incomplete', 'manifest'))]
}

/** What the database knows that the manifest names, as a blob or as a manifest. */
async function referencesOf(
  { store }: ScrubOptions,
  { root, repo, digest }: Key,
): Promise<ReadonlyMap<string, string>> {
  const rows = await store.db.kysely
    .selectFrom('manifest_references')
    .select(['digest', 'kind'])
    .where('root', '=', root)
    .where('repo', '=', repo)
    .where('manifest', '=', digest)
    .execute()
  return new Map(rows.map((row) => [row.digest, row.kind]))
}

function agree(known: ReadonlyMap<string, string>, { blobs, optional, manifests }: Needs): boolean {
  const named = new Map([
    ...blobs.map(({ digest }) => [digest, 'blob'] as const),
    ...manifests.map(({ digest }) => [digest, 'manifest'] as const),
  ])
  const needed = [...blobs.filter((blob) => !optional.has(blob)), ...manifests]
  return (
    needed.every(({ digest }) => known.has(digest)) &&
    [...known].every(([digest, kind]) => named.get(digest) === kind)
  )
}

interface Lacking {
  readonly wanted: Descriptor
  /** The size that the repo has it with; undefined where it has not. */
  readonly found: number | undefined
}

async function lackingOf(
  { store }: ScrubOptions,
  { root, repo }: Key,
  table: 'repo_blobs' | 'manifests',
  wanted: readonly Descriptor[],
): Promise<Lacking[]> {
  const digests = [...new Set(wanted.map(({ digest }) => digest))]
  const sizes = new Map<string, number>()
  for (let at = 0; at < digests.length; at += DIGESTS_AT_ONCE) {
    const rows = await store.db.kysely
      .selectFrom(table)
      .select(['digest', 'size'])
      .where('root', '=', root)
      .where('repo', '=', repo)
      .where('digest', 'in', digests.slice(at, at + DIGESTS_AT_ONCE))
      .execute()
    for (const { digest, size } of rows) sizes.set(digest, Number(size))
  }
  return wanted
    .map((descriptor) => ({ wanted: descriptor, found: sizes.get(descriptor.digest) }))
    .filter((lacking) => lacking.found !== lacking.wanted.size)
}
