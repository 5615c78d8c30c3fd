import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { type GroupList, GroupListSchema } from '@berth/contract/gen/chainguard/platform/iam/groups_pb.js'
import {
  GroupsService,
  type ListGroupsRequest,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { UIDPFilterSchema } from '@berth/contract/gen/platform/common/v1/uidp.platform_pb.js'
import { create } from '@bufbuild/protobuf'
import { ApiError, Code } from '../../api/errors.ts'
import { limits } from '../../config/limits.ts'
import type { InvokeMethod } from '../../pipeline/call.ts'
import { joinParts, nextPart } from '../../pipeline/response-parts.ts'
import { listAllPages, narrowFilter, noMatch } from './translation.ts'

const { listGroups } = GroupsService.method

/** A list of so many groups, and how often it was asked. */
function listOf(total: number, totalCount = total) {
  const asked: ListGroupsRequest[] = []
  const ask = (async (method: typeof listGroups, init: Partial<ListGroupsRequest>) => {
    const request = create(method.input, init as never)
    asked.push(request)
    const from = Number(request.pageToken || '0')
    const to = Math.min(from + request.pageSize, total)
    const groups = Array.from({ length: to - from }, (_, at) => ({ uid: String(from + at) }))
    const next = to < total ? { nextPageToken: String(to) } : {}
    return create(method.output, { groups, totalCount: BigInt(totalCount), ...next })
  }) as unknown as InvokeMethod
  const parts = () =>
    listAllPages(ask, listGroups, { name: 'x' }, ({ groups }) =>
      create(GroupListSchema, { items: groups.map(({ uid }) => ({ id: uid })) }),
    )
  const list = async (signal?: AbortSignal) =>
    ((await joinParts(await parts(), () => signal)) as GroupList).items.map(({ id }) => id)
  return { asked, parts, list }
}

test('a whole list uses pages of the maximum size, in the order of uids', async () => {
  const { asked, list } = listOf(2 * limits.pageSizeMax + 1)
  assert.deepEqual(
    await list(),
    Array.from({ length: 2 * limits.pageSizeMax + 1 }, (_, at) => String(at)),
  )
  assert.equal(asked.length, 3)
  assert.ok(asked.every(({ name, orderBy }) => name === 'x' && orderBy === 'uid'))
  assert.deepEqual(await listOf(0).list(), [])
})

test('a list beyond v1ListMax is rejected, immediately if its total is known, and the error names the list with pages', async () => {
  const refusal = (error: unknown) =>
    error instanceof ApiError &&
    error.code === Code.FAILED_PRECONDITION &&
    /more than 50000 .*v2beta1\.GroupsService\/ListGroups/.test(error.message)
  assert.equal((await listOf(limits.v1ListMax).list()).length, limits.v1ListMax)
  const long = listOf(limits.v1ListMax + 1)
  await assert.rejects(long.list(), refusal)
  assert.equal(long.asked.length, 1)
  assert.equal(nextPart(await listOf(limits.pageSizeMax).parts()), undefined)
  // It may grow while it is read.
  await assert.rejects(listOf(limits.v1ListMax + 1, 1).list(), refusal)
})

test('a part is read when it is needed, and reading stops when the caller disconnects', async () => {
  const { asked, parts, list } = listOf(3 * limits.pageSizeMax)
  const next = nextPart(await parts())!
  await setImmediate()
  assert.equal(asked.length, 1)
  assert.equal((await next()).items.length, limits.pageSizeMax)
  assert.equal(asked.length, 2)
  const reason = new Error('the caller went away')
  await assert.rejects(list(AbortSignal.abort(reason)), reason)
  assert.equal(asked.length, 3)
})

test('an identifier and a parent narrow a filter; an invalid or contradicting uid matches nothing', () => {
  const [one, other] = ['a'.repeat(40), 'b'.repeat(40)]
  const filter = (init: object) => create(UIDPFilterSchema, init)
  for (const [given, to, expected] of [
    [undefined, {}, filter({})],
    [filter({ descendantsOf: one }), { id: '' }, filter({ descendantsOf: one })],
    [undefined, { id: one }, filter({ ids: [one] })],
    [filter({ ids: [one, other] }), { id: one }, filter({ ids: [one] })],
    [filter({ ids: [other] }), { id: one }, noMatch],
    [undefined, { id: 'x' }, noMatch],
    [undefined, { parent: '/' }, filter({ childrenOf: '/' })],
    [undefined, { parent: one }, filter({ childrenOf: one })],
    [filter({ childrenOf: other }), { parent: one }, noMatch],
    [undefined, { parent: 'x' }, noMatch],
    [filter({ ids: ['x', one] }), {}, filter({ ids: [one] })],
    [filter({ ids: ['x'] }), {}, noMatch],
    [filter({ descendantsOf: '/' }), {}, noMatch],
    [filter({ ancestorsOf: 'x' }), {}, noMatch],
    [filter({ childrenOf: 'x' }), {}, noMatch],
    [filter({ childrenOf: '/' }), {}, filter({ childrenOf: '/' })],
  ] as const)
    assert.deepEqual(narrowFilter(given, to), expected)
})
