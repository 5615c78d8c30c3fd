import type Database from 'better-sqlite3'

/**
 * SQLite is built with STAT4 here, so a plan may depend on the values of parameters, and SQLite compiles such a statement again for every
 * execution: most statements with a join, a range or a limit. Values that the planner cannot see avoid this; the plans are the same, because
 * the database has no statistics (ADR 88).
 */

/** Keeps literals and names in quotes. */
const parameters = /'(?:[^']|'')*'|"(?:[^"]|"")*"|\?/g
const reads = /^\s*(?:select|with)\b/i
/** Its plan depends on the pattern. */
const patterns = /\b(?:like|glob)\b/i
const names = /[a-z_][a-z_0-9]*/g

/** Returns what turns a statement into one that is compiled once. */
export function planStabilizer(database: Database.Database): (text: string) => string {
  let known: number | undefined
  let dependent: ReadonlySet<string> = new Set()
  const schemaVersion = database.prepare('pragma schema_version').pluck()
  return (text) => {
    if (!reads.test(text) || patterns.test(text)) return text
    const version = schemaVersion.get() as number
    if (known !== version) dependent = columnsOfPartialIndexes(database)
    known = version
    if (text.match(names)?.some((name) => dependent.has(name)) === true) return text
    // `likely` is a hint without code of its own, and hides its argument.
    return text.replace(parameters, (found) => (found === '?' ? 'likely(?)' : found))
  }
}

/** A partial index is used only if the planner sees that a value fulfils its condition. */
function columnsOfPartialIndexes(database: Database.Database): Set<string> {
  const indexes = database.prepare("select sql from sqlite_schema where type = 'index' and sql is not null")
  const texts = indexes.pluck().all() as string[]
  const conditions = texts.map((text) => /\)\s*where\b(.*)$/is.exec(text)?.[1] ?? '')
  return new Set(conditions.flatMap((text) => text.match(names) ?? []).filter((name) => !keywords.has(name)))
}

const keywords = new Set(['and', 'or', 'in', 'is', 'not', 'null'])
