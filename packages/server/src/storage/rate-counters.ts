import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { CompiledQuery } from 'kysely'
import { type Counters, consumePoint, createMemoryCounters } from '../pipeline/limits/rate-counters.ts'
import { runToCompletion } from '../pipeline/request/request-context.ts'
import { type Db, makePrivateDirectory } from './db.ts'

/** Counters of rate limits in the database. */

export interface SharedCounters extends Counters {
  /** Removes the counts of windows that have ended; runs every five minutes too. */
  sweep(): Promise<void>
}

const SWEEP_INTERVAL_MS = 5 * 60_000

/**
 * Opens counters that all nodes of an installation share. On PostgreSQL they are rows of `rate_limits`. On SQLite they have a file of
 * their own in the data directory: a commit there does not wait for the disk, does not delay changes of resources, and does not
 * invalidate cached grants. `onError` receives counts that failed; until the database is back, this node counts alone, so that an outage
 * neither lifts the limits nor rejects calls.
 */
export async function createSharedCounters(
  db: Db,
  dataDir: string,
  onError: (error: unknown) => void,
): Promise<SharedCounters> {
  const library = await import('rate-limiter-flexible')
  const store = db.rules.isShared ? postgresStore(db) : await sqliteStore(dataDir)
  const localCounters = await createMemoryCounters()
  // Rows may stay a little longer: their end is checked when they are used.
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
        // A key over its limit stays so until the window ends: only the first rejection queries the database.
        inMemoryBlockOnConsumed: rate.points + 1,
      }
      const limiter = db.rules.isShared
        ? new library.RateLimiterPostgres(options)
        : new library.RateLimiterSQLite(options)
      const local = localCounters.counter(keyPrefix, rate)
      return {
        async count(key) {
          try {
            return await runToCompletion(() => consumePoint(limiter, key, library.RateLimiterRes))
          } catch (error) {
            onError(error)
            return local.count(key)
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

/** The part of a pg client that the library uses, on the connections of the database. */
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
  // A power loss loses counts of a few minutes.
  database.pragma('synchronous = OFF')
  database.exec(
    'create table if not exists rate_limits (key text primary key, points integer not null, expire integer)',
  )
  // Statements run on the event loop: they must not wait longer for another process.
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
