import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Uid } from '../../api/uid.ts'
import type { CountedSeverities } from './severity-counts.ts'
import { createSeveritySummaries } from './severity-summaries.ts'

const group = (root: string, folder: string) => `${root.repeat(40)}/${folder.repeat(16)}` as Uid
const state = { revision: 1, groups: 1 } as never
const counted: CountedSeverities = { all: { high: 1 }, months: [] }

/** Counts that end when the test says so. */
function createCounts() {
  const started: { readonly uid: Uid; readonly end: () => void }[] = []
  const countGroup = async (_: unknown, uid: Uid) => {
    await new Promise<void>((resolve) => started.push({ uid, end: resolve }))
    return counted
  }
  const summaries = createSeveritySummaries(
    { db: undefined as never, clock: () => 0 },
    { queueMs: 20, countGroup },
  )
  return { started, summaries }
}

test('a count that waited too long for its turn starts again for the next caller', async () => {
  const { started, summaries } = createCounts()
  const [first, second] = [group('a', '1'), group('a', '2')]
  const running = summaries.read(first, state)
  assert.equal(await summaries.read(second, state), undefined)
  for (const { end } of started) end()
  assert.deepEqual((await running)?.all, counted.all)
  const again = summaries.read(second, state)
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(
    started.map(({ uid }) => uid),
    [first, second],
  )
  started[1]?.end()
  assert.deepEqual((await again)?.all, counted.all)
})

test('an organization counts one group at a time and does not delay others', async () => {
  const { started, summaries } = createCounts()
  const [first, second, other] = [group('a', '1'), group('a', '2'), group('b', '1')]
  const reads = [first, second, other].map((uid) => summaries.read(uid, state))
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(
    started.map(({ uid }) => uid),
    [first, other],
  )
  for (const { end } of started) end()
  await new Promise((resolve) => setImmediate(resolve))
  started[2]?.end()
  await Promise.all(reads)
})
