import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { test } from 'node:test'
import { type ApiFixture, onEveryDatabase } from '../support/api/api-fixture.ts'
import { eventually } from '../support/eventually.ts'
import { bearerOf, createRegistryFixture, digest, pushBlob } from '../support/registry/registry.ts'
import {
  http1Sender,
  http2Sender,
  largeBlob,
  latencyMs,
  openHandles,
  pullAndVerify,
  pushLarge,
  type Repo,
  startSlowReader,
  startSlowSender,
} from '../support/registry/transfers.ts'

const WINDOW_MS = 1500
/** More than what the system takes between a server and a client that reads nothing. */
const LARGE_BYTES = 32_000_000

async function repoOf(cast: ApiFixture) {
  const { owner, name, organization } = await createRegistryFixture(cast)
  const { berth } = cast
  const repo: Repo = { url: berth.url, name, authorization: await bearerOf(berth, organization.owner.uid) }
  return { repo, owner }
}

const nothingOpen = () => openHandles('self').files === 0

onEveryDatabase(
  'registry: transfers',
  (cast) => {
    test('a large blob is pushed and pulled intact over both versions of HTTP', async (t) => {
      const { repo } = await repoOf(cast())
      const [sendFirst, sendSecond] = [http1Sender(t, repo), http2Sender(t, repo)]
      for (const [push, pull] of [
        [sendFirst, sendSecond],
        [sendSecond, sendFirst],
      ] as const) {
        const blob = largeBlob(12_345_678)
        await pushLarge(push, repo, blob)
        await Promise.all([pullAndVerify(pull, repo, blob), pullAndVerify(push, repo, blob)])
      }
      await eventually(nothingOpen)
    })

    test('a hundred concurrent clients pull and push', async (t) => {
      const { repo, owner } = await repoOf(cast())
      const send = http1Sender(t, repo)
      const blob = largeBlob(1_500_000)
      await pushLarge(send, repo, blob)
      await Promise.all(
        Array.from({ length: 100 }, async () => {
          await pullAndVerify(send, repo, blob)
          const bytes = randomBytes(100)
          await pushBlob(owner, repo.name, bytes)
          await pullAndVerify(send, repo, { digest: digest(bytes), size: bytes.length })
        }),
      )
      await eventually(nothingOpen)
    })

    test('a file is closed when its client disappears in the middle of a pull or a push', async (t) => {
      const { repo } = await repoOf(cast())
      const blob = largeBlob(LARGE_BYTES)
      for (const send of [http1Sender(t, repo), http2Sender(t, repo)]) {
        await pushLarge(send, repo, blob)
        const { body } = await send('GET', `/v2/${repo.name}/blobs/${blob.digest}`)
        await once(body, 'readable')
        assert.ok(!nothingOpen())
        body.destroy()
        await eventually(nothingOpen)
        // The memory of a pull that broke is not read into again: what comes next is whole.
        await pullAndVerify(send, repo, blob)
      }
      const { socket } = await startSlowSender(t, repo)
      await eventually(() => !nothingOpen())
      socket.destroy()
      await eventually(nothingOpen)
    })

    test('a client that reads or sends one byte a second is cut off and does not delay others', async (t) => {
      const { repo } = await repoOf(cast())
      const send = http1Sender(t, repo)
      const blob = largeBlob(LARGE_BYTES)
      await pushLarge(send, repo, blob)
      const empty = `/v2/${repo.name}/blobs/${digest('')}`
      await pushLarge(send, repo, { ...blob, size: 0, digest: digest(''), pieces: function* () {} })
      await latencyMs(send, empty, 50)
      const usual = await latencyMs(send, empty, 50)
      for (let count = 0; count < 10; count++) await startSlowReader(t, repo, blob.digest)
      const senders = await Promise.all(Array.from({ length: 10 }, () => startSlowSender(t, repo)))
      const beside = await latencyMs(send, empty, 50)
      t.diagnostic(`${usual.toFixed(2)} ms alone, ${beside.toFixed(2)} ms beside 20 slow clients`)
      // Another process may take the processor during one of the measurements. A request that waits for a slow client takes longer.
      assert.ok(beside < Math.max(10 * usual, 100))
      const cut = await Promise.all(senders.map(({ cutAfterMs }) => cutAfterMs))
      t.diagnostic(
        `senders are cut off after ${Math.min(...cut).toFixed(0)} to ${Math.max(...cut).toFixed(0)} ms`,
      )
      assert.ok(Math.min(...cut) >= WINDOW_MS * 0.9)
      await eventually(nothingOpen)
    })
  },
  { portLimits: { streamedBodyWindowMs: WINDOW_MS, stalledReplyMs: WINDOW_MS } },
)
