import type { UIDPFilter } from '@berth/contract/gen/platform/common/v1/uidp.platform_pb.js'
import { invalidArgument } from '../../api/errors.ts'
import { parseOrderBy, type SortFields } from '../../api/order-by.ts'
import { type Cursor, effectivePageSize, type PageTokens } from '../../api/page-tokens.ts'
import {
  descendantRange,
  intersectRanges,
  lastSegment,
  parseUid,
  pathOf,
  subtreeRange,
  type UidRange,
} from '../../api/uid.ts'
import { HOUR_MS, limits } from '../../config/limits.ts'
import type { Call } from '../../pipeline/call.ts'
import { recordedProviderOf } from '../../pipeline/vouching.ts'
import { createVersionCache } from '../cache/version-cache.ts'
import { isCounted, rangeCountSql, rootsCountSql, skipByBuckets } from '../counts/row-counts.ts'
import type { Db } from '../db.ts'
import { firstRoots } from '../organizations.ts'
import type { ListedTable, ResourceTable, Tables } from '../schema/tables.ts'
import { runCachedText, runLongText, runText, sqlText } from '../sql-text.ts'
import type { Store } from '../store.ts'
import type { IndexCondition, ListIndex, RarestCondition } from './list-index.ts'
import {
  afterCursor,
  type Branch,
  branchesAfter,
  branchesCountText,
  type ComputedColumns,
  computedPageText,
  coversOrganization,
  type Filter,
  hasComputedOrder,
  indexHint,
  indexOf,
  isCountable,
  isIndexCondition,
  isSingleRoot,
  type ListQuery,
  orderText,
  otherConditionsText,
  readDistribution,
  rootsOfBranches,
  siblingKeyOf,
  splitBranches,
  whereOf,
} from './list-sql.ts'
import { limitRoots } from './named-roots.ts'

export type { ColumnCondition } from './list-sql.ts'

/**
 * Lists resources. It applies the scopes that the caller may see, so that no list can forget them, and reads a page in at most three
 * statements: keyset pagination (a page costs the same at row 50 and at row 5,000,000), totals and deep skips from the counters
 * (counts/row-counts.ts), and statements that may take long in a reader thread. A page in a computed order costs the whole list (ADR 74).
 */

/** The members that every List request of the schema has. */
export interface ListRequest {
  readonly uidp?: UIDPFilter | undefined
  readonly pageSize: number
  readonly pageToken: string
  readonly orderBy: string
  readonly skip: number
}

export interface ListSpec<C extends ListedTable> {
  readonly table: C
  /** The fields of `order_by`, with their columns. */
  readonly sortFields: SortFields
  /** `order_by` when the request has none. */
  readonly defaultOrder: string
  /** The columns of `sortFields` that are computed. */
  readonly computed?: ComputedColumns
  /** Columns that must equal a value; an empty or absent value does not filter. */
  readonly equals?: Readonly<Record<string, string | number | undefined>>
  readonly conditions?: readonly Filter[]
  /** Evaluates the conditions that are not on columns. */
  readonly index?: ListIndex
  /** A column of bytes that may be large, and the bytes of it that end a page early; a page has at least one row. */
  readonly wide?: { readonly column: string; readonly bytesMax: number }
  /** uids of roots that all callers may see, besides their own scopes (managed roles). */
  readonly publicRoots?: readonly string[]
}

/** The columns to read: those of the messages, the uid and the columns of `sortFields`. By default all. */
export interface RequiredColumns<K extends string> {
  readonly columns?: readonly K[] | undefined
}

export interface Page<Row> {
  readonly rows: readonly Row[]
  readonly nextPageToken: string
  readonly totalCount: bigint
  readonly skipped: number
}

/**
 * Reads one page. Throws code 3 for a negative `page_size` or `skip`, an invalid `order_by`, a malformed uid in `uidp`, and a page token of
 * another caller, method, filter or order.
 */
export async function listPage<
  C extends ListedTable,
  K extends keyof Tables[C] & string = keyof Tables[C] & string,
>(
  { db, pageTokens }: Pick<Store, 'db' | 'pageTokens'>,
  call: Call,
  request: ListRequest,
  spec: ListSpec<C> & RequiredColumns<K>,
): Promise<Page<Pick<Tables[C], K>>> {
  if (request.pageSize < 0) throw invalidArgument('page_size', 'must not be negative')
  if (request.skip < 0) throw invalidArgument('skip', 'must not be negative')
  const order = parseOrderBy(
    request.orderBy.trim() === '' ? spec.defaultOrder : request.orderBy,
    spec.sortFields,
  )
  if ('problem' in order) throw invalidArgument('order_by', order.problem)
  const size = effectivePageSize(request.pageSize)

  const visible = call.authorization?.visible?.scopes
  if (visible === undefined) throw new Error(`${call.method.name} lists, so it must be unscoped`)
  const conditions = conditionsOf(request.uidp, spec)
  const parts = conditions.some(matchesNothing) ? [] : branchesOf(visible, request.uidp, spec)
  const isSplit = isPlatform(parts) && !(order[0]?.column === 'uid' && conditions.length === 0)
  const branches = isSplit ? await splitByOrganization(db, parts, spec.table) : parts
  const rare = conditions.some(isIndexCondition)
    ? await rarestFilter(db, { conditions, branches, index: spec.index })
    : undefined
  const isRare = rare !== undefined && rare.rows <= db.sizes.rowsInlineMax
  const query: ListQuery = {
    table: spec.table,
    branches,
    conditions,
    order,
    index: spec.index,
    lookupCondition: isRare ? rare.condition : undefined,
    rarestCondition: rare?.condition,
    computed: spec.computed,
    columns: spec.columns,
    distribution: await readDistribution(db, branches),
  }

  const binding = pageTokenBinding(call, request, spec)
  const cursor = readCursor(pageTokens, request.pageToken, binding)
  // A token includes the skip of its request, so a client can repeat that request and add only the token.
  const skip = cursor !== undefined && cursor.skip === request.skip ? 0 : request.skip
  const skipped = Math.min((cursor?.skipped ?? 0) + skip, 2 ** 31 - 1)

  if (branches.length === 0) return { rows: [], nextPageToken: '', totalCount: 0n, skipped }
  const estimate = isRare ? { rows: rare.rows, exact: undefined } : await estimateRows(db, query)
  const isAlone = conditions.length === 1 && rare !== undefined
  const known =
    estimate.exact ??
    (isAlone
      ? (rare.total ??
        (isRare ? undefined : await indexOf(query).countAndStore(db, rare.condition, branches)))
      : undefined)
  const total = cursor?.totalCount ?? known ?? (await countRows(db, query, estimate.rows))
  const window: PageWindow = {
    cursor,
    skip,
    limit: size + 1,
    scanned: estimate.rows,
    nonMatchingMax:
      isExclusionOnly(query) && branches.length <= db.sizes.branchesMax
        ? estimate.rows - total
        : estimate.rows,
  }
  const fitting =
    spec.wide === undefined ? size : Math.min(size, await countFitting(db, query, window, spec.wide))
  const rows = await pageRows<Pick<Tables[C], K>>(db, query, { ...window, limit: fitting + 1 })

  const page = rows.slice(0, fitting)
  const last =
    rows.length > fitting ? (page.at(-1) as Record<string, string | number> | undefined) : undefined
  const nextPageToken =
    last === undefined
      ? ''
      : pageTokens.issue(
          {
            after: order.map((key) => last[key.column] as string | number),
            skip: request.skip,
            skipped,
            // Only a scan can count these rows, so later pages repeat the total of the first one.
            ...(known === undefined && estimate.rows > db.sizes.rowsInlineMax ? { totalCount: total } : {}),
          },
          binding,
        )
  return { rows: page, nextPageToken, totalCount: BigInt(total), skipped }
}

/** The index condition that the fewest rows match; undefined where there are too many branches, whose rows are read one by one. */
async function rarestFilter(
  db: Db,
  query: Pick<ListQuery, 'conditions' | 'branches' | 'index'>,
): Promise<RarestCondition | undefined> {
  const { conditions, branches } = query
  const indexed = conditions.filter(isIndexCondition)
  if (indexed.length === 0 || branches.length === 0 || branches.length > db.sizes.branchesMax)
    return undefined
  const index = indexOf(query)
  const [only] = indexed
  if (conditions.length === 1 && only !== undefined) {
    const rows = await index.readStoredTotal(db, only, branches)
    if (rows !== undefined && rows > db.sizes.rowsInlineMax) return { condition: only, rows, total: rows }
  }
  return index.findRarest(db, indexed, branches, db.sizes.rowsInlineMax)
}

/** Returns the caller and query that a page token is bound to. */
function pageTokenBinding(call: Call, request: ListRequest, spec: ListSpec<ListedTable>): string {
  return JSON.stringify([
    ...callerBinding(call),
    request.orderBy,
    request.uidp ?? null,
    spec.equals ?? null,
    spec.conditions ?? null,
  ])
}

/**
 * Identifies a page until the database is written to; undefined for pages that are not cached. The scopes of the caller are part of it, because
 * they may be older than the database: a message can arrive some time after its headers were authorized. The key changes each hour, so that a
 * cached page token is at most an hour old.
 */
export function listKey(
  { db, clock }: Pick<Store, 'db' | 'clock'>,
  call: Call,
  request: ListRequest,
  spec: ListSpec<ListedTable>,
): string | undefined {
  if (db.version('any') === undefined) return undefined
  const scopes = call.authorization?.visible?.scopes ?? []
  if (scopes.length > db.sizes.branchesMax) return undefined
  const hour = Math.floor(clock() / HOUR_MS)
  const { pageSize, pageToken, skip } = request
  // The page token comes last: it is the only part that may contain a line break.
  const parts = [pageTokenBinding(call, request, spec), ...scopes, pageSize, skip, hour, pageToken]
  const key = parts.join('\n')
  return key.length > limits.cachedListKeyCharsMax ? undefined : key
}

/** Returns the part of that binding that all methods share. */
export function callerBinding(call: Call): readonly unknown[] {
  const caller = call.authorization?.caller
  const provider =
    call.authorization === undefined ? '' : recordedProviderOf(call.authorization.grants.voucher)
  return [
    call.method.parent.typeName,
    call.method.name,
    caller?.identity,
    caller?.scopes,
    ...(provider === '' ? [] : [provider]),
    caller?.capabilities?.toString(),
  ]
}

/** Returns undefined for the first page. Throws code 3 for a token of another query. */
export function readCursor(pageTokens: PageTokens, pageToken: string, binding: string): Cursor | undefined {
  if (pageToken === '') return undefined
  const cursor = pageTokens.read(pageToken, binding)
  if (cursor === 'forged') {
    throw invalidArgument('page_token', 'must be the unchanged nextPageToken of a response to the same query')
  }
  return cursor === 'expired' ? undefined : cursor
}

function parseUidField(field: string, text: string): string {
  const uid = parseUid(text)
  if (uid === undefined)
    throw invalidArgument(field, 'must be a uid: 40 hex digits, then segments of /16 hex digits')
  return uid
}

/** Returns the parts of the tree that are both visible and requested. */
function branchesOf(
  visible: readonly string[],
  filter: UIDPFilter | undefined,
  { publicRoots }: ListSpec<ListedTable>,
): Branch[] {
  let ranges = visible.map(subtreeRange)
  let roots = visible.includes('') ? [] : (publicRoots ?? [])
  const narrow = (to: UidRange) => {
    ranges = ranges.map((range) => intersectRanges(range, to)).filter((range) => range !== undefined)
    roots = []
  }
  if (filter?.descendantsOf)
    narrow(descendantRange(parseUidField('uidp.descendants_of', filter.descendantsOf)))
  if (filter?.childrenOf && filter.childrenOf !== '/')
    narrow(descendantRange(parseUidField('uidp.children_of', filter.childrenOf)))
  ranges.sort((a, b) => (a.from < b.from ? -1 : 1))
  const branches: Branch[] = ranges.map((range) => ({ range }))
  if (roots.length > 0) branches.push({ roots })
  return branches
}

/** Returns whether the branches are the whole platform as one range. */
function isPlatform([only, ...others]: readonly Branch[]): boolean {
  return (
    others.length === 0 &&
    only !== undefined &&
    'range' in only &&
    only.range.from === '' &&
    only.range.to === 'g'
  )
}

/**
 * Splits the whole platform into its organizations, for an index that starts with the root: for conditions and for orders other than by uid.
 * Beyond branchesMax organizations it stays one branch, which a reader thread reads.
 */
async function splitByOrganization(db: Db, platform: Branch[], table: ListedTable): Promise<Branch[]> {
  const max = db.sizes.branchesMax + 1
  const roots = await (isCounted(table) ? countedRoots(db, table, max) : firstRoots(db, table, max))
  return roots.length > db.sizes.branchesMax ? platform : roots.map((root) => ({ range: subtreeRange(root) }))
}

async function countedRoots(db: Db, table: ResourceTable, max: number): Promise<string[]> {
  const sql = sqlText(db.engine)
  const text = `select distinct root from counts where collection = ${sql.bind(table)} order by root limit ${sql.bind(max)}`
  const rows = await runCachedText<{ root: string }>(db, text, sql)
  return rows.map(({ root }) => root)
}

/** Returns the conditions of a list, all of which rows must match. */
function conditionsOf(
  filter: UIDPFilter | undefined,
  { table, equals, conditions: initial = [] }: ListSpec<ListedTable>,
): Filter[] {
  const conditions: Filter[] = [...initial]
  for (const [column, value] of Object.entries(equals ?? {})) {
    if (value !== undefined && value !== '') conditions.push({ column, values: [value] })
  }
  if (filter === undefined) return conditions
  if (filter.childrenOf !== '') {
    const parent = filter.childrenOf === '/' ? '' : filter.childrenOf
    conditions.push({ column: 'parent', values: [parent] })
  }
  if (filter.inRoot) conditions.push({ column: 'parent', values: [''] })
  if (filter.ids.length > limits.filterIdsMax) {
    throw invalidArgument('uidp.ids', `must have at most ${limits.filterIdsMax} values`)
  }
  if (filter.ids.length > 0) {
    conditions.push({
      column: 'uid',
      values: [...new Set(filter.ids.map((id) => parseUidField('uidp.ids', id)))],
    })
  }
  if (filter.ancestorsOf !== '') {
    const path = pathOf(parseUidField('uidp.ancestors_of', filter.ancestorsOf))
    conditions.push(
      // Ancestors of a group are groups; for other resources their parent is compared.
      table === 'groups'
        ? { column: 'uid', values: path.slice(0, -1) }
        : { column: table === 'account_associations' ? 'uid' : 'parent', values: path },
    )
  }
  return conditions
}

/** Returns whether a filter has only texts that are longer than any stored one. */
function matchesNothing(filter: Filter): boolean {
  const isTooLong = (value: string | number) =>
    typeof value === 'string' && value.length > limits.filterCharsMax
  if ('values' in filter) return filter.values.length > 0 && filter.values.every(isTooLong)
  return 'isUidSuffix' in filter && isTooLong(filter.isUidSuffix)
}

const CACHED_COUNTS_MAX = 2000

/** By table and branches: building the statement, for a key of runCachedText, costs more than looking up its result. */
const branchCounts = createVersionCache<number>({
  max: CACHED_COUNTS_MAX,
  maxSize: limits.cachedQueriesCharsMax,
  sizeOf: (_, key) => key.length,
})

/** Returns the number of rows in the branches, and the same number as `exact` if it is the total of the list. */
async function estimateRows(
  db: Db,
  { table, branches, conditions }: ListQuery,
): Promise<{ readonly rows: number; readonly exact: number | undefined }> {
  if (!isCounted(table)) return { rows: Number.POSITIVE_INFINITY, exact: undefined }
  // Ranges that share a statement are not counted one by one.
  const isShared = branches.length > db.sizes.branchesMax
  const roots = isShared ? limitRoots(rootsOfBranches(branches)) : undefined
  const key = JSON.stringify([table, isShared ? (roots ?? null) : branches])
  const rows = await branchCounts(db, key, async () => {
    const sql = sqlText(db.engine)
    if (isShared) {
      const [row] = await runText<{ n: number }>(db, `select ${rootsCountSql(sql, table, roots)} as n`, sql)
      return Number(row?.n ?? 0)
    }
    const counts = branches.map((branch) =>
      'range' in branch
        ? rangeCountSql(sql, table, branch.range)
        : `(select count(*) from ${table} where root in (${sql.bindAll(branch.roots)}))`,
    )
    const [row] = await runText<{ n: number }>(db, `select ${counts.join(' + ')} as n`, sql)
    return Number(row?.n ?? 0)
  })
  return { rows, exact: conditions.length === 0 && !isShared ? rows : undefined }
}

async function countRows(db: Db, query: ListQuery, scanned: number): Promise<number> {
  const { table, conditions, rarestCondition: rare } = query
  const sql = sqlText(db.engine)
  const [only] = conditions
  const isShort =
    conditions.length === 1 &&
    only !== undefined &&
    isIndexCondition(only) &&
    query.branches.length <= db.sizes.branchesMax &&
    query.branches.every((branch) => indexOf(query).hasStoredCount(only, branch))
  const counts = splitBranches(db, table, query.branches).map((branches) => {
    const [branch] = branches
    const isAlone = conditions.length === 1 && branch !== undefined && branches.length === 1
    // Without another condition the index alone has the answer.
    if (isAlone && rare !== undefined && only === rare) return indexOf(query).countSql(sql, rare, branch)
    // Rows without the values are all rows except those with one.
    if (isAlone && isExclusionOnly(query) && isCounted(table) && 'range' in branch)
      return `(${rangeCountSql(sql, table, branch.range)} - ${indexOf(query).countSql(sql, only as IndexCondition, branch)})`
    return branchesCountText(sql, { ...query, lookupCondition: rare }, branches)
  })
  const text = `select ${counts.join(' + ')} as n`
  const [row] = await runCachedText<{ n: number }>(db, text, sql, {
    long: !isShort && scanned > db.sizes.rowsInlineMax,
  })
  return Number(row?.n ?? 0)
}

/** Whether the only condition excludes the rows with some values. */
function isExclusionOnly(query: ListQuery): boolean {
  const [only] = query.conditions
  return (
    query.conditions.length === 1 &&
    only !== undefined &&
    isIndexCondition(only) &&
    indexOf(query).isExclusion(only)
  )
}

interface PageWindow {
  readonly cursor: Cursor | undefined
  readonly skip: number
  readonly limit: number
  readonly scanned: number
  /** Upper bound of the rows that do not match. */
  readonly nonMatchingMax: number
  /** An expression to read instead of all columns, besides those of the order. */
  readonly only?: string
}

/** Returns how many rows of a page fit into the bytes of a wide column, at least one. */
async function countFitting(
  db: Db,
  query: ListQuery,
  window: PageWindow,
  { column, bytesMax }: NonNullable<ListSpec<ListedTable>['wide']>,
): Promise<number> {
  const lengths = await pageRows<{ bytes: number }>(db, query, {
    ...window,
    only: `length(${query.table}.${column}) as bytes`,
  })
  let bytes = 0
  const beyond = lengths.findIndex((row) => {
    bytes += Number(row.bytes)
    return bytes > bytesMax
  })
  return beyond < 0 ? lengths.length : Math.max(beyond, 1)
}

async function pageRows<Row>(db: Db, query: ListQuery, page: PageWindow): Promise<Row[]> {
  const [first] = query.order
  const after = page.cursor?.after
  const branches =
    first?.column === 'uid' && after !== undefined
      ? branchesAfter(query.branches, String(after[0]), first.descending)
      : query.branches
  if (areInUidOrder(db, { ...query, branches }) && page.skip === 0)
    return pageByBranches(db, { ...query, branches }, page)
  return readBranches(db, { ...query, branches, distribution: await readDistribution(db, branches) }, page)
}

/** Branches that the first statement of `pageByBranches` reads, and how many times as many the next one does. */
const BRANCHES_FIRST = 8
const BRANCHES_GROWTH = 8

/** Whether branches that would share a statement can be read one after the other. */
function areInUidOrder(db: Db, query: ListQuery): boolean {
  const { branches, order, conditions } = query
  return (
    branches.length > db.sizes.branchesMax &&
    order[0]?.column === 'uid' &&
    branches.every((branch) => 'range' in branch) &&
    !conditions.some(isIndexCondition) &&
    siblingKeyOf(db, query) === undefined
  )
}

/**
 * Reads the first branches, and more until the page is full. Of callers with thousands of scopes, one statement for all would read every visible
 * row for each page.
 */
async function pageByBranches<Row>(db: Db, query: ListQuery, page: PageWindow): Promise<Row[]> {
  const inOrder = query.order[0]?.descending ? query.branches.toReversed() : query.branches
  const rows: Row[] = []
  let count = Math.min(BRANCHES_FIRST, db.sizes.branchesMax)
  for (let at = 0; at < inOrder.length && rows.length < page.limit; ) {
    const branches = inOrder.slice(at, at + count)
    const distribution = await readDistribution(db, branches)
    const limit = page.limit - rows.length
    rows.push(...(await readBranches<Row>(db, { ...query, branches, distribution }, { ...page, limit })))
    at += count
    count *= BRANCHES_GROWTH
  }
  return rows
}

/** Reads a page in one statement. `query.branches`: those after the cursor. */
async function readBranches<Row>(db: Db, query: ListQuery, page: PageWindow): Promise<Row[]> {
  const { table, conditions, order } = query
  const inUidOrder = order[0]?.column === 'uid'
  const descending = order[0]?.descending ?? false
  const after = page.cursor?.after
  let { branches } = query
  let offset = page.skip
  const [only] = branches
  if (
    isCounted(table) &&
    inUidOrder &&
    conditions.length === 0 &&
    offset > db.sizes.rowsInlineMax &&
    branches.length === 1 &&
    isCountable(only)
  ) {
    const start = await skipByBuckets(db, table, only.range, offset, descending)
    branches = [
      { range: descending ? { ...only.range, to: start.from } : { ...only.range, from: start.from } },
    ]
    offset = start.remaining
  }

  if (branches.length === 0) return []
  const sql = sqlText(db.engine)
  if (hasComputedOrder(query)) {
    const { skip, limit, only } = page
    return runLongText<Row>(db, computedPageText(db, sql, query, { after, limit, skip, only }), sql)
  }
  // Sorting few rows is faster than scanning the index of another column for them; SQLite has no statistics to find that out.
  const few = db.rules.needsPlanHints && !inUidOrder && page.scanned <= db.sizes.rowsInlineMax
  // Skipped rows are not fetched: the index has all columns of the order.
  const deep = isCounted(table) && offset > db.sizes.rowsInlineMax
  const orderColumns = [...new Set(['root', 'uid', ...order.map((key) => key.column)])].join(', ')
  // The statement around several parts sorts by the root.
  const required = branches.length === 1 && query.columns !== undefined ? query.columns.join(', ') : '*'
  const shown = page.only === undefined ? required : `${orderColumns}, ${page.only}`
  const columns = deep ? orderColumns : shown
  const indexScans = inUidOrder ? query.index?.scans(query.rarestCondition, branches) : undefined
  // Few rows of several parts are looked up instead.
  if (indexScans !== undefined && (query.lookupCondition === undefined || indexScans.length === 1)) {
    const keys = `${indexOf(query).scanOrder}${descending ? ' desc' : ''}`
    // Rows of several parts are sorted and deduplicated by uid before they are fetched.
    const isOne = indexScans.length === 1
    const parts = indexScans.map((from) => {
      return `select * from (select ${table}.${isOne ? '*' : `root, ${table}.uid`} from ${from(sql)}${otherConditionsText(sql, query, query.rarestCondition)}
        order by ${keys} limit ${sql.bind(page.limit + offset)}) as part`
    })
    const all = `select * from (${parts.join(' union ')}) as parts order by ${orderText(order, { oneRoot: false, sorted: false })}
      limit ${sql.bind(page.limit)} offset ${sql.bind(offset)}`
    const text = isOne
      ? all
      : `select ${table}.* from (${all}) as found join ${table} using (root, uid) order by ${orderText(order, { oneRoot: false, sorted: false, of: 'found' })}`
    // Another condition may match few of them, so many are read.
    return conditions.length > 1 && query.lookupCondition === undefined
      ? await runLongText<Row>(db, text, sql)
      : await runText<Row>(db, text, sql)
  }
  const groups = splitBranches(db, table, branches)
  const siblingKey = siblingKeyOf(db, query)
  const parts = groups.map((part) => {
    const where = [whereOf(sql, query, part)]
    if (siblingKey !== undefined && after !== undefined)
      where.push(`${siblingKey} ${descending ? '<' : '>'} ${sql.bind(lastSegment(String(after[0])))}`)
    if (!inUidOrder && after !== undefined) where.push(afterCursor(sql, order, after))
    const hint = indexHint(db, query, part)
    const keys =
      siblingKey === undefined
        ? orderText(order, { oneRoot: part.every(isSingleRoot), sorted: few && hint === '' })
        : `${siblingKey}${descending ? ' desc' : ''}`
    const limit = groups.length === 1 ? '' : ` limit ${sql.bind(page.limit + offset)}`
    return `select ${columns} from ${table}${hint} where ${where.join(' and ')} order by ${keys}${limit}`
  })
  const all = parts.map((part) => `select * from (${part}) as part`).join(' union all ')
  const keys = orderText(order, { oneRoot: false, sorted: false })
  const body = parts.length === 1 ? parts[0] : `select * from (${all}) as parts order by ${keys}`
  const found = `${body} limit ${sql.bind(page.limit)} offset ${sql.bind(offset)}`
  const text = deep
    ? `select ${page.only === undefined ? `${table}.*` : `found.*, ${page.only}`} from (${found}) as found join ${table} using (root, uid) order by ${orderText(order, { oneRoot: false, sorted: false, of: 'found' })}`
    : found

  // Skipping many rows one by one, or searching few among many, takes long.
  const long =
    deep ||
    (page.scanned > db.sizes.rowsInlineMax &&
      ((conditions.length > 0 && page.nonMatchingMax > db.sizes.rowsInlineMax) ||
        branches.length > db.sizes.branchesMax ||
        !(inUidOrder || coversOrganization(branches))))
  return long ? await runLongText<Row>(db, text, sql) : await runText<Row>(db, text, sql)
}
