import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { eventRow, insertEvents } from '@berth/server/storage/changes/audit-events.ts'
import { inTransaction } from '@berth/server/storage/db.ts'
import { onEveryEngine } from '../support/database/storage.ts'

onEveryEngine('audit events', (db) => {
  test('an event whose id is taken gets another one, and the transaction continues', async () => {
    const uid = randomBytes(20).toString('hex')
    const event = { timeMs: 1_800_000_000_000, actor: uid, method: 'm', uid, requestId: '', address: '' }
    const row = eventRow(event)
    await inTransaction(db(), async (tx) => {
      await insertEvents(tx, db().engine, [row])
      await insertEvents(tx, db().engine, [row, row])
    })
    const written = await db().kysely.selectFrom('audit_events').selectAll().where('root', '=', uid).execute()
    assert.deepEqual([written.length, new Set(written.map(({ id }) => id)).size], [3, 3])
    assert.ok(written.some(({ id }) => id === row.id))
    assert.ok(written.every(({ created_ms }) => created_ms === event.timeMs))
  })
})
