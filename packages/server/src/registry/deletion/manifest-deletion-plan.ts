import { failedPrecondition } from '../../api/errors.ts'
import { rootOf } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import type { Reader } from '../../storage/db.ts'
import type { ManifestRow, TagRow } from '../../storage/schema/tables.ts'
import type { ImmutableTagsPolicy } from '../policies/immutable-tags.ts'
import { listAttachedTags } from '../retention/evaluation.ts'

/** Finds what is deleted with a manifest. It stays true as long as the repo is locked. */

export interface DeletionPlan {
  /** Tags that point to the manifest. */
  readonly tags: readonly TagRow[]
  /** Mutable tags that are attached to deleted manifests. */
  readonly attachedTags: readonly TagRow[]
  readonly dependents: readonly Dependent[]
}

export interface Dependent extends Candidate {
  readonly reason: string
}

type Candidate = Pick<ManifestRow, 'digest' | 'subject' | 'artifact_type'>

const reasons = {
  referrer: 'it refers to a deleted manifest',
  entry: 'only a deleted index contains it',
  attached: 'its tag is attached to a deleted manifest',
} as const

/**
 * Each round looks at what the last deleted manifests leave behind, until nothing more is unneeded. A manifest that something else still
 * needs stays, unless that is deleted in a later round. Throws code 9 for too many tags.
 */
export async function planDeletion(
  reader: Reader,
  target: { readonly repo: string; readonly immutable: ImmutableTagsPolicy },
  digest: string,
): Promise<DeletionPlan> {
  const { repo } = target
  const dependents = new Map<string, Dependent>()
  const candidates = new Map<string, Dependent>()
  const tags = await tagsOf(reader, repo, digest)
  requireFewTags(target, tags.length)
  const attachedTags: TagRow[] = []
  const deleted = new Set([digest])
  for (let latest = [digest]; latest.length > 0; ) {
    await yieldToEventLoop()
    const attached = await attachedTo(reader, target, latest, tags.length + attachedTags.length)
    attachedTags.push(...attached)
    const found: readonly [keyof typeof reasons, readonly Candidate[]][] = [
      ['referrer', await referrersOf(reader, repo, latest)],
      ['entry', await entriesOf(reader, repo, latest)],
      [
        'attached',
        await manifestsOf(
          reader,
          repo,
          attached.map((tag) => tag.digest),
        ),
      ],
    ]
    for (const [kind, rows] of found)
      for (const row of rows)
        if (!deleted.has(row.digest) && !candidates.has(row.digest))
          candidates.set(row.digest, { ...row, reason: reasons[kind] })
    const needed = await neededAmong(reader, repo, { candidates, deleted, attachedTags })
    latest = []
    for (const [candidate, dependent] of candidates) {
      if (needed.has(candidate) || dependents.size >= limits.manifestDependentsMax) continue
      candidates.delete(candidate)
      dependents.set(candidate, dependent)
      deleted.add(candidate)
      latest.push(candidate)
    }
  }
  return { tags, attachedTags, dependents: [...dependents.values()] }
}

/** Candidates of one round: an index has thousands of entries at most, of which far fewer can be deleted with it. */
const CANDIDATES_MAX = 2 * limits.manifestDependentsMax

const candidateColumns = ['digest', 'subject', 'artifact_type'] as const

function manifestsIn(reader: Reader, repo: string) {
  return reader
    .selectFrom('manifests')
    .select(candidateColumns)
    .where('root', '=', rootOf(repo))
    .where('repo', '=', repo)
    .orderBy('digest')
    .limit(CANDIDATES_MAX)
}

function referrersOf(reader: Reader, repo: string, subjects: readonly string[]): Promise<Candidate[]> {
  return manifestsIn(reader, repo).where('subject', 'in', subjects).where('subject', '<>', '').execute()
}

function entriesOf(reader: Reader, repo: string, indexes: readonly string[]): Promise<Candidate[]> {
  const contained = reader
    .selectFrom('manifest_references')
    .select('digest')
    .where('root', '=', rootOf(repo))
    .where('repo', '=', repo)
    .where('manifest', 'in', indexes)
    .where('kind', '=', 'manifest')
  return manifestsIn(reader, repo).where('digest', 'in', contained).execute()
}

async function manifestsOf(reader: Reader, repo: string, digests: readonly string[]): Promise<Candidate[]> {
  return digests.length === 0 ? [] : manifestsIn(reader, repo).where('digest', 'in', digests).execute()
}

async function attachedTo(
  reader: Reader,
  target: Parameters<typeof listAttachedTags>[1],
  digests: readonly string[],
  knownTags: number,
): Promise<TagRow[]> {
  const tags: TagRow[] = []
  for (const digest of digests) {
    tags.push(...(await listAttachedTags(reader, target, digest, limits.manifestTagDeletionsMax + 1)))
    requireFewTags(target, knownTags + tags.length)
  }
  return tags
}

function requireFewTags({ repo }: { readonly repo: string }, count: number): void {
  const { manifestTagDeletionsMax: max } = limits
  if (count <= max) return
  throw failedPrecondition(
    'TOO_MANY_TAGS',
    `more than ${max} tags would be deleted with the manifest; delete tags first`,
    repo,
  )
}

function tagsOf(reader: Reader, repo: string, digest: string): Promise<TagRow[]> {
  return reader
    .selectFrom('tags')
    .selectAll()
    .where('root', '=', rootOf(repo))
    .where('parent', '=', repo)
    .where('digest', '=', digest)
    .orderBy('name')
    .limit(limits.manifestTagDeletionsMax + 1)
    .execute()
}

interface Remains {
  readonly candidates: ReadonlyMap<string, Candidate>
  readonly deleted: ReadonlySet<string>
  readonly attachedTags: readonly TagRow[]
}

/** Returns the candidates that a tag, an index or a subject still needs. */
async function neededAmong(
  reader: Reader,
  repo: string,
  { candidates, deleted, attachedTags }: Remains,
): Promise<ReadonlySet<string>> {
  const digests = [...candidates.keys()]
  if (digests.length === 0) return new Set()
  const gone = [...deleted]
  const attachedUids = attachedTags.map(({ uid }) => uid)
  let tagged = reader
    .selectFrom('tags')
    .select('digest')
    .distinct()
    .where('root', '=', rootOf(repo))
    .where('parent', '=', repo)
    .where('digest', 'in', digests)
  if (attachedUids.length > 0) tagged = tagged.where('uid', 'not in', attachedUids)
  const contained = reader
    .selectFrom('manifest_references')
    .select('digest')
    .distinct()
    .where('root', '=', rootOf(repo))
    .where('repo', '=', repo)
    .where('digest', 'in', digests)
    .where('kind', '=', 'manifest')
    .where('manifest', 'not in', gone)
  const needed = new Set<string>()
  for (const query of [tagged, contained]) for (const { digest } of await query.execute()) needed.add(digest)
  const subjects = [...candidates.values()].map(({ subject }) => subject)
  const kept = subjects.filter((subject) => subject !== '' && !deleted.has(subject))
  const existing = new Set((await manifestsOf(reader, repo, kept)).map(({ digest }) => digest))
  for (const { digest, subject } of candidates.values()) if (existing.has(subject)) needed.add(digest)
  return needed
}
