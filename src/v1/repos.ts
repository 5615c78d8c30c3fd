import { create } from '@bufbuild/protobuf'
import {
  type Registry,
  type Repo,
  RepoCountSchema,
  RepoListSchema,
  RepoSchema,
} from '#gen/chainguard/platform/registry/registry_pb.js'
import {
  type Repo as NewRepo,
  RepoSchema as NewRepoSchema,
  type RepoReadme,
  ReposService,
} from '#gen/chainguard/platform/registry/v2beta1/repos_pb.js'
import { accessRule } from '../auth/authorize.ts'
import { accessOf, allowed, requireCapabilities } from '../core/allowed.ts'
import type { Call, Handlers } from '../core/call.ts'
import { type CapabilitySet, includesAll } from '../core/capabilities.ts'
import { ApiError, Code, type FieldViolation, failedPrecondition, notFound } from '../core/errors.ts'
import { limits } from '../core/limits.ts'
import { updated } from '../core/message.ts'
import { parentOf, rootOf, type Uid } from '../core/uid.ts'
import { REPO_TYPE } from '../registry/parent-repo.ts'
import { changeReadme, checkNewReadme, readmesOf } from '../registry/readme.ts'
import { countCopies } from '../registry/repo-source.ts'
import {
  type ChangedRepo,
  mayConfigure,
  nameTaken,
  type RepoOptions,
  repoChanges,
} from '../registry/repos.ts'
import type { Tx } from '../storage/db.ts'
import { type Changed, mutate } from '../storage/mutation.ts'
import { findUid, lockResource, readResource } from '../storage/rows.ts'
import type { Store } from '../storage/store.ts'
import type { RepoRow } from '../storage/tables.ts'
import { repoWords } from './repo-words.ts'
import { inWords, narrowed, nothing, respelled, type Translators, wholeList } from './translation.ts'

/**
 * Repos of version 1. There the page that introduces a repo is a field of it, and a create may find the repo there already: both are
 * more than one call of the newer service, and still one change.
 */

type Names = 'createRepo' | 'updateRepo' | 'getRepoCountBySource'

const spelled = respelled({ parent: 'parentId', content: 'readme' }, repoWords)

const { listRepos, deleteRepo } = ReposService.method

export function repoTranslators({
  db,
}: Pick<Store, 'db'>): Required<Pick<Translators<typeof Registry>, 'listRepos' | 'deleteRepo'>> {
  return {
    listRepos: ({ uidp, name, id }, ask) =>
      inWords(spelled, async () => {
        const within = narrowed(uidp, { id })
        if (within === nothing) return create(RepoListSchema)
        let bytes = 0
        return wholeList(ask, listRepos, { uidp: within, name }, async ({ repos }) => {
          // Whoever may list a repo may read its page.
          const readmes = await readmesOf(db.kysely, repos.map(showing))
          for (const readme of readmes) bytes += Buffer.byteLength(readme?.content ?? '')
          if (bytes > limits.listedReadmesBytesMax) throw tooLong()
          return create(RepoListSchema, { items: repos.map((repo, at) => shown(repo, readmes[at])) })
        })
      }),

    deleteRepo: ({ id }, ask) => inWords(spelled, () => ask(deleteRepo, { uid: id })),
  }
}

export function repoHandlers(
  store: Store,
  options: RepoOptions,
): Required<Pick<Handlers<typeof Registry>, Names>> {
  const changes = repoChanges(store, options)

  /** The rest of a change: its page, in the same transaction. */
  const withPage = async (
    tx: Tx,
    call: Call,
    { row, answer, unchanged }: ChangedRepo,
    page: Page,
  ): Promise<Changed<Repo>> => {
    const readme = await changeReadme(tx, row, page.unsafe, (current) => {
      const { grants } = accessOf(call)
      if (page.content === current.content) return current
      // A repo that copies another one has the page of that one, unless it says otherwise.
      const mayBeEmpty = row.source === '' && includesAll(grants.at(row.uid), mayWritePages)
      if (page.content === '' && !mayBeEmpty) return current
      requireCapabilities(grants, row.uid, mayWritePages, 'write the page of a repo')
      return { ...current, content: page.content }
    })
    return {
      uid: row.uid,
      answer: shown(answer, readme.answer),
      unchanged: unchanged === true && readme.unchanged === true,
    }
  }

  /** A page is read only for those who may write one: it takes long, and the others are told so in the transaction. */
  const pageOf = async (
    call: Call,
    scope: string,
    { readme: content }: Repo,
    shown: () => Promise<RepoRow | undefined>,
  ): Promise<Page> => {
    if (content === '' || !includesAll(accessOf(call).grants.at(scope), mayWritePages))
      return { content, unsafe: undefined }
    return { content, unsafe: await checkNewReadme(store.db.kysely, await shown(), content) }
  }

  const upsert = async (call: Call, asked: NewRepo, page: Page, preventExisting: boolean) => {
    const group = allowed(call).scope as Uid
    return mutate(
      store,
      call,
      async (tx) => {
        const there = preventExisting ? undefined : await holdRepoNamed(store, tx, group, asked.name)
        if (there === undefined)
          return withPage(
            tx,
            call,
            await changes.add(tx, call, group, whole(call, group, nothingYet, asked)),
            page,
          )
        // Before anything that tells of it: who may create repos need not see those that are there (R35).
        requireCapabilities(accessOf(call).grants, group, mayUpdate, 'change a repo that is there already')
        const changed = await changes.change(tx, call, there, (current) => whole(call, there, current, asked))
        return withPage(tx, call, changed, page)
      },
      () => nameTaken(store, call, group, asked.name),
    )
  }

  return {
    createRepo: ({ repo = create(RepoSchema), preventExisting }, call) =>
      inWords(spelled, async () => {
        const group = allowed(call).scope
        const page = await pageOf(call, group, repo, async () => {
          const uid = await findUid(store.db, 'repos', {
            root: rootOf(group),
            parent: group,
            name: repo.name,
          })
          return uid === undefined ? undefined : readResource(store.db, 'repos', uid)
        })
        const asked = newRepo(repo)
        try {
          return await upsert(call, asked, page, preventExisting)
        } catch (failure) {
          // Somebody else made it since: now it is there to be changed.
          const raced = failure instanceof ApiError && failure.code === Code.ALREADY_EXISTS
          if (!raced || preventExisting) throw failure
          return upsert(call, asked, page, preventExisting)
        }
      }),

    updateRepo: (repo, call) =>
      inWords(spelled, async () => {
        const { scope } = allowed(call)
        const page = await pageOf(call, scope, repo, () => readResource(store.db, 'repos', scope))
        const asked = newRepo(repo)
        return mutate(
          store,
          call,
          async (tx) =>
            withPage(
              tx,
              call,
              await changes.change(tx, call, scope, (current) => whole(call, scope, current, asked)),
              page,
            ),
          () => nameTaken(store, call, parentOf(scope), asked.name),
        )
      }),

    async getRepoCountBySource(_request, call) {
      const { scope } = allowed(call)
      if ((await readResource(store.db, 'repos', scope)) === undefined) throw notFound(REPO_TYPE, scope)
      const count = await countCopies(store, accessOf(call).grants, scope)
      return create(RepoCountSchema, { count: BigInt(count) })
    },
  }
}

/** What the newer methods ask of their callers. */
const mayUpdate = asksFor('updateRepo')
const mayWritePages = asksFor('updateRepoReadme')

function asksFor(name: 'updateRepo' | 'updateRepoReadme'): CapabilitySet {
  const rule = accessRule(ReposService.method[name])
  if (rule.kind !== 'scoped') throw new Error(`${name} is not scoped`)
  return rule.capabilities
}

/** The page that a caller wants a repo to have, and what makes it unsafe. */
interface Page {
  readonly content: string
  readonly unsafe: FieldViolation | undefined
}

const nothingYet = create(NewRepoSchema)

function newRepo(repo: Repo): NewRepo {
  return create(NewRepoSchema, repoWords.toNew(repo))
}

/**
 * What a repo becomes when all of it is replaced. A repo that copies another one has nothing of its own in the catalogue, and a
 * caller who may not write there has nothing to say: what they leave empty stays.
 */
function whole(call: Call, scope: string, current: NewRepo, asked: NewRepo): NewRepo {
  const next = withEnd(call, scope, updated(NewRepoSchema, current, asked, ['*']), asked)
  const kept = !mayConfigure(call, scope)
  if (!kept && (current.syncConfig === undefined || next.syncConfig === undefined)) return next
  const { catalogTier, bundles, aliases, activeTags } = current
  const syncConfig = kept ? keptSync(current, next) : next.syncConfig
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
function withEnd(call: Call, scope: string, next: NewRepo, { syncConfig: asked }: NewRepo): NewRepo {
  if (next.syncConfig === undefined || asked === undefined || !mayConfigure(call, scope)) return next
  const { expirationTime = next.syncConfig.expirationTime, gracePeriod } = asked
  const syncConfig = { ...next.syncConfig, gracePeriod, ...(expirationTime && { expirationTime }) }
  return { ...next, syncConfig }
}

function keptSync({ syncConfig: current }: NewRepo, { syncConfig: next }: NewRepo): NewRepo['syncConfig'] {
  if (current === undefined || next === undefined) return next ?? current
  return {
    ...next,
    source: next.source || current.source,
    google: next.google || current.google,
    amazon: next.amazon || current.amazon,
    azure: next.azure || current.azure,
  }
}

function shown(repo: NewRepo, readme: RepoReadme | undefined): Repo {
  return { ...repoWords.toOld(repo), readme: readme?.content ?? '' }
}

function showing({ uid, syncConfig }: NewRepo) {
  return { root: rootOf(uid), uid, source: syncConfig?.source ?? '' }
}

/** The repo of a name in a group, this transaction's alone. Undefined where there is none, or it is being deleted. */
async function holdRepoNamed(
  { db }: Store,
  tx: Tx,
  group: string,
  name: string,
): Promise<string | undefined> {
  const uid = await findUid({ kysely: tx }, 'repos', { root: rootOf(group), parent: group, name })
  return uid && (await lockResource(db, tx, 'repos', uid, 'update'))?.uid
}

function tooLong(): ApiError {
  const description = `the pages of these repos have more than ${limits.listedReadmesBytesMax} bytes, which one answer does not hold; narrow the filter, or use ReposService/ListRepos and GetRepoReadme`
  return failedPrecondition('LIST_TOO_LONG', description)
}
