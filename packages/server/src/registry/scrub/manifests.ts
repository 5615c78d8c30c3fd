import type { ManifestRow } from '../../storage/schema/tables.ts'
import { type DigestAlgorithm, digestOf } from '../manifests/digests.ts'
import {
  type Descriptor,
  dependenciesOf,
  type ManifestDependencies,
  parseManifest,
  unlimitedBounds,
} from '../manifests/manifest-parser.ts'
import { type Finding, readFoundRepo } from './findings.ts'
import type { ScrubOptions } from './run.ts'

/** Checks every manifest: its bytes against its digest, and its references against the content of its repo. */

type Key = Pick<ManifestRow, 'root' | 'repo' | 'digest'>

const KEYS_PER_STATEMENT = 500
const DIGESTS_PER_STATEMENT = 200

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
    if (last === undefined || keys.length < KEYS_PER_STATEMENT) return manifests
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
    .limit(KEYS_PER_STATEMENT)
    .execute()
}

async function scrubManifest(options: ScrubOptions, key: Key): Promise<void> {
  const row = await manifestAt(options, key)
  if (row === undefined) return
  const problems = await findProblems(options, row)
  // Its references may have been deleted together with it.
  if (problems.length === 0 || (await manifestAt(options, key)) === undefined) return
  const repos = [await readFoundRepo(options.store.db, key.repo)]
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

async function findProblems(options: ScrubOptions, row: ManifestRow): Promise<Problem[]> {
  const { digest, content } = row
  const size = Number(row.size)
  const damaged = (reason: string): Problem[] => [
    { kind: 'damaged', what: 'manifest', digest, bytes: size, reason },
  ]
  const actual = digestOf(digest.slice(0, digest.indexOf(':')) as DigestAlgorithm, content)
  if (actual !== digest) return damaged(`its bytes have digest ${actual}`)
  if (content.length !== size) return damaged(`it has ${content.length} bytes instead of ${size}`)
  let dependencies: ManifestDependencies
  try {
    dependencies = dependenciesOf(parseManifest(content, row.media_type, unlimitedBounds))
  } catch (error) {
    return damaged((error as Error).message)
  }
  const known = await referencesOf(options, row)
  if (!referencesMatch(known, dependencies))
    return damaged('its references in the database differ from those in its bytes')
  const blobs = dependencies.blobs.filter(
    (blob) => !dependencies.optional.has(blob) || known.has(blob.digest),
  )
  const missingBlobs = await findMissing(options, row, 'repo_blobs', blobs)
  const missingManifests = await findMissing(options, row, 'manifests', dependencies.manifests)
  const toProblem =
    (kind: Finding['kind'], what: Finding['what']) =>
    ({ wanted, found }: MissingDependency): Problem => ({
      kind,
      what,
      digest: wanted.digest,
      bytes: wanted.size,
      reason:
        found === undefined
          ? `manifest ${digest} references it, but its repository does not have it`
          : `manifest ${digest} states ${wanted.size} bytes, but its repository has ${found}`,
    })
  return [
    ...missingBlobs.map(toProblem('missing', 'blob')),
    ...missingManifests.map(toProblem('incomplete', 'manifest')),
  ]
}

/** The manifest's references in the database, to blobs or to manifests. */
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

function referencesMatch(
  known: ReadonlyMap<string, string>,
  { blobs, optional, manifests }: ManifestDependencies,
): boolean {
  const named = new Map([
    ...blobs.map(({ digest }) => [digest, 'blob'] as const),
    ...manifests.map(({ digest }) => [digest, 'manifest'] as const),
  ])
  const required = [...blobs.filter((blob) => !optional.has(blob)), ...manifests]
  return (
    required.every(({ digest }) => known.has(digest)) &&
    [...known].every(([digest, kind]) => named.get(digest) === kind)
  )
}

interface MissingDependency {
  readonly wanted: Descriptor
  /** The size in the repo; undefined if it is missing. */
  readonly found: number | undefined
}

async function findMissing(
  { store }: ScrubOptions,
  { root, repo }: Key,
  table: 'repo_blobs' | 'manifests',
  wanted: readonly Descriptor[],
): Promise<MissingDependency[]> {
  const digests = [...new Set(wanted.map(({ digest }) => digest))]
  const sizes = new Map<string, number>()
  for (let at = 0; at < digests.length; at += DIGESTS_PER_STATEMENT) {
    const rows = await store.db.kysely
      .selectFrom(table)
      .select(['digest', 'size'])
      .where('root', '=', root)
      .where('repo', '=', repo)
      .where('digest', 'in', digests.slice(at, at + DIGESTS_PER_STATEMENT))
      .execute()
    for (const { digest, size } of rows) sizes.set(digest, Number(size))
  }
  return wanted
    .map((descriptor) => ({ wanted: descriptor, found: sizes.get(descriptor.digest) }))
    .filter((lacking) => lacking.found !== lacking.wanted.size)
}
