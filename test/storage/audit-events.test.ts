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
    const rows = Array.from({ length: 3 }, () => ({ ...eventRow(event), id: '01a3185c50000000' }))
    await inTransaction(db(), (tx) => insertEvents(tx, db().engine, rows))
    const written = await db().kysely.selectFrom('audit_events').selectAll().where('root', '=', uid).execute()
    const ids = (of: readonly { readonly id: string }[]) => of.map(({ id }) => id).sort()
    assert.equal(new Set(ids(written)).size, 3)
    // The caller knows the ids, and can write the events again if the outcome of the transaction is unknown.
    assert.deepEqual(ids(written), ids(rows))
    assert.equal(rows[0]?.id, '01a3185c50000000')
    assert.ok(written.every(({ created_ms }) => created_ms === event.timeMs))
  })
})
