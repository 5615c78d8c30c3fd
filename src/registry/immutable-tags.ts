import type { RepoPolicy } from '#gen/berth/registry/v1/repo_policies_pb.js'
import { type ApiError, forbiddenByPolicy } from '../core/errors.ts'
import { limits } from '../core/limits.ts'
import { rootOf } from '../core/uid.ts'
import type { Tx } from '../storage/db.ts'
import type { TagRow } from '../storage/tables.ts'
import { policyIn } from './repo-policy-rows.ts'
import { matchesAny } from './tag-patterns.ts'

/** Tags that nobody moves or deletes, whoever asks and however: asked where tags are written, and nowhere else. */

export type ImmutabilityOf = Pick<RepoPolicy, 'immutableTags'>

export function isImmutable({ immutableTags }: ImmutabilityOf, name: string): boolean {
  if (immutableTags === undefined) return false
  const { patterns, exceptions } = immutableTags
  return matchesAny(patterns, name) && !matchesAny(exceptions, name)
}

/** Throws code 9 for a tag that may neither be moved nor deleted. Its repo is held. */
export async function requireMutable(tx: Tx, { uid, parent, name }: TagRow): Promise<void> {
  const policy = await policyIn(tx, parent)
  if (policy !== undefined && isImmutable(policy, name)) throw await tagImmutable(tx, { uid, parent, name })
}

async function tagImmutable(
  tx: Tx,
  { uid, parent, name }: Pick<TagRow, 'uid' | 'parent' | 'name'>,
): Promise<ApiError> {
  const repo = await tx
    .selectFrom('repos')
    .select('name')
    .where('root', '=', rootOf(parent))
    .where('uid', '=', parent)
    .executeTakeFirst()
  return forbiddenByPolicy(
    'TAG_IMMUTABLE',
    `tag ${name} of repo ${repo?.name ?? parent} is immutable by the policy of the repo. Moving or deleting it requires a policy that excludes it; changing the policy requires repo_policies.update.`,
    uid,
  )
}

/** Throws code 9 for a manifest that an immutable tag points at, or an index that one points at. The repo is held. */
export async function requireNotImmutable(tx: Tx, repo: string, digest: string): Promise<void> {
  const policy = await policyIn(tx, repo)
  if ((policy?.immutableTags?.patterns.length ?? 0) === 0) return
  const root = rootOf(repo)
  // Each manifest is looked at once, however many ways lead to it: indexes in layers have very many.
  const seen = new Set([digest])
  const looking = [digest]
  for (let at = 0; at < looking.length; ) {
    const some = looking.slice(at, at + limits.retentionRowsAtOnce)
    at += some.length
    const tags = await tx
      .selectFrom('tags')
      .select(['name', 'uid'])
      .where('root', '=', root)
      .where('parent', '=', repo)
      .where('digest', 'in', some)
      .execute()
    const tag = tags.find(({ name }) => policy !== undefined && isImmutable(policy, name))
    if (tag !== undefined) throw await tagImmutable(tx, { ...tag, parent: repo })
    const needing = await tx
      .selectFrom('manifest_references')
      .select('manifest')
      .where('root', '=', root)
      .where('repo', '=', repo)
      .where('digest', 'in', some)
      .where('kind', '=', 'manifest')
      .execute()
    for (const { manifest } of needing) {
      if (seen.has(manifest)) continue
      seen.add(manifest)
      looking.push(manifest)
    }
  }
}
