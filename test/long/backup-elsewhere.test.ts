import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { parseBackupManifest } from '@berth/server/operator/backup/manifest.ts'
import { createInstallations, runAdmin, runAdminJson, startServing } from '../support/database/backups.ts'
import { withoutPostgres } from '../support/database/postgres.ts'
import { pushImage, testImage } from '../support/registry/registry.ts'
import { startS3, withoutS3 } from '../support/registry/s3.ts'
import { type Environment, temporaryDirectory } from '../support/server/process.ts'

/** Rows of all tables of a backup in a directory, as sorted lines. */
function rowsOf(directory: string, id: string): Map<string, string[]> {
  const file = join(directory, 'backups', id, 'manifest.json')
  const { tables } = parseBackupManifest(readFileSync(file), file)
  return new Map(
    tables.map((table) => {
      const lines = gunzipSync(readFileSync(join(directory, table.file)))
        .toString()
        .split('\n')
        .slice(0, -1)
      const names = table.columns.map(({ name }) => name)
      const rows = lines.map((line) => (JSON.parse(line) as unknown[]).map((value, at) => [names[at], value]))
      return [table.name, rows.map((row) => JSON.stringify(row.sort())).sort()]
    }),
  )
}

/** Tables in which a backup takes a lease and a restore writes the identity of the blob store. */
const written = new Set(['jobs', 'registry_runs', 'settings'])

test('a SQLite installation with files moves to PostgreSQL with a bucket, and back, row by row', {
  skip: withoutPostgres || withoutS3,
}, async (t) => {
  const s3 = await startS3()
  t.after(() => s3.stop())
  const credentials: Environment = {
    AWS_ACCESS_KEY_ID: process.env['AWS_ACCESS_KEY_ID'] ?? '',
    AWS_SECRET_ACCESS_KEY: process.env['AWS_SECRET_ACCESS_KEY'] ?? '',
    BERTH_BACKUP_S3_ENDPOINT: s3.url,
  }
  const newInstallation = await createInstallations(t, ['sqlite', 'postgres'])
  const from = { ...credentials, ...(await newInstallation('sqlite')) }
  const server = await startServing(t, from)
  const [small, large] = [testImage(), testImage({}, { layerBytes: 20_000_000 })]
  await pushImage(server.client, `${server.root}/app`, small, '1')
  await pushImage(server.client, `${server.root}/app`, large, '2')
  const description = { name: 'odd', description: 'naïve "quoted" back\\slash 🚢' }
  assert.equal((await server.api('POST', `/iam/v2beta1/groups/${server.root}`, description)).status, 200)
  await server.stop()

  const { settings } = await s3.bucket()
  const bucket = `s3://${settings.bucket}/nightly`
  const local = temporaryDirectory(t)
  const before = await runAdminJson(t, from, 'backup', local)
  const remote = await runAdminJson(t, from, 'backup', bucket)
  assert.deepEqual(remote.blobs, before.blobs)
  assert.deepEqual((await runAdminJson(t, from, 'backup', 'verify', bucket)).damaged, [])

  const images = await s3.bucket()
  const to = { ...credentials, ...(await newInstallation('postgres')), ...images.env }
  const overlapping = await runAdmin(t, to, 'backup', `s3://${images.settings.bucket}/images/backups`)
  assert.match(overlapping.stderr, /overlaps with the bucket of the images/)
  const moved = await runAdminJson(t, to, 'restore', bucket)
  assert.deepEqual(
    [moved.backup, moved.scrub.wrong, moved.blobs],
    [remote.id, 0, { count: before.blobs.count, bytes: before.blobs.bytes }],
  )
  // Before a server of it starts, whose background work writes rows.
  const back = temporaryDirectory(t)
  const after = await runAdminJson(t, to, 'backup', back)
  const [first, last] = [rowsOf(local, before.id), rowsOf(back, after.id)]
  assert.deepEqual([...last.keys()].sort(), [...first.keys()].sort())
  for (const [table, rows] of first)
    if (!written.has(table)) assert.deepEqual(last.get(table), rows, `rows of ${table}`)

  const there = await startServing(t, to)
  for (const image of [small, large])
    assert.equal(
      (await there.client.request('GET', `${server.root}/app/manifests/${image.digest}`)).status,
      200,
    )
  const replaced = await runAdmin(t, to, 'restore', bucket, '--replace')
  assert.match(replaced.stderr, /other connections use the database .* stop all nodes/)
  await there.stop()

  const home = await newInstallation('sqlite')
  assert.equal((await runAdminJson(t, home, 'restore', back)).scrub.wrong, 0)
  await runAdminJson(t, to, 'restore', bucket, '--replace')
})
