import type { DatabaseConnection, Dialect, Driver } from 'kysely'
import { LRUCache } from 'lru-cache'
import type { SpanOptions, Tracer } from '../runtime/tracer.ts'
import type { Db } from './db.ts'

/**
 * Spans of statements, by OpenTelemetry's semantic conventions for databases. They contain the operation and the table, never the text of a
 * statement or its parameters.
 */

type System = 'sqlite' | 'postgresql'

const SUMMARIES_MAX = 500

interface Summary {
  readonly name: string
  readonly options: SpanOptions
}

/** The span of a statement; undefined for savepoints, which belong to changes of several requests. */
function summaries(system: System): (sql: string) => Summary | undefined {
  const known = new LRUCache<string, Summary>({ max: SUMMARIES_MAX })
  return (sql) => {
    const found = known.get(sql)
    if (found !== undefined) return found
    const [, operation = ''] =
      /^\s*(?:with\b[\s\S]*?\)\s*)?(select|insert|update|delete|with|lock)\b/i.exec(sql) ?? []
    if (operation === '') return undefined
    const [, table] = /\b(?:from|into|update)\s+"?([a-z_]+)"?/i.exec(sql) ?? []
    const verb = operation.toUpperCase()
    const name = table === undefined ? verb : `${verb} ${table}`
    const attributes = {
      'db.system.name': system,
      'db.operation.name': verb,
      'db.query.summary': name,
      ...(table !== undefined && { 'db.collection.name': table }),
    }
    const summary: Summary = { name, options: { kind: 'client', attributes } }
    known.set(sql, summary)
    return summary
  }
}

/** Returns a dialect that creates a span for each statement. */
export function tracedDialect(dialect: Dialect, system: System, tracer: Tracer): Dialect {
  const summaryOf = summaries(system)
  const seen = new WeakSet<DatabaseConnection>()
  const traced = (connection: DatabaseConnection) => {
    if (seen.has(connection)) return connection
    seen.add(connection)
    const execute: DatabaseConnection['executeQuery'] = connection.executeQuery.bind(connection)
    return Object.assign(connection, {
      executeQuery: ((query, ...rest) => {
        const summary = summaryOf(query.sql)
        if (summary === undefined) return execute(query, ...rest)
        return tracer.span(summary.name, summary.options, () => execute(query, ...rest))
      }) satisfies DatabaseConnection['executeQuery'],
    })
  }
  return {
    createAdapter: () => dialect.createAdapter(),
    createQueryCompiler: () => dialect.createQueryCompiler(),
    createIntrospector: (db) => dialect.createIntrospector(db),
    createDriver() {
      const driver = dialect.createDriver()
      const acquire: Driver['acquireConnection'] = driver.acquireConnection.bind(driver)
      driver.acquireConnection = async (...options) => traced(await acquire(...options))
      return driver
    },
  }
}

/** Returns a database that creates a span for each read and transaction. The dialect does the same for statements of Kysely. */
export function tracedDb(db: Db, tracer: Tracer): Db {
  const system = db.rules.systemName
  const summaryOf = summaries(system)
  const withSpan = <T>(sql: string, work: () => T): T => {
    const summary = summaryOf(sql)
    return summary === undefined ? work() : tracer.span(summary.name, summary.options, work)
  }
  const traced: Db = {
    ...db,
    read: (sql, parameters) => withSpan(sql, () => db.read(sql, parameters)),
    longRead: (sql, parameters) => withSpan(sql, () => db.longRead(sql, parameters)),
    // Changes of several requests may share a transaction, which runs in the trace of one of them.
    transaction: (work, options) =>
      tracer.span('transaction', { kind: 'client', attributes: { 'db.system.name': system } }, () =>
        db.transaction(tracer.bind(work), options),
      ),
    replica: db.replica && { ...db.replica, db: tracedDb(db.replica.db, tracer) },
    get background() {
      return background()
    },
  }
  // The background of SQLite, and of the background itself, is the same database.
  let tracedBackground: Db | undefined
  const background = () => {
    if (db.background === db) return traced
    tracedBackground ??= tracedDb(db.background, tracer)
    return tracedBackground
  }
  return traced
}
