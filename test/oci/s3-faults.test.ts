import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import { openBlobs } from '@berth/server/registry/blobs/open.ts'
import { assertPulled, startBerthWith, startUpload } from '../support/registry/bucket-registry.ts'
import { startFaultyS3Proxy } from '../support/registry/faulty-s3-proxy.ts'
import { assertOciError, digest, pushBlob } from '../support/registry/registry.ts'
import { type S3Server, startS3, withoutOwnS3 } from '../support/registry/s3.ts'
import type { Cleanup } from '../support/server/process.ts'
import type { TestBerth } from '../support/server/test-berth.ts'

/** Faults between the registry and its bucket: they are reported, and nothing is left half done. */

const { s3PartBytes: PART } = limits

describe('registry with a failing bucket', { skip: withoutOwnS3 }, () => {
  let s3: S3Server
  before(async () => {
    s3 = await startS3()
  })
  after(() => s3?.stop())

  /** A server whose way to its bucket is ours. */
  async function onFaultyWay(t: Cleanup) {
    const way = await startFaultyS3Proxy(t, s3.url)
    const { env } = await s3.bucket()
    return { way, ...(await startBerthWith(t, { ...env, BERTH_BLOBS_S3_ENDPOINT: way.url })) }
  }

  /** What the operator reads: why, and nothing secret. */
  function assertToldOf(berth: TestBerth, code: string) {
    const logged = JSON.stringify([berth.warnings, berth.errors])
    assert.match(logged, new RegExp(`"code":"${code}"`))
    for (const secret of ['AWS_SECRET_ACCESS_KEY', 'AWS_ACCESS_KEY_ID'])
      assert.ok(!logged.includes(process.env[secret] ?? '-'))
    assert.doesNotMatch(logged, /signature/i)
  }

  test('requests to a bucket that is busy or breaks connections are retried', async (t) => {
    const { way, client, name, berth } = await onFaultyWay(t)
    let asked = 0
    way.fault = () => {
      asked += 1
      if (asked % 7 === 3) return 'SlowDown'
      return asked % 11 === 5 ? 'cut' : undefined
    }
    const bytes = randomBytes(3 * PART + 5)
    await pushBlob(client, name, bytes)
    await assertPulled(client, name, bytes)
    assert.deepEqual([berth.warnings, berth.errors], [[], []])
  })

  test('a full bucket is answered with 507, logged once, and the upload can be continued', async (t) => {
    const { way, client, name, berth } = await onFaultyWay(t)
    const bytes = randomBytes(2 * PART + 5)
    const path = await startUpload(client, name)
    const first = await client.request('PATCH', path, { body: bytes.subarray(0, PART + 1) })
    assert.equal(first.status, 202)
    way.fault = ({ method }) => (method === 'PUT' ? 'XMinioStorageFull' : undefined)
    for (const body of [bytes.subarray(PART + 1), bytes.subarray(PART + 1, PART + 9)]) {
      const reply = await client.request('PATCH', path, { body })
      assertOciError(reply, 507, 'UNKNOWN')
      assert.match(reply.json.errors[0].message, /the blob store has no free space/)
    }
    assertToldOf(berth, 'XMinioStorageFull')
    assert.equal(berth.warnings.length + berth.errors.length, 1)
    way.fault = () => undefined
    const rest = await client.request('PUT', `${path}?digest=${digest(bytes)}`, {
      body: bytes.subarray(PART + 1),
    })
    assert.equal(rest.status, 201)
    await assertPulled(client, name, bytes)
  })

  test('an upload to a bucket that stays busy is answered with 503 and can be continued', async (t) => {
    const { way, client, name, berth } = await onFaultyWay(t)
    const bytes = randomBytes(2 * PART + 5)
    const path = await startUpload(client, name)
    const first = await client.request('PATCH', path, { body: bytes.subarray(0, PART + 1) })
    assert.equal(first.status, 202)
    way.fault = ({ method }) => (method === 'PUT' ? 'SlowDown' : undefined)
    const second = await client.request('PATCH', path, { body: bytes.subarray(PART + 1) })
    assert.equal(second.status, 503)
    assert.equal(second.headers.get('retry-after'), '2')
    assert.deepEqual(second.codes, ['UNKNOWN'])
    assertToldOf(berth, 'SlowDown')
    const status = await client.request('GET', path)
    assert.equal(status.headers.get('range'), `0-${PART}`)
    way.fault = () => undefined
    const third = await client.request('PUT', `${path}?digest=${digest(bytes)}`, {
      body: bytes.subarray(PART + 1),
    })
    assert.equal(third.status, 201, third.bytes.toString())
    await assertPulled(client, name, bytes)
  })

  test('bytes that are damaged on the way to the bucket are rejected', async (t) => {
    const { way, client, name, berth } = await onFaultyWay(t)
    const bytes = randomBytes(PART + 5)
    const path = await startUpload(client, name)
    way.fault = ({ method, url }) => (method === 'PUT' && url.includes('partNumber') ? 'damage' : undefined)
    const damaged = await client.request('PATCH', path, { body: bytes })
    assert.deepEqual([damaged.status, damaged.codes], [503, ['UNKNOWN']])
    assertToldOf(berth, 'XAmzContentSHA256Mismatch')
    way.fault = () => undefined
    assert.equal((await client.request('PATCH', path, { body: bytes })).status, 202)
    assert.equal((await client.request('PUT', `${path}?digest=${digest(bytes)}`)).status, 201)
    await assertPulled(client, name, bytes)
  })

  test('an upload whose commit fails is committed by the next request', async (t) => {
    const { way, client, name } = await onFaultyWay(t)
    for (const size of [100, PART + 100]) {
      const bytes = randomBytes(size)
      const path = await startUpload(client, name)
      assert.equal((await client.request('PATCH', path, { body: bytes })).status, 202)
      // The copy, after the upload was made whole.
      way.fault = ({ url }) => (url.includes('/sha256/') ? 'cut' : undefined)
      assert.equal((await client.request('PUT', `${path}?digest=${digest(bytes)}`)).status, 503)
      way.fault = () => undefined
      const again = await client.request('PUT', `${path}?digest=${digest(bytes)}`)
      assert.equal(again.status, 201, again.bytes.toString())
      await assertPulled(client, name, bytes)
    }
  })

  test('an upload that the bucket has aborted is unknown, so that its client starts another', async (t) => {
    const { env, settings } = await s3.bucket()
    const { client, name } = await startBerthWith(t, env)
    const bytes = randomBytes(PART + 5)
    const [path, other] = [await startUpload(client, name), await startUpload(client, name)]
    for (const begun of [path, other])
      assert.equal((await client.request('PATCH', begun, { body: bytes })).status, 202)
    const blobs = await openBlobs({ dataDir: '', blobs: settings }, { warn() {} })
    for await (const upload of blobs.listUploads()) await blobs.discard(upload)
    blobs.close()
    assertOciError(await client.request('PUT', `${path}?digest=${digest(bytes)}`), 404, 'BLOB_UPLOAD_UNKNOWN')
    assertOciError(await client.request('PATCH', other, { body: bytes }), 404, 'BLOB_UPLOAD_UNKNOWN')
  })

  test('an upload survives a restart of the server', async (t) => {
    const { env } = await s3.bucket()
    const { client, name, berth } = await startBerthWith(t, env)
    const bytes = randomBytes(2 * PART + 5)
    const path = await startUpload(client, name)
    assert.equal((await client.request('PATCH', path, { body: bytes.subarray(0, PART + 9) })).status, 202)
    await s3.kill()
    try {
      const gone = await client.request('PATCH', path, { body: bytes.subarray(PART + 9) })
      assert.deepEqual([gone.status, gone.codes], [503, ['UNKNOWN']])
      const atOnce = await client.request('POST', `${name}/blobs/uploads/?digest=${digest(bytes)}`, {
        body: bytes,
      })
      assert.equal(atOnce.status, 503)
      assertToldOf(berth, 'ECONNREFUSED')
    } finally {
      await s3.start()
    }
    assert.equal((await client.request('PATCH', path, { body: bytes.subarray(PART + 9) })).status, 202)
    assert.equal((await client.request('PUT', `${path}?digest=${digest(bytes)}`)).status, 201)
    await assertPulled(client, name, bytes)
  })

  test('a pull continues when its connection to the bucket breaks, and fails when the bucket is gone', async (t) => {
    const { way, client, name } = await onFaultyWay(t)
    const bytes = randomBytes(3 * 1024 * 1024)
    await pushBlob(client, name, bytes)
    way.fault = () => 'cut answer'
    await assertPulled(client, name, bytes)
    assert.ok(way.requests.filter((line) => line.startsWith('GET')).length > 5)
    way.fault = () => 'cut'
    const gone = await client.request('GET', `${name}/blobs/${digest(bytes)}`)
    assert.deepEqual([gone.status, gone.codes], [503, ['UNKNOWN']])
    const known = await client.request('HEAD', `${name}/blobs/${digest(bytes)}`)
    assert.deepEqual([known.status, known.headers.get('content-length')], [200, String(bytes.length)])
  })

  test('a pull that stalls is cut off, so that it is not mistaken for a complete one', async (t) => {
    const { way, client, name, berth } = await onFaultyWay(t)
    const bytes = randomBytes(3 * 1024 * 1024)
    await pushBlob(client, name, bytes)
    let asked = 0
    way.fault = () => {
      asked += 1
      return asked === 1 ? 'cut answer' : 'cut'
    }
    await assert.rejects(client.request('GET', `${name}/blobs/${digest(bytes)}`))
    assert.equal(berth.errors.length, 1)
  })
})
