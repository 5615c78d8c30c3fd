import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inTransaction } from '@berth/server/storage/db.ts'
import { readSetting, writeSetting } from '@berth/server/storage/settings.ts'
import { onEveryDatabase } from './support/api/api-fixture.ts'
import { call } from './support/api/rest.ts'

/** Requests during a transaction that takes long, such as the import of a large document. */

const options = { timeout: 30_000 }

onEveryDatabase(
  'while a transaction of another request is open',
  (cast) => {
    /** Writes the description of a group in a transaction, which ends with `commit` or `rollBack`. */
    const startChange = async (uid: string, description: string) => {
      const { db } = cast().berth.berth.installation.store
      const written = Promise.withResolvers<void>()
      const end = Promise.withResolvers<void>()
      const committed = inTransaction(db, async (tx) => {
        await tx.updateTable('groups').set({ description }).where('uid', '=', uid).execute()
        written.resolve()
        await end.promise
      })
      await Promise.race([written.promise, committed])
      return {
        async commit() {
          end.resolve()
          await committed
        },
        async rollBack() {
          end.reject(new Error('no'))
          await assert.rejects(committed, /^Error: no$/)
        },
      }
    }

    const createOrganization = async () => {
      const { uid, owner } = await cast().organization()
      const { api } = owner
      /** The description in a Get, in a List, and in the response of a method that reads through Kysely. */
      const readDescriptions = async () => {
        const [group, list, whoAmI] = await Promise.all([
          api.get(`iam/groups/${uid}`),
          api.get('iam/groups'),
          call('GET', `${cast().berth.url}/auth/v1/ok`, { token: api.token }),
        ])
        return [group.body, list.body.groups[0], whoAmI.body.capabilities[0].group].map(
          ({ description }) => description ?? '',
        )
      }
      return { uid, api, readDescriptions }
    }

    test('reads return what is committed, and nothing else stays in caches', options, async (t) => {
      const { uid, readDescriptions } = await createOrganization()
      const change = await startChange(uid, 'changed')
      t.after(change.commit)
      // Messages are cached when they are read for the second time.
      for (let read = 0; read < 3; read++) assert.deepEqual(await readDescriptions(), ['', '', ''])
      await change.commit()
      for (let read = 0; read < 3; read++)
        assert.deepEqual(await readDescriptions(), ['changed', 'changed', 'changed'])
    })

    test('a read that starts before the commit and ends after it is not cached', options, async (t) => {
      const { uid, readDescriptions } = await createOrganization()
      for (let round = 1; round <= 20; round++) {
        const change = await startChange(uid, `${round}`)
        t.after(change.commit)
        const reads = [readDescriptions(), readDescriptions()]
        await new Promise((resolve) => setTimeout(resolve, round / 4))
        await change.commit()
        for (const seen of (await Promise.all(reads)).flat())
          assert.ok([`${round}`, round === 1 ? '' : `${round - 1}`].includes(seen), seen)
        assert.deepEqual(await readDescriptions(), [`${round}`, `${round}`, `${round}`])
      }
    })

    test('changes wait, and are not part of it', options, async (t) => {
      const { uid, api, readDescriptions } = await createOrganization()
      const { db } = cast().berth.berth.installation.store
      const change = await startChange(uid, 'changed')
      t.after(change.rollBack)
      const ended: string[] = []
      const changes = [
        api.create(`iam/groups/${uid}`, { name: 'child' }).then(() => ended.push('in a transaction')),
        writeSetting(db.kysely, 'a', '1').then(() => ended.push('outside of transactions')),
      ]
      for (let read = 0; read < 3; read++) await readDescriptions()
      assert.deepEqual(ended, [])
      await change.rollBack()
      await Promise.all(changes)
      assert.deepEqual(await readDescriptions(), ['', '', ''])
      assert.equal(await readSetting(db.kysely, 'a'), '1')
      const { body } = await api.get('iam/groups', { 'uidp.children_of': uid })
      assert.equal(body.totalCount, '1')
    })
  },
  { only: 'sqlite' },
)
