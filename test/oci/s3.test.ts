import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import {
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3'
import { limits } from '@berth/server/config/limits.ts'
import { SetupError } from '@berth/server/config/setup-errors.ts'
import { newLocation } from '@berth/server/registry/blobs/blob-locations.ts'
import { collectGarbage } from '@berth/server/registry/gc/garbage-collection.ts'
import { databases } from '../support/database/databases.ts'
import { assertPulled, clientOf, startBerthWith, startUpload } from '../support/registry/bucket-registry.ts'
import {
  assertOciError,
  bearerOf,
  digest,
  ociClient,
  pushBlob,
  pushImage,
  requestAt,
  testImage,
} from '../support/registry/registry.ts'
import { type S3Server, startS3, withoutOwnS3 } from '../support/registry/s3.ts'
import { runScrub } from '../support/registry/scrub-check.ts'
import { startNodes } from '../support/server/nodes.ts'
import { startTestBerth } from '../support/server/test-berth.ts'

/** What is different when the bytes of images are in a bucket. */

const { s3PartBytes: PART } = limits

describe('registry with a bucket', { skip: withoutOwnS3 }, () => {
  let s3: S3Server
  before(async () => {
    s3 = await startS3()
  })
  after(() => s3?.stop())

  test('an upload continues at another node, which reads it again for its digest, with sha512 too', async (t) => {
    const { env } = await s3.bucket()
    const [database] = databases
    assert.ok(database)
    const { all } = await startNodes(t, database, 2, { env })
    const [one, other] = await Promise.all(
      all.map(async ({ berth, origin }) => ociClient({ url: origin }, await bearerOf(berth, berth.owner))),
    )
    assert.ok(one && other)
    const name = `${all[0]?.berth.organization}/app`
    for (const algorithm of ['sha256', 'sha512']) {
      const bytes = randomBytes(PART + 1000)
      const path = await startUpload(one, name)
      assert.equal((await one.request('PATCH', path, { body: bytes.subarray(0, 2000) })).status, 202)
      assert.equal((await other.request('PATCH', path, { body: bytes.subarray(2000) })).status, 202)
      const put = await one.request('PUT', `${path}?digest=${digest(bytes, algorithm)}`)
      assert.equal(put.status, 201, put.bytes.toString())
      const got = await other.request('GET', `${name}/blobs/${digest(bytes, algorithm)}`)
      assert.ok(got.bytes.equals(bytes))
    }
  })

  test('a start with an unusable bucket says what to do', async (t) => {
    const { env } = await s3.bucket()
    const start = (more: Readonly<Record<string, string>>) =>
      startTestBerth({ name: 'sqlite', open: undefined }, { env: { ...env, ...more } })
    const saying = (text: RegExp) => (error: Error) => error instanceof SetupError && text.test(error.message)
    await assert.rejects(
      start({ BERTH_BLOBS_S3_BUCKET: 'nobody-made-this' }),
      saying(/NoSuchBucket.*create the bucket, or set BERTH_BLOBS_S3_BUCKET to another one/),
    )
    await assert.rejects(
      start({ BERTH_BLOBS_S3_ENDPOINT: 'http://127.0.0.1:9' }),
      saying(/^cannot connect to bucket berth-\w+: ECONNREFUSED/),
    )
    const { AWS_SECRET_ACCESS_KEY: secret, AWS_ACCESS_KEY_ID: id } = process.env
    t.after(() => {
      Object.assign(process.env, { AWS_SECRET_ACCESS_KEY: secret, AWS_ACCESS_KEY_ID: id })
    })
    process.env['AWS_SECRET_ACCESS_KEY'] = 'another'
    await assert.rejects(start({}), saying(/SignatureDoesNotMatch.*AWS_SECRET_ACCESS_KEY is not the secret/))
    process.env['AWS_ACCESS_KEY_ID'] = 'nobody'
    await assert.rejects(start({}), saying(/InvalidAccessKeyId.*does not know AWS_ACCESS_KEY_ID/))
  })

  test('where that is configured, a client is sent to the bucket for a blob, whole or in part', async (t) => {
    const { env } = await s3.bucket()
    const { client, name, berth, authorization } = await startBerthWith(t, {
      ...env,
      BERTH_BLOBS_REDIRECT: 'true',
    })
    const image = await pushImage(client, name)
    const [bytes = Buffer.alloc(0)] = image.blobs
    const path = `/v2/${name}/blobs/${digest(bytes)}`
    const ask = (method: string, headers: Record<string, string> = {}) =>
      fetch(berth.url + path, { method, headers: { authorization, ...headers }, redirect: 'manual' })
    const sent = await ask('GET')
    assert.equal(sent.status, 307)
    assert.equal(sent.headers.get('docker-content-digest'), digest(bytes))
    assert.equal(sent.headers.get('cache-control'), 'no-store')
    assert.equal(await sent.text(), '')
    const location = new URL(sent.headers.get('location') ?? '')
    assert.equal(location.origin, s3.url)
    assert.equal(location.searchParams.get('X-Amz-Expires'), String(limits.blobUrlLifetimeMs / 1000))
    assert.ok(!location.href.includes(process.env['AWS_SECRET_ACCESS_KEY'] ?? '-'))
    // The URL is all that is needed, and good for nothing else.
    const got = await requestAt(location.href)
    assert.ok(got.bytes.equals(bytes))
    assert.equal(got.headers.get('content-type'), 'application/octet-stream')
    assert.equal((await requestAt(location.href, 'DELETE')).status, 403)
    location.pathname = location.pathname.replace(/.$/, (last) => (last === '0' ? '1' : '0'))
    assert.ok((await requestAt(location.href)).status >= 400)
    const part = await client.request('GET', path.slice('/v2/'.length), { headers: { range: 'bytes=3-9' } })
    assert.deepEqual([part.status, part.bytes.toString()], [206, bytes.subarray(3, 10).toString()])
    // Asking whether it is there leads nowhere, and neither does a manifest; a stranger is sent nowhere.
    const known = await ask('HEAD')
    assert.deepEqual([known.status, known.headers.get('content-length')], [200, String(bytes.length)])
    assert.equal((await client.request('GET', `${name}/manifests/${image.digest}`)).status, 200)
    assertOciError(await requestAt(berth.url + path), 401, 'UNAUTHORIZED')
    assert.doesNotMatch(JSON.stringify([berth.warnings, berth.errors]), /X-Amz/)
  })

  test('clients can use another address of the bucket', async (t) => {
    const { env } = await s3.bucket()
    const more = { BERTH_BLOBS_REDIRECT: 'https://images.example.com' }
    const { client, name, berth, authorization } = await startBerthWith(t, { ...env, ...more })
    const bytes = randomBytes(10)
    const path = `${name}/blobs/${await pushBlob(client, name, bytes)}`
    const sent = await fetch(`${berth.url}/v2/${path}`, { headers: { authorization }, redirect: 'manual' })
    assert.equal(new URL(sent.headers.get('location') ?? '').origin, 'https://images.example.com')
  })

  test('garbage collection aborts its own unfinished copies, and nothing of other programs', async (t) => {
    const { env, settings } = await s3.bucket()
    const { berth } = await startBerthWith(t, env)
    const { installation, blobs } = berth.berth
    const { db, clock } = installation.store
    const client = new S3Client({ endpoint: s3.url, region: 'us-east-1', forcePathStyle: true })
    t.after(() => client.destroy())
    const { bucket: Bucket, prefix } = settings
    const hex = randomBytes(32).toString('hex')
    const own = newLocation({ algorithm: 'sha256', hex, text: `sha256:${hex}` }, clock())
    for (const key of [own, 'backups/monday.tar'])
      await client.send(new CreateMultipartUploadCommand({ Bucket, Key: prefix + key }))
    const unfinished = async () => {
      const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket }))
      return Uploads.map(({ Key = '' }) => Key.slice(prefix.length)).sort()
    }
    assert.deepEqual(await unfinished(), ['backups/monday.tar', own])
    const store = { db, clock: () => clock() + limits.untrackedBlobAgeMsMin + 1000 }
    const report = await collectGarbage({ store, blobs, graceMs: 0, dryRun: false, requireKnownStore: true })
    assert.equal(report.uploads.count, 1)
    assert.deepEqual(await unfinished(), ['backups/monday.tar'])
    const { findings } = await runScrub(berth)
    assert.deepEqual(
      findings.map(({ kind, what, reason }) => ({ kind, what, reason })),
      [{ kind: 'orphan', what: 'upload', reason: 'the registry does not use this name: it is kept' }],
    )
  })

  test('files that are copied into a bucket under their names are its blobs', async (t) => {
    const dataDir = mkdtempSync(join(tmpdir(), 'berth-moved-'))
    t.after(() => rmSync(dataDir, { recursive: true }))
    const startWith = (env: Readonly<Record<string, string>>) =>
      startTestBerth({ name: 'sqlite', open: undefined }, { env: { BERTH_DATA_DIR: dataDir, ...env } })
    const image = testImage({}, { layerBytes: PART + 1 })
    const former = await startWith({})
    try {
      const { client, name } = await clientOf(former)
      await pushImage(client, name, image, 'v1')
    } finally {
      await former.stop()
    }
    const files = join(dataDir, 'blobs')
    const { env, settings } = await s3.bucket()
    const bucket = new S3Client({ endpoint: s3.url, region: 'us-east-1', forcePathStyle: true })
    for (const file of globSync('sha*/**/*.*', { cwd: files }))
      await bucket.send(
        new PutObjectCommand({
          Bucket: settings.bucket,
          Key: settings.prefix + file,
          Body: readFileSync(join(files, file)),
        }),
      )
    bucket.destroy()
    const berth = await startWith(env)
    t.after(() => berth.stop())
    const { client } = await clientOf(berth)
    const name = `${former.organization}/images/app`
    assert.equal((await client.request('GET', `${name}/manifests/v1`)).status, 200)
    for (const bytes of image.blobs) await assertPulled(client, name, bytes)
  })
})
