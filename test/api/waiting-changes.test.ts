import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { limits } from '@berth/server/config/limits.ts'
import { inTransaction } from '@berth/server/storage/db.ts'
import { lockResource } from '@berth/server/storage/resource-rows.ts'
import type { ResourceTable } from '@berth/server/storage/schema/tables.ts'
import { sql } from 'kysely'
import {
  type ApiFixture,
  assertError,
  claimMatch,
  managedRole,
  onEveryDatabase,
} from '../support/api/api-fixture.ts'
import { selectedCluster } from '../support/database/databases.ts'
import { eventually } from '../support/eventually.ts'

/** Changes that wait for another one to end, which may take long for many concurrent changes. */

const suite = (cast: () => ApiFixture) => {
  /** Sessions that wait for a lock, on any server of a distributed database. */
  async function lockWaiters(): Promise<number> {
    const { kysely } = cast().berth.berth.installation.store.db
    const activity = selectedCluster === undefined ? 'pg_stat_activity' : 'citus_stat_activity'
    const { rows } = await sql`select 1 from ${sql.raw(activity)}
      where datname = current_database() and wait_event_type = 'Lock'`.execute(kysely)
    return rows.length
  }

  /**
   * What comes of the work when a transaction holds a row for longer than rights are believed in. `meanwhile`: while the work, which was
   * authorized before, waits for the row.
   */
  async function whileHeld<T>(
    collection: ResourceTable,
    uid: string,
    work: () => Promise<T>,
    meanwhile: () => Promise<void> = async () => {},
  ): Promise<T> {
    const { db } = cast().berth.berth.installation.store
    const release = Promise.withResolvers<void>()
    const isHeld = Promise.withResolvers<void>()
    const holding = inTransaction(db, async (tx) => {
      await lockResource(db, tx, collection, uid, 'update')
      isHeld.resolve()
      await release.promise
    })
    await isHeld.promise
    const working = work()
    try {
      await eventually(lockWaiters)
      await meanwhile()
      await sleep(limits.grantsMaxAgeMs + 100)
    } finally {
      release.resolve()
      await holding
    }
    return working
  }

  const aborted = { status: 409, code: 10 } as const

  test('R12: fails if its caller lost the permission meanwhile (grantsMaxAgeMs)', async () => {
    const organization = await cast().organization()
    const { owner, uid: root } = organization
    const { api, binding } = await organization.member('owner')
    const { uid: robot } = await owner.api.create(`iam/identities/${root}`, { name: 'robot', claimMatch })
    const bind = () =>
      api.post(`iam/roleBindings/${root}`, { identityUid: robot, roleUid: managedRole('owner') })
    const bound = await whileHeld('groups', root, bind, async () => {
      const removed = await owner.api.delete(`iam/roleBindings/${binding}`)
      assert.equal(removed.status, 200, removed.text)
    })
    assertError(bound, aborted)
    const { body } = await owner.api.get('iam/roleBindings', { identity: robot })
    assert.deepEqual(body.roleBindings, [])
  })

  test('succeeds if its caller still has the permission', async () => {
    const { owner, uid: root } = await cast().organization()
    const made = await whileHeld('groups', root, () => owner.api.post(`iam/groups/${root}`, { name: 'team' }))
    assert.equal(made.status, 200, made.text)
  })

  test('runs again if it removes a permission of its own caller', async () => {
    const { api, binding } = await (await cast().organization()).member('owner')
    const leave = () => api.delete(`iam/roleBindings/${binding}`)
    assertError(await whileHeld('role_bindings', binding, leave), aborted)
    assert.equal((await leave()).status, 200)
  })
}

// Elsewhere everything waits for its turn, the look at the rights too.
onEveryDatabase('a change that waits', suite, { only: 'servers' })
