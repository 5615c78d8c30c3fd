import {
  type RepoReadme,
  RepoReadmeSchema,
  type ReposService,
} from '@berth/contract/gen/chainguard/platform/registry/v2beta1/repos_pb.js'
import { create, equals } from '@bufbuild/protobuf'
import type { ExpressionBuilder } from 'kysely'
import { type FieldViolation, notFound } from '../../api/errors.ts'
import { requireEtagMatch } from '../../api/etag.ts'
import { requireValid } from '../../api/fields.ts'
import { applyUpdate } from '../../api/messages.ts'
import { rootOf } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { requireScope } from '../../pipeline/authorization.ts'
import type { Handlers } from '../../pipeline/call.ts'
import { type MutationResult, mutate } from '../../storage/changes/mutation.ts'
import type { Reader, Tx } from '../../storage/db.ts'
import { lockResource, readResource } from '../../storage/resource-rows.ts'
import type { RepoRow, Tables } from '../../storage/schema/tables.ts'
import type { Store } from '../../storage/store.ts'
import { checkReadmeInThread } from '../readmes/readme-threads.ts'
import { REPO_TYPE } from './parent-repo.ts'

/**
 * The README of a repo, in Markdown; clients render it to HTML. It has the uid of the repo and is deleted with it. A repo that copies
 * another one and has no README of its own shows that of its source.
 */

export function readmeHandlers(
  store: Store,
): Required<Pick<Handlers<typeof ReposService>, 'getRepoReadme' | 'updateRepoReadme'>> {
  const { db } = store

  return {
    async getRepoReadme(_request, call) {
      const { scope } = requireScope(call)
      const row = await readResource(db, 'repos', scope)
      if (row === undefined) throw notFound(REPO_TYPE, scope)
      const [readme] = await readReadmes(db.kysely, [row])
      return readme ?? create(RepoReadmeSchema, { uid: scope })
    },

    async updateRepoReadme({ repoReadme: patch = create(RepoReadmeSchema), updateMask }, call) {
      const { scope } = requireScope(call)
      const shown = await readResource(db, 'repos', scope)
      if (shown === undefined) throw notFound(REPO_TYPE, scope)
      const unsafe = await checkNewReadme(db.kysely, shown, patch.content)
      return mutate(store, call, async (tx) => {
        const row = await lockResource(db, tx, 'repos', scope, 'update')
        if (row === undefined) throw notFound(REPO_TYPE, scope)
        return updateReadme(tx, row, unsafe, (current) => {
          requireEtagMatch(call, RepoReadmeSchema, current, scope)
          return applyUpdate(RepoReadmeSchema, current, patch, updateMask?.paths)
        })
      })
    },
  }
}

/** Updates the README of a locked repo as `ask` requests. `unsafe`: what checkReadme found in it. */
export async function updateReadme(
  tx: Tx,
  row: RepoRow,
  unsafe: FieldViolation | undefined,
  update: (current: RepoReadme) => RepoReadme,
): Promise<MutationResult<RepoReadme>> {
  const { root, uid } = row
  const [current] = await readReadmes(tx, [row])
  if (current === undefined) throw new Error(`no README for ${uid}`)
  const next = update(current)
  if (equals(RepoReadmeSchema, current, next)) return { uid, response: current, unchanged: true }
  requireValid(
    row.source === ''
      ? unsafe
      : { field: 'content', description: 'a repo that copies another one shows the README of its source' },
  )
  await tx.deleteFrom('repo_readmes').where('root', '=', root).where('uid', '=', uid).execute()
  if (next.content !== '')
    await tx.insertInto('repo_readmes').values({ root, uid, content: next.content }).execute()
  return { uid, response: next }
}

/** The fields of a repo that determine which README it shows. */
type ReadmeOwner = Pick<RepoRow, 'root' | 'uid' | 'source'>

/** Returns the READMEs that repos show, in the same order: each its own, or that of its source, or that of the source's source. */
export async function readReadmes(reader: Reader, repos: readonly ReadmeOwner[]): Promise<RepoReadme[]> {
  const contents = new Map<string, string>()
  let pending = repos.map((repo) => ({ uid: repo.uid, current: repo }))
  // Repos may copy each other in a cycle.
  for (let hops = 0; pending.length > 0 && hops <= limits.readmeSourcesMax; hops++) {
    const own = await reader
      .selectFrom('repo_readmes')
      .select(['uid', 'content'])
      .where(hasUidIn(pending.map(({ current }) => current.uid)))
      .execute()
    const pages = new Map(own.map(({ uid, content }) => [uid, content]))
    const unresolved: typeof pending = []
    for (const { uid, current } of pending) {
      const content = pages.get(current.uid)
      if (content !== undefined) contents.set(uid, content)
      else if (current.source !== '') unresolved.push({ uid, current })
    }
    pending = []
    if (unresolved.length === 0) break
    const rows = await reader
      .selectFrom('repos')
      .select(['root', 'uid', 'source'])
      .where(hasUidIn(unresolved.map(({ current }) => current.source)))
      .execute()
    const sources = new Map(rows.map((row) => [row.uid, row]))
    for (const { uid, current } of unresolved) {
      const source = sources.get(current.source)
      if (source !== undefined) pending.push({ uid, current: source })
    }
  }
  return repos.map(({ uid }) => create(RepoReadmeSchema, { uid, content: contents.get(uid) ?? '' }))
}

function hasUidIn(uids: readonly string[]) {
  return (row: ExpressionBuilder<Tables, 'repos' | 'repo_readmes'>) =>
    row.and([row('root', 'in', [...new Set(uids.map(rootOf))]), row('uid', 'in', [...new Set(uids)])])
}

/**
 * Returns what is unsafe in a new README of a repo. Only for callers who may write it, because the check takes long. A README that the repo
 * already shows is not checked again. Runs outside the transaction, which must stay short.
 */
export async function checkNewReadme(
  reader: Reader,
  repo: ReadmeOwner | undefined,
  content: string,
): Promise<FieldViolation | undefined> {
  const [current] = repo === undefined ? [] : await readReadmes(reader, [repo])
  return content === current?.content ? undefined : checkReadmeInThread(content)
}
