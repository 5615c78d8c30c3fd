import { create } from '@bufbuild/protobuf'
import { GroupsService, OrgKind } from '#gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { RepoSchema, ReposService } from '#gen/chainguard/platform/registry/v2beta1/repos_pb.js'
import { union } from '../core/capabilities.ts'
import { fullNameOf } from '../core/method-name.ts'
import type { Uid } from '../core/uid.ts'
import { addGroup } from '../iam/groups.ts'
import { holdGroup } from '../iam/parent-group.ts'
import { addRepo } from '../registry/repos.ts'
import type { Db, Tx } from '../storage/db.ts'
import { mutateBy, recordChange } from '../storage/mutation.ts'
import { lockResource } from '../storage/rows.ts'
import { needs, requireAt } from './access.ts'
import { findPlace, type Place } from './names.ts'
import { mutatorOf, nameUnknown, type Registry, type Visit } from './visit.ts'

/** Throws DENIED where the repo that is pushed to, or a folder above it, does not exist and the caller may not create it. */
export function requireMayCreate({ place, visitor }: Pick<Visit, 'place' | 'visitor'>): void {
  const { name, group, missing, repo } = place
  if (repo !== undefined) return
  const needed = missing.length === 0 ? needs.createRepo : union(needs.createRepo, needs.createFolder)
  requireAt(visitor, place, needed, 'push')
  if (group === undefined) throw nameUnknown(name)
}

/**
 * The repo that is pushed to; made where it is not there, with the folders above it. Throws DENIED for who may push, but not make what
 * is missing.
 */
export async function repoToPush(registry: Registry, visit: Visit): Promise<Uid> {
  const { store } = registry
  const { name, group, missing, repo } = visit.place
  if (repo !== undefined) return repo
  requireMayCreate(visit)
  if (group === undefined) throw nameUnknown(name)
  const by = mutatorOf(visit, '')
  try {
    return await mutateBy(
      store,
      { ...by, method: fullNameOf(ReposService.method.createRepo) },
      async (tx) => {
        let parent = await holdGroup(store.db, tx, group)
        for (const folder of missing) {
          const fields = { name: folder, description: '', verified: false, kind: OrgKind.UNSPECIFIED }
          parent = await addGroup(store, tx, parent, fields)
          await recordChange(
            store,
            tx,
            { ...by, method: fullNameOf(GroupsService.method.createGroup) },
            parent.uid,
          )
        }
        const uid = store.uids.below(parent.uid as Uid)
        await addRepo(store, tx, uid, create(RepoSchema, { name: name.repo }), store.clock())
        return { uid, answer: uid }
      },
    )
  } catch (error) {
    if (!store.db.rules.isUniqueViolation(error)) throw error
    // Somebody else made it, or a folder on the way, in this moment.
    return repoToPush(registry, { ...visit, place: await findPlace(store.db, name) })
  }
}

/** Keeps a repo that is pushed to from being deleted until the transaction ends. */
export async function keepRepo(db: Db, tx: Tx, repo: Uid, { name }: Place): Promise<void> {
  if ((await lockResource(db, tx, 'repos', repo, 'share')) === undefined) throw nameUnknown(name)
}
