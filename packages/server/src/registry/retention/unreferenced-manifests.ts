import { rootOf } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import type { Db } from '../../storage/db.ts'
import { runText, sqlText } from '../../storage/sql-text.ts'

/** Manifests without a tag, without another manifest that references them, and without an existing subject. */

export interface UntaggedManifest {
  readonly digest: string
  readonly subject: string
  readonly touched_ms: number
}

/**
 * SQL conditions of the uses that keep a manifest `m`. `root`: the placeholder of its organization; a distributed database asks one server
 * only if each table has it.
 */
export const manifestUses = {
  tag: (root: string) =>
    `exists (select 1 from tags t where t.root = ${root} and t.digest = m.digest and t.parent = m.repo)`,
  index: (root: string) =>
    `exists (select 1 from manifest_references r where r.root = ${root} and r.repo = m.repo and r.digest = m.digest and r.kind = 'manifest')`,
  subject: (root: string) =>
    `(m.subject <> '' and exists (select 1 from manifests s where s.root = ${root} and s.repo = m.repo and s.digest = m.subject))`,
  taggedIndex: (
    root: string,
  ) => `exists (select 1 from manifest_references r join tags t on t.root = r.root and t.digest = r.manifest and t.parent = r.repo
    where r.root = ${root} and r.repo = m.repo and r.digest = m.digest and r.kind = 'manifest')`,
} as const

const PAGE = 1000

/**
 * Returns the manifests to delete, each before those that it keeps: first unreferenced ones, then those that only they kept, and so on.
 * `until`: they must have been untouched since then.
 */
export async function manifestsToDelete(
  db: Db,
  repo: string,
  untilMs: number,
  max: number = limits.retentionManifestsMax,
): Promise<string[]> {
  const candidates = new Map<string, UntaggedManifest>()
  for await (const page of pagesOfUntagged(db, repo, untilMs)) {
    for (const manifest of page) candidates.set(manifest.digest, manifest)
    if (candidates.size >= max) break
  }
  const deletable = new Set<string>()
  const dependentsOf = await findDependents(db, repo, candidates)
  const dependencies = new Map<string, string[]>()
  const remaining = new Map<string, number>()
  for (const [digest, dependents] of dependentsOf) {
    remaining.set(digest, dependents.size)
    for (const dependent of dependents) {
      const dependency = dependencies.get(dependent)
      if (dependency === undefined) dependencies.set(dependent, [digest])
      else dependency.push(digest)
    }
    await yieldToEventLoop()
  }
  const free = [...dependentsOf].filter(([, dependents]) => dependents.size === 0).map(([digest]) => digest)
  for (let at = 0; at < free.length; at++) {
    const digest = free[at] as string
    deletable.add(digest)
    for (const dependency of dependencies.get(digest) ?? []) {
      const n = (remaining.get(dependency) ?? 0) - 1
      remaining.set(dependency, n)
      if (n === 0) free.push(dependency)
    }
    await yieldToEventLoop()
  }
  return [...deletable]
}

/** Leaves out manifests of an index with a tag: they are never deleted and must not use up the page. */
async function* pagesOfUntagged(db: Db, repo: string, untilMs: number): AsyncGenerator<UntaggedManifest[]> {
  let after = ''
  for (;;) {
    const sql = sqlText(db.engine)
    const root = () => sql.bind(rootOf(repo))
    const text = `select digest, subject, touched_ms from manifests m
      where root = ${root()} and repo = ${sql.bind(repo)} and digest > ${sql.bind(after)}
        and touched_ms <= ${sql.bind(untilMs)} and not ${manifestUses.tag(root())} and not ${manifestUses.taggedIndex(root())} order by digest limit ${PAGE}`
    const rows = await runText<UntaggedManifest>(db, text, sql)
    if (rows.length === 0) return
    yield rows
    await yieldToEventLoop()
    after = rows.at(-1)?.digest ?? ''
  }
}

/** Returns the existing manifests that each candidate is referenced by or refers to. */
async function findDependents(
  db: Db,
  repo: string,
  candidates: ReadonlyMap<string, UntaggedManifest>,
): Promise<Map<string, Set<string>>> {
  const dependentsOf = new Map<string, Set<string>>(
    [...candidates.keys()].map((digest) => [digest, new Set()]),
  )
  const digests = [...candidates.keys()]
  for (let at = 0; at < digests.length; at += PAGE / 2) {
    const batch = digests.slice(at, at + PAGE / 2)
    const needs = sqlText(db.engine)
    const rows = await runText<{ digest: string; manifest: string }>(
      db,
      `select digest, manifest from manifest_references where root = ${needs.bind(rootOf(repo))} and repo = ${needs.bind(repo)}
        and kind = 'manifest' and digest in (${needs.bindAll(batch)})`,
      needs,
    )
    for (const { digest, manifest } of rows) dependentsOf.get(digest)?.add(manifest)
    const subjects = [
      ...new Set(batch.map((digest) => candidates.get(digest)?.subject ?? '').filter((text) => text !== '')),
    ]
    if (subjects.length === 0) continue
    const refers = sqlText(db.engine)
    const existing = await runText<{ digest: string }>(
      db,
      `select digest from manifests where root = ${refers.bind(rootOf(repo))} and repo = ${refers.bind(repo)}
        and digest in (${refers.bindAll(subjects)})`,
      refers,
    )
    const present = new Set(existing.map(({ digest }) => digest))
    for (const digest of batch) {
      const subject = candidates.get(digest)?.subject ?? ''
      if (present.has(subject)) dependentsOf.get(digest)?.add(subject)
    }
  }
  return dependentsOf
}
