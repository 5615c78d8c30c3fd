import assert from 'node:assert/strict'
import { cpSync, existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { SetupError } from '@berth/server/config/setup-errors.ts'
import { databases } from './support/database/databases.ts'
import { bearerOf, ociClient, pushImage } from './support/registry/registry.ts'
import { startS3, withoutS3 } from './support/registry/s3.ts'
import { runBerth, serveBerth, temporaryDirectory } from './support/server/process.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'

/** A database and its blob store belong together: a node with another store does not start. */

const foreign = (text: RegExp) => (error: Error) =>
  error instanceof SetupError &&
  /is not the blob store of this database/.test(error.message) &&
  text.test(error.message)

const identityIn = (dataDir: string) => readFileSync(join(dataDir, 'blobs', 'store-identity'), 'utf8').trim()
const pushTo = async (berth: TestBerth) =>
  pushImage(ociClient(berth, await bearerOf(berth, berth.owner)), 'default/tools/cli')

// PGlite has one connection, so no row lock is waited for.
for (const database of databases.filter(({ name }) => name !== 'pglite'))
  describe(`the blob store of a database (${database.name})`, () => {
    test('nodes that start at the same time adopt one store, and one with another directory is rejected', async (t) => {
      const shared = await database.share()
      const dataDir = temporaryDirectory(t)
      const masterKey = Buffer.alloc(32, 7).toString('base64')
      const start = (directory: string) =>
        startTestBerth(database, {
          env: { BERTH_DATA_DIR: directory, BERTH_MASTER_KEY: masterKey },
          openDb: () => shared.open(),
        })
      // SQLite has one server.
      const count = database.name === 'sqlite' ? 1 : 3
      const nodes = await Promise.all(Array.from({ length: count }, () => start(dataDir)))
      try {
        await pushTo(nodes[0] as TestBerth)
        const identity = identityIn(dataDir)
        assert.match(identity, /^[0-9a-f]{32}$/)
        const other = temporaryDirectory(t)
        await assert.rejects(start(other), foreign(/none of the 2 blobs.*BERTH_DATA_DIR.*adopt-store/))
        assert.ok(!existsSync(join(other, 'blobs', 'store-identity')))

        const another = await startTestBerth(
          { name: 'sqlite', open: undefined },
          { env: { BERTH_DATA_DIR: other } },
        )
        await another.stop()
        await assert.rejects(
          start(other),
          foreign(new RegExp(`belongs to another database.*expects ${identity}`)),
        )

        // The identity alone was lost.
        rmSync(join(dataDir, 'blobs', 'store-identity'))
        await (await start(dataDir)).stop()
        assert.equal(identityIn(dataDir), identity)
        // A copy is as good.
        const copy = temporaryDirectory(t)
        cpSync(join(dataDir, 'blobs'), join(copy, 'blobs'), { recursive: true })
        await (await start(copy)).stop()
        // A database from before the identity, with a copied store.
        const { db } = (nodes[0] as TestBerth).berth.installation.store
        await db.kysely.deleteFrom('settings').where('name', '=', 'blob_store').execute()
        await (await start(copy)).stop()
        assert.equal(identityIn(copy), identity)
      } finally {
        for (const node of nodes) await node.stop()
        await shared.close()
      }
    })

    test('a new database is rejected on a store that has blobs', async (t) => {
      const dataDir = temporaryDirectory(t)
      const env = { BERTH_DATA_DIR: dataDir }
      const first = await startTestBerth(database, { env })
      await pushTo(first)
      await first.stop()
      rmSync(join(dataDir, 'berth.db'), { force: true })
      rmSync(join(dataDir, 'master.key'), { force: true })
      await assert.rejects(startTestBerth(database, { env }), foreign(/belongs to another database/))
      rmSync(join(dataDir, 'blobs', 'store-identity'))
      await assert.rejects(
        startTestBerth(database, { env }),
        foreign(/it has blobs, and the database has none/),
      )
    })
  })

test('serve rejects the store of another database and names the settings; adopt-store binds it', async (t) => {
  const env = { BERTH_DATA_DIR: temporaryDirectory(t), BERTH_LISTEN: '127.0.0.1:0' }
  const other = temporaryDirectory(t)
  for (const args of [{ ...env }, { ...env, BERTH_DATA_DIR: other }]) {
    const server = await serveBerth(t, args)
    server.child.kill('SIGTERM')
    await server.finished
  }
  rmSync(join(env.BERTH_DATA_DIR, 'blobs'), { recursive: true })
  cpSync(join(other, 'blobs'), join(env.BERTH_DATA_DIR, 'blobs'), { recursive: true })
  for (const args of [['serve'], ['admin', 'collect'], ['admin', 'scrub']]) {
    const refused = await runBerth(t, args, env)
    assert.equal(refused.code, 1)
    assert.match(
      refused.stderr,
      /^berth: the directory \S+\/blobs \(BERTH_DATA_DIR\) is not the blob store of this database: /,
    )
  }
  const adopted = await runBerth(t, ['admin', 'adopt-store'], env)
  assert.deepEqual([adopted.code, adopted.stderr.includes('"level":50')], [0, false], adopted.stderr)
  assert.match(adopted.stdout, /is the blob store of the database: [0-9a-f]{32}\n$/)
  await serveBerth(t, env)
})

test('a bucket has the identity of its database, and another one is rejected', {
  skip: withoutS3,
}, async (t) => {
  const s3 = await startS3()
  t.after(() => s3.stop())
  const [one, two] = [await s3.bucket(), await s3.bucket()]
  const dataDir = temporaryDirectory(t)
  const start = (env: Readonly<Record<string, string>>) =>
    startTestBerth({ name: 'sqlite', open: undefined }, { env: { BERTH_DATA_DIR: dataDir, ...env } })
  const first = await start(one.env)
  await pushTo(first)
  await first.stop()
  await assert.rejects(
    start(two.env),
    foreign(new RegExp(`bucket ${two.settings.bucket}/images/ .*BERTH_BLOBS_S3_BUCKET`)),
  )
  await assert.rejects(start({}), foreign(/BERTH_DATA_DIR/))
  await assert.rejects(
    start({ ...one.env, BERTH_BLOBS_S3_PREFIX: 'elsewhere' }),
    foreign(/none of the 2 blobs/),
  )
  const again = await start(one.env)
  const listed = []
  for await (const { location } of again.berth.blobs.listBlobs()) listed.push(location)
  assert.equal(listed.length, 2)
  await again.stop()
})
