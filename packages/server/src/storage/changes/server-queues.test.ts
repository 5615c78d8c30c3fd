import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createServerBound } from './server-bound.ts'
import { createServerQueues, type Unwritten } from './server-queues.ts'

/** Rows are texts: the first letter is their organization, and servers are named by it. */
const serverOf = (root: string): number | undefined => ({ a: 1, b: 2, c: 3 })[root]
const rootOf = (row: string) => row[0] ?? ''
const IMMEDIATE_MS = 2

test('a server has no more rows than it leaves to the others, and a database on one server has all', () => {
  const table: readonly (readonly [take: string, taken: string])[] = [
    ['????????????', '????????'],
    ['aaaaaaaa', 'aaaa'],
    ['aaaabbbbcccc', 'aaaabbc'],
    ['abababab', 'ababab'],
    ['aaaa????', 'aaaa????'],
    ['????aaaa', '????aa'],
  ]
  for (const [take, taken] of table) {
    const bound = createServerBound(8)
    assert.equal([...take].filter((root) => bound.take(serverOf(root))).join(''), taken, take)
  }
})

test('what is released can be taken again', () => {
  const bound = createServerBound(8)
  for (let n = 0; n < 4; n++) assert.equal(bound.take(1), true)
  assert.equal(bound.take(1), false)
  assert.deepEqual([bound.maxOf(1), bound.maxOf(2), bound.maxOf(undefined)], [4, 2, 4])
  bound.release(1)
  assert.equal(bound.take(1), true)
})

function started(t: TestContext, { max = 100, batch = 100, intervalMs = IMMEDIATE_MS } = {}) {
  const state = {
    written: [] as string[],
    writes: 0,
    dropped: 0,
    /** Servers that reject rows, and those that do not respond until the promise is fulfilled. */
    failing: new Set<string>(),
    frozen: new Map<string, Promise<void>>(),
    /** By row: what it is written as. */
    attributed: new Map<string, string>(),
  }
  const queues = createServerQueues<string>({
    db: { serverOf: (root) => serverOf(root) },
    max,
    batch,
    intervalMs,
    rootOf,
    async write(rows): Promise<Unwritten<string>> {
      state.writes++
      const server = rows[0]?.[0] ?? ''
      await state.frozen.get(server)
      if (state.failing.has(server)) return { rows, hasFailed: true }
      state.written.push(...rows.filter((row) => !state.attributed.has(row)))
      return { rows: rows.flatMap((row) => state.attributed.get(row) ?? []), hasFailed: false }
    },
    onDropped: (rows) => {
      state.dropped += rows
    },
  })
  t.after(() => queues.stop())
  const add = (...rows: string[]) => rows.map((row) => queues.add(row))
  return { queues, state, add }
}

const NEVER_MS = 1_000_000

test('rows of a server that rejects them wait in their order, and those of others are written', async (t) => {
  const { queues, state, add } = started(t, { batch: 2, intervalMs: NEVER_MS })
  state.failing.add('a')
  add('a1', 'b1', 'a2', 'a3', 'b2', 'b3')
  await queues.flush()
  assert.deepEqual(state.written, ['b1', 'b2', 'b3'])
  add('a4', 'b4')
  await queues.flush()
  assert.deepEqual(state.written.at(-1), 'b4')
  state.failing.clear()
  await queues.flush()
  assert.deepEqual(state.written.slice(4), ['a1', 'a2', 'a3', 'a4'])
  assert.equal(state.dropped, 0)
})

test('rows of a server that does not respond do not delay those of others', async (t) => {
  const { queues, state, add } = started(t)
  const thawed = Promise.withResolvers<void>()
  state.frozen.set('a', thawed.promise)
  add('a1', 'b1')
  await queues.flush(['b'])
  add('b2')
  await queues.flush(['b'])
  assert.deepEqual(state.written, ['b1', 'b2'])
  thawed.resolve()
  await queues.flush()
  assert.deepEqual(state.written, ['b1', 'b2', 'a1'])
})

test('a row that turns out to be of an organization on another server is written there', async (t) => {
  const { queues, state, add } = started(t, { intervalMs: NEVER_MS })
  state.attributed.set('a1', 'b1')
  add('a1', 'a2')
  await queues.stop()
  assert.deepEqual(state.written, ['a2', 'b1'])
})

test('a lost server has half of what may wait, also of rows that are being written', async (t) => {
  const { queues, state, add } = started(t, { max: 8, intervalMs: NEVER_MS })
  const thawed = Promise.withResolvers<void>()
  state.frozen.set('a', thawed.promise)
  assert.deepEqual(add('a1', 'a2', 'a3', 'a4', 'a5'), [true, true, true, true, false])
  const flushed = queues.flush(['a'])
  assert.deepEqual(add('a5', 'b1', 'b2', 'b3'), [false, true, true, false])
  await queues.flush(['b'])
  assert.deepEqual(add('b3'), [true])
  thawed.resolve()
  await flushed
  assert.deepEqual(add('a5'), [true])
})

test('half of what may wait is written before the interval ends, unless the last write failed', async (t) => {
  const { queues, state, add } = started(t, { max: 8, intervalMs: NEVER_MS })
  add('?1', '?2', '?3')
  assert.equal(state.writes, 0)
  add('?4')
  assert.equal(state.writes, 1)
  await queues.flush()
  state.failing.add('?')
  add('?1', '?2', '?3', '?4')
  await queues.flush()
  const { writes } = state
  add('?5', '?6')
  assert.equal(state.writes, writes)
})

test('a stop writes the rows of servers that respond, tries the others once, and reports what is lost', async (t) => {
  const { queues, state, add } = started(t, { intervalMs: NEVER_MS })
  state.failing.add('a')
  add('a1', 'b1', 'a2')
  await queues.stop()
  assert.deepEqual([state.written, state.writes, state.dropped], [['b1'], 2, 2])
})

test('a stop does not wait for a server that does not respond before it writes the rows of others', async (t) => {
  const { queues, state, add } = started(t, { intervalMs: NEVER_MS })
  const thawed = Promise.withResolvers<void>()
  state.frozen.set('a', thawed.promise)
  state.failing.add('a')
  state.attributed.set('b1', 'c1')
  add('a1', 'b1', 'b2')
  const stopped = queues.stop()
  for (let n = 0; n < 9; n++) await new Promise(setImmediate)
  assert.deepEqual(state.written, ['b2', 'c1'])
  thawed.resolve()
  await stopped
  assert.equal(state.dropped, 1)
})

/** Counts by name: the first letter of a name is the organization. */
interface Count {
  readonly name: string
  n: number
}

test('rows with equal keys wait as one, and a row that is being written is not changed', async (t) => {
  const state = { written: [] as string[], isFailing: false, frozen: Promise.resolve(), dropped: 0 }
  const queues = createServerQueues<Count>({
    db: { serverOf: (root) => serverOf(root) },
    max: 4,
    intervalMs: NEVER_MS,
    rootOf: ({ name }) => name[0] ?? '',
    merge: {
      keyOf: ({ name }) => name,
      add: (waiting, { n }) => {
        waiting.n += n
      },
    },
    async write(rows) {
      const texts = rows.map(({ name, n }) => `${name}=${n}`)
      await state.frozen
      if (state.isFailing) return { rows, hasFailed: true }
      state.written.push(...texts)
      return { rows: [], hasFailed: false }
    },
    onDropped: (rows) => {
      state.dropped += rows
    },
  })
  t.after(() => queues.stop())
  const add = (...names: string[]) => names.map((name) => queues.add({ name, n: 1 }))
  const thawed = Promise.withResolvers<void>()
  state.frozen = thawed.promise
  state.isFailing = true
  assert.deepEqual(add('?1', '?1'), [true, true])
  const flushed = queues.flush()
  // They wait beside the row that is being written, and take the place of one.
  assert.deepEqual(add('?1', '?1', '?2'), [true, true, true])
  thawed.resolve()
  await flushed
  // The row that was not written was added to the one that waits.
  assert.deepEqual(add('?2', '?3', '?4', '?5', '?1'), [true, true, true, false, true])
  state.isFailing = false
  await queues.flush()
  assert.deepEqual(state.written.sort(), ['?1=5', '?2=2', '?3=1', '?4=1'])
  assert.deepEqual(add('?1'), [true])
  await queues.stop()
  assert.deepEqual([state.written.at(-1), state.dropped], ['?1=1', 0])
})
