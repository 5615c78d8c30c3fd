import type { RawBuilder } from 'kysely'
import type { Db } from '../db.ts'
import { postgresSql } from './postgres/sql.ts'
import { sqliteSql } from './sqlite/sql.ts'

/**
 * What differs between the database engines. Code outside of this folder reads these members; it never compares names of engines, and a
 * tidy test checks that.
 */

export type Engine = 'sqlite' | 'postgres'

/** Differences in the text of statements. */
export interface SqlRules {
  /** As OpenTelemetry names the system. */
  readonly systemName: 'sqlite' | 'postgresql'
  /** The placeholder of the bound value at a position, counted from 1. */
  placeholder(position: number): string
  /** Precedes the rows in `(a, b) in (...)`. */
  readonly rowListKeyword: string
  /** Ends a SELECT: the row cannot be deleted until the transaction ends; other transactions may lock it the same way. */
  readonly lockForShare: string
  /** The same; rows that cannot be locked now are left out. */
  readonly lockForShareSkipping: string
  /** Ends a SELECT: no other transaction can lock or change the row until this one ends. */
  readonly lockForUpdate: string
  /** An expression that is true if a text contains another one. */
  contains(text: string, part: string): string
  /**
   * Ends a FROM clause: joins the rows of a table that fulfil a condition on the rows before it, by looking them up for each of those. For
   * few rows: a planner that takes them for many reads the whole table. `left`: rows without one stay. `condition` names the organization by
   * its value: a distributed database does not find the shard by a column of the rows before it.
   */
  lookUp(table: string, alias: string, condition: string, options?: { readonly left?: boolean }): string
  /** A FROM clause with a row for each element of a JSON array of texts, as `alias.value`. */
  jsonTexts(array: string, alias: string): string
  /** Whether a column equals one of a JSON array of texts. An index of the column finds the rows. */
  isOneOf(column: string, array: string): string
  /** The text at an index, which may be an expression, of a JSON array of texts; null beyond its end. */
  jsonTextAt(array: string, index: string): string
  /** A FROM clause with a row for each element of a JSON array of arrays, and the text at an index of such an element. */
  jsonArrays(
    array: string,
    alias: string,
  ): { readonly source: string; readonly element: (index: number) => string }
  /** Whether the planner has no statistics, so that statements name the index or the sort that they need. */
  readonly needsPlanHints: boolean
  /** Expression in the order of uids among the children of one parent, which is in the index by parent instead of the whole uid. */
  readonly siblingKey: string | undefined
  readonly columnTypes: ColumnTypes
  /** Whether `columnTypes.keyOnly` stores a table in the order of its key. */
  readonly storesByKey: boolean
  /** Lists the columns of all tables that are written to disk, except generated ones: `table`, `column`, `type`. */
  readonly columnsQuery: string
  /** Lists the names of all tables as `name`. */
  readonly tableNamesQuery: string
  /** Has a row if there is a table to which the name `migrations` refers in a statement. */
  readonly hasMigrationsQuery: string
}

/** Types for new migrations. Text is compared by its bytes. */
export interface ColumnTypes {
  readonly text: RawBuilder<unknown>
  readonly integer: RawBuilder<unknown>
  readonly bytes: RawBuilder<unknown>
  /** The end of a table whose rows have little besides their key: they are stored in its order, where the engine can. */
  readonly keyOnly: RawBuilder<unknown>
}

/** Differences in behavior. */
export interface EngineRules extends SqlRules {
  readonly isUniqueViolation: (error: unknown) => boolean
  /** Failures that a new attempt of the transaction can avoid. */
  readonly isTransient: (error: unknown) => boolean
  /** Failures caused by the data to write, such as violated unique keys: another attempt fails, too. */
  readonly isUnstorable: (error: unknown) => boolean
  /** The number of changes of the same rows to start together: on SQLite they share a commit, on PostgreSQL they would wait for locks. */
  readonly concurrentChanges: number
  /** Whether several nodes can serve one database. */
  readonly isShared: boolean
  /** Describes the sessions of clients of a shared database on all of its servers, except those of one program. */
  listSessions(db: Db, exceptProgram: string): Promise<readonly string[]>
  /** Runs migrations while no other node does. They use the database that `run` receives; it returns the names of those that ran. */
  withMigrationLock(
    background: Db,
    run: (kysely: Db['kysely']) => Promise<readonly string[]>,
  ): Promise<readonly string[]>
  /** Returns what all migrations create in an empty database; undefined where they run one by one. */
  wholeSchema(): Promise<WholeSchema | undefined>
  /** Gives the tables that migrations created their home (schema/table-homes.ts). Does nothing to a database on one server. */
  placeTables(background: Db): Promise<void>
  /** Whether tables are on several servers, by organization. */
  isDistributed(db: Db): Promise<boolean> | boolean
  /** Groups organizations by the server of a distributed database that has them. */
  groupByServer(db: Db, organizations: readonly string[]): Promise<readonly (readonly string[])[]>
  /** Whether a statement failed since a server of a distributed database other than that of the address does not respond. */
  readonly isServerLost: (error: unknown) => boolean
  /** Undefined for a database on one server. */
  countPlacedTables(db: Db): Promise<TablePlacement | undefined>
  /** The server of the address; undefined for a database on one server. */
  findClusterServer(db: Db): Promise<ClusterServer | undefined>
  /**
   * Lets nodes use any server of a distributed database: tables of the coordinator can then be read and written through all of them.
   * `placeTables` does the same for tables that later migrations create.
   */
  enableQueryFromAnyNode(background: Db): Promise<void>
}

/** What migrations create together, as statements, and their names. */
export interface WholeSchema {
  readonly migrations: readonly string[]
  /** One text of all statements. */
  readonly script: string
}

/** A server of a distributed database. */
export interface ClusterServer {
  /** It cannot change the schema; the coordinator can. */
  readonly isWorker: boolean
  /** Where the other servers reach it; undefined for a coordinator that they do not know. */
  readonly address: string | undefined
  /** Tables of this version, and those of the migrator, that cannot be used through every server. */
  readonly absentTables: readonly string[]
}

/** Numbers of tables by their home. */
export interface TablePlacement {
  readonly distributed: number
  readonly reference: number
  readonly local: number
}

/** By the name of the engine, for code that has no database. */
export const sqlRules: Readonly<Record<Engine, SqlRules>> = { sqlite: sqliteSql, postgres: postgresSql }
