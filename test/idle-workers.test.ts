import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createDocumentReader } from '@berth/server/advisories/documents/document-reader.ts'
import { limits } from '@berth/server/config/limits.ts'
import { readerPool } from '@berth/server/storage/engines/sqlite/reader-pool.ts'
import Database from 'better-sqlite3'
import { eventually } from './support/eventually.ts'
import { temporaryDirectory } from './support/server/process.ts'

/** Processes and threads end when they have had no work for some time, and start again with the next. */

const skip = !existsSync('/proc/self/task') && 'the system does not list processes and threads'
const children = () => readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').split(' ').length - 1
const threads = () => readdirSync('/proc/self/task').length

const document = Buffer.from(
  JSON.stringify({
    id: 'EX-1',
    modified: '2025-01-02T03:04:05Z',
    affected: [{ package: { ecosystem: 'npm', name: 'a' } }],
  }),
)

test('the process that reads documents ends after workerProcessIdleMs without work', { skip }, async (t) => {
  assert.equal(limits.workerProcessIdleMs, 60_000)
  const before = children()
  const reader = createDocumentReader({ ...limits, workerProcessIdleMs: 50 })
  t.after(() => reader.close())
  for (let n = 0; n < 2; n++) {
    assert.ok(!('rejection' in (await reader.read('a.json', '', document))))
    assert.equal(children(), before + 1)
    await eventually(() => children() === before)
  }
})

test('threads for long reads of SQLite end after readerThreadIdleMs without work', { skip }, async (t) => {
  assert.equal(limits.readerThreadIdleMs, 60_000)
  const file = join(temporaryDirectory(t), 'berth.db')
  new Database(file).exec('create table numbers (n integer); insert into numbers values (7)').close()
  const pool = readerPool(file, 50)
  t.after(() => pool.close())
  for (let n = 0; n < 2; n++) {
    assert.deepEqual(await pool.run('select n from numbers', []), [{ n: 7 }])
    const running = threads()
    await eventually(() => threads() < running)
  }
})
