import { limits } from '../config/limits.ts'
import { deleteContents, unreadContents } from '../registry/manifests/contents-rows.ts'
import type { Tracer } from '../runtime/tracer.ts'
import { insertRows } from '../storage/bulk-rows.ts'
import { type Db, inTransaction, type Tx } from '../storage/db.ts'
import { type JobScheduler, startJobScheduler } from '../storage/jobs/job-scheduler.ts'
import { runInTransaction, runLongText, type SqlText, sqlText } from '../storage/sql-text.ts'
import type { Store } from '../storage/store.ts'
import { contentsSweepJob } from './contents-job.ts'

/**
 * Makes the rows complete: adds those of manifests that were pushed before this version or by a node of the previous one, and deletes those
 * of manifests that such a node deleted, and packages that no image contains any more.
 */
export function startContentsSweep({
  store,
  tracer,
  intervalMs = limits.contentsSweepIntervalMs,
  onError,
}: {
  readonly store: Store
  readonly tracer?: Tracer | undefined
  readonly intervalMs?: number | undefined
  readonly onError: (error: unknown) => void
}): JobScheduler {
  const { db, clock } = store
  return startJobScheduler(
    { db, clock, tracer, onError },
    {
      kind: contentsSweepJob,
      span: 'job image-contents-sweep',
      pollMs: Math.min(intervalMs, limits.contentsBacklogPollMs),
      intervalMs,
      async run({ signal }) {
        await sweepContents(db, clock, signal)
        return { succeededMs: clock() }
      },
      onFailure(error, _lease, { isInterrupted }) {
        if (isInterrupted) return {}
        onError(error)
        return { dueMs: clock() + limits.contentsSweepIntervalMs }
      },
    },
  )
}

async function sweepContents(db: Db, clock: () => number, signal: AbortSignal): Promise<void> {
  const manifestKey = ['root', 'repo', 'digest'] as const
  for await (const page of pagesWithout(db, 'manifests', 'manifest_contents', manifestKey)) {
    signal.throwIfAborted()
    const rows = page.map(({ repo, digest }) =>
      unreadContents({ repo: String(repo), digest: String(digest) }, 'backlog', clock()),
    )
    await inTransaction(db, (tx) => insertRows(db, tx, 'manifest_contents', rows, { ifAbsent: true }))
  }
  for await (const page of pagesWithout(db, 'manifest_contents', 'manifests', manifestKey))
    for (const [repo, rows] of Map.groupBy(page, ({ repo }) => String(repo))) {
      signal.throwIfAborted()
      const digests = rows.map(({ digest }) => String(digest))
      await inTransaction(db, (tx) => deleteContents({ db, clock }, tx, repo, digests))
    }
  for await (const page of pagesWithout(
    db,
    'packages',
    'manifest_packages',
    ['root', 'id'],
    ['root', 'package'],
  ))
    for (const [root, rows] of Map.groupBy(page, ({ root }) => String(root))) {
      signal.throwIfAborted()
      const ids = rows.map(({ id }) => Number(id))
      await inTransaction(db, (tx) => deletePackages(db, tx, root, ids))
    }
}

/** Readers lock the packages that they are about to use: here they are locked before their uses are looked up. */
async function deletePackages(db: Db, tx: Tx, root: string, ids: readonly number[]): Promise<void> {
  const which = (sql: SqlText) => `p.root = ${sql.bind(root)} and p.id in (${sql.bindAll(ids)})`
  const { lockForUpdate } = db.rules
  if (lockForUpdate !== '') {
    const sql = sqlText(db.engine)
    const text = `select p.id from packages p where ${which(sql)} order by p.key${lockForUpdate}`
    await runInTransaction(tx, text, sql)
  }
  // A separate statement: it sees what was committed while the one before waited.
  const sql = sqlText(db.engine)
  const text = `delete from packages as p where ${which(sql)}
    and not exists (select 1 from manifest_packages l where l.root = p.root and l.package = p.id)`
  await runInTransaction(tx, text, sql)
}

/** Pages of the rows of a table, by key, without a row of another one. */
async function* pagesWithout(
  db: Db,
  table: 'manifests' | 'manifest_contents' | 'packages',
  other: 'manifests' | 'manifest_contents' | 'manifest_packages',
  key: readonly string[],
  otherKey: readonly string[] = key,
): AsyncGenerator<Record<string, string | number>[]> {
  const columns = key.map((column) => `t.${column}`).join(', ')
  const same = key.map((column, at) => `o.${otherKey[at]} = t.${column}`).join(' and ')
  for (let after: (string | number)[] | undefined; ; ) {
    const sql = sqlText(db.engine)
    const rest = after === undefined ? '' : `(${columns}) > (${sql.bindAll(after)}) and `
    const text = `select ${columns} from ${table} t where ${rest}not exists (select 1 from ${other} o where ${same})
      order by ${columns} limit ${sql.bind(limits.contentsSweepRowsMax)}`
    const page = await runLongText<Record<string, string | number>>(db, text, sql)
    if (page.length > 0) yield page
    const last = page.at(-1)
    if (last === undefined || page.length < limits.contentsSweepRowsMax) return
    after = key.map((column) => last[column] as string | number)
  }
}
