import { type CapabilitySet, capabilitySetOf } from '@berth/contract/capabilities.ts'
import type { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import { intersectRanges, ROOT_CHARS, rootOf, subtreeRange, type UidRange } from '../api/uid.ts'
import { limits } from '../config/limits.ts'
import type { Grants } from '../pipeline/authorization.ts'
import type { Db } from '../storage/db.ts'
import type { Branch } from '../storage/list/list-sql.ts'
import { andIn, type NamedRoots, namedRootsOf } from '../storage/list/named-roots.ts'
import { firstRoots } from '../storage/organizations.ts'
import type { SqlText } from '../storage/sql-text.ts'

/** The parts of the tree that a search reads: what the caller may list, and nothing else. */
export interface Area {
  readonly ranges: readonly UidRange[]
  /** The caller may list more organizations than are searched. */
  readonly isPartial: boolean
  readonly roots: NamedRoots
}

const EMPTY: Area = { ranges: [], isPartial: false, roots: undefined }

/** Returns the areas in which a caller holds capabilities; `within`: the uid of a group, or ''. */
export function areasOf(
  db: Db,
  grants: Grants,
  within: string,
): (...capabilities: readonly Capability[]) => Promise<Area> {
  const requested = subtreeRange(within)
  let organizations: Promise<Area> | undefined
  const areaOf = async (needed: CapabilitySet): Promise<Area> => {
    const ranges = grants
      .scopesHolding(needed)
      .flatMap((scope) => intersectRanges(subtreeRange(scope), requested) ?? [])
    if (ranges.length === 0) return EMPTY
    if (ranges.some(({ from }) => from === '')) {
      organizations ??= firstOrganizations(db)
      return organizations
    }
    const max = limits.searchRangesMax
    return areaOfRanges(db, ranges.slice(0, max), ranges.length > max)
  }
  return (...capabilities) => areaOf(capabilitySetOf(capabilities))
}

/** Indexes start with the organization: the platform is searched organization by organization. */
async function firstOrganizations(db: Db): Promise<Area> {
  const roots = await firstRoots(db, 'groups', limits.searchRangesMax + 1)
  const ranges = roots.slice(0, limits.searchRangesMax).map(subtreeRange)
  return areaOfRanges(db, ranges, roots.length > limits.searchRangesMax)
}

async function areaOfRanges(db: Db, ranges: readonly UidRange[], isPartial: boolean): Promise<Area> {
  const roots = await namedRootsOf(
    db,
    ranges.map(({ from }) => from),
  )
  return { ranges, isPartial, roots }
}

export function branchesOf({ ranges }: Area): Branch[] {
  return ranges.map((range) => ({ range }))
}

/** Whether a range is an organization with everything in it. */
export function isOrganization({ from, to }: UidRange): boolean {
  return from.length === ROOT_CHARS && to === `${from}0`
}

/**
 * Returns a FROM clause, and a condition for the rows of a table in an area. `index` is the name of an index that starts with `root`, for
 * engines that need to be told. `uid`: the column with the uid.
 */
export function rowsIn(
  sql: SqlText,
  { ranges, roots }: Pick<Area, 'ranges' | 'roots'>,
  { table, uid, index }: { readonly table: string; readonly uid: string; readonly index?: string },
): { readonly from: string; readonly where: string } {
  const hint = index !== undefined && sql.rules.needsPlanHints ? ` indexed by ${index}` : ''
  const [only] = ranges
  if (ranges.length === 1 && only !== undefined) {
    const root = `t.root = ${sql.bind(rootOf(only.from))}`
    const inRange = () => ` and t.${uid} >= ${sql.bind(only.from)} and t.${uid} < ${sql.bind(only.to)}`
    return { from: `${table} as t${hint}`, where: isOrganization(only) ? root : root + inRange() }
  }
  const data = sql.bind(JSON.stringify(ranges.map(({ from, to }) => [rootOf(from), from, to])))
  const { source, element } = sql.rules.jsonArrays(data, 'part')
  return {
    from: `${source} cross join ${table} as t${hint}`,
    where: `t.root = ${element(0)} and t.${uid} >= ${element(1)} and t.${uid} < ${element(2)}${andIn(sql, 't.root', roots)}`,
  }
}
