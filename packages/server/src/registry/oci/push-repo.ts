import { union } from '@berth/contract/capabilities.ts'
import { GroupsService, OrgKind } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import {
  RepoSchema,
  ReposService,
} from '@berth/contract/gen/chainguard/platform/registry/v2beta1/repos_pb.js'
import { create } from '@bufbuild/protobuf'
import { fullMethodName } from '../../api/method-name.ts'
import type { Uid } from '../../api/uid.ts'
import { lockGroup } from '../../iam/groups/parent-group.ts'
import { addGroup } from '../../iam/groups.ts'
import { mutateBy, recordChange } from '../../storage/changes/mutation.ts'
import type { Db, Tx } from '../../storage/db.ts'
import { lockRepoForShare } from '../resources/parent-repo.ts'
import { insertRepo } from '../resources/repos.ts'
import { authorizeRepo, operationCapabilities } from './access.ts'
import { mutatorOf, nameUnknownError, type OciContext, type OciServices } from './context.ts'
import { type RepoReference, resolveRepo } from './repo-names.ts'

/** Throws DENIED if the repo or one of its folders does not exist and the caller may not create it. */
export function requireRepoCreate({ authorization }: Pick<OciContext, 'authorization'>): void {
  const { repository } = authorization
  const { name, group, missingFolders, repo } = repository
  if (repo !== undefined) return
  const needed =
    missingFolders.length === 0
      ? operationCapabilities.createRepo
      : union(operationCapabilities.createRepo, operationCapabilities.createFolder)
  authorizeRepo(authorization, repository, needed, 'push')
  if (group === undefined) throw nameUnknownError(name)
}

/**
 * Returns the repo of a push, creating it and missing folders as needed. Throws DENIED if the caller may push but not create what is
 * missing.
 */
export async function getOrCreateRepo(registry: OciServices, context: OciContext): Promise<Uid> {
  const { store } = registry
  const { name, group, missingFolders, repo } = context.authorization.repository
  if (repo !== undefined) return repo
  requireRepoCreate(context)
  if (group === undefined) throw nameUnknownError(name)
  const mutator = mutatorOf(context, '')
  try {
    return await mutateBy(
      store,
      { ...mutator, method: fullMethodName(ReposService.method.createRepo) },
      async (tx) => {
        let parent = await lockGroup(store.db, tx, group)
        for (const folder of missingFolders) {
          const fields = { name: folder, description: '', verified: false, kind: OrgKind.UNSPECIFIED }
          parent = await addGroup(store, tx, parent, fields)
          await recordChange(
            store,
            tx,
            { ...mutator, method: fullMethodName(GroupsService.method.createGroup) },
            parent.uid,
          )
        }
        const uid = store.uids.child(parent.uid as Uid)
        await insertRepo(store, tx, uid, create(RepoSchema, { name: name.repo }), store.clock())
        return { uid, response: uid }
      },
    )
  } catch (error) {
    if (!store.db.rules.isUniqueViolation(error)) throw error
    // A concurrent request created it or one of its folders.
    const repository = await resolveRepo(store.db, name)
    const authorization = authorizeRepo(context.authorization, repository, operationCapabilities.push, 'push')
    return getOrCreateRepo(registry, { ...context, authorization })
  }
}

/** Locks the repo of a push (FOR SHARE), so that it is not deleted before the transaction ends. */
export function lockPushedRepo(db: Db, tx: Tx, repo: Uid, { name }: RepoReference): Promise<void> {
  return lockRepoForShare(db, tx, repo, () => nameUnknownError(name))
}
