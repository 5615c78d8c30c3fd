import { type CapabilitySet, includesAll } from '@berth/contract/capabilities.ts'
import {
  type Registry,
  type Repo,
  RepoCountSchema,
  RepoListSchema,
  RepoSchema,
} from '@berth/contract/gen/chainguard/platform/registry/registry_pb.js'
import {
  CustomOverlaySchema,
  type Repo as NewRepo,
  RepoSchema as NewRepoSchema,
  type RepoReadme,
  ReposService,
} from '@berth/contract/gen/chainguard/platform/registry/v2beta1/repos_pb.js'
import { create, toBinary } from '@bufbuild/protobuf'
import { ApiError, Code, type FieldViolation, failedPrecondition, notFound } from '../../api/errors.ts'
import { applyUpdate } from '../../api/messages.ts'
import { parentOf, rootOf, type Uid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { authorizationOf, requireCapabilities, requireScope } from '../../pipeline/authorization.ts'
import { accessRuleOf } from '../../pipeline/authorize.ts'
import type { Call, Handlers } from '../../pipeline/call.ts'
import { REPO_TYPE } from '../../registry/resources/parent-repo.ts'
import { checkNewReadme, readReadmes, updateReadme } from '../../registry/resources/repo-readmes.ts'
import {
  type ChangedRepo,
  mayConfigure,
  type RepoOptions,
  repoChanges,
  repoNameTakenError,
} from '../../registry/resources/repos.ts'
import { countCopies } from '../../registry/resources/sources/repo-source.ts'
import { type MutationResult, mutate } from '../../storage/changes/mutation.ts'
import type { Tx } from '../../storage/db.ts'
import { findUid, lockResource, readResource } from '../../storage/resource-rows.ts'
import type { RepoRow } from '../../storage/schema/tables.ts'
import type { Store } from '../../storage/store.ts'
import {
  fieldPathMapper,
  listAllPages,
  narrowFilter,
  noMatch,
  type Translators,
  translateErrors,
} from '../mapping/translation.ts'
import { repoMapping } from './repo-mapping.ts'

/**
 * Repos of version 1. The README of a repo is one of its fields there, and a create may find an existing repo: both need several calls of
 * the newer service, and are still one change.
 */

type Names = 'createRepo' | 'updateRepo' | 'getRepoCountBySource'

const toV1Path = fieldPathMapper({ parent: 'parentId', content: 'readme' }, repoMapping)

const { listRepos, deleteRepo } = ReposService.method

export function repoTranslators({
  db,
}: Pick<Store, 'db'>): Required<Pick<Translators<typeof Registry>, 'listRepos' | 'deleteRepo'>> {
  return {
    listRepos: ({ uidp, name, id }, ask) =>
      translateErrors(toV1Path, async () => {
        const filter = narrowFilter(uidp, { id })
        if (filter === noMatch) return create(RepoListSchema)
        let bytes = 0
        return listAllPages(ask, listRepos, { uidp: filter, name }, async ({ repos }) => {
          // Callers who may list a repo may read its README.
          const readmes = await readReadmes(db.kysely, repos.map(readmeOwnerOf))
          for (const readme of readmes) bytes += Buffer.byteLength(readme?.content ?? '')
          for (const repo of repos)
            if (repo.customOverlay !== undefined)
              bytes += toBinary(CustomOverlaySchema, repo.customOverlay).length
          if (bytes > limits.listedReadmesBytesMax) throw listTooLongError()
          return create(RepoListSchema, { items: repos.map((repo, at) => toV1Repo(repo, readmes[at])) })
        })
      }),

    deleteRepo: ({ id }, ask) => translateErrors(toV1Path, () => ask(deleteRepo, { uid: id })),
  }
}

export function repoHandlers(
  store: Store,
  options: RepoOptions,
): Required<Pick<Handlers<typeof Registry>, Names>> {
  const changes = repoChanges(store, options)

  /** The rest of a change: the README, in the same transaction. */
  const applyReadme = async (
    tx: Tx,
    call: Call,
    { row, response, unchanged }: ChangedRepo,
    newReadme: NewReadme,
  ): Promise<MutationResult<Repo>> => {
    const readme = await updateReadme(tx, row, newReadme.unsafe, (current) => {
      const { grants } = authorizationOf(call)
      if (newReadme.content === current.content) return current
      // A repo that copies another one shows the README of that one, unless it has its own.
      const mayBeEmpty = row.source === '' && includesAll(grants.at(row.uid), readmeCapabilities)
      if (newReadme.content === '' && !mayBeEmpty) return current
      requireCapabilities(grants, row.uid, readmeCapabilities, 'write the README of a repo')
      return { ...current, content: newReadme.content }
    })
    return {
      uid: row.uid,
      response: toV1Repo(response, readme.response),
      unchanged: unchanged === true && readme.unchanged === true,
    }
  }

  /** Checks a README only for callers who may write one, because it takes long; others are denied in the transaction. */
  const checkReadmeOf = async (
    call: Call,
    scope: string,
    { readme: content }: Repo,
    readCurrent: () => Promise<RepoRow | undefined>,
  ): Promise<NewReadme> => {
    if (content === '' || !includesAll(authorizationOf(call).grants.at(scope), readmeCapabilities))
      return { content, unsafe: undefined }
    return { content, unsafe: await checkNewReadme(store.db.kysely, await readCurrent(), content) }
  }

  const upsert = async (call: Call, requested: NewRepo, newReadme: NewReadme, preventExisting: boolean) => {
    const group = requireScope(call).scope as Uid
    return mutate(
      store,
      call,
      async (tx) => {
        const existing = preventExisting ? undefined : await lockRepoNamed(store, tx, group, requested.name)
        if (existing === undefined)
          return applyReadme(
            tx,
            call,
            await changes.create(tx, call, group, replaceRepo(call, group, emptyRepo, requested)),
            newReadme,
          )
        // Before anything that reveals it: callers who may create repos may not be allowed to see existing ones (R35).
        requireCapabilities(
          authorizationOf(call).grants,
          group,
          updateCapabilities,
          'change an existing repo',
        )
        const changed = await changes.update(tx, call, existing, (current) =>
          replaceRepo(call, existing, current, requested),
        )
        return applyReadme(tx, call, changed, newReadme)
      },
      () => repoNameTakenError(store, call, group, requested.name),
    )
  }

  return {
    createRepo: ({ repo = create(RepoSchema), preventExisting }, call) =>
      translateErrors(toV1Path, async () => {
        const group = requireScope(call).scope
        const newReadme = await checkReadmeOf(call, group, repo, async () => {
          const uid = await findUid(store.db, 'repos', {
            root: rootOf(group),
            parent: group,
            name: repo.name,
          })
          return uid === undefined ? undefined : readResource(store.db, 'repos', uid)
        })
        const requested = toNewRepo(repo)
        try {
          return await upsert(call, requested, newReadme, preventExisting)
        } catch (failure) {
          // Another caller has created it since: now it exists and can be changed.
          const isConflict = failure instanceof ApiError && failure.code === Code.ALREADY_EXISTS
          if (!isConflict || preventExisting) throw failure
          return upsert(call, requested, newReadme, preventExisting)
        }
      }),

    updateRepo: (repo, call) =>
      translateErrors(toV1Path, async () => {
        const { scope } = requireScope(call)
        const newReadme = await checkReadmeOf(call, scope, repo, async () =>
          readResource(store.db, 'repos', scope),
        )
        const requested = toNewRepo(repo)
        return mutate(
          store,
          call,
          async (tx) =>
            applyReadme(
              tx,
              call,
              await changes.update(tx, call, scope, (current) =>
                replaceRepo(call, scope, current, requested),
              ),
              newReadme,
            ),
          () => repoNameTakenError(store, call, parentOf(scope), requested.name),
        )
      }),

    async getRepoCountBySource(_request, call) {
      const { scope } = requireScope(call)
      if ((await readResource(store.db, 'repos', scope)) === undefined) throw notFound(REPO_TYPE, scope)
      const count = await countCopies(store, authorizationOf(call).grants, scope)
      return create(RepoCountSchema, { count: BigInt(count) })
    },
  }
}

/** Returns the capabilities that a newer method requires. */
const updateCapabilities = requiredCapabilities('updateRepo')
const readmeCapabilities = requiredCapabilities('updateRepoReadme')

function requiredCapabilities(name: 'updateRepo' | 'updateRepoReadme'): CapabilitySet {
  const rule = accessRuleOf(ReposService.method[name])
  if (rule.kind !== 'scoped') throw new Error(`${name} is not scoped`)
  return rule.capabilities
}

/** The requested README of a repo, and what is unsafe in it. */
interface NewReadme {
  readonly content: string
  readonly unsafe: FieldViolation | undefined
}

const emptyRepo = create(NewRepoSchema)

function toNewRepo(repo: Repo): NewRepo {
  return create(NewRepoSchema, repoMapping.toV2(repo))
}

/**
 * Returns a repo after a replacement. A repo that copies another one has no catalog fields of its own, and a caller who may not write
 * them keeps them by leaving them empty.
 */
function replaceRepo(call: Call, scope: string, current: NewRepo, requested: NewRepo): NewRepo {
  const next = withExpirationTime(
    call,
    scope,
    applyUpdate(NewRepoSchema, current, requested, ['*']),
    requested,
  )
  const keepsCatalog = !mayConfigure(call, scope)
  if (!keepsCatalog && (current.syncConfig === undefined || next.syncConfig === undefined)) return next
  const { catalogTier, bundles, aliases, activeTags } = current
  const syncConfig = keepsCatalog ? mergeSyncConfig(current, next) : next.syncConfig
  return {
    ...next,
    catalogTier: next.catalogTier || catalogTier,
    bundles: next.bundles.length === 0 ? bundles : next.bundles,
    aliases: next.aliases.length === 0 ? aliases : next.aliases,
    activeTags: next.activeTags.length === 0 ? activeTags : next.activeTags,
    ...(syncConfig && { syncConfig }),
  }
}

/** In the newer methods the end of copying is output only: here the operator sets it. */
function withExpirationTime(
  call: Call,
  scope: string,
  next: NewRepo,
  { syncConfig: requestedSync }: NewRepo,
): NewRepo {
  if (next.syncConfig === undefined || requestedSync === undefined || !mayConfigure(call, scope)) return next
  const { expirationTime = next.syncConfig.expirationTime, gracePeriod } = requestedSync
  const syncConfig = { ...next.syncConfig, gracePeriod, ...(expirationTime && { expirationTime }) }
  return { ...next, syncConfig }
}

function mergeSyncConfig(
  { syncConfig: current }: NewRepo,
  { syncConfig: next }: NewRepo,
): NewRepo['syncConfig'] {
  if (current === undefined || next === undefined) return next ?? current
  return {
    ...next,
    source: next.source || current.source,
    google: next.google || current.google,
    amazon: next.amazon || current.amazon,
    azure: next.azure || current.azure,
  }
}

function toV1Repo(repo: NewRepo, readme: RepoReadme | undefined): Repo {
  return { ...repoMapping.toV1(repo), readme: readme?.content ?? '' }
}

function readmeOwnerOf({ uid, syncConfig }: NewRepo) {
  return { root: rootOf(uid), uid, source: syncConfig?.source ?? '' }
}

/** Finds and locks the repo of a name in a group. Undefined if there is none, or it is being deleted. */
async function lockRepoNamed(
  { db }: Store,
  tx: Tx,
  group: string,
  name: string,
): Promise<string | undefined> {
  const uid = await findUid({ kysely: tx }, 'repos', { root: rootOf(group), parent: group, name })
  return uid && (await lockResource(db, tx, 'repos', uid, 'update'))?.uid
}

function listTooLongError(): ApiError {
  const description = `the READMEs and overlays of these repos have more than ${limits.listedReadmesBytesMax} bytes, too many for one response; narrow the filter, or use ReposService/ListRepos and GetRepoReadme`
  return failedPrecondition('LIST_TOO_LONG', description)
}
