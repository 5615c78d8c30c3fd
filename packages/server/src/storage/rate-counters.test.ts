import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import Database from 'better-sqlite3'
import { sql } from 'kysely'
import { onEveryEngine } from '../../../../test/support/database/storage.ts'
import { limits } from '../config/limits.ts'
import { createMemoryCounters } from '../pipeline/limits/rate-counters.ts'
import { createSharedCounters } from './rate-counters.ts'

const HOUR = 3600

test('the memory that counts of one limit take is bounded by rateLimitKeysMax', async () => {
  const counter = (await createMemoryCounters()).counter('read/address', { points: 1, seconds: HOUR })
  assert.equal((await counter.count('first')).isExceeded, false)
  assert.equal((await counter.count('first')).isExceeded, true)
  for (let n = 0; n < limits.rateLimitKeysMax; n++) await counter.count(String(n))
  assert.equal((await counter.count(String(limits.rateLimitKeysMax - 1))).isExceeded, true)
  assert.equal((await counter.count('first')).isExceeded, false)
})

onEveryEngine('counts in the database', (db) => {
  test('are shared by all that count under the name, and deleted when their window has ended', async (t) => {
    const dataDir = mkdtempSync(join(tmpdir(), 'berth-test-'))
    const failures: unknown[] = []
    const open = () => createSharedCounters(db(), dataDir, (error) => failures.push(error))
    const one = await open()
    const two = await open()
    t.after(async () => {
      await one.close()
      await two.close()
      rmSync(dataDir, { recursive: true })
    })
    const rows = async () => {
      if (db().engine === 'postgres')
        return (await sql<{ key: string }>`select key from rate_limits`.execute(db().kysely)).rows
      const database = new Database(join(dataDir, 'rate-limits.db'))
      try {
        return database.prepare<[], { key: string }>('select key from rate_limits').all()
      } finally {
        database.close()
      }
    }

    const long = { points: 2, seconds: HOUR }
    const [a, b] = [one.counter('read', long), two.counter('read', long)]
    const first = await a.count('k')
    assert.deepEqual([first.isExceeded, first.remaining], [false, 1])
    assert.ok(first.resetMs > (HOUR - 60) * 1000 && first.resetMs <= HOUR * 1000)
    const second = await b.count('k')
    assert.deepEqual([second.isExceeded, second.remaining], [false, 0])
    for (const counter of [a, b, a, b]) assert.equal((await counter.count('k')).isExceeded, true)
    assert.equal((await two.counter('write', long).count('k')).remaining, 1)

    const short = one.counter('short', { points: 1, seconds: 1 })
    await short.count('k')
    while ((await short.count('k')).isExceeded) await new Promise((resolve) => setTimeout(resolve, 20))
    while ((await rows()).length > 2) {
      await one.sweep()
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    assert.deepEqual((await rows()).map(({ key }) => key).sort(), ['read:k', 'write:k'])
    assert.deepEqual(failures, [])
  })
})
