import assert from 'node:assert/strict'
import { test } from 'node:test'
import { randomUids } from '@berth/server/api/uid.ts'
import { limits } from '@berth/server/config/limits.ts'
import { createLastSeen } from '@berth/server/iam/identities/last-seen.ts'
import { currentContext } from '@berth/server/pipeline/request/request-context.ts'
import { createTransferCounter } from '@berth/server/registry/usage/transfer-counter.ts'
import type { Db } from '@berth/server/storage/db.ts'
import { eventually } from './support/eventually.ts'

/** Counts of pulls and times of last use, while a server of a distributed database does not respond. */

interface Recorder {
  record(uid: string): void
  stop(): Promise<void>
}

interface Options {
  readonly db: Db
  readonly clock: () => number
  readonly onError: (error: unknown) => void
}

const recorders: readonly (readonly [name: string, create: (options: Options) => Recorder])[] = [
  [
    'counts of pulls',
    (options) => {
      const counter = createTransferCounter({
        ...options,
        flushMs: 5,
        onDropped: (transfers) => assert.fail(`${transfers} are not counted`),
      })
      return { record: counter.countPull, stop: counter.stop }
    },
  ],
  [
    'times of last use',
    (options) => {
      const lastSeen = createLastSeen(options)
      return { record: lastSeen.touch, stop: lastSeen.stop }
    },
  ],
]

/** On a database of two servers, of which one does not respond until `thaw` is called. */
function started(create: (options: Options) => Recorder) {
  const thawed = Promise.withResolvers<void>()
  const [frozen, reachable] = [randomUids.root(), randomUids.root()]
  const written: string[] = []
  const starts: string[] = []
  const db = {
    serverOf: (root: string) => (root === frozen ? 1 : 2),
    async transaction() {
      const root = currentContext()?.rowsOf ?? ''
      starts.push(root)
      if (root === frozen) await thawed.promise
      written.push(root)
      return []
    },
  } as unknown as Db
  const { record, stop } = create({ db, clock: Date.now, onError: (error) => assert.fail(String(error)) })
  return {
    frozen,
    reachable,
    /** Organizations, in the order of their writes. */
    written,
    starts,
    record: (root: string) => record(`${root}/0123456789abcdef`),
    stop,
    thaw: thawed.resolve,
  }
}

for (const [name, create] of recorders) {
  test(`a server that does not respond does not delay ${name} of others`, async (t) => {
    const { frozen, reachable, written, starts, record, stop, thaw } = started(create)
    t.after(() => thaw())
    record(frozen)
    record(reachable)
    await eventually(() => written.length === 1)
    record(reachable)
    await eventually(() => written.length === 2)
    assert.deepEqual(written, [reachable, reachable])
    assert.equal(starts.filter((root) => root === frozen).length, 1)
    thaw()
    await stop()
    assert.deepEqual(written, [reachable, reachable, frozen])
  })

  test(`a stop writes ${name} of other servers while one does not respond`, async (t) => {
    const { frozen, reachable, written, starts, record, stop, thaw } = started(create)
    t.after(() => thaw())
    record(frozen)
    await eventually(() => starts.length === 1)
    record(frozen)
    record(reachable)
    const stopped = stop()
    await eventually(() => written.length === 1)
    assert.deepEqual(written, [reachable])
    thaw()
    await stopped
    assert.deepEqual(written, [reachable, frozen, frozen])
  })
}

test('a server has counts of half of pendingTransfersMax repos at most, and the number of the others is reported', async () => {
  const db = { serverOf: () => 1, transaction: async () => [] } as unknown as Db
  let dropped = 0
  const counter = createTransferCounter({
    db,
    clock: Date.now,
    onError: (error) => assert.fail(String(error)),
    onDropped: (transfers) => {
      dropped += transfers
    },
  })
  const repos = Array.from({ length: limits.pendingTransfersMax / 2 + 3 }, () => `${randomUids.root()}/app`)
  for (const repo of repos) counter.countPull(repo)
  await counter.stop()
  assert.equal(dropped, 3)
})
