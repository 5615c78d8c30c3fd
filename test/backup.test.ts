import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { managedRoleByName } from '@berth/server/iam/managed-roles.ts'
import { freePort } from '../scripts/free-port.ts'
import {
  blobPath,
  copyInstallation,
  createEmptyInstallation,
  damage,
  expireLease,
  filesIn,
  newServedInstallation,
  PASSPHRASE,
  runAdmin,
  runAdminJson,
  startServing,
  withPassphrase,
} from './support/database/backups.ts'
import { openDatabase } from './support/database/open-database.ts'
import { eventually } from './support/eventually.ts'
import { mailEnvironment, startMailServer } from './support/mail/mail-server.ts'
import { digest, pushBlob, pushImage, testImage } from './support/registry/registry.ts'
import {
  cleanups,
  type Environment,
  runBerth,
  serveBerth,
  spawnBerth,
  temporaryDirectory,
} from './support/server/process.ts'

describe('backup and restore of a SQLite installation', () => {
  const t = cleanups()
  let env: Environment & { BERTH_DATA_DIR: string } = { BERTH_DATA_DIR: '' }
  let destination = ''
  let server: Awaited<ReturnType<typeof startServing>>
  let image = testImage()
  let ids: string[] = []

  before(async () => {
    ;({ env, server, image, destination } = await newServedInstallation(t))
  })
  after(() => t.run())

  const later = testImage()

  test('the second backup stores new images only', async () => {
    const first = await runAdminJson(t, env, 'backup', destination)
    assert.deepEqual([first.masterKey, first.damaged], [true, []])
    assert.equal(first.blobs.added.count, image.blobs.length)
    await pushImage(server.client, `${server.root}/app`, later, '2')
    const second = await runAdminJson(t, env, 'backup', destination)
    const added = later.blobs.reduce((sum, { length }) => sum + length, 0)
    assert.deepEqual(second.blobs.added, { count: later.blobs.length, bytes: added })
    const stored = filesIn(destination).filter((file) => file.startsWith('sha256/'))
    const all = [...image.blobs, ...later.blobs].map(blobPath)
    assert.deepEqual(stored.sort(), [...new Set(all)].sort())
    ids = [first.id, second.id]
    const { items: backups } = await runAdminJson(t, env, 'backup', 'list', destination)
    assert.deepEqual(
      backups.map(({ id, complete }: { id: string; complete: boolean }) => [id, complete]),
      ids.map((id) => [id, true]),
    )
    assert.deepEqual((await runAdminJson(t, env, 'backup', 'verify', destination)).damaged, [])
    const metrics = await (await fetch(`${server.url}/metrics`)).text()
    assert.match(metrics, /^berth_backup_last_success_timestamp_seconds 1[\d.]+$/m)
    assert.ok(
      !filesIn(destination).some((file) => readFileSync(join(destination, file)).includes(PASSPHRASE)),
    )
  })

  test('a restored installation has the state of its backup, and the same keys', async () => {
    const to = createEmptyInstallation(t)
    const restored = await runAdminJson(t, to, 'restore', destination, ids[0] ?? '')
    assert.deepEqual([restored.backup, restored.scrub.wrong, restored.migrations], [ids[0], 0, []])
    assert.deepEqual(
      readFileSync(join(to.BERTH_DATA_DIR, 'master.key')),
      readFileSync(join(env.BERTH_DATA_DIR, 'master.key')),
    )
    const there = await startServing(t, to)
    const { client, root } = there
    assert.equal(root, server.root)
    assert.equal((await client.request('GET', `${root}/app/manifests/1`)).status, 200)
    assert.equal((await client.request('GET', `${root}/app/manifests/2`)).status, 404)
    const keys = async (which: Environment) => {
      const db = await openDatabase(which)
      const rows = await db.kysely.selectFrom('signing_keys').selectAll().orderBy('kid').execute()
      await db.close()
      return rows
    }
    assert.deepEqual(await keys(to), await keys(env))
    await there.stop()
  })

  test('a restored installation sends no email that waited when it was backed up', async () => {
    const from = createEmptyInstallation(t)
    // Nothing listens there: the email waits.
    const first = await startServing(t, { ...from, ...mailEnvironment({ port: await freePort() }) })
    const email = 'grace@example.com'
    const invites = `/iam/v2beta1/groupInvites/${first.root}`
    const invite = { roleUid: managedRoleByName.get('viewer')?.uid, ttl: '3600s' }
    const { json: invited } = await first.api('POST', invites, { ...invite, email })
    await first.stop()
    const source = await openDatabase(from)
    // Due immediately, also after an attempt of the first server.
    const due = { due_ms: 1, runner: '', lease_ms: 0 }
    await source.kysely.updateTable('mails').set(due).where('state', '=', 'queued').execute()
    const waiting = await source.kysely.selectFrom('mails').select(['uid', 'state']).execute()
    await source.close()
    assert.deepEqual(waiting, [{ uid: invited.uid, state: 'queued' }])
    const backups = join(temporaryDirectory(t), 'backups')
    await runAdminJson(t, from, 'backup', backups)

    const to = createEmptyInstallation(t)
    await runAdminJson(t, to, 'restore', backups)
    const restored = await openDatabase(to)
    const mails = await restored.kysely.selectFrom('mails').select(['uid', 'state', 'data']).execute()
    await restored.close()
    assert.deepEqual(
      mails.map(({ uid, state, data }) => [uid, state, data.length]),
      [[invited.uid, 'failed', 0]],
      'the code of the invite is not restored either',
    )
    const mail = await startMailServer(t, { tls: 'none' })
    const there = await startServing(t, { ...to, ...mailEnvironment(mail) })
    const { json: read } = await there.api('GET', `/iam/v2beta1/groupInvites/${invited.uid}`)
    const { mail: told } = read as { mail?: { state: string; problem: string } }
    assert.deepEqual([told?.state, told?.problem], ['STATE_FAILED', 'it waited when the backup was created'])
    // Email that is created later than the restore is sent, after what was due before.
    await there.api('POST', invites, { ...invite, email: 'ada@example.com' })
    await mail.next('ada@example.com')
    assert.deepEqual(
      mail.received.map(({ to }) => to),
      [['ada@example.com']],
    )
    await there.stop()
  })

  test('an image that is damaged in the backup is named, and can be left out', async () => {
    const damaged = copyInstallation(t, destination)
    const [, layer = Buffer.of()] = image.blobs
    const file = blobPath(layer)
    damage(join(damaged, file))
    const verified = await runAdmin(t, env, 'backup', 'verify', damaged, '--json')
    assert.deepEqual([verified.code, verified.json.damaged], [5, [file]])
    const to = createEmptyInstallation(t)
    const refused = await runAdmin(t, to, 'restore', damaged)
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, new RegExp(`the backup is damaged: ${file}: its checksum is another one`))
    const start = await runBerth(t, ['serve'], { ...to, BERTH_LISTEN: '127.0.0.1:0' })
    assert.equal(start.code, 1)
    assert.match(start.stderr, new RegExp(`the restore of backup ${ids[1]} .* is not finished`))
    const left = await runAdmin(t, to, 'restore', damaged, '--allow-damaged', '--json')
    assert.deepEqual([left.code, left.json.damaged], [5, [file]])
    const { client, stop } = await startServing(t, to)
    assert.equal((await client.request('GET', `${server.root}/app/blobs/${digest(layer)}`)).status, 404)
    await pushBlob(client, `${server.root}/app`, layer)
    assert.equal((await client.request('GET', `${server.root}/app/blobs/${digest(layer)}`)).status, 200)
    await stop()
    assert.equal((await runAdmin(t, to, 'scrub')).code, 0)
  })

  test('a destination that is the bucket of the images, or no address, is rejected', async () => {
    const bucket = { BERTH_BLOBS_S3_BUCKET: 'images', BERTH_BLOBS_S3_ENDPOINT: 'http://127.0.0.1:1' }
    const list = (...words: string[]) => runAdmin(t, { ...env, ...bucket }, 'backup', 'list', ...words)
    const same = await list('s3://images', '--s3-endpoint', 'HTTP://127.0.0.1:1/')
    assert.match(same.stderr, /overlaps with the bucket of the images/)
    assert.match((await list('s3:images')).stderr, /must be a directory or s3:\/\/BUCKET\/PREFIX/)
  })

  test('a backup that is killed is no backup, and the next one copies what is missing', async () => {
    const blobs = Array.from({ length: 600 }, () => randomBytes(3000))
    await Promise.all(blobs.map((blob) => pushBlob(server.client, `${server.root}/many`, blob)))
    const store = temporaryDirectory(t)
    const running = spawnBerth(t, ['admin', 'backup', store], { ...env, ...withPassphrase })
    const stored = () => filesIn(store).filter((file) => file.startsWith('sha256/')).length
    await eventually(() => stored() > 3, Boolean, { pollMs: 1 })
    running.child.kill('SIGKILL')
    assert.equal((await running.finished).signal, 'SIGKILL')
    const { items: backups } = await runAdminJson(t, env, 'backup', 'list', store)
    assert.deepEqual(
      backups.map(({ complete }: { complete: boolean }) => complete),
      [false],
    )
    assert.match((await runAdmin(t, env, 'restore', store)).stderr, /contains no complete backup/)
    const early = await runAdmin(t, env, 'backup', store)
    assert.match(early.stderr, /another backup of this installation is running, or ended without notice/)
    await expireLease(env)
    const before = stored()
    const resumed = await runAdminJson(t, env, 'backup', store)
    assert.ok(resumed.blobs.added.count <= resumed.blobs.count - before + 4)
    assert.ok(resumed.blobs.added.count < resumed.blobs.count)
    assert.equal((await runAdminJson(t, env, 'backup', 'list', store)).items.length, 1)
    assert.deepEqual(filesIn(join(store, 'uploads')), [])

    const to = createEmptyInstallation(t)
    const restoring = spawnBerth(t, ['admin', 'restore', store], { ...to, ...withPassphrase })
    const target = join(to.BERTH_DATA_DIR, 'blobs/sha256')
    await eventually(() => existsSync(target) && filesIn(target).length > 0, Boolean, { pollMs: 1 })
    restoring.child.kill('SIGKILL')
    assert.equal((await restoring.finished).signal, 'SIGKILL')
    const refused = await runBerth(t, ['serve'], { ...to, BERTH_LISTEN: '127.0.0.1:0' })
    assert.match(refused.stderr, /is not finished; run berth admin restore again/)
    const restored = await runAdminJson(t, to, 'restore', store)
    assert.deepEqual([restored.scrub.wrong, restored.blobs.count], [0, resumed.blobs.count])
    const { child } = await serveBerth(t, to)
    child.kill('SIGKILL')
  })
})
