import { sql } from 'kysely'
import type { SqlRules } from '../engine.ts'

export const sqliteSql: SqlRules = {
  systemName: 'sqlite',
  // SQLite plans a statement again whenever a value is bound that a range on an index depends on, which takes several times as long as
  // the statement. The unary plus prevents it.
  placeholder: () => '+?',
  rowListKeyword: 'values ',
  // There is one writer at a time: a transaction has all rows locked.
  lockForShare: '',
  lockForShareSkipping: '',
  lockForUpdate: '',
  contains: (text, part) => `instr(${text}, ${part}) > 0`,
  lookUp: (table, alias, condition, { left = false } = {}) =>
    `${left ? 'left' : 'cross'} join ${table} as ${alias} on ${condition}`,
  jsonTexts: (array, alias) => `json_each(${array}) as ${alias}`,
  isOneOf: (column, array) => `${column} in (select value from json_each(${array}))`,
  jsonTextAt: (array, index) => `(${array} ->> ${index})`,
  jsonArrays: (array, alias) => ({
    source: `json_each(${array}) as ${alias}`,
    element: (index) => `(${alias}.value ->> ${index})`,
  }),
  needsPlanHints: true,
  siblingKey: undefined,
  storesByKey: true,
  columnTypes: { text: sql`text`, integer: sql`integer`, bytes: sql`blob`, keyOnly: sql`without rowid` },
  columnsQuery: `select t.name as "table", c.name as "column", lower(c.type) as type
    from sqlite_schema t, pragma_table_xinfo(t.name) c
    where t.type = 'table' and t.name not like 'sqlite~_%' escape '~' and c.hidden = 0
    order by t.name, c.cid`,
  tableNamesQuery: `select name from sqlite_schema where type = 'table' and name not like 'sqlite~_%' escape '~' order by name`,
  hasMigrationsQuery: "select 1 from sqlite_schema where type = 'table' and name = 'migrations'",
}
