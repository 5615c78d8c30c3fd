import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import {
  type BackupManifest,
  parseBackupManifest,
  serializeBackupManifest,
} from '@berth/server/operator/backup/manifest.ts'
import { insertRows } from '@berth/server/storage/bulk-rows.ts'
import { readTableNames } from '@berth/server/storage/schema/catalog.ts'
import { migrations } from '@berth/server/storage/schema/migrate.ts'
import {
  backUpUnderLoad,
  copyInstallation,
  createEmptyInstallation,
  createInstallations,
  damage,
  type Engine,
  filesIn,
  newServedInstallation,
  PASSPHRASE,
  returnToSchema,
  runAdmin,
  runAdminJson,
  startServing,
  withPassphrase,
} from '../support/database/backups.ts'
import { openDatabase } from '../support/database/open-database.ts'
import { withoutPostgres } from '../support/database/postgres.ts'
import { eventually } from '../support/eventually.ts'
import { digest, pushBlob, pushImage, testImage } from '../support/registry/registry.ts'
import { previousRelease } from '../support/server/previous-release.ts'
import { cleanups, type Environment, spawnBerth, temporaryDirectory } from '../support/server/process.ts'

describe('backups that are rejected, replaced, migrated or removed', () => {
  const t = cleanups()
  let env: Environment & { BERTH_DATA_DIR: string } = { BERTH_DATA_DIR: '' }
  let destination = ''
  let server: Awaited<ReturnType<typeof startServing>>
  let later = testImage()
  const ids: string[] = []

  const manifestFile = (id: string) => `backups/${id}/manifest.json`
  /** Changes a manifest together with its checksum. */
  const change = (directory: string, id: string, changes: Partial<Record<keyof BackupManifest, unknown>>) => {
    const file = join(directory, manifestFile(id))
    const manifest = parseBackupManifest(readFileSync(file), file)
    writeFileSync(file, serializeBackupManifest({ ...manifest, ...changes } as BackupManifest))
  }

  before(async () => {
    ;({ env, server, destination } = await newServedInstallation(t))
    ids.push((await runAdminJson(t, env, 'backup', destination)).id)
    later = await pushImage(server.client, `${server.root}/app`, later, '2')
    ids.push((await runAdminJson(t, env, 'backup', destination)).id)
  })
  after(() => t.run())

  test('a restore rejects an installation that is not empty, and replaces it on request', async () => {
    const to = createEmptyInstallation(t)
    await runAdminJson(t, to, 'bootstrap')
    const refused = await runAdmin(t, to, 'restore', destination)
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, /already contains an installation: .* --replace/)
    const key = readFileSync(join(to.BERTH_DATA_DIR, 'master.key'))
    await runAdminJson(t, to, 'restore', destination, '--replace')
    const replaced = filesIn(to.BERTH_DATA_DIR).find((file) => file.startsWith('master.key.replaced-'))
    assert.deepEqual(readFileSync(join(to.BERTH_DATA_DIR, replaced ?? '')), key)
    const there = await startServing(t, to)
    assert.equal((await there.client.request('GET', `${server.root}/app/manifests/2`)).status, 200)
    await there.stop()
  })

  test('a damaged or missing file of a table is named before anything is changed', async () => {
    const damaged = copyInstallation(t, destination)
    const file = `backups/${ids[1]}/groups.jsonl.gz`
    damage(join(damaged, file))
    for (const _ of ['damaged', 'missing']) {
      const to = createEmptyInstallation(t)
      const refused = await runAdmin(t, to, 'restore', damaged)
      assert.equal(refused.code, 1)
      assert.match(refused.stderr, new RegExp(`the backup is damaged: ${file}: `))
      const db = await openDatabase(to)
      assert.deepEqual(await readTableNames(db), [])
      await db.close()
      rmSync(join(damaged, file), { force: true })
    }
    writeFileSync(join(damaged, manifestFile(ids[1] ?? '')), '{"manifest":{"format":1},"sha256":""}')
    assert.match(
      (await runAdmin(t, createEmptyInstallation(t), 'restore', damaged)).stderr,
      /manifest\.json is damaged/,
    )
  })

  test('the master key needs its passphrase, or comes from the environment', async () => {
    const wrong = await runAdmin(
      t,
      { ...createEmptyInstallation(t), BERTH_BACKUP_PASSPHRASE: 'another passphrase' },
      'restore',
      destination,
    )
    assert.equal(wrong.code, 1)
    assert.match(wrong.stderr, /the passphrase is not the one of backup/)
    const none = await runAdmin(
      t,
      { ...createEmptyInstallation(t), BERTH_BACKUP_PASSPHRASE: '' },
      'restore',
      destination,
    )
    assert.equal(none.code, 2)
    assert.match(none.stderr, /--passphrase-file or BERTH_BACKUP_PASSPHRASE/)
    const weak = await runAdmin(t, { ...env, BERTH_BACKUP_PASSPHRASE: 'short' }, 'backup', destination)
    assert.deepEqual([weak.code, weak.stdout], [2, ''])
    assert.match(weak.stderr, new RegExp(`at least ${limits.passwordCharsMin} characters`))

    const without = temporaryDirectory(t)
    assert.equal(
      (await runAdminJson(t, { ...env, BERTH_BACKUP_PASSPHRASE: '' }, 'backup', without, '--without-key'))
        .masterKey,
      false,
    )
    const keyless = await runAdmin(t, createEmptyInstallation(t), 'restore', without)
    assert.match(keyless.stderr, /does not include the master key: set BERTH_MASTER_KEY/)
    const BERTH_MASTER_KEY = readFileSync(join(env.BERTH_DATA_DIR, 'master.key'), 'utf8').trim()
    const to = { ...createEmptyInstallation(t), BERTH_MASTER_KEY }
    await runAdminJson(t, to, 'restore', without)
    assert.ok(!existsSync(join(to.BERTH_DATA_DIR, 'master.key')))
    const foreign = { ...createEmptyInstallation(t), BERTH_MASTER_KEY: randomBytes(32).toString('base64') }
    assert.match(
      (await runAdmin(t, foreign, 'restore', without)).stderr,
      /BERTH_MASTER_KEY is not the master key of/,
    )
    const file = join(temporaryDirectory(t), 'passphrase')
    writeFileSync(file, `${PASSPHRASE}\n`)
    await runAdminJson(
      t,
      { ...createEmptyInstallation(t), BERTH_BACKUP_PASSPHRASE: '' },
      'restore',
      destination,
      '--passphrase-file',
      file,
    )
  })

  test('wrong destinations are rejected', async () => {
    const refused = async (to: string, pattern: RegExp, code = 1) => {
      const { code: actual, stderr, stdout } = await runAdmin(t, env, 'backup', to)
      assert.deepEqual([actual, stdout], [code, ''], stderr)
      assert.match(stderr, pattern)
    }
    await refused(join(env.BERTH_DATA_DIR, 'backups'), /and the data directory .* overlap/)
    const foreign = temporaryDirectory(t)
    writeFileSync(join(foreign, 'letter.txt'), 'Dear')
    await refused(foreign, /contains letter\.txt, which no backup created/)
    await refused('ftp://example.com/backups', /must be a directory or s3:\/\//, 2)
    const newer = copyInstallation(t, destination)
    const marker = join(newer, 'backups/about/berth-backups.json')
    writeFileSync(marker, JSON.stringify({ ...JSON.parse(readFileSync(marker, 'utf8')), format: 2 }))
    await refused(newer, /have format 2, and this version of Berth reads format 1/)
    const other = createEmptyInstallation(t)
    await runAdminJson(t, other, 'bootstrap')
    const mixed = await runAdmin(t, other, 'backup', destination)
    assert.match(mixed.stderr, /contains backups of another installation/)
    assert.match((await runAdmin(t, env, 'backup', 'list', join(foreign, 'none'))).stderr, /does not exist/)
    assert.match(
      (await runAdmin(t, env, 'backup', 'list', temporaryDirectory(t))).stderr,
      /contains no backups/,
    )
  })

  test('a backup of a newer version is rejected, and one of an older schema is migrated', async () => {
    const newer = copyInstallation(t, destination)
    const id = ids[1] ?? ''
    const manifest = parseBackupManifest(readFileSync(join(newer, manifestFile(id))), '')
    change(newer, id, { version: '9.0.0', migrations: [...manifest.migrations, '9999-later'] })
    const to = createEmptyInstallation(t)
    const refused = await runAdmin(t, to, 'restore', newer)
    assert.match(refused.stderr, /is from a newer version of Berth \(9\.0\.0, 9999-later\)/)
    change(newer, id, { format: 2 })
    assert.match((await runAdmin(t, to, 'restore', newer)).stderr, /has format 2/)

    const older = createEmptyInstallation(t)
    await runAdminJson(t, older, 'restore', destination)
    await returnToSchema(older, previousRelease.migration)
    const store = temporaryDirectory(t)
    await runAdminJson(t, older, 'backup', store)
    const migrated = createEmptyInstallation(t)
    const restored = await runAdminJson(t, migrated, 'restore', store)
    const names = Object.keys(migrations)
    assert.deepEqual(restored.migrations, names.slice(names.indexOf(previousRelease.migration) + 1))
    const there = await startServing(t, migrated)
    assert.equal((await there.client.request('GET', `${server.root}/app/manifests/2`)).status, 200)
    await there.stop()
  })

  test('an interrupted backup ends in order, and another can start immediately', async () => {
    const store = temporaryDirectory(t)
    const running = spawnBerth(t, ['admin', 'backup', store], { ...env, ...withPassphrase })
    await eventually(() => existsSync(join(store, 'backups')) && filesIn(store).length > 2)
    running.child.kill('SIGINT')
    const { code, stderr } = await running.finished
    if (code !== 0) assert.match(stderr, /stopped by SIGINT/)
    await runAdminJson(t, env, 'backup', store)
  })

  test('what is missing in the installation is reported, and the rest is backed up', async () => {
    const to = createEmptyInstallation(t)
    await runAdminJson(t, to, 'restore', destination)
    const [, layer = Buffer.of()] = later.blobs
    const hex = digest(layer).slice('sha256:'.length)
    const file = filesIn(join(to.BERTH_DATA_DIR, 'blobs')).find((name) => name.includes(hex)) ?? ''
    rmSync(join(to.BERTH_DATA_DIR, 'blobs', file))
    const store = temporaryDirectory(t)
    const backup = await runAdmin(t, to, 'backup', store, '--json')
    assert.deepEqual([backup.code, backup.json.damaged], [5, [digest(layer)]])
    const again = await runAdmin(t, createEmptyInstallation(t), 'restore', store, '--json')
    assert.deepEqual([again.code, again.json.damaged], [5, [digest(layer)]])
  })

  test('old backups are removed with the images that only they need', async () => {
    const store = copyInstallation(t, destination)
    await pushImage(server.client, `${server.root}/app`, testImage(), '3')
    const dry = await runAdminJson(t, env, 'backup', 'prune', store, '--keep', '1', '--dry-run')
    assert.deepEqual([dry.removed, dry.kept, dry.blobs.count], [[ids[0]], 1, 0])
    const { pruned } = await runAdminJson(t, env, 'backup', store, '--keep', '1')
    assert.deepEqual([pruned.removed, pruned.kept], [ids, 1])
    assert.deepEqual((await runAdminJson(t, env, 'backup', 'verify', store)).damaged, [])
    const loose = await pushBlob(server.client, `${server.root}/loose`, randomBytes(500))
    await runAdminJson(t, env, 'backup', store)
    await server.client.request('DELETE', `${server.root}/loose/blobs/${loose}`)
    await runAdminJson(t, env, 'collect', '--grace', '0s')
    const last = await runAdminJson(t, env, 'backup', store, '--keep', '1')
    assert.ok(last.pruned.blobs.count > 0)
    assert.ok(!filesIn(store).some((file) => file.includes(loose.slice('sha256:'.length))))
    assert.deepEqual((await runAdminJson(t, env, 'backup', 'verify', store)).damaged, [])
    assert.equal((await runAdmin(t, env, 'backup', 'prune', store)).code, 2)
    assert.ok(limits.backupBlobConcurrency > 1)
  })
})

const BLOBS = 64
const BLOB_BYTES = 8 * 1024 * 1024

for (const engine of ['sqlite', 'postgres'] satisfies Engine[]) {
  const skip = engine === 'postgres' ? withoutPostgres : false

  test(`500 pushes under load on ${engine}: two backups, restored elsewhere, lose nothing`, {
    skip,
  }, async (t) => {
    const newInstallation = await createInstallations(t, [engine])
    const result = await backUpUnderLoad(t, await newInstallation(engine), await newInstallation(engine), {
      destination: temporaryDirectory(t),
      images: 500,
      clients: 8,
    })
    t.diagnostic(JSON.stringify(result))
    assert.equal(result.lost, 0)
  })

  test(`time and size of a backup of 512 MiB of images and 20,000 groups on ${engine}`, {
    skip,
  }, async (t) => {
    const newInstallation = await createInstallations(t, [engine])
    const env = await newInstallation(engine)
    const server = await startServing(t, env)
    const destination = temporaryDirectory(t)
    for (let n = 0; n < BLOBS; n++)
      await pushBlob(server.client, `${server.root}/big`, randomBytes(BLOB_BYTES))
    const db = await openDatabase(env)
    const [group] = await db.kysely.selectFrom('groups').selectAll().execute()
    assert.ok(group)
    const rows = Array.from({ length: 20_000 }, (_, n) => {
      const uid = `${server.root}/${n.toString(16).padStart(16, '0')}`
      return { ...group, uid, parent: server.root, name: `group-${n}`, description: 'x'.repeat(100) }
    })
    await db.kysely.transaction().execute((tx) => insertRows(db, tx, 'groups', rows))
    await db.close()
    const first = await runAdminJson(t, env, 'backup', destination)
    await pushImage(server.client, `${server.root}/app`, testImage(), '1')
    const second = await runAdminJson(t, env, 'backup', destination)
    assert.equal(second.blobs.added.count, 2)
    await server.stop()
    const restored = await runAdminJson(t, await newInstallation(engine), 'restore', destination)
    assert.equal(restored.scrub.wrong, 0)
    const { database, blobs } = second
    const seconds = { first: first.seconds, second: second.seconds, restore: restored.seconds }
    t.diagnostic(JSON.stringify({ database, blobs, seconds }))
  })
}
