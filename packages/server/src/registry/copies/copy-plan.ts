import { failedPrecondition } from '../../api/errors.ts'
import { rootOf, type Uid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import type { Db, Reader } from '../../storage/db.ts'
import type { RegistryUsage } from '../quota/usage.ts'
import { listAttachedTags } from '../retention/evaluation.ts'

/** What a copy of an image consists of. */

export interface PlannedManifest {
  readonly digest: string
  /** Tags that attach it to an image (`sha256-...`), which are copied with it. */
  readonly tags: readonly string[]
}

export interface CopyPlan {
  /** The manifests of the image; each after those that it contains, the image itself last. */
  readonly image: readonly PlannedManifest[]
  /** What refers to them, in the same order. */
  readonly referrers: readonly PlannedManifest[]
}

/** Throws code 9, type TOO_MANY_MANIFESTS, for an image with more than `copiedManifestsMax` manifests. */
export async function planCopy(
  db: Db,
  repo: Uid,
  digest: string,
  { includeReferrers }: { readonly includeReferrers: boolean },
): Promise<CopyPlan> {
  const seen = new Set<string>()
  const image = (await listContained(db, repo, digest, seen)).map((one) => ({ digest: one, tags: [] }))
  const referrers: PlannedManifest[] = []
  if (!includeReferrers) return { image, referrers }
  const subjects = image.map((one) => one.digest)
  // The loop also reaches the subjects that are added meanwhile: signatures of signatures.
  for (const subject of subjects) {
    for (const { digest: referrer, tags } of await listReferrers(db, repo, subject)) {
      // An attached tag is copied even if its manifest is there for another reason.
      if (seen.has(referrer) && tags.length === 0) continue
      const contained = await listContained(db, repo, referrer, seen)
      subjects.push(...contained)
      const others = contained.filter((one) => one !== referrer)
      referrers.push(...others.map((one) => ({ digest: one, tags: [] })), { digest: referrer, tags })
    }
  }
  return { image, referrers }
}

/** Returns a manifest after those that it contains, without those in `seen`, to which they are added. */
async function listContained(db: Db, repo: Uid, digest: string, seen: Set<string>): Promise<string[]> {
  if (seen.has(digest)) return []
  await yieldToEventLoop()
  seen.add(digest)
  if (seen.size > limits.copiedManifestsMax)
    throw failedPrecondition(
      'TOO_MANY_MANIFESTS',
      `the image has more than ${limits.copiedManifestsMax} manifests with its platforms and referrers (copiedManifestsMax); copy it with a client of the registry`,
      repo,
    )
  const children = await db.kysely
    .selectFrom('manifest_references')
    .select('digest')
    .where('root', '=', rootOf(repo))
    .where('repo', '=', repo)
    .where('manifest', '=', digest)
    .where('kind', '=', 'manifest')
    .orderBy('digest')
    .execute()
  const found: string[] = []
  for (const child of children) found.push(...(await listContained(db, repo, child.digest, seen)))
  return [...found, digest]
}

/**
 * Returns what a copy of these manifests would add to the organization of the destination: manifests that the repo does not have, and blobs
 * that none of its repos has.
 */
export async function readAddition(
  { kysely }: Db,
  { source, repo }: { readonly source: Uid; readonly repo: Uid },
  digests: readonly string[],
): Promise<RegistryUsage> {
  const there = await kysely
    .selectFrom('manifests')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('root', '=', rootOf(repo))
    .where('repo', '=', repo)
    .where('digest', 'in', digests)
    .executeTakeFirstOrThrow()
  const blobs = await kysely
    .selectFrom('repo_blobs as b')
    .select(['b.digest', 'b.size'])
    .where('b.root', '=', rootOf(source))
    .where('b.repo', '=', source)
    .where('b.digest', 'in', (query) =>
      query
        .selectFrom('manifest_references as r')
        .select('r.digest')
        .where('r.root', '=', rootOf(source))
        .where('r.repo', '=', source)
        .where('r.kind', '=', 'blob')
        .where('r.manifest', 'in', digests),
    )
    .execute()
  // Read separately: the organizations may be on two servers of a distributed database.
  const stored = await findStored(kysely, rootOf(repo), blobs)
  const added = blobs.filter(({ digest }) => !stored.has(digest))
  return {
    manifests: digests.length - Number(there.count),
    bytes: added.reduce((sum, { size }) => sum + Number(size), 0),
  }
}

const DIGESTS_PER_STATEMENT = 1000

/** Returns which of these blobs some repo of an organization has. */
async function findStored(
  reader: Reader,
  organization: Uid,
  blobs: readonly { readonly digest: string }[],
): Promise<ReadonlySet<string>> {
  const stored = new Set<string>()
  for (let at = 0; at < blobs.length; at += DIGESTS_PER_STATEMENT) {
    const rows = await reader
      .selectFrom('repo_blobs')
      .select('digest')
      .distinct()
      .where('root', '=', organization)
      .where(
        'digest',
        'in',
        blobs.slice(at, at + DIGESTS_PER_STATEMENT).map(({ digest }) => digest),
      )
      .execute()
    for (const { digest } of rows) stored.add(digest)
  }
  return stored
}

/** Returns what is attached to a manifest by tags, and what names it as its subject. */
async function listReferrers(db: Db, repo: Uid, subject: string): Promise<PlannedManifest[]> {
  const found = new Map<string, string[]>()
  const attached = await listAttachedTags(
    db.kysely,
    { repo, immutable: {} },
    subject,
    limits.copiedManifestsMax + 1,
  )
  for (const { digest, name } of attached) {
    const tags = found.get(digest)
    if (tags === undefined) found.set(digest, [name])
    else tags.push(name)
  }
  const bySubject = await db.kysely
    .selectFrom('manifests')
    .select('digest')
    .where('root', '=', rootOf(repo))
    .where('repo', '=', repo)
    .where('subject', '=', subject)
    .orderBy('digest')
    .limit(limits.copiedManifestsMax + 1)
    .execute()
  for (const { digest } of bySubject) if (!found.has(digest)) found.set(digest, [])
  return [...found].map(([digest, tags]) => ({ digest, tags }))
}
