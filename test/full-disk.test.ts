import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { chownSync, existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { GroupsService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import { gcJob } from '@berth/server/registry/jobs.ts'
import { openPostgresDb } from '@berth/server/storage/db.ts'
import { readJob } from '@berth/server/storage/jobs/job-leases.ts'
import { keyRotation } from '@berth/server/tokens/keys/signing-keys.ts'
import { CompiledQuery } from 'kysely'
import pg from 'pg'
import { freePort } from '../scripts/free-port.ts'
import { newName } from './support/api/api-fixture.ts'
import { type GrpcFailure, grpcClient } from './support/api/grpc.ts'
import { call, type RestReply } from './support/api/rest.ts'
import { startPostgres, withoutPostgres } from './support/database/postgres.ts'
import { smallDisk, withoutSmallDisks } from './support/database/small-disk.ts'
import { eventually } from './support/eventually.ts'
import {
  bearerOf,
  digest,
  imageFromManifest,
  type OciClient,
  type OciReply,
  ociClient,
  pushBlob,
  pushImage,
  putManifest,
  testImage,
} from './support/registry/registry.ts'
import { runBerth, serveBerth, temporaryDirectory } from './support/server/process.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'

const sqlite = { name: 'sqlite', open: undefined } as const
const onFullDisk = { skip: withoutSmallDisks }
const KIB = 1024
const MIB = 1024 * KIB

function assertFull({ status, body, headers }: RestReply): void {
  const [info] = body.details
  assert.deepEqual([status, body.code, info.reason], [429, 8, 'STORAGE_FULL'], JSON.stringify(body))
  assert.match(body.message, /no free space; reads still work/)
  assert.equal(headers.get('retry-after'), '30')
}

function assertRegistryFull({ status, headers, json, bytes }: OciReply): void {
  assert.equal(status, 507, bytes.toString())
  assert.equal(json.errors[0].code, 'UNKNOWN')
  assert.match(json.errors[0].message, /no free space/)
  assert.doesNotMatch(json.errors[0].message, /\//)
  assert.equal(headers.get('retry-after'), '30')
}

/** Creates groups until the disk takes no more; returns the refusal and the uids of those that were acknowledged. */
async function fillDatabase({ url, organization, token }: Pick<TestBerth, 'url' | 'organization' | 'token'>) {
  const acknowledged: string[] = []
  for (let attempts = 0; attempts < 5000; attempts++) {
    const body = { name: newName('g'), description: 'x'.repeat(500) }
    const reply = await call('POST', `${url}/iam/v2beta1/groups/${organization}`, { token, body })
    if (reply.status !== 200) return { refusal: reply, acknowledged }
    acknowledged.push(reply.body.uid)
  }
  throw new Error('the disk takes everything')
}

/** Tries a request until it succeeds: claims of uploads that a full disk cut off end by themselves. */
async function eventuallyOk(request: () => Promise<OciReply>): Promise<OciReply> {
  for (let attempt = 0; ; attempt++) {
    const reply = await request()
    if (reply.status < 300 || attempt === 400) return reply
    await sleep(100)
  }
}

function streamOf(bytes: Buffer): ReadableStream {
  return ReadableStream.from(
    Array.from({ length: Math.ceil(bytes.length / MIB) }, (_, at) =>
      bytes.subarray(at * MIB, (at + 1) * MIB),
    ),
  )
}

async function beginUpload(client: OciClient, name: string, bytes: Uint8Array): Promise<string> {
  const begun = await client.request('POST', `${name}/blobs/uploads/`)
  assert.equal(begun.status, 202)
  const path = begun.headers.get('location')!.slice('/v2/'.length)
  const reply = await client.request('PATCH', path, { body: bytes })
  assert.equal(reply.status, 202, reply.bytes.toString())
  return path
}

async function startOn(t: TestContext, env: Record<string, string>) {
  const berth = await startTestBerth(sqlite, { env })
  t.after(() => berth.stop())
  const client = ociClient(berth, await bearerOf(berth, berth.owner))
  const name = `${berth.organization}/${newName('repo')}`
  return { berth, client, name }
}

test(
  'blobs leave a reserve of the disk to the database, and pushes go on where they were',
  onFullDisk,
  async (t) => {
    const disk = smallDisk(t, 32)
    const { berth, client, name } = await startOn(t, {
      BERTH_DATA_DIR: disk.path,
      BERTH_DISK_RESERVE: '16MiB',
    })
    const { url, organization, token } = berth
    await pushImage(client, name, testImage(), 'v1')
    const first = randomBytes(MIB)
    const path = await beginUpload(client, name, first)
    const large = randomBytes(24 * MIB)
    // Known beforehand, and found out on the way.
    assertRegistryFull(await client.request('PATCH', path, { body: large }))
    const streamed = await client.request('PATCH', path, { body: streamOf(large) })
    assertRegistryFull(streamed)
    const range = (await client.request('GET', path)).headers.get('range') ?? ''
    const arrived = Number(range.split('-')[1]) + 1 - first.length
    assert.ok(arrived >= 8 * MIB && arrived < large.length, range)

    const body = { name: newName('g') }
    const group = await call('POST', `${url}/iam/v2beta1/groups/${organization}`, { token, body })
    assert.equal(group.status, 200, group.text)
    disk.fill(6 * MIB)
    assertRegistryFull(
      await client.request('POST', `${name}/blobs/uploads/?digest=${digest(first)}`, { body: first }),
    )
    await eventually(async () =>
      (await (await fetch(`${url}/readyz`)).text()).includes('disk of blobs: full'),
    )
    assert.ok(berth.warnings.some(({ message }) => message.startsWith('a disk is full')))
    assert.equal((await client.request('GET', `${name}/manifests/v1`)).status, 200)
    const report = await runBerth(t, ['admin', 'collect', '--dry-run'], { BERTH_DATA_DIR: disk.path })
    assert.equal(report.code, 0, report.stderr)

    assert.equal((await client.request('DELETE', path)).status, 204)
    disk.free()
    await eventually(async () => (await (await fetch(`${url}/readyz`)).text()) === 'ok\n')
    await pushBlob(client, name, first)
    assert.deepEqual(berth.errors, [])
  },
)

test('a full disk of the blobs refuses pushes alone', onFullDisk, async (t) => {
  const disk = smallDisk(t, 4)
  const dataDir = temporaryDirectory(t)
  symlinkSync(disk.path, join(dataDir, 'blobs'))
  const { berth, client, name } = await startOn(t, { BERTH_DATA_DIR: dataDir, BERTH_DISK_RESERVE: '0' })
  const { url, organization, token } = berth
  const image = await pushImage(client, name, testImage(), 'v1')
  const first = randomBytes(100 * KIB)
  const path = await beginUpload(client, name, first)
  disk.fill(64 * KIB)
  const rest = randomBytes(MIB)
  for (const body of [rest, streamOf(rest)]) assertRegistryFull(await client.request('PATCH', path, { body }))
  assertRegistryFull(await client.request('PUT', `${path}?digest=${digest(rest)}`, { body: rest }))
  assertRegistryFull(
    await client.request('POST', `${name}/blobs/uploads/?digest=${digest(rest)}`, { body: rest }),
  )
  for (const blob of image.blobs)
    assert.equal((await client.request('GET', `${name}/blobs/${digest(blob)}`)).status, 200)
  // Manifests are in the database.
  assert.equal((await putManifest(client, name, 'v2', image)).status, 201)
  const body = { name: newName('g') }
  const group = await call('POST', `${url}/iam/v2beta1/groups/${organization}`, { token, body })
  assert.equal(group.status, 200, group.text)
  disk.free()
  const range = (await client.request('GET', path)).headers.get('range')
  assert.equal(range, `0-${first.length - 1}`)
  assert.equal((await eventuallyOk(() => client.request('PATCH', path, { body: rest }))).status, 202)
  const whole = digest(Buffer.concat([first, rest]))
  assert.equal((await client.request('PUT', `${path}?digest=${whole}`)).status, 201)
  assert.equal(berth.errors.length, 1, JSON.stringify(berth.errors))
})

test('garbage collection frees space on a disk that is full for everything else', onFullDisk, async (t) => {
  const disk = smallDisk(t, 24)
  const berth = await startTestBerth(sqlite, {
    env: { BERTH_DATA_DIR: disk.path, BERTH_DISK_RESERVE: '0', BERTH_COLLECTION_GRACE: '1h' },
    garbageCollection: { pollMs: 100 },
  })
  t.after(() => berth.stop())
  const client = ociClient(berth, await bearerOf(berth, berth.owner))
  const name = `${berth.organization}/${newName('repo')}`
  await pushImage(client, name, testImage(), 'v1')
  const unneeded = await pushBlob(client, name, randomBytes(6 * MIB))
  // A run that is first scheduled after the clock moved is due a day later.
  await eventually(() => readJob(berth.berth.installation.store.db, gcJob))
  disk.fill()
  const { refusal, acknowledged } = await fillDatabase(berth)
  assertFull(refusal)
  berth.advance(2 * 24 * 60 * 60 * 1000)
  const token = await berth.tokenOf(berth.owner)
  const authorized = ociClient(berth, await bearerOf(berth, berth.owner))
  const [file] = readdirSync(join(disk.path, 'blobs'), { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.includes(unneeded.slice('sha256:'.length)),
  )
  assert.ok(file !== undefined)
  // Not asked of the registry: a client that pushes would make the blob young again.
  await eventually(async () => !existsSync(join(disk.path, 'blobs', file)))
  const groups = `${berth.url}/iam/v2beta1/groups`
  await eventually(
    async () =>
      (await call('POST', `${groups}/${berth.organization}`, { token, body: { name: newName('g') } }))
        .status === 200,
  )
  for (const uid of acknowledged)
    assert.equal((await call('GET', `${groups}/${uid}`, { token })).status, 200, uid)
  assert.equal((await authorized.request('GET', `${name}/manifests/v1`)).status, 200)
})

test('a server starts on a full disk and serves reads', onFullDisk, async (t) => {
  const disk = smallDisk(t, 24)
  const env = { BERTH_DATA_DIR: disk.path, BERTH_LISTEN: `127.0.0.1:${await freePort()}` }
  const before = await serveBerth(t, env)
  const { stdout } = await runBerth(t, ['admin', 'bootstrap', '--name', 'acme', '--json'], env)
  const { organization } = JSON.parse(stdout)
  const token = (await runBerth(t, ['admin', 'token'], env)).stdout.trim()
  // What a crash leaves is there; a clean stop would give its space to the fillers.
  before.child.kill('SIGKILL')
  await before.finished
  disk.fill()
  const server = await serveBerth(t, env)
  const list = await call('GET', `${server.url}/iam/v2beta1/groups`, { token })
  assert.equal(list.status, 200, list.text)
  assert.ok(organization !== undefined)
  assertFull(
    (await fillDatabase({ url: server.url, organization: organization.uid ?? organization, token })).refusal,
  )
  disk.free()
  const path = `${server.url}/iam/v2beta1/groups/${organization.uid ?? organization}`
  assert.equal((await call('POST', path, { token, body: { name: newName('g') } })).status, 200)
  const { stderr } = server.output()
  assert.ok(stderr.split('\n').filter((line) => line.includes('SQLITE_FULL')).length <= 1, stderr)
})

test('a PostgreSQL without disk space refuses writes with a reason, and recovers without a restart', {
  skip: withoutSmallDisks || withoutPostgres,
}, async (t) => {
  const disk = smallDisk(t, 40)
  const postgres = await startPostgres(t)
  const tablespace = join(disk.path, 'tables')
  mkdirSync(tablespace)
  chownSync(tablespace, 65534, 65534)
  const admin = new pg.Client({ connectionString: postgres.url })
  await admin.connect()
  await admin.query(`create tablespace small location '${tablespace}'`)
  await admin.query('create database berth tablespace small')
  await admin.end()
  const databaseUrl = postgres.url.replace(/postgres$/, 'berth')
  const database = { name: 'postgres', open: () => openPostgresDb(databaseUrl, { onError() {} }) } as const
  const berth = await startTestBerth(database)
  t.after(() => berth.stop())
  const client = ociClient(berth, await bearerOf(berth, berth.owner))
  const name = `${berth.organization}/${newName('repo')}`
  const { url, organization, token } = berth
  const image = await pushImage(client, name, testImage(), 'v1')
  disk.fill()
  const { refusal, acknowledged } = await fillDatabase(berth)
  assertFull(refusal)
  const content = { ...JSON.parse(image.manifest.toString()), annotations: { x: newName('x').repeat(9000) } }
  assertRegistryFull(await putManifest(client, name, 'v2', imageFromManifest(content)))
  assert.equal((await client.request('GET', `${name}/manifests/v1`)).status, 200)
  assert.equal((await call('GET', `${url}/iam/v2beta1/groups`, { token })).status, 200)
  const ready = await (await fetch(`${url}/readyz`)).text()
  assert.match(ready, /^ok\n.*the database: full, writes are refused\n/s)
  disk.free()
  const body = { name: newName('g'), description: 'x'.repeat(500) }
  const group = await call('POST', `${url}/iam/v2beta1/groups/${organization}`, { token, body })
  assert.equal(group.status, 200, group.text)
  assert.equal((await putManifest(client, name, 'v2', imageFromManifest(content))).status, 201)
  for (const uid of acknowledged)
    assert.equal((await call('GET', `${url}/iam/v2beta1/groups/${uid}`, { token })).status, 200, uid)
  assert.ok(berth.errors.length <= 1, JSON.stringify(berth.errors))
})

test('a database that takes no writes breaks neither pulls of clients that push nor the keys that sign', async (t) => {
  const { berth, client, name } = await startOn(t, {})
  const { kysely } = berth.berth.installation.store.db
  const image = await pushImage(client, name, testImage(), 'v1')
  const takeWrites = (taken: boolean) =>
    kysely.executeQuery(CompiledQuery.raw(`pragma query_only = ${taken ? 0 : 1}`))
  await takeWrites(false)
  const { refusal } = await fillDatabase(berth)
  assert.deepEqual(
    [refusal.status, refusal.body.code, refusal.body.details[0].reason],
    [503, 14, 'STORAGE_READ_ONLY'],
  )
  berth.advance(limits.linkRefreshMs + 60_000)
  for (const method of ['HEAD', 'GET'])
    assert.equal((await client.request(method, `${name}/blobs/${digest(image.blobs[0]!)}`)).status, 200)
  // The last day of the signing key.
  berth.advance(keyRotation.signsForMs - 12 * 60 * 60 * 1000)
  const published = async () => (await call('GET', `${berth.url}/.well-known/jwks.json`)).body.keys.length
  assert.equal(await published(), 1)
  const token = await berth.tokenOf(berth.owner)
  assert.equal((await call('GET', `${berth.url}/iam/v2beta1/groups`, { token })).status, 200)
  await takeWrites(true)
  berth.advance(2 * keyRotation.reloadIntervalMs)
  assert.equal(await published(), 2)
})

test(
  'a full disk with the SQLite database and the blobs refuses writes with a reason, and recovers without a restart',
  onFullDisk,
  async (t) => {
    const disk = smallDisk(t, 24)
    // Garbage collection would free its ballast.
    const env = { BERTH_DATA_DIR: disk.path, BERTH_DISK_RESERVE: '0', BERTH_COLLECTION_INTERVAL: 'off' }
    const { berth, client, name } = await startOn(t, env)
    const { url, token, organization } = berth
    const image = await pushImage(client, name, testImage(), 'v1')
    const [first, second] = [randomBytes(300 * KIB), randomBytes(MIB)]
    const path = await beginUpload(client, name, first)
    const grpc = grpcClient(url)
    t.after(() => grpc.close())

    disk.fill()
    const { refusal, acknowledged } = await fillDatabase(berth)
    assertFull(refusal)
    const viaGrpc = grpc.call(
      GroupsService.method.createGroup,
      { parent: organization, group: { name: newName('g'), description: 'x'.repeat(500) } },
      { token },
    )
    await assert.rejects(
      viaGrpc,
      (error: GrpcFailure) => error.code === 8 && /no free space/.test(error.details),
    )
    assertRegistryFull(await client.request('PATCH', path, { body: second }))
    assertRegistryFull(
      await client.request('POST', `${name}/blobs/uploads/?digest=${digest(second)}`, { body: second }),
    )
    const content = { ...JSON.parse(image.manifest.toString()), annotations: { x: 'y'.repeat(250_000) } }
    assertRegistryFull(await putManifest(client, name, 'v2', imageFromManifest(content)))

    const groups = await call('GET', `${url}/iam/v2beta1/groups?uidp.descendants_of=${organization}`, {
      token,
    })
    assert.equal(groups.status, 200)
    assert.equal((await client.request('GET', `${name}/manifests/v1`)).status, 200)
    for (const blob of image.blobs)
      for (const method of ['HEAD', 'GET'])
        assert.equal((await client.request(method, `${name}/blobs/${digest(blob)}`)).status, 200)
    const ready = await fetch(`${url}/readyz`)
    assert.equal(ready.status, 200)
    const remarks = await ready.text()
    // Free space is read once in a second.
    await eventually(async () =>
      /^ok\nstorage: disk of data: full, writes are refused/.test(
        await (await fetch(`${url}/readyz`)).text(),
      ),
    )
    assert.match(remarks, /the database: full, writes are refused/)
    const metrics = await (await fetch(`${url}/metrics`)).text()
    assert.match(metrics, /berth_disk_total_bytes\{directory="blobs"\} 25165824/)
    assert.match(metrics, /berth_disk_free_bytes\{directory="data"\} \d{1,5}\n/)

    disk.free()
    const status = await client.request('GET', path)
    assert.equal(status.headers.get('range'), `0-${first.length - 1}`)
    assert.equal((await eventuallyOk(() => client.request('PATCH', path, { body: second }))).status, 202)
    const whole = digest(Buffer.concat([first, second]))
    assert.equal((await client.request('PUT', `${path}?digest=${whole}`)).status, 201)
    await pushImage(client, name)
    const again = await call('POST', `${url}/iam/v2beta1/groups/${organization}`, {
      token,
      body: { name: newName('g') },
    })
    assert.equal(again.status, 200, again.text)
    for (const uid of acknowledged)
      assert.equal((await call('GET', `${url}/iam/v2beta1/groups/${uid}`, { token })).status, 200, uid)
    // One line for each fault and place.
    assert.ok(berth.errors.length <= 3, JSON.stringify(berth.errors))

    await berth.berth.stop()
    const scrub = await runBerth(t, ['admin', 'scrub'], env)
    assert.equal(scrub.code, 0, scrub.stdout + scrub.stderr)
    const check = await runBerth(t, ['admin', 'check'], env)
    assert.equal(check.code, 0, check.stdout + check.stderr)
  },
)
