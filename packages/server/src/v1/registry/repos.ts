import { type CapabilitySet, includesAll } from '@berth/contract/capabilities.ts'
import {
  type Registry,
  type Repo,
  RepoCountSchema,
  RepoListSchema,
  RepoSchema,
} from '@berth/contract/gen/chainguard/platform/registry/registry_pb.js'
import {
  type Repo as NewRepo,
  RepoSchema as NewRepoSchema,
  type RepoReadme,
  ReposService,
} from '@berth/contract/gen/chainguard/platform/registry/v2beta1/repos_pb.js'
import { create } from '@bufbuild/protobuf'
import { ApiError, Code, type FieldViolation, failedPrecondition, notFound } from '../../api/errors.ts'
import { applyUpdate } from '../../api/messages.ts'
import { parentOf, rootOf, type Uid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { authorizationOf, requireCapabilities, requireScope } from '../../pipeline/authorization.ts'
import { accessRuleOf } from '../../pipeline/authorize.ts'
import type { Call, Handlers } from '../../pipeline/call.ts'
import { REPO_TYPE } from '../../registry/resources/parent-repo.ts'
import { checkNewReadme, readReadmes, updateReadme } from '../../registry/resources/repo-readmes.ts'
import { countCopies } from '../../registry/resources/repo-source.ts'
import {
  type ChangedRepo,
  mayConfigure,
  type RepoOptions,
  repoChanges,
  repoNameTakenError,
} from '../../registry/resources/repos.ts'
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
 * Repos of version 1. There the page that introduces a repo is a field of it, and a create may find the repo there already: both are
 * more than one call of the newer service, and still one change.
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
          // Whoever may list a repo may read its page.
          const readmes = await readReadmes(db.kysely, repos.map(readmeOwnerOf))
          for (const readme of readmes) bytes += Buffer.byteLength(readme?.content ?? '')
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

  /** The rest of a change: its page, in the same transaction. */
  const applyReadme = async (
    tx: Tx,
    call: Call,
    { row, response: answer, unchanged }: ChangedRepo,
    newReadme: NewReadme,
  ): Promise<MutationResult<Repo>> => {
    const readme = await updateReadme(tx, row, newReadme.unsafe, (current) => {
      const { grants } = authorizationOf(call)
      if (newReadme.content === current.content) return current
      // A repo that copies another one has the page of that one, unless it says otherwise.
      const mayBeEmpty = row.source === '' && includesAll(grants.at(row.uid), readmeCapabilities)
      if (newReadme.content === '' && !mayBeEmpty) return current
      requireCapabilities(grants, row.uid, readmeCapabilities, 'write the page of a repo')
      return { ...current, content: newReadme.content }
    })
    return {
      uid: row.uid,
      response: toV1Repo(answer, readme.response),
      unchanged: unchanged === true && readme.unchanged === true,
    }
  }

  /** A page is read only for those who may write one: it takes long, and the others are told so in the transaction. */
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
        // Before anything that tells of it: who may create repos need not see those that are there (R35).
        requireCapabilities(
          authorizationOf(call).grants,
          group,
          updateCapabilities,
          'change a repo that is there already',
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
          // Somebody else made it since: now it is there to be changed.
          const isConflict = failure instanceof ApiError && failure.code === Code.ALREADY_EXISTS
          if (!isConflict || preventExisting) throw failure
          return upsert(call, requested, newReadme, preventExisting)
        }
      }),

    updateRepo: (repo, call) =>
      translateErrors(toV1Path, async () => {
        const { scope } = requireScope(call)
        const newReadme = await checkReadmeOf(call, scope, repo, () => readResource(store.db, 'repos', scope))
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

/** What the newer methods ask of their callers. */
const updateCapabilities = requiredCapabilities('updateRepo')
const readmeCapabilities = requiredCapabilities('updateRepoReadme')

function requiredCapabilities(name: 'updateRepo' | 'updateRepoReadme'): CapabilitySet {
  const rule = accessRuleOf(ReposService.method[name])
  if (rule.kind !== 'scoped') throw new Error(`${name} is not scoped`)
  return rule.capabilities
}

/** The page that a caller wants a repo to have, and what makes it unsafe. */
interface NewReadme {
  readonly content: string
  readonly unsafe: FieldViolation | undefined
}

const emptyRepo = create(NewRepoSchema)

function toNewRepo(repo: Repo): NewRepo {
  return create(NewRepoSchema, repoMapping.toV2(repo))
}

/**
 * What a repo becomes when all of it is replaced. A repo that copies another one has nothing of its own in the catalogue, and a
 * caller who may not write there has nothing to say: what they leave empty stays.
 */
function replaceRepo(call: Call, scope: string, current: NewRepo, requested: NewRepo): NewRepo {
  const next = withExpirationTime(
    call,
    scope,
    applyUpdate(NewRepoSchema, current, requested, ['*']),
    requested,
  )
  const keepsCatalogue = !mayConfigure(call, scope)
  if (!keepsCatalogue && (current.syncConfig === undefined || next.syncConfig === undefined)) return next
  const { catalogTier, bundles, aliases, activeTags } = current
  const syncConfig = keepsCatalogue ? mergeSyncConfig(current, next) : next.syncConfig
  return {
    ...next,
    catalogTier: next.catalogTier || catalogTier,
    bundles: next.bundles.length === 0 ? bundles : next.bundles,
    aliases: next.aliases.length === 0 ? aliases : next.aliases,
    activeTags: next.activeTags.length === 0 ? activeTags : next.activeTags,
    ...(syncConfig && { syncConfig }),
  }
}

/** When a repo ends to copy another one is output of the newer methods alone: here the operator says so. */
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

/** The repo of a name in a group, this transaction's alone. Undefined where there is none, or it is being deleted. */
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
  const description = `the pages of these repos have more than ${limits.listedReadmesBytesMax} bytes, which one answer does not hold; narrow the filter, or use ReposService/ListRepos and GetRepoReadme`
  return failedPrecondition('LIST_TOO_LONG', description)
}
