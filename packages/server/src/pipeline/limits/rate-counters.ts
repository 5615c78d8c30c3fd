import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { CompiledQuery } from 'kysely'
import { LRUCache } from 'lru-cache'
import type { RateLimiterAbstract, RateLimiterRes } from 'rate-limiter-flexible'
import { limits } from '../../config/limits.ts'
import { type Db, makePrivateDirectory } from '../../storage/db.ts'
import { runToCompletion } from '../request-context.ts'
import type { Rate } from './limit-table.ts'

/**
 * Where calls are counted: in this process, or in the database, where all nodes count together. rate-limiter-flexible counts;
 * this file gives it a place. Its counters know wall time only.
 */

export interface CountResult {
  /** There was nothing left: the call must not run. */
  readonly isExceeded: boolean
  readonly remaining: number
  /** Until the window ends and everything is there again. */
  readonly resetMs: number
}

export interface Counter {
  /** Counts one call of whoever `key` names. */
  count(key: string): Promise<CountResult>
}

export interface Counters {
  /** Counters of different names do not share what they count. */
  counter(name: string, rate: Rate): Counter
  close(): Promise<void>
}

export interface SharedCounters extends Counters {
  /** Removes the counts of windows that have ended. Done every five minutes anyway. */
  sweep(): Promise<void>
}

const SWEEP_INTERVAL_MS = 5 * 60_000

export async function createMemoryCounters(): Promise<Counters> {
  const { RateLimiterMemory, RateLimiterRes } = await import('rate-limiter-flexible')
  return {
    counter(keyPrefix, { points, seconds }) {
      const limiter = new RateLimiterMemory({ keyPrefix, points, duration: seconds })
      // Addresses are cheap to those who have many: who was counted longest ago is forgotten first.
      const known = new LRUCache<string, true>({
        max: limits.rateLimitKeysMax,
        dispose: (_, key) => void limiter.delete(key),
      })
      return {
        count(key) {
          if (known.get(key) === undefined) known.set(key, true)
          return consumePoint(limiter, key, RateLimiterRes)
        },
      }
    },
    async close() {},
  }
}

/**
 * Counters that all nodes of an installation share. On PostgreSQL they are rows of `rate_limits`. On SQLite they have a file of
 * their own in the data directory: a commit there waits for no disk, holds up no change of a resource, and does not look to the
 * other nodes as if a permission might have changed. `onError` hears of counts that failed; meanwhile this node counts by itself,
 * so that an outage neither lifts the limits nor refuses anybody.
 */
export async function createSharedCounters(
  db: Db,
  dataDir: string,
  onError: (error: unknown) => void,
): Promise<SharedCounters> {
  const library = await import('rate-limiter-flexible')
  const store = db.rules.isShared ? postgresStore(db) : await sqliteStore(dataDir)
  const localCounters = await createMemoryCounters()
  // A row that stays a little longer does no harm: its end is looked at when it is used.
  const sweep = () => store.sweep(Date.now())
  const sweeper = setInterval(() => sweep().catch(onError), SWEEP_INTERVAL_MS)
  sweeper.unref()

  return {
    counter(keyPrefix, rate) {
      const options = {
        ...store.options,
        keyPrefix,
        points: rate.points,
        duration: rate.seconds,
        tableName: 'rate_limits',
        tableCreated: true,
        clearExpiredByTimeout: false,
        // Whoever is over the limit stays so until the window ends; only the first refusal asks the database.
        inMemoryBlockOnConsumed: rate.points + 1,
      }
      const limiter = db.rules.isShared
        ? new library.RateLimiterPostgres(options)
        : new library.RateLimiterSQLite(options)
      const alone = localCounters.counter(keyPrefix, rate)
      return {
        async count(key) {
          try {
            return await runToCompletion(() => consumePoint(limiter, key, library.RateLimiterRes))
          } catch (error) {
            onError(error)
            return alone.count(key)
          }
        },
      }
    },
    sweep,
    async close() {
      clearInterval(sweeper)
      store.close()
    },
  }
}

async function consumePoint(
  limiter: RateLimiterAbstract,
  key: string,
  // It is given, since the library is only loaded where there are limits.
  Result: typeof RateLimiterRes,
): Promise<CountResult> {
  try {
    const { remainingPoints, msBeforeNext } = await limiter.consume(key)
    return { isExceeded: false, remaining: remainingPoints, resetMs: msBeforeNext }
  } catch (refusal) {
    if (!(refusal instanceof Result)) throw refusal
    return { isExceeded: true, remaining: 0, resetMs: refusal.msBeforeNext }
  }
}

/** The part of a pg client that the library uses, on the connections that everything else uses. */
function postgresStore({ kysely }: Db) {
  const query = ({ text, values }: { text: string; values: unknown[] }) =>
    kysely.executeQuery(CompiledQuery.raw(text, values))
  return {
    options: { storeClient: { query }, storeType: 'client' },
    async sweep(nowMs: number) {
      await query({ text: 'delete from rate_limits where expire <= $1', values: [nowMs] })
    },
    close() {},
  }
}

const BUSY_MS = 50

async function sqliteStore(dataDir: string) {
  const { default: Database } = await import('better-sqlite3')
  makePrivateDirectory(dataDir)
  const file = join(dataDir, 'rate-limits.db')
  closeSync(openSync(file, 'a', 0o600))
  const database = new Database(file)
  database.pragma('journal_mode = WAL')
  // What a power loss takes with it are counts of a few minutes.
  database.pragma('synchronous = OFF')
  database.exec(
    'create table if not exists rate_limits (key text primary key, points integer not null, expire integer)',
  )
  // Statements run on the event loop; one that has to wait longer for another process is not worth it.
  database.pragma(`busy_timeout = ${BUSY_MS}`)
  return {
    options: { storeClient: database, storeType: 'better-sqlite3' },
    async sweep(nowMs: number) {
      database.prepare('delete from rate_limits where expire <= ?').run(nowMs)
    },
    close() {
      database.close()
    },
  }
}
