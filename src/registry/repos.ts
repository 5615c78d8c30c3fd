import { create, equals, fromBinary, toBinary } from '@bufbuild/protobuf'
import { EmptySchema } from '@bufbuild/protobuf/wkt'
import { Capability } from '#gen/capabilities/capabilities_pb.js'
import { type Repo, RepoSchema, ReposService } from '#gen/chainguard/platform/registry/v2beta1/repos_pb.js'
import { accessOf, allowed, requireCapabilities } from '../core/allowed.ts'
import { type Call, implement } from '../core/call.ts'
import { setOf } from '../core/capabilities.ts'
import { alreadyExists, failedPrecondition, notFound } from '../core/errors.ts'
import { checkDescription, checkName, refuseIfAny } from '../core/fields.ts'
import { timestampOf, updated } from '../core/message.ts'
import { timeSortFields } from '../core/order-by.ts'
import { parentOf, rootOf, type Uid } from '../core/uid.ts'
import { holdGroup } from '../iam/parent-group.ts'
import { listPage } from '../storage/list.ts'
import { mutate } from '../storage/mutation.ts'
import {
  deleteResource,
  holdForChange,
  insertResource,
  type Kind,
  nextUpdate,
  readResource,
  updateResource,
} from '../storage/rows.ts'
import type { Store } from '../storage/store.ts'
import type { RepoRow } from '../storage/tables.ts'
import { hasTags } from './tags.ts'

/**
 * Repos: where images of a group live. A group's repos differ in name. What describes an image in the catalogue is for the
 * operator to write.
 */

const TYPE = 'registry.chainguard.dev/Repo'

const KIND: Kind<'repos', typeof RepoSchema> = {
  collection: 'repos',
  schema: RepoSchema,
  type: TYPE,
  toMessage: toRepo,
}

export function reposService(store: Store) {
  const { db, clock, uids } = store

  return implement(ReposService, {
    async listRepos(request, call) {
      const { rows, ...page } = await listPage(store, call, request, {
        collection: 'repos',
        sortFields: { uid: 'uid', name: 'name', ...timeSortFields },
        defaultOrder: 'uid',
        equals: { name: request.name },
      })
      return {
        $typeName: 'chainguard.platform.registry.v2beta1.ListReposResponse' as const,
        repos: rows.map(toRepo),
        ...page,
      }
    },

    async getRepo(_request, call) {
      const { scope } = allowed(call)
      const row = await readResource(db, 'repos', scope)
      if (row === undefined) throw notFound(TYPE, scope)
      return toRepo(row)
    },

    async createRepo({ repo = create(RepoSchema) }, call) {
      const group = allowed(call).scope as Uid
      requireOperator(call, group, create(RepoSchema), repo)
      return mutate(
        store,
        call,
        async (tx) => {
          await holdGroup(db, tx, group)
          refuseIfAny(checkName(repo.name), checkDescription(repo.description))
          const now = clock()
          const row: RepoRow = {
            root: rootOf(group),
            uid: uids.below(group),
            parent: group,
            name: repo.name,
            description: repo.description,
            catalog_tier: repo.catalogTier,
            configuration: configurationOf(repo),
            created_ms: now,
            updated_ms: now,
          }
          await insertResource(db, tx, 'repos', row)
          return { uid: row.uid, answer: toRepo(row) }
        },
        () => nameTaken(group, repo.name),
      )
    },

    async updateRepo({ repo: patch = create(RepoSchema), updateMask }, call) {
      const { scope } = allowed(call)
      let name = patch.name
      return mutate(
        store,
        call,
        async (tx) => {
          const { row, current } = await holdForChange(db, tx, call, KIND, scope)
          const next = updated(RepoSchema, current, patch, updateMask?.paths)
          if (equals(RepoSchema, current, next)) return { uid: scope, answer: current, unchanged: true }
          refuseIfAny(checkName(next.name), checkDescription(next.description))
          requireOperator(call, scope, current, next)
          name = next.name
          const changed = {
            name: next.name,
            description: next.description,
            catalog_tier: next.catalogTier,
            configuration: configurationOf(next),
            updated_ms: nextUpdate(store, row),
          }
          await updateResource(tx, 'repos', scope, changed)
          return { uid: scope, answer: toRepo({ ...row, ...changed }) }
        },
        () => nameTaken(parentOf(scope), name),
      )
    },

    async deleteRepo(_request, call) {
      const { scope } = allowed(call)
      return mutate(store, call, async (tx) => {
        await holdForChange(db, tx, call, KIND, scope)
        if (await hasTags(tx, scope))
          throw failedPrecondition('RESOURCE_NOT_EMPTY', `repo ${scope} still contains tags`)
        await deleteResource(db, tx, 'repos', scope)
        return { uid: scope, answer: create(EmptySchema) }
      })
    },
  })
}

function toRepo(row: RepoRow): Repo {
  return {
    ...fromBinary(RepoSchema, row.configuration),
    uid: row.uid,
    name: row.name,
    description: row.description,
    catalogTier: row.catalog_tier,
    createTime: timestampOf(row.created_ms),
    updateTime: timestampOf(row.updated_ms),
  }
}

/** What is stored as a message: all that no column has. */
function configurationOf({ bundles, aliases, activeTags, syncConfig, customOverlay }: Repo): Uint8Array {
  const configuration = create(RepoSchema, { bundles, aliases, activeTags })
  if (syncConfig !== undefined) configuration.syncConfig = syncConfig
  if (customOverlay !== undefined) configuration.customOverlay = customOverlay
  return toBinary(RepoSchema, configuration)
}

const operatorOnly = setOf([Capability.CAP_REPO_INTERNAL_ADMIN])

/** Throws code 7 when a caller who is not the operator would change what only the operator writes. */
function requireOperator(call: Call, scope: string, current: Repo, next: Repo): void {
  const theirs = ({ catalogTier, bundles, aliases, activeTags, syncConfig }: Repo) =>
    Buffer.from(
      toBinary(
        RepoSchema,
        create(RepoSchema, { catalogTier, bundles, aliases, activeTags, ...(syncConfig && { syncConfig }) }),
      ),
    )
  if (theirs(current).equals(theirs(next))) return
  requireCapabilities(
    accessOf(call).grants,
    scope,
    operatorOnly,
    'change catalogue and sync fields of a repo',
  )
}

function nameTaken(group: string, name: string) {
  return alreadyExists(TYPE, name, `a repo in ${group} is named ${name} already`)
}
