import type { RepoPolicy } from '@berth/contract/gen/berth/registry/v1/repo_policies_pb.js'
import { type ApiError, forbiddenByPolicy } from '../../api/errors.ts'
import { rootOf } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import type { Reader, Tx } from '../../storage/db.ts'
import type { TagRow } from '../../storage/schema/tables.ts'
import { findPolicy } from './policy-rows.ts'
import { findMatching, matchesAny } from './tag-patterns.ts'

/** Immutable tags cannot be moved or deleted by any caller or method: enforced here, wherever tags are written. */

export type ImmutableTagsPolicy = Pick<RepoPolicy, 'immutableTags'>

export function isImmutable({ immutableTags }: ImmutableTagsPolicy, name: string): boolean {
  if (immutableTags === undefined) return false
  const { patterns, exceptions } = immutableTags
  return matchesAny(patterns, name) && !matchesAny(exceptions, name)
}

/** Throws code 9 for an immutable tag. Its repo is locked. */
export async function requireTagMutable(tx: Tx, { uid, parent, name }: TagRow): Promise<void> {
  const policy = await findPolicy(tx, parent)
  if (policy !== undefined && isImmutable(policy, name))
    throw await tagImmutableError(tx, policy, { uid, parent, name })
}

async function tagImmutableError(
  reader: Reader,
  { immutableTags }: ImmutableTagsPolicy,
  { uid, parent, name }: Pick<TagRow, 'uid' | 'parent' | 'name'>,
): Promise<ApiError> {
  const repo = await reader
    .selectFrom('repos')
    .select('name')
    .where('root', '=', rootOf(parent))
    .where('uid', '=', parent)
    .executeTakeFirst()
  return forbiddenByPolicy(
    'TAG_IMMUTABLE',
    `tag ${name} of repo ${repo?.name ?? parent} is immutable by the policy of the repo: it matches the pattern ${findMatching(immutableTags?.patterns ?? [], name)}. Moving or deleting it requires a policy that excludes it; changing the policy requires repo_policies.update.`,
    uid,
  )
}

/**
 * Throws code 9 for a manifest with an immutable tag, or one of an index with an immutable tag. `policy`: that of the repo, which is locked
 * for a change.
 */
export async function requireManifestMutable(
  reader: Reader,
  repo: string,
  digest: string,
  policy: ImmutableTagsPolicy | undefined,
): Promise<void> {
  if ((policy?.immutableTags?.patterns.length ?? 0) === 0) return
  const root = rootOf(repo)
  // Visit each manifest once: nested indexes can have very many paths to it.
  const seen = new Set([digest])
  const queue = [digest]
  for (let at = 0; at < queue.length; ) {
    const batch = queue.slice(at, at + limits.retentionBatchRows)
    at += batch.length
    const tags = await reader
      .selectFrom('tags')
      .select(['name', 'uid'])
      .where('root', '=', root)
      .where('parent', '=', repo)
      .where('digest', 'in', batch)
      .execute()
    const tag = tags.find(({ name }) => policy !== undefined && isImmutable(policy, name))
    if (tag !== undefined && policy !== undefined)
      throw await tagImmutableError(reader, policy, { ...tag, parent: repo })
    const parents = await reader
      .selectFrom('manifest_references')
      .select('manifest')
      .where('root', '=', root)
      .where('repo', '=', repo)
      .where('digest', 'in', batch)
      .where('kind', '=', 'manifest')
      .execute()
    for (const { manifest } of parents) {
      if (seen.has(manifest)) continue
      seen.add(manifest)
      queue.push(manifest)
    }
  }
}
