import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { http } from '@berth/contract/gen/google/api/annotations_pb.js'
import { resource as resourceOption } from '@berth/contract/gen/google/api/resource_pb.js'
import { isV1 } from '@berth/contract/schema-files.ts'
import { standardMethod } from '@berth/server/api/standard-methods.ts'
import type { Uid } from '@berth/server/api/uid.ts'
import { recordOrganization } from '@berth/server/iam/identities/organizations.ts'
import { managedRoleByUid } from '@berth/server/iam/managed-roles.ts'
import { inTransaction } from '@berth/server/storage/db.ts'
import { insertResource } from '@berth/server/storage/resource-rows.ts'
import { sortFieldsOf } from '@berth/server/storage/resources/declared-resource.ts'
import { type ResourceTable, resourceTables, type Tables } from '@berth/server/storage/schema/tables.ts'
import { type DescMessage, type DescMethodUnary, getOption, hasOption } from '@bufbuild/protobuf'
import fc from 'fast-check'
import {
  deleteAll,
  deleteRow,
  type GroupNode,
  hierarchies,
  insertHierarchy,
  insertOne,
  rowOf,
} from '../database/hierarchy.ts'
import { type Api, type ApiFixture, apiOf, managedRole } from './api-fixture.ts'
import { methods } from './methods.ts'

/** What lists promise, against lists that are computed here the simple way. */

interface Listing {
  readonly path: string
  /** What it can be ordered by. */
  readonly fields: readonly string[]
  /** The default order. */
  readonly order?: readonly Key[]
}

/** By table; the others follow from the schema. */
const special: Readonly<Partial<Record<ResourceTable, Partial<Listing>>>> = {
  role_bindings: { fields: ['uid', 'created_at', 'update_time'] },
  group_invites: { order: [{ field: 'created_at', direction: ' desc' }] },
  advisories: {
    fields: ['uid', 'advisory_id', 'artifact_name', 'component_name', 'created_at', 'update_time'],
  },
  advisory_feeds: { fields: ['uid', 'url', 'created_at', 'update_time'] },
}

/** How a collection is listed: the resource whose plural is the name of the table. */
function listingOf(table: ResourceTable): Listing {
  for (const method of methods) {
    const resource = isV1(method.parent) ? undefined : listedResource(method)
    if (resource === undefined) continue
    const { plural } = getOption(resource, resourceOption)
    if (plural.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) !== table) continue
    const path = String(getOption(method, http).pattern.value).replace('/v2beta1/', '/').slice(1)
    const fields = Object.keys(sortFieldsOf(resource)).filter((field) => field in columns)
    return { path, fields, ...special[table] }
  }
  throw new Error(`no method lists ${table}`)
}

/** The resource that a List method returns; undefined for other methods. */
function listedResource(method: DescMethodUnary): DescMessage | undefined {
  if (standardMethod(method) !== 'list') return undefined
  return method.output.fields.find(
    ({ message }) => message !== undefined && hasOption(message, resourceOption),
  )?.message
}

const columns: Readonly<Record<string, string>> = {
  uid: 'uid',
  name: 'name',
  advisory_id: 'advisory_id',
  artifact_name: 'artifact_name',
  component_name: 'component_name',
  url: 'url',
  created_at: 'created_ms',
  update_time: 'updated_ms',
}

const listings = Object.fromEntries(resourceTables.map((table) => [table, listingOf(table)])) as Record<
  ResourceTable,
  Listing
>

type Row = Record<string, string | number>
type Query = Readonly<Record<string, string | readonly string[]>>

interface Key {
  readonly field: string
  readonly direction: '' | ' asc' | ' desc'
}

/** A question about a random tree; numbers stand for groups and rows, modulo how many there are. */
export interface ListQuestion {
  readonly collection: ResourceTable
  readonly nodes: readonly GroupNode[]
  /** Groups that the caller may read; undefined: the platform's administrator asks. */
  readonly bound: readonly number[] | undefined
  readonly filter: {
    readonly descendantsOf: number | undefined
    readonly childrenOf: number | '/' | undefined
    readonly inRoot: boolean
    readonly ids: readonly number[] | undefined
    readonly ancestorsOf: number | undefined
    readonly name: number | undefined
  }
  readonly order: readonly Key[]
  readonly pageSize: number
  readonly skip: number
  readonly repeatsSkip: boolean
}

const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 1 })
const rarely = <T>(arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary })

export function listQuestions(size: {
  readonly groups: number
  readonly rows: number
}): fc.Arbitrary<ListQuestion> {
  const index = fc.nat(1000)
  const key = fc.record({
    field: fc.constantFrom(...Object.keys(columns)),
    direction: fc.constantFrom('' as const, ' asc' as const, ' desc' as const),
  })
  return fc.record({
    collection: fc.constantFrom<ResourceTable>(...resourceTables),
    nodes: hierarchies(size),
    bound: fc.oneof(
      { weight: 3, arbitrary: fc.array(index, { maxLength: 5 }) },
      { weight: 1, arbitrary: fc.constant(undefined) },
    ),
    filter: fc.record({
      descendantsOf: maybe(index),
      childrenOf: rarely(fc.oneof(index, fc.constant('/' as const))),
      inRoot: fc.oneof(
        { weight: 9, arbitrary: fc.constant(false) },
        { weight: 1, arbitrary: fc.constant(true) },
      ),
      ids: rarely(fc.array(index, { minLength: 1, maxLength: 8 })),
      ancestorsOf: rarely(index),
      name: rarely(index),
    }),
    order: fc.uniqueArray(key, { maxLength: 3, selector: ({ field }) => field }),
    pageSize: fc.integer({ min: 1, max: 7 }),
    skip: fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(30) }),
    repeatsSkip: fc.boolean(),
  })
}

interface ListRun {
  readonly api: Api
  readonly query: Query
  readonly groups: readonly string[]
  /** All that was made, by uid or root. */
  readonly roots: readonly string[]
  /** The rows of the tree, without what makes the caller one who may read it. */
  readonly planted: ReadonlySet<string>
  /** What the list must be, from the rows that are there now. */
  expected(): Promise<Row[]>
}

/** Plants the tree of a question for as long as it is looked at. */
async function withListRun(
  cast: ApiFixture,
  question: ListQuestion,
  look: (asked: ListRun) => Promise<void>,
): Promise<void> {
  const asked = await startListRun(cast, question)
  try {
    await look(asked)
  } finally {
    await deleteAll(cast.berth.berth.installation.store.db, asked.roots)
  }
}

/** Plants the tree, makes the caller, and spells the question out. */
async function startListRun({ berth, admin }: ApiFixture, question: ListQuestion): Promise<ListRun> {
  const { db } = berth.berth.installation.store
  const { collection, nodes, filter } = question
  const groups = await insertHierarchy(db, collection, nodes)
  const pick = <T>(all: readonly T[], at: number) => all[at % all.length] as T
  const scopes = question.bound?.map((at) => pick(groups, at))

  const rows = async () => (await db.kysely.selectFrom(collection).selectAll().execute()) as unknown as Row[]
  const mine = (await rows()).filter((row) => groups.some((group) => String(row['uid']).startsWith(group)))

  let api = admin
  const roots = [...groups]
  if (scopes !== undefined) {
    // Not in the tree, so that the lists hold what was planted and nothing else.
    const identity = randomBytes(20).toString('hex')
    roots.push(identity)
    await inTransaction(db, async (tx) => {
      await insertResource(
        db,
        tx,
        'identities',
        rowOf('identities', identity, { name: 'reader' }) as Tables['identities'],
      )
      for (const scope of new Set(scopes)) {
        const uid = `${scope}/${randomBytes(8).toString('hex')}`
        await recordOrganization(db, tx, scope as Uid, [identity])
        const binding = rowOf('role_bindings', uid, { name: '' }) as Tables['role_bindings']
        await insertResource(db, tx, 'role_bindings', {
          ...binding,
          identity_uid: identity,
          role_uid: managedRole('viewer'),
        })
      }
    })
    api = apiOf(berth, await berth.tokenOf(identity))
  }

  const row = (at: number) => (mine.length === 0 ? groups[0]! : String(pick(mine, at)['uid']))
  const ids = filter.ids?.map(row)
  const name =
    filter.name === undefined || mine.length === 0
      ? undefined
      : (pick(mine, filter.name)['name'] as string | undefined)
  const descendantsOf = filter.descendantsOf === undefined ? undefined : pick(groups, filter.descendantsOf)
  const childrenOf =
    typeof filter.childrenOf === 'number' ? pick(groups, filter.childrenOf) : filter.childrenOf
  const ancestorsOf = filter.ancestorsOf === undefined ? undefined : pick(groups, filter.ancestorsOf)

  const query: Record<string, string | readonly string[]> = { page_size: String(question.pageSize) }
  if (descendantsOf !== undefined) query['uidp.descendants_of'] = descendantsOf
  if (childrenOf !== undefined) query['uidp.children_of'] = childrenOf
  if (filter.inRoot) query['uidp.in_root'] = 'true'
  if (ids !== undefined) query['uidp.ids'] = ids
  if (ancestorsOf !== undefined) query['uidp.ancestors_of'] = ancestorsOf
  if (name !== undefined) query['name'] = name
  const { fields, order: usual = [] } = listings[collection]
  const asked = question.order.filter(({ field }) => fields.includes(field))
  const order = asked.length > 0 ? asked : usual
  if (asked.length > 0) query['order_by'] = asked.map(({ field, direction }) => field + direction).join(', ')

  const visible = (uid: string) =>
    scopes === undefined ||
    scopes.some((scope) => uid === scope || uid.startsWith(`${scope}/`)) ||
    (collection === 'roles' && managedRoleByUid.has(uid))
  const parent = (uid: string) => (uid.length === 40 ? '/' : uid.slice(0, -17))
  const isAncestor = (uid: string) =>
    ancestorsOf === undefined ||
    (collection === 'groups'
      ? ancestorsOf.startsWith(`${uid}/`)
      : // An association belongs to the group whose uid it has.
        `${ancestorsOf}/`.startsWith(`${collection === 'account_associations' ? uid : parent(uid)}/`))
  const keeps = (held: Row) => {
    const uid = String(held['uid'])
    return (
      visible(uid) &&
      (descendantsOf === undefined || uid.startsWith(`${descendantsOf}/`)) &&
      (childrenOf === undefined || parent(uid) === childrenOf) &&
      (!filter.inRoot || uid.length === 40) &&
      (ids === undefined || ids.includes(uid)) &&
      isAncestor(uid) &&
      (name === undefined || held['name'] === name)
    )
  }
  const compare = (a: Row, b: Row) => {
    for (const { field, direction } of [...order, { field: 'uid', direction: '' }]) {
      const column = columns[field] as string
      const [x, y] = [a[column] as string | number, b[column] as string | number]
      if (x !== y) return (x < y ? -1 : 1) * (direction === ' desc' ? -1 : 1)
    }
    return 0
  }
  const planted = new Set(mine.map((held) => String(held['uid'])))
  return {
    api,
    query,
    groups,
    roots,
    planted,
    expected: async () => (await rows()).filter(keeps).sort(compare),
  }
}

interface Page {
  readonly uids: string[]
  readonly next: string
  readonly total: number
  readonly skipped: number
}

async function fetchPage(api: Api, collection: ResourceTable, query: Query): Promise<Page> {
  const { status, body, text } = await api.get(listings[collection].path, query)
  assert.equal(status, 200, text)
  const { nextPageToken, totalCount, skipped, ...rest } = body
  const [items] = Object.values(rest) as { uid: string }[][]
  return { uids: items!.map(({ uid }) => uid), next: nextPageToken, total: Number(totalCount), skipped }
}

/** All pages after another, each checked for what every page must tell. */
export async function assertPagesMatchList(cast: ApiFixture, question: ListQuestion): Promise<void> {
  await withListRun(cast, question, async ({ api, query, expected }) => {
    const { collection, pageSize, skip } = question
    const wanted = (await expected()).map((row) => String(row['uid']))
    const first = skip === 0 ? query : { ...query, skip: String(skip) }
    // Whether a client repeats its skip with the token or leaves it out, the token has consumed it (decision 4).
    const next = question.repeatsSkip ? first : query
    const seen: string[] = []
    let token = ''
    do {
      const page: Page = await fetchPage(
        api,
        collection,
        token === '' ? first : { ...next, page_token: token },
      )
      assert.deepEqual([page.total, page.skipped], [wanted.length, skip], 'totalCount and skipped')
      if (page.next !== '') assert.equal(page.uids.length, pageSize, 'only the last page may be short')
      seen.push(...page.uids)
      token = page.next
    } while (token !== '')
    assert.deepEqual(seen, wanted.slice(skip))
  })
}

/** A further `skip` with a token passes over rows after the cursor, and adds up (decision 4). */
export async function assertSkipsAddUp(
  cast: ApiFixture,
  question: ListQuestion,
  further: number,
): Promise<void> {
  await withListRun(cast, question, async ({ api, query, expected }) => {
    const { collection, pageSize, skip } = question
    const wanted = (await expected()).map((row) => String(row['uid']))
    const first = await fetchPage(api, collection, { ...query, skip: String(skip) })
    if (first.next === '' || further === skip) return
    const second = await fetchPage(api, collection, {
      ...query,
      skip: String(further),
      page_token: first.next,
    })
    const from = skip + pageSize + further
    assert.deepEqual(second.uids, wanted.slice(from, from + pageSize))
    assert.deepEqual([second.skipped, second.total], [skip + further, wanted.length])
  })
}

/** Rows that come and go between pages never make another row come twice or not at all. */
export async function assertStableUnderChanges(
  cast: ApiFixture,
  question: ListQuestion,
  changes: readonly number[],
): Promise<void> {
  const { db } = cast.berth.berth.installation.store
  await withListRun(cast, question, async ({ api, query, groups, planted, expected }) => {
    const { collection } = question
    const before = (await expected()).map((row) => String(row['uid']))
    const seen: string[] = []
    const gone = new Set<string>()
    let token = ''
    let turn = 0
    do {
      const page: Page = await fetchPage(
        api,
        collection,
        token === '' ? query : { ...query, page_token: token },
      )
      seen.push(...page.uids)
      token = page.next
      const change = changes[turn++ % changes.length] ?? 0
      const own = before.filter((uid) => planted.has(uid) && !gone.has(uid))
      const victim = own[change % Math.max(1, own.length)]
      if (change % 2 === 0 && victim !== undefined) {
        gone.add(victim)
        await deleteRow(db, collection, victim)
      } else {
        await insertOne(db, collection, groups[change % groups.length] as string)
      }
    } while (token !== '')
    assert.equal(new Set(seen).size, seen.length, 'no row comes twice')
    const untouched = before.filter((uid) => !gone.has(uid))
    const still = new Set(untouched)
    assert.deepEqual(
      seen.filter((uid) => still.has(uid)),
      untouched,
      'every row that was there all the time comes once, in order',
    )
  })
}

/** R24: what a caller lists is what it gets one by one, of everything that is planted. */
export async function assertGetsMatchList(cast: ApiFixture, question: ListQuestion): Promise<void> {
  const all = {
    descendantsOf: undefined,
    childrenOf: undefined,
    inRoot: false,
    ids: undefined,
    ancestorsOf: undefined,
    name: undefined,
  }
  await withListRun(cast, { ...question, filter: all }, async ({ api, planted }) => {
    const { collection } = question
    const listed = new Set<string>()
    let token = ''
    do {
      const page: Page = await fetchPage(api, collection, {
        page_size: '200',
        ...(token && { page_token: token }),
      })
      for (const uid of page.uids) if (planted.has(uid)) listed.add(uid)
      token = page.next
    } while (token !== '')
    for (const uid of planted) {
      const { status } = await api.get(`${listings[collection].path}/${uid}`)
      assert.equal(status, listed.has(uid) ? 200 : 403, uid)
    }
  })
}

/** Runs a property on as many cases; the seed stands in the failure's message. */
export async function runProperty<T>(
  arbitrary: fc.Arbitrary<T>,
  check: (value: T) => Promise<void>,
  numRuns: number,
): Promise<void> {
  const seed = Number(process.env['BERTH_TEST_SEED'] ?? 20_251)
  await fc.assert(fc.asyncProperty(arbitrary, check), { numRuns, seed, endOnFailure: numRuns > 200 })
}
