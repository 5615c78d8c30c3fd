import type { OrderKey } from '../../api/order-by.ts'
import { intersectRanges, ROOT_CHARS, rootOf, subtreeRange, type UidRange } from '../../api/uid.ts'
import { isCounted } from '../counts/row-counts.ts'
import type { Db } from '../db.ts'
import type { ListedTable } from '../schema/tables.ts'
import type { SqlText } from '../sql-text.ts'
import type { IndexCondition, ListIndex } from './list-index.ts'
import { andIn, type Distribution, distributionOf } from './named-roots.ts'

/** Builds the SQL of lists so that indexes serve it. Pure functions. */

/** Disjoint parts of a table that together contain the requested rows. */
export type Branch = { readonly range: UidRange } | { readonly roots: readonly string[] }

export interface ListQuery {
  readonly table: ListedTable
  readonly branches: readonly Branch[]
  readonly conditions: readonly Filter[]
  readonly order: readonly OrderKey[]
  /** Required if `conditions` has conditions that are not on columns. */
  readonly index?: ListIndex | undefined
  /** The index condition that so few rows match that they are read through the index. */
  readonly lookupCondition?: IndexCondition | undefined
  /** The index condition that the fewest rows match, few or not. */
  readonly rarestCondition?: IndexCondition | undefined
  readonly computed?: ComputedColumns | undefined
  readonly columns?: readonly string[] | undefined
  /** Of the branches, if they share a statement. */
  readonly distribution?: Distribution
}

/**
 * Sort keys that no column holds: the SQL of the value for the current row of the table, which is never null. The list computes them for
 * all its rows.
 */
export type ComputedColumns = Readonly<Record<string, (sql: SqlText) => string>>

/** A column equals one of some values, compares to a value, or ends with a text, which must not contain wildcards of LIKE. */
export type ColumnCondition =
  | { readonly column: string; readonly values: readonly (string | number)[] }
  | {
      readonly column: string
      readonly comparison: '<' | '<=' | '>' | '>='
      readonly value: string | number
    }
  | { readonly column: string; readonly isUidSuffix: string }

export type Filter = ColumnCondition | IndexCondition

export function isIndexCondition(filter: Filter): filter is IndexCondition {
  return filter.column === undefined
}

/** The index of a query with index conditions. */
export function indexOf({ index }: Pick<ListQuery, 'index'>): ListIndex {
  if (index === undefined) throw new Error('a list has index conditions and no index')
  return index
}

/** Values of a condition that a statement binds one by one. */
const VALUES_BOUND_MAX = 100

/** Returns the rest of the branches after a uid, in uid order. */
export function branchesAfter(branches: readonly Branch[], uid: string, descending: boolean): Branch[] {
  // No uid is between `uid` and `uid!`, since `!` precedes `/`.
  const rest: UidRange = descending ? { from: '', to: uid } : { from: `${uid}!`, to: 'g' }
  return branches.flatMap((branch): Branch[] => {
    if ('roots' in branch) {
      const roots = branch.roots.filter((root) => (descending ? root < uid : root > uid))
      return roots.length === 0 ? [] : [{ roots }]
    }
    const range = intersectRanges(branch.range, rest)
    return range === undefined ? [] : [{ range }]
  })
}

/** Returns whether counters cover a branch: a range of one organization, or the whole platform. */
export function isCountable(branch: Branch | undefined): branch is { readonly range: UidRange } {
  if (branch === undefined || !('range' in branch)) return false
  const { from, to } = branch.range
  return from === '' ? to === 'g' : to !== 'g'
}

export function isSingleRoot(branch: Branch): boolean {
  return 'range' in branch && branch.range.from !== '' && branch.range.to !== 'g'
}

/** Returns whether all rows of whole organizations are requested. */
export function coversOrganization(branches: readonly Branch[]): boolean {
  return branches.every(
    (branch) =>
      'range' in branch &&
      branch.range.from !== '' &&
      branch.range.to === `${rootOf(branch.range.from)}0` &&
      branch.range.from.length <= 41,
  )
}

/** Columns that have an index `(root, column, uid)` in every table with the column, and the suffix of its name. */
const indexSuffixes: Readonly<Record<string, string>> = {
  name: 'by_name',
  parent: 'by_parent',
  digest: 'by_digest',
  created_ms: 'by_created',
  updated_ms: 'by_updated',
  advisory_id: 'by_advisory_id',
  artifact_name: 'by_artifact',
  component_name: 'by_component',
  url: 'by_url',
  keys_expire_ms: 'by_keys_expiry',
}

/**
 * Returns the index to use. Without statistics SQLite prefers the range of uids: it would scan an organization for a name or for the children
 * of a group, and sort all of it for the first page.
 */
export function indexHint(
  { rules }: Db,
  { table, conditions, order: [first], lookupCondition }: ListQuery,
  branches: readonly Branch[],
): string {
  if (!rules.needsPlanHints || !isCounted(table) || branches.length > 1 || !branches.every(isSingleRoot))
    return ''
  if (lookupCondition !== undefined) return ''
  const byUid = first?.column === 'uid'
  const column = byUid
    ? conditions.filter(isOnColumn).find(hasOneValue)?.column
    : conditions.every(isUnselective) && coversOrganization(branches) && first?.column
  const suffix = column ? indexSuffixes[column] : undefined
  return suffix === undefined ? '' : ` indexed by ${table}_${suffix}`
}

function isOnColumn(filter: Filter): filter is ColumnCondition {
  return !isIndexCondition(filter)
}

function hasOneValue(condition: ColumnCondition): boolean {
  return 'values' in condition && condition.values.length === 1 && condition.column in indexSuffixes
}

/**
 * The forms of tags are in all their indexes, and most tags match. Index conditions that few rows match are looked up instead, so the others
 * fill a page soon.
 */
function isUnselective(filter: Filter): boolean {
  return isIndexCondition(filter) || filter.column === 'forms'
}

/** Returns the expression that orders the children of one parent by uid, if only they are requested and the engine has one. */
export function siblingKeyOf({ rules }: Db, { conditions, order: [first] }: ListQuery): string | undefined {
  const isFamily = (filter: Filter) =>
    !isIndexCondition(filter) &&
    filter.column === 'parent' &&
    'values' in filter &&
    filter.values.length === 1 &&
    filter.values[0] !== ''
  return first?.column === 'uid' && conditions.some(isFamily) ? rules.siblingKey : undefined
}

/**
 * Tables without an index by uid. A list scans an organization in the order of its index, so all scopes of an organization share one part of the
 * statement.
 */
const scannedTables: readonly ListedTable[] = ['audit_events']

/** Each branch gets its own part of the statement, which is an index range; beyond branchesMax they share one. */
export function splitBranches(
  { sizes }: Pick<Db, 'sizes'>,
  table: ListedTable,
  branches: readonly Branch[],
): (readonly Branch[])[] {
  const parts = scannedTables.includes(table) ? byRoot(branches) : branches.map((branch) => [branch])
  return parts.length > sizes.branchesMax ? [branches] : parts
}

function byRoot(branches: readonly Branch[]): (readonly Branch[])[] {
  return [...Map.groupBy(branches, (branch) => rootsOfBranches([branch]).join()).values()]
}

/** Returns the distribution of branches that share a part of a statement. */
export async function readDistribution(db: Db, branches: readonly Branch[]): Promise<Distribution> {
  return branches.length <= db.sizes.branchesMax ? undefined : distributionOf(db, rootsOfBranches(branches))
}

/** '' is the root of the whole platform. */
export function rootsOfBranches(branches: readonly Branch[]): string[] {
  return branches.flatMap((branch) => ('range' in branch ? [rootOf(branch.range.from)] : branch.roots))
}

/** Returns the condition of rows in the subtrees of some uids. */
export function withinScopesText(
  sql: SqlText,
  table: ListedTable,
  scopes: readonly string[],
  distribution?: Distribution,
): string {
  const branches: readonly Branch[] = scopes.map((scope) => ({ range: subtreeRange(scope) }))
  const [only] = branches
  return branches.length === 1 && only !== undefined
    ? branchText(sql, only)
    : branchesText(sql, table, branches, distribution)
}

/** Returns whether an order has a computed key. */
export function hasComputedOrder({ order, computed = {} }: ListQuery): boolean {
  return order.some(({ column }) => column in computed)
}

/** Returns the SELECT of a page in an order with computed keys, each of which is computed once for a row. */
export function computedPageText(
  db: Db,
  sql: SqlText,
  query: ListQuery,
  page: {
    readonly after: readonly (string | number)[] | undefined
    readonly limit: number
    readonly skip: number
    readonly only: string | undefined
  },
): string {
  const { table, order, computed = {} } = query
  const plain = order.map(({ column }) => column).filter((column) => !(column in computed))
  const keys = order.flatMap(({ column }) => {
    const value = computed[column]
    return value === undefined ? [] : [{ column, value }]
  })
  const parts = splitBranches(db, query.table, query.branches).map((part) => {
    const values = keys.map(({ column, value }) => `${value(sql)} as ${column}`)
    const columns = [...new Set(['root', 'uid', ...plain]), ...values].join(', ')
    return `select ${columns} from ${table} where ${whereOf(sql, query, part)}`
  })
  const rest = page.after === undefined ? '' : ` where ${afterCursor(sql, order, page.after)}`
  const shown = [page.only ?? `${table}.*`, ...keys.map(({ column }) => `page.${column}`)].join(', ')
  return `with keyed as materialized (${parts.join(' union all ')}),
    page as (select * from keyed${rest} order by ${orderText(order, { oneRoot: false, sorted: false })}
      limit ${sql.bind(page.limit)} offset ${sql.bind(page.skip)})
    select ${shown} from page join ${table} using (root, uid)
    order by ${orderText(order, { oneRoot: false, sorted: false, of: 'page' })}`
}

export function whereOf(sql: SqlText, query: ListQuery, branches: readonly Branch[]): string {
  const { table, lookupCondition } = query
  const [only] = branches
  const where =
    branches.length !== 1 || only === undefined
      ? branchesText(sql, table, branches, query.distribution)
      : lookupCondition === undefined
        ? branchText(sql, only)
        : `(root, uid) in (${indexOf(query).rowsSql(sql, lookupCondition, only)})`
  return where + otherConditionsText(sql, query, lookupCondition)
}

/** The conditions besides one that the statement fulfils already. */
export function otherConditionsText(
  sql: SqlText,
  query: Pick<ListQuery, 'conditions' | 'index'>,
  known: IndexCondition | undefined,
): string {
  return query.conditions
    .filter((condition) => condition !== known)
    .map(
      (condition) =>
        ` and ${isIndexCondition(condition) ? indexOf(query).matchesSql(sql, condition) : columnText(sql, condition)}`,
    )
    .join('')
}

function columnText(sql: SqlText, condition: ColumnCondition): string {
  const { column } = condition
  if ('comparison' in condition) return `${column} ${condition.comparison} ${sql.bind(condition.value)}`
  if ('isUidSuffix' in condition) return `${column} like ${sql.bind(`%${condition.isUidSuffix}`)}`
  const { values } = condition
  if (values.length === 0) return '1 = 0'
  // SQLite permits 32,766 bound values, and each part of a statement binds these.
  if (values.length > VALUES_BOUND_MAX && values.every((value) => typeof value === 'string'))
    return sql.rules.isOneOf(column, sql.bind(JSON.stringify(values)))
  return values.length === 1
    ? `${column} = ${sql.bind(values[0] as string | number)}`
    : `${column} in (${sql.bindAll(values)})`
}

function branchText(sql: SqlText, branch: Branch): string {
  if ('roots' in branch) return `root in (${sql.bindAll(branch.roots)})`
  const { from, to } = branch.range
  if (from === '') {
    // The whole platform, or the rest of it after a descending deep skip.
    return to === 'g' ? '1 = 1' : `(root, uid) < (${sql.bind(rootOf(to))}, ${sql.bind(to)})`
  }
  if (to === 'g') return `(root, uid) >= (${sql.bind(rootOf(from))}, ${sql.bind(from)})`
  return `root = ${sql.bind(rootOf(from))} and uid >= ${sql.bind(from)} and uid < ${sql.bind(to)}`
}

/** Returns the condition of rows in any number of branches. */
function branchesText(
  sql: SqlText,
  table: ListedTable,
  branches: readonly Branch[],
  distribution?: Distribution,
): string {
  const ranges = rangesIn(branches)
  const roots = branches.flatMap((branch) => ('roots' in branch ? branch.roots : []))
  const within = rangesText(sql, table, ranges, distribution)
  return roots.length === 0 ? within : `(${within} or root in (${sql.bindAll(roots)}))`
}

const rangesIn = (branches: readonly Branch[]): UidRange[] =>
  branches.flatMap((branch) => ('range' in branch ? [branch.range] : []))

/** The scopes of a caller are whole subtrees; a page token cuts one of them. */
const isSubtree = ({ from, to }: UidRange) => to === `${from}0`

function rangesText(
  sql: SqlText,
  table: ListedTable,
  ranges: readonly UidRange[],
  distribution: Distribution,
): string {
  if (ranges.length === 0) return '1 = 0'
  if (canLookUp(table, ranges, distribution)) {
    // Named once more for a distributed database, which would otherwise ask all servers.
    const only = onlyRoot(ranges)
    const inRoot = only === undefined ? '' : `root = ${sql.bind(only)} and `
    return `${inRoot}(root, uid) in (select t.root, t.uid ${lookUpText(sql, table, ranges)})`
  }
  if (scannedTables.includes(table) || ranges.every(isSubtree))
    return scannedRangesText(sql, ranges, distribution)
  const { source, element } = boundRanges(sql, ranges)
  const named = (root: string) => andIn(sql, root, distribution?.roots)
  return `(root, uid) in (select t.root, t.uid from ${source} cross join ${table} as t
    where t.root = ${element(0)} and t.uid >= ${element(1)} and t.uid < ${element(2)}${named('t.root')})${named('root')}`
}

/** Whether `lookUpText` serves the ranges: a distributed database looks rows up in one organization only. */
const canLookUp = (table: ListedTable, ranges: readonly UidRange[], distribution: Distribution) =>
  !scannedTables.includes(table) && (distribution === undefined || onlyRoot(ranges) !== undefined)

/** The organization of all ranges, if it is one. */
function onlyRoot(ranges: readonly UidRange[]): string | undefined {
  const [root, ...others] = new Set(ranges.map(({ from }) => rootOf(from)))
  return others.length === 0 ? root : undefined
}

/**
 * Returns the FROM clause of the rows `t` in some ranges, each of which is an index look-up. PostgreSQL would otherwise compare all rows of an
 * organization with all ranges in it. See `canLookUp`.
 */
function lookUpText(sql: SqlText, table: ListedTable, ranges: readonly UidRange[]): string {
  const only = onlyRoot(ranges)
  const { source, element } = boundRanges(sql, ranges)
  const root = only === undefined ? element(0) : sql.bind(only)
  return `from ${source} ${sql.rules.lookUp(table, 't', `t.root = ${root} and t.uid >= ${element(1)} and t.uid < ${element(2)}`)}`
}

/**
 * Binds any number of ranges as JSON: an expression with each of them would exceed the limits of the engines. `element`: their roots, starts and
 * ends. The text of thousands of ranges costs the most, and that of subtrees is a third.
 */
function boundRanges(sql: SqlText, ranges: readonly UidRange[]) {
  if (!ranges.every(isSubtree)) {
    const data = sql.bind(JSON.stringify(ranges.map(({ from, to }) => [rootOf(from), from, to])))
    return sql.rules.jsonArrays(data, 'part')
  }
  const source = sql.rules.jsonTexts(sql.bind(JSON.stringify(ranges.map(({ from }) => from))), 'scope')
  const elements = [`substr(scope.value, 1, ${ROOT_CHARS})`, 'scope.value', "scope.value || '0'"] as const
  return { source, element: (index: 0 | 1 | 2) => elements[index] }
}

/** Returns SQL for the number of rows in branches that share a part of a statement. */
export function branchesCountText(sql: SqlText, query: ListQuery, branches: readonly Branch[]): string {
  const { table, conditions, distribution } = query
  const ranges = rangesIn(branches)
  const isPlain = conditions.length === 0 && ranges.length === branches.length && ranges.length > 1
  // The ranges are disjoint, so without other conditions each of their rows counts.
  const rows =
    isPlain && canLookUp(table, ranges, distribution)
      ? lookUpText(sql, table, ranges)
      : `from ${table} where ${whereOf(sql, query, branches)}`
  return `(select count(*) ${rows})`
}

/**
 * Returns a condition that scans organizations: the ancestor of a row at each level is looked up in the set of the scopes of that level. The cost
 * does not depend on the number of scopes.
 */
function scannedRangesText(sql: SqlText, ranges: readonly UidRange[], distribution: Distribution): string {
  if (!ranges.every(isSubtree)) throw new Error('a table that is scanned has no order by uid')
  const scopes = ranges.map(({ from }) => from)
  const isOneOf = (expression: string, values: readonly string[]) => {
    const data = sql.bind(JSON.stringify(values))
    return `${expression} in (select scope.value from ${sql.rules.jsonTexts(data, 'scope')})`
  }
  const roots = [...new Set(scopes.map(rootOf))]
  const [root] = roots
  const isInRoots =
    roots.length === 1 && root !== undefined
      ? `root = ${sql.bind(root)}`
      : isOneOf('root', roots) + andIn(sql, 'root', distribution?.roots)
  const isInScopes = [...Map.groupBy(scopes, ({ length }) => length)].map(([length, uids]) =>
    isOneOf(`substr(uid, 1, ${length})`, uids),
  )
  // Without `is true`, PostgreSQL turns a single `in` into a join, which compares each row with each scope.
  return `${isInRoots} and (${isInScopes.join(' or ')}) is true`
}

/** Within one organization the order by uid is that by (root, uid), which the indexes have. */
export function orderText(
  order: readonly OrderKey[],
  { oneRoot, sorted, of }: { readonly oneRoot: boolean; readonly sorted: boolean; readonly of?: string },
): string {
  const prefix = of === undefined ? '' : `${of}.`
  return order
    .flatMap(({ column, descending }) => {
      const direction = descending ? ' desc' : ''
      // A unary plus prevents SQLite from using an index.
      const term = `${sorted ? '+' : ''}${prefix}${column}${direction}`
      return column === 'uid' && !oneRoot && !sorted ? [`${prefix}root${direction}`, term] : [term]
    })
    .join(', ')
}

/** Returns the condition of rows after the cursor, in an order that ends with the uid. */
export function afterCursor(
  sql: SqlText,
  order: readonly OrderKey[],
  after: readonly (string | number)[],
): string {
  const build = (at: number): string => {
    const { column, descending } = order[at] as OrderKey
    const value = after[at] as string | number
    const operator = descending ? '<' : '>'
    if (at === order.length - 1) return `${column} ${operator} ${sql.bind(value)}`
    // The rest implies the first comparison, which becomes an index range.
    return `${column} ${operator}= ${sql.bind(value)} and (${column} ${operator} ${sql.bind(value)} or (${build(at + 1)}))`
  }
  return `(${build(0)})`
}
