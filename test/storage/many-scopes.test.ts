import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { managedRoles } from '@berth/server/iam/managed-roles.ts'
import { inTransaction } from '@berth/server/storage/db.ts'
import { insertResource } from '@berth/server/storage/resource-rows.ts'
import { managedRole } from '../support/api/api-fixture.ts'
import { call } from '../support/api/rest.ts'
import { engineDatabases } from '../support/database/databases.ts'
import { startTestBerth } from '../support/server/test-berth.ts'

/** On SQLite, more than the depth that it allows an expression. */
const groupsOn = (engine: string) => (engine === 'sqlite' ? 1500 : 300)

for (const database of engineDatabases) {
  const count = groupsOn(database.name)
  describe(`a caller bound to ${count} groups (${database.name})`, () => {
    test('lists them like any other caller, in every order and with filters', async (t) => {
      const berth = await startTestBerth(database)
      t.after(() => berth.stop())
      const { db, uids } = berth.berth.installation.store
      const { body: identity } = await call(
        'POST',
        `${berth.url}/iam/v2beta1/identities/${berth.organization}`,
        {
          token: berth.token,
          body: { name: 'wide', claimMatch: { issuer: 'https://issuer.example', subject: 's' } },
        },
      )
      const shared = { root: berth.organization, created_ms: 1, updated_ms: 1 }
      await inTransaction(db, async (tx) => {
        for (let n = 0; n < count; n++) {
          const uid = uids.child(berth.organization as never)
          const group = { name: `m${n}`, description: '', verified: 0, kind: 0, status: 2 }
          await insertResource(db, tx, 'groups', { ...shared, ...group, uid, parent: berth.organization })
          const binding = {
            identity_uid: identity.uid,
            role_uid: managedRole('viewer'),
            automatic: 0,
            accepted_through: '',
          }
          await insertResource(db, tx, 'role_bindings', {
            ...shared,
            ...binding,
            uid: uids.child(uid),
            parent: uid,
          })
        }
      })
      const token = await berth.tokenOf(identity.uid)
      const list = async (path: string) => {
        const reply = await call('GET', `${berth.url}${path}`, { token })
        assert.equal(reply.status, 200, reply.text)
        return reply.body
      }
      const first = await list('/iam/v2beta1/groups?page_size=200')
      assert.deepEqual([first.groups.length, first.totalCount], [200, String(count)])
      const second = await list(`/iam/v2beta1/groups?page_size=200&page_token=${first.nextPageToken}`)
      assert.ok(second.groups[0].uid > first.groups.at(-1).uid)
      const byName = await list('/iam/v2beta1/groups?page_size=3&order_by=name%20desc')
      assert.deepEqual(
        byName.groups.map(({ name }: { name: string }) => name),
        Array.from({ length: count }, (_, n) => `m${n}`)
          .sort()
          .reverse()
          .slice(0, 3),
      )
      assert.equal((await list('/iam/v2beta1/groups?name=m5')).totalCount, '1')
      // Every caller also reads the managed roles.
      assert.equal((await list('/iam/v2beta1/roles?page_size=200')).totalCount, `${managedRoles.length}`)
    })
  })
}
