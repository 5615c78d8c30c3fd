import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, rmSync, statSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { limits } from '@berth/server/config/limits.ts'
import { organizationSettings } from '@berth/server/operator/organization-settings.ts'
import { inTransaction } from '@berth/server/storage/db.ts'
import { onEveryDatabase } from '../support/api/api-fixture.ts'
import { eventually } from '../support/eventually.ts'
import {
  assertOciError,
  bearerOf,
  createRegistryFixture,
  digest,
  type OciClient,
  type OciReply,
  pushBlob,
  pushImage,
  waitForWriter,
} from '../support/registry/registry.ts'

const MIB = 1024 * 1024

/** One request at a time writes an upload, and what it brings is what it said. */
onEveryDatabase('registry: writers of an upload', (cast) => {
  /** Path of a new upload, below /v2/. */
  const begin = async (client: OciClient, name: string) => {
    const { headers } = await client.request('POST', `${name}/blobs/uploads/`)
    return (headers.get('location') ?? '').replace('/v2/', '')
  }

  /** A PATCH of an upload that says how long it is and stops before that. */
  const halting = async (upload: string, authorization: string, bytes: Uint8Array) => {
    const socket = connect(Number(new URL(cast().berth.url).port), '127.0.0.1')
    socket.on('error', () => {})
    socket.write(
      `PATCH /v2/${upload} HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\ncontent-length: ${bytes.length + 1}\r\n\r\n`,
    )
    socket.write(bytes)
    await waitForWriter(cast().berth, upload)
    // Its bytes follow.
    await wait(200)
    return socket
  }

  /**
   * Sends a request that waits for the writer of an upload, and ends the lease of that writer. The writer may renew its lease once more
   * after that, for the bytes that it has received: then the request is sent again.
   */
  const takingOver = async (send: () => Promise<OciReply>) => {
    const attempt = async () => {
      const taking = send()
      await wait(200)
      cast().berth.advance(limits.uploadLeaseMs)
      return taking
    }
    const reply = await attempt()
    return reply.status === 409 ? attempt() : reply
  }

  /** Bytes of an upload that are stored. */
  const sizeOf = async (client: OciClient, upload: string) => {
    const { headers } = await client.request('GET', upload)
    return Number((headers.get('range') ?? '').split('-')[1]) + 1
  }

  /** Finishes the upload, and pulls its blob after the writer that lost it has ended: the blob has these bytes. */
  const assertWholeBeside = async (
    late: Socket,
    { owner, name, upload }: { owner: OciClient; name: string; upload: string },
    bytes: Buffer,
  ) => {
    const blob = digest(bytes)
    assert.equal((await owner.request('PUT', `${upload}?digest=${blob}`)).status, 201)
    late.destroy()
    await once(late, 'close')
    await wait(300)
    const pulled = await owner.request('GET', `${name}/blobs/${blob}`)
    assert.equal(digest(pulled.bytes), blob)
  }

  for (const before of [Buffer.alloc(0), randomBytes(1000)])
    test(`a writer that lost its lease changes nothing when it resumes (uploadLeaseMs, after ${before.length} bytes)`, async () => {
      const { name, organization, owner } = await createRegistryFixture(cast())
      const { berth } = cast()
      const upload = await begin(owner, name)
      if (before.length > 0) await owner.request('PATCH', upload, { body: before })
      const authorization = await bearerOf(berth, organization.owner.uid)
      const late = await halting(upload, authorization, Buffer.alloc(5000, 'late'))
      const bytes = randomBytes(5000)
      const taken = await takingOver(() => owner.request('PATCH', upload, { body: bytes }))
      assert.equal(taken.status, 202, taken.bytes.toString())
      await assertWholeBeside(late, { owner, name, upload }, Buffer.concat([before, bytes]))
    })

  for (const before of [Buffer.alloc(0), randomBytes(1000)])
    test(`a writer that lost its lease changes nothing if the next request exceeds the quota (after ${before.length} bytes)`, async () => {
      const { name, organization, owner, root } = await createRegistryFixture(cast())
      const { berth } = cast()
      await pushBlob(owner, name, randomBytes(MIB - 10_000))
      await organizationSettings(berth.berth.installation, root, { limits: new Map([['storage_mib', 1]]) })
      const upload = await begin(owner, name)
      if (before.length > 0) await owner.request('PATCH', upload, { body: before })
      const id = upload.split('/').at(-1) ?? ''
      const inode = () =>
        statSync(join(berth.dataDir, 'blobs', 'uploads', id), { throwIfNoEntry: false })?.ino
      const authorization = await bearerOf(berth, organization.owner.uid)
      const late = await halting(upload, authorization, Buffer.alloc(5000, 'late'))
      const first = await eventually(inode)
      const exceeding = () => owner.request('PATCH', upload, { body: randomBytes(20_000) })
      assertOciError(await takingOver(exceeding), 403, 'DENIED')
      const bytes = randomBytes(5000)
      assert.equal((await owner.request('PATCH', upload, { body: bytes })).status, 202)
      assert.notEqual(inode(), first)
      await assertWholeBeside(late, { owner, name, upload }, Buffer.concat([before, bytes]))
    })

  /** A request that finishes an upload and verifies its bytes: it hashes so many that others come between. */
  const finishing = async (owner: OciClient, name: string) => {
    const { clock, db } = cast().berth.berth.installation.store
    const upload = await begin(owner, name)
    const id = upload.split('/').at(-1) ?? ''
    const bytes = randomBytes(100_000_000)
    assert.equal((await owner.request('PATCH', upload, { body: bytes })).status, 202)
    // The server hashes SHA-256 while bytes arrive.
    const blob = digest(bytes, 'sha512')
    const finished = owner.request('PUT', `${upload}?digest=${blob}`)
    return {
      ...{ upload, id, bytes, blob, finished },
      /** Claims the upload as another node, which then dies. */
      async claim(then: () => unknown = () => {}) {
        const claimed = () =>
          inTransaction(db, async (tx) => {
            const { numUpdatedRows } = await tx
              .updateTable('uploads')
              .set({ writer: 'another', lease_ms: 0 })
              .where('id', '=', id)
              .where('lease_ms', '>', clock() + limits.uploadLeaseMs)
              .executeTakeFirst()
            if (numUpdatedRows > 0n) await then()
            return numUpdatedRows > 0n
          })
        await eventually(claimed, Boolean, { pollMs: 2 })
      },
    }
  }

  const assertStored = async (owner: OciClient, name: string, bytes: Uint8Array) => {
    const pulled = await owner.request('GET', `${name}/blobs/${digest(bytes)}`)
    assert.equal(digest(pulled.bytes), digest(bytes))
  }

  test('a request that loses its claim after the last byte leaves the upload to the next one', async () => {
    const { name, owner } = await createRegistryFixture(cast())
    const { upload, bytes, blob, finished, claim } = await finishing(owner, name)
    await claim(() => cast().berth.advance(limits.uploadCommitLeaseMs))
    const more = randomBytes(4_000_000)
    const body = new ReadableStream({
      async start(controller) {
        controller.enqueue(more.subarray(0, 2_000_000))
        await finished
        controller.enqueue(more.subarray(2_000_000))
        controller.close()
      },
    })
    assert.equal((await owner.request('PATCH', upload, { body })).status, 202)
    assertOciError(await finished, 409, 'BLOB_UPLOAD_INVALID')
    assert.equal((await owner.request('GET', `${name}/blobs/${blob}`)).status, 404)
    const whole = Buffer.concat([bytes, more])
    const finishedAgain = await owner.request('PUT', `${upload}?digest=${digest(whole)}`)
    assert.equal(finishedAgain.status, 201, finishedAgain.bytes.toString())
    await assertStored(owner, name, whole)
  })

  test('a node whose clock is ahead does not take an upload over while its blob is stored (uploadCommitLeaseMs)', async () => {
    const { name, owner } = await createRegistryFixture(cast())
    const { upload, blob, finished } = await finishing(owner, name)
    const { kysely } = cast().berth.berth.installation.store.db
    const writers = () => kysely.selectFrom('uploads').select('id').where('writer', '<>', '').execute()
    await eventually(async () => (await writers()).length > 0, Boolean, { pollMs: 2 })
    // Clocks of nodes agree to within 30 seconds.
    cast().berth.advance(29_000)
    // 409: the other request has hashed for longer than this one waits for it.
    const refused = await eventually(
      () => owner.request('PATCH', upload, { body: 'more' }),
      ({ status }) => status !== 409,
    )
    assertOciError(refused, 404, 'BLOB_UPLOAD_UNKNOWN')
    assert.equal((await finished).status, 201)
    assert.equal((await owner.request('HEAD', `${name}/blobs/${blob}`)).status, 200)
  })

  test('a request that loses its claim in the commit stores nothing, and the upload can be finished', async () => {
    const { name, owner } = await createRegistryFixture(cast())
    const { berth } = cast()
    const { upload, id, bytes, blob, finished, claim } = await finishing(owner, name)
    const files = (part: string) =>
      readdirSync(join(berth.dataDir, 'blobs'), { recursive: true, encoding: 'utf8' }).filter((path) =>
        path.includes(part),
      )
    const hex = blob.slice('sha512:'.length)
    await claim(() => eventually(() => files(hex).length === 1, Boolean, { pollMs: 2 }))
    assertOciError(await finished, 409, 'BLOB_UPLOAD_INVALID')
    assert.deepEqual(files(hex), [])
    const { kysely } = berth.berth.installation.store.db
    const rows = () => kysely.selectFrom('blobs').select('size').where('digest', '=', blob).execute()
    assert.deepEqual(await rows(), [])
    assert.equal((await owner.request('GET', `${name}/blobs/${blob}`)).status, 404)
    const status = await owner.request('GET', upload)
    assert.equal(status.headers.get('range'), `0-${bytes.length - 1}`)
    assert.equal((await owner.request('PUT', `${upload}?digest=${digest(bytes)}`)).status, 201)
    await assertStored(owner, name, bytes)
    assert.deepEqual(files(id), [])
    assert.deepEqual(berth.errors, [])
  })

  test('a request that continues an upload is rejected while another one writes it (uploadLockWaitMsMax)', async () => {
    const { name, organization, owner } = await createRegistryFixture(cast())
    const upload = await begin(owner, name)
    const authorization = await bearerOf(cast().berth, organization.owner.uid)
    const writer = await halting(upload, authorization, Buffer.alloc(10))
    const waiting = owner.request('PATCH', upload, { body: Buffer.alloc(5) })
    assertOciError(await waiting, 409, 'BLOB_UPLOAD_INVALID')
    writer.destroy()
    assert.ok(limits.uploadLockWaitMsMax >= limits.uploadLeaseMs)
  })

  test('bytes of an interrupted request are stored, and may be sent again', async () => {
    const { name, organization, owner } = await createRegistryFixture(cast())
    const bytes = randomBytes(3_000_000)
    const upload = await begin(owner, name)
    const confirmed = 1_000_000
    const first = { body: bytes.subarray(0, confirmed) }
    assert.equal((await owner.request('PATCH', upload, first)).status, 202)
    const authorization = await bearerOf(cast().berth, organization.owner.uid)
    const cut = await halting(upload, authorization, bytes.subarray(confirmed, 2_900_000))
    // In the middle of what the first request has brought: its client may not know how much arrived.
    const start = 2_000_000
    await eventually(
      () => sizeOf(owner, upload),
      (stored) => stored >= start,
    )
    cut.destroy()
    const resumed = await owner.request('PATCH', upload, {
      body: bytes.subarray(start),
      headers: { 'content-range': `${start}-${bytes.length - 1}` },
    })
    assert.equal(resumed.status, 202, resumed.bytes.toString())
    assert.equal(resumed.headers.get('range'), `0-${bytes.length - 1}`)
    // What a response has confirmed does not come again.
    const again = { ...first, headers: { 'content-range': `0-${confirmed - 1}` } }
    assert.equal((await owner.request('PATCH', upload, again)).status, 416)
    const finished = await owner.request('PUT', `${upload}?digest=${digest(bytes)}`)
    assert.equal(finished.status, 201, finished.bytes.toString())
    const pulled = await owner.request('GET', `${name}/blobs/${digest(bytes)}`)
    assert.equal(digest(pulled.bytes), digest(bytes))
  })

  test('the status of an upload counts what a running request has stored', async () => {
    const { name, organization, owner } = await createRegistryFixture(cast())
    const bytes = randomBytes(20_000_000)
    const upload = await begin(owner, name)
    const authorization = await bearerOf(cast().berth, organization.owner.uid)
    const running = await halting(upload, authorization, bytes)
    const stored = () => sizeOf(owner, upload)
    // A bucket has parts of 8 MiB, of which the last one waits for what comes.
    for (const giveUp = Date.now() + 20_000; (await stored()) < limits.s3PartBytes; ) {
      assert.ok(Date.now() < giveUp, 'nothing is stored while the request runs')
      await wait(50)
    }
    running.destroy()
    // Right after the cut: the status is the truth, also while the rest of the request is being stored.
    const start = await stored()
    // All of it may have arrived.
    if (start < bytes.length) {
      const rest = {
        body: bytes.subarray(start),
        headers: { 'content-range': `${start}-${bytes.length - 1}` },
      }
      const resumed = await owner.request('PATCH', upload, rest)
      assert.equal(resumed.status, 202, resumed.bytes.toString())
    }
    const finished = await owner.request('PUT', `${upload}?digest=${digest(bytes)}`)
    assert.equal(finished.status, 201, finished.bytes.toString())
  })

  test('a chunk is as long as its Content-Range says', async () => {
    const { name, owner } = await createRegistryFixture(cast())
    const upload = await begin(owner, name)
    const send = (range: string, bytes: number) =>
      owner.request('PATCH', upload, { body: Buffer.alloc(bytes), headers: { 'content-range': range } })
    assertOciError(await send('0-99', 50), 400, 'SIZE_INVALID')
    assertOciError(await send('0-9', 50), 400, 'SIZE_INVALID')
    assert.equal((await send('0-49', 50)).status, 202)
    assert.equal((await owner.request('GET', upload)).headers.get('range'), '0-49')
  })

  test('a push fails if the caller loses the permission during the transfer', async () => {
    const { name, organization, owner, clientOf } = await createRegistryFixture(cast())
    const { uid, binding } = await organization.member('registry.push')
    const pusher = await clientOf(uid)
    const blob = randomBytes(1000)
    const image = await pushImage(owner, name)
    const headers = { 'content-type': image.mediaType }
    const late = (bytes: Uint8Array) =>
      new ReadableStream({
        async start(controller) {
          controller.enqueue(bytes.subarray(0, 100))
          // The requests are authorized a while after they are sent.
          await wait(limits.grantsMaxAgeMs + 5000)
          await organization.owner.api.delete(`iam/roleBindings/${binding}`)
          controller.enqueue(bytes.subarray(100))
          controller.close()
        },
      })
    const path = `${name}/blobs/uploads/?digest=${digest(blob)}`
    const replies = await Promise.all([
      pusher.request('POST', path, { body: late(blob) }),
      pusher.request('PUT', `${name}/manifests/late`, { body: late(image.manifest), headers }),
    ])
    assert.deepEqual(
      replies.map(({ status }) => status),
      [409, 409],
    )
    assertOciError(await pusher.request('POST', path, { body: blob }), 403, 'DENIED')
    assert.equal((await owner.request('GET', `${name}/manifests/late`)).status, 404)
  })

  test('an upload whose bytes are missing is deleted', async () => {
    const { name, owner } = await createRegistryFixture(cast())
    for (const method of ['PATCH', 'PUT']) {
      const upload = await begin(owner, name)
      const bytes = randomBytes(100)
      await owner.request('PATCH', upload, { body: bytes })
      rmSync(join(cast().berth.dataDir, 'blobs', 'uploads', upload.split('/').at(-1) ?? ''))
      const path = method === 'PUT' ? `${upload}?digest=${digest(bytes)}` : upload
      assertOciError(await owner.request(method, path), 404, 'BLOB_UPLOAD_UNKNOWN', method)
      assertOciError(await owner.request('GET', upload), 404, 'BLOB_UPLOAD_UNKNOWN', method)
    }
    assert.deepEqual(cast().berth.errors, [])
  })
})
