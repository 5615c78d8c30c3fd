import assert from 'node:assert/strict'
import { test } from 'node:test'
import { feedJob } from '@berth/server/advisories/feeds/feed-job.ts'
import { importDocument } from '@berth/server/advisories/import/import-documents.ts'
import type { Uid } from '@berth/server/api/uid.ts'
import { limits } from '@berth/server/config/limits.ts'
import { acquireJob, JobInterrupted } from '@berth/server/storage/jobs/job-leases.ts'
import { readOrThrow } from '../support/advisories/advisory-documents.ts'
import { countAdvisories, FEEDS, osvRecord } from '../support/advisories/feeds.ts'
import {
  apiOf,
  assertError,
  invalidFieldError,
  notFoundError,
  onEveryDatabase,
  permissionDeniedError,
} from '../support/api/api-fixture.ts'
import { databases } from '../support/database/databases.ts'
import { startTestBerth } from '../support/server/test-berth.ts'

const TYPE = 'vulnerabilities.chainguard.dev/AdvisoryFeed'
// An address that nothing is at: these feeds are set up, not read.
const url = 'https://feeds.example/all.zip'

onEveryDatabase('feeds of advisories', (cast) => {
  const paused = (more: object = {}) => ({ url, paused: true, ...more })

  test('a feed is created, read, listed, updated and deleted; the audit log has each change', async () => {
    const { uid: organization, member } = await cast().organization()
    const { api } = await member('advisories.admin')
    const made = await api.create(`${FEEDS}/${organization}`, { url, format: 'osv' })
    assert.match(made.uid, new RegExp(`^${organization}/[0-9a-f]{16}$`))
    const { uid, createTime, nextAttemptTime, ...rest } = made
    assert.deepEqual(rest, {
      url,
      format: 'osv',
      interval: `${limits.feedIntervalMsDefault / 1000}s`,
      paused: false,
      state: 'STATE_WAITING',
      lastError: '',
      failures: 0,
      sourceEtag: '',
      updateTime: createTime,
    })
    assert.equal(nextAttemptTime, createTime)
    assert.deepEqual((await api.get(`${FEEDS}/${uid}`)).body, made)
    const listed = (await api.get(FEEDS, { url, 'uidp.descendantsOf': organization })).body
    assert.deepEqual([listed.advisoryFeeds, listed.totalCount], [[made], '1'])
    assert.deepEqual((await api.get(FEEDS, { url: 'https://feeds.example/' })).body.advisoryFeeds, [])

    const slower = await api.patch(`${FEEDS}/${uid}`, { interval: '7200s', format: '' }, 'interval,format')
    assert.deepEqual([slower.body.interval, slower.body.format], ['7200s', ''])
    const stopped = await api.patch(`${FEEDS}/${uid}`, { paused: true })
    assert.deepEqual([stopped.body.state, stopped.body.nextAttemptTime], ['STATE_PAUSED', undefined])
    const same = await api.patch(`${FEEDS}/${uid}`, { paused: true, url })
    assert.equal(same.body.updateTime, stopped.body.updateTime)
    assertError(await api.post(`${FEEDS}/${uid}:sync`, {}), {
      status: 400,
      code: 9,
      violation: 'FEED_PAUSED',
    })
    await api.patch(`${FEEDS}/${uid}`, { paused: false }, 'paused')
    const due = await api.create(`${FEEDS}/${uid}:sync`, { full: true })
    assert.equal(due.state, 'STATE_WAITING')

    assert.equal((await api.delete(`${FEEDS}/${uid}`)).status, 200)
    assertError(await api.get(`${FEEDS}/${uid}`), notFoundError(TYPE, uid))
    assertError(await api.delete(`${FEEDS}/${uid}`), notFoundError(TYPE, uid))
    assert.deepEqual(
      (await cast().auditEventsOf(uid)).map(({ method }) => method.split('/')[1]),
      [
        'CreateAdvisoryFeed',
        'UpdateAdvisoryFeed',
        'UpdateAdvisoryFeed',
        'UpdateAdvisoryFeed',
        'SyncAdvisoryFeed',
        'DeleteAdvisoryFeed',
      ],
    )
  })

  test('a run that loses its lease while it reads a document does not write it', async () => {
    const { uid: group, member } = await cast().organization()
    const { api } = await member('advisories.admin')
    const { uid } = await api.create(`${FEEDS}/${group}`, { url })
    const { store } = cast().berth.berth.installation
    const lease = await acquireJob({ ...store, onError: assert.ifError }, feedJob, { key: uid })
    assert.ok(lease !== undefined)
    const content = Buffer.from(JSON.stringify(osvRecord(1)))
    const document = readOrThrow('1.json', content)
    const imported = () =>
      importDocument(
        { name: '1.json', format: '', content },
        {
          store,
          reader: {
            async read() {
              await api.patch(`${FEEDS}/${uid}`, { paused: true }, 'paused')
              return { document }
            },
            close: async () => {},
          },
          parent: group as Uid,
          dryRun: false,
          event: { actor: 'system', method: 'a', requestId: 'b', address: '' },
          check: (tx) => lease.requireHeld(tx),
        },
      )
    await assert.rejects(imported(), JobInterrupted)
    await lease.release()
    assert.equal(await countAdvisories(api, group), 0)
  })

  test('a group has only one feed of a URL, and cannot be deleted while it has one', async () => {
    const { uid: organization, owner, member } = await cast().organization()
    const { api } = await member('advisories.admin')
    const folder = (await owner.api.create(`iam/groups/${organization}`, { name: 'a' })).uid
    const { uid } = await api.create(`${FEEDS}/${folder}`, paused())
    await api.create(`${FEEDS}/${organization}`, paused())
    assertError(await api.post(`${FEEDS}/${folder}`, paused()), {
      status: 409,
      code: 6,
      resource: [TYPE, folder],
    })
    const refused = await owner.api.delete(`iam/groups/${folder}`)
    assertError(refused, { status: 400, code: 9, violation: 'RESOURCE_NOT_EMPTY' })
    assert.match(refused.body.message, /advisory feeds/)
    await api.delete(`${FEEDS}/${uid}`)
    assert.equal((await owner.api.delete(`iam/groups/${folder}`)).status, 200)
  })

  test('invalid feeds are reported by field', async () => {
    const { uid: organization, member } = await cast().organization()
    const { api } = await member('advisories.admin')
    const { uid } = await api.create(`${FEEDS}/${organization}`, paused())
    const bad = [
      [{ url: '' }, 'url'],
      [{ url: 'feeds.example/x' }, 'url'],
      [{ url: 'ftp://feeds.example/x' }, 'url'],
      [{ url: 'file:///etc/passwd' }, 'url'],
      [{ url: 'https://user:secret@feeds.example/x' }, 'url'],
      [{ url: 'https://feeds.example/ü' }, 'url'],
      [{ url: `https://feeds.example/${'x'.repeat(limits.feedUrlCharsMax)}` }, 'url'],
      [{ url, format: 'pdf' }, 'format'],
      [{ url, interval: `${limits.feedIntervalMsMin / 1000 - 1}s` }, 'interval'],
      [{ url, interval: `${limits.feedIntervalMsMax / 1000 + 1}s` }, 'interval'],
      [{ url, interval: '-3600s' }, 'interval'],
    ] as const
    await cast().writesNothing(async () => {
      for (const [body, field] of bad)
        assertError(await api.post(`${FEEDS}/${organization}`, body), invalidFieldError(field))
      const moved = { url: 'https://feeds.example/other.zip' }
      assertError(await api.patch(`${FEEDS}/${uid}`, moved), invalidFieldError('url'))
      assertError(await api.patch(`${FEEDS}/${uid}`, { format: 'pdf' }), invalidFieldError('format'))
      assertError(await api.get(FEEDS, { orderBy: 'format' }), invalidFieldError('order_by'))
    })
  })

  test('a caller who may not write advisories cannot create a feed', async () => {
    const { uid: organization, member } = await cast().organization()
    const { uid } = await (await member('advisories.admin')).api.create(`${FEEDS}/${organization}`, paused())
    const reader = (await member('viewer')).api
    assert.equal((await reader.get(`${FEEDS}/${uid}`)).status, 200)
    await cast().writesNothing(async () => {
      for (const reply of [
        await reader.post(`${FEEDS}/${organization}`, { url: `${url}?2` }),
        await reader.patch(`${FEEDS}/${uid}`, { paused: false }),
        await reader.post(`${FEEDS}/${uid}:sync`, {}),
        await reader.delete(`${FEEDS}/${uid}`),
      ])
        assertError(reply, permissionDeniedError)
    })
    const { owner: stranger } = await cast().organization()
    assertError(await stranger.api.get(`${FEEDS}/${uid}`), permissionDeniedError)
    assert.deepEqual((await stranger.api.get(FEEDS)).body.advisoryFeeds, [])
  })
})

test('a plain http URL is accepted if private networks are configured, and rejected otherwise', async (t) => {
  const [database] = databases
  assert.ok(database)
  for (const [networks, status] of [
    ['', 400],
    ['10.0.0.0/8', 200],
  ] as const) {
    const berth = await startTestBerth(database, { env: { BERTH_ISSUER_PRIVATE_NETWORKS: networks } })
    t.after(() => berth.stop())
    const body = { url: 'http://10.0.0.1/all.zip', paused: true }
    assert.equal(
      (await apiOf(berth, berth.token).post(`${FEEDS}/${berth.organization}`, body)).status,
      status,
    )
  }
})
