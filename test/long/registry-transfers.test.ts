import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import { eventually } from '../support/eventually.ts'
import { digest } from '../support/registry/registry.ts'
import {
  comparedLatenciesMs,
  comparePulls,
  growthMb,
  http1Sender,
  http2Sender,
  largeBlob,
  openHandles,
  pullAndVerify,
  pushLarge,
  residentMb,
  startRegistry,
  startSlowReader,
  startSlowSender,
} from '../support/registry/transfers.ts'

const GROWTH_MB_MAX = 100

for (const [version, over] of [
  ['HTTP/1.1', http1Sender],
  ['HTTP/2', http2Sender],
] as const)
  test(`2 GB are pushed and pulled over ${version} in little memory`, async (t) => {
    const repo = await startRegistry(t)
    const send = over(t, repo)
    const small = largeBlob(20_000_000)
    await pushLarge(send, repo, small)
    await pullAndVerify(send, repo, small)
    const before = residentMb(repo.pid)
    const blob = largeBlob(2_000_000_000)
    for (const [what, work] of [
      ['push', () => pushLarge(send, repo, blob)],
      ['pull', () => pullAndVerify(send, repo, blob)],
    ] as const) {
      const startMs = performance.now()
      const growth = await growthMb(repo.pid, work)
      const seconds = (performance.now() - startMs) / 1000
      const rate = blob.size / 1_000_000 / seconds
      t.diagnostic(
        `${what}: ${growth.toFixed(0)} MB more than ${before.toFixed(0)} MB, ${rate.toFixed(0)} MB/s`,
      )
      assert.ok(growth < GROWTH_MB_MAX)
    }
  })

test('1,000 concurrent clients pull one blob, and 1,000 push one each', async (t) => {
  const repo = await startRegistry(t)
  const send = http1Sender(t, repo)
  const blob = largeBlob(10_000_000)
  await pushLarge(send, repo, blob)
  await pullAndVerify(send, repo, blob)
  const whole = Buffer.concat([...blob.pieces()])
  const before = residentMb(repo.pid)
  const startMs = performance.now()
  const pulled = await growthMb(repo.pid, async () => {
    await Promise.all(Array.from({ length: 1000 }, () => comparePulls(repo, blob.digest, whole)))
  })
  const seconds = (performance.now() - startMs) / 1000
  t.diagnostic(
    `1,000 pulls of 10 MB in ${seconds.toFixed(0)} s: ${pulled.toFixed(0)} MB more than ${before.toFixed(0)} MB`,
  )
  const pushed = await growthMb(repo.pid, async () => {
    await Promise.all(
      Array.from({ length: 1000 }, async () => {
        const bytes = randomBytes(1000)
        const one = { digest: digest(bytes), size: bytes.length, pieces: () => [bytes].values() }
        await pushLarge(send, repo, one)
        await pullAndVerify(send, repo, one)
      }),
    )
  })
  t.diagnostic(`1,000 pushes: ${pushed.toFixed(0)} MB more`)
  assert.ok(pulled < 300 && pushed < 300)
  await eventually(() => openHandles(repo.pid).files === 0)
})

test('200 clients that read and 200 that send a byte a second are disconnected, and delay no other client', async (t) => {
  const [repo, idle] = [await startRegistry(t), await startRegistry(t)]
  const send = http1Sender(t, repo)
  const [blob, ping] = [largeBlob(50_000_000), largeBlob(10)]
  await pushLarge(send, repo, blob)
  const pingOf = async (one: typeof repo) => {
    const target = { send: http1Sender(t, one), path: `/v2/${one.name}/blobs/${ping.digest}` }
    await pushLarge(target.send, one, ping)
    return target
  }
  const pings = [await pingOf(idle), await pingOf(repo)] as const
  await comparedLatenciesMs(pings, 200)
  const before = residentMb(repo.pid)
  const startMs = performance.now()
  const senders = await Promise.all(Array.from({ length: 200 }, () => startSlowSender(t, repo)))
  for (let count = 0; count < 200; count++) await startSlowReader(t, repo, blob.digest)
  // A client is connected before the server has read its request.
  await eventually(() => openHandles(repo.pid).files >= 200)
  const { files } = openHandles(repo.pid)
  const [alone, beside] = await comparedLatenciesMs(pings, 500)
  const growth = residentMb(repo.pid) - before
  t.diagnostic(
    `latency ${alone.toFixed(2)} ms alone, ${beside.toFixed(2)} ms beside 400: ${(beside / alone).toFixed(2)}`,
  )
  t.diagnostic(`${growth.toFixed(0)} MB more than ${before.toFixed(0)} MB, ${files} files open`)
  assert.ok(growth < GROWTH_MB_MAX)
  assert.ok(beside < 5 * alone + 2)
  const cut = await Promise.all(senders.map(({ cutAfterMs }) => cutAfterMs))
  t.diagnostic(`senders are cut off after ${(Math.max(...cut) / 1000).toFixed(0)} s at most`)
  assert.ok(Math.max(...cut) < 2 * limits.streamedBodyWindowMs)
  await eventually(() => openHandles(repo.pid).files === 0, Boolean, {
    patienceMs: 3 * limits.stalledReplyMs,
  })
  t.diagnostic(`readers after ${((performance.now() - startMs) / 1000).toFixed(0)} s`)
  await pullAndVerify(send, repo, blob)
})
