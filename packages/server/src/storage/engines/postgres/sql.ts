import { sql } from 'kysely'
import type { SqlRules } from '../engine.ts'

export const postgresSql: SqlRules = {
  systemName: 'postgresql',
  placeholder: (position) => `$${position}`,
  rowListKeyword: '',
  lockForShare: ' for key share',
  lockForShareSkipping: ' for key share skip locked',
  lockForUpdate: ' for update',
  contains: (text, part) => `strpos(${text}, ${part}) > 0`,
  // The planner does not move the parts of a subquery with an offset.
  lookUp: (table, alias, condition, { left = false } = {}) =>
    `${left ? 'left' : 'cross'} join lateral (select * from ${table} as ${alias} where ${condition} offset 0) as ${alias}${left ? ' on true' : ''}`,
  jsonTexts: (array, alias) => `jsonb_array_elements_text(${array}::jsonb) as ${alias} (value)`,
  isOneOf: (column, array) => `${column} = any (array(select jsonb_array_elements_text(${array}::jsonb)))`,
  jsonTextAt: (array, index) => `(${array}::jsonb ->> ${index})`,
  jsonArrays: (array, alias) => ({
    source: `jsonb_array_elements(${array}::jsonb) as ${alias} (ends)`,
    element: (index) => `(${alias}.ends ->> ${index})`,
  }),
  needsPlanHints: false,
  siblingKey: 'right(uid, 16)',
  storesByKey: false,
  columnTypes: { text: sql`text collate "C"`, integer: sql`bigint`, bytes: sql`bytea`, keyOnly: sql`` },
  // Tables that are not logged are counters, which a crash may lose.
  columnsQuery: `select c.table_name as "table", c.column_name as "column", c.data_type as type
    from information_schema.columns as c
    join pg_class as t on t.relname = c.table_name and t.relnamespace = current_schema()::regnamespace
    where c.table_schema = current_schema() and t.relkind = 'r' and t.relpersistence = 'p' and c.is_generated = 'NEVER'
    order by c.table_name collate "C", c.ordinal_position`,
  tableNamesQuery:
    'select tablename as name from pg_tables where schemaname = current_schema() order by tablename',
  // Of any schema of the search path, like the statements that read it.
  hasMigrationsQuery: "select 1 where to_regclass('migrations') is not null",
}
