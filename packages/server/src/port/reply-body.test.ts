import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { sendStream } from './reply-body.ts'

const PIECE_BYTES = 256 * 1024

/** Sends one chunk to a client that takes `takenAtOnce` bytes every 50 ms. */
async function sendTo(takenAtOnce: number, stalledReplyMs: number): Promise<'ended' | 'cut off'> {
  let end: 'ended' | 'cut off' | undefined
  const take = async (bytes: number) => {
    for (let left = bytes; left > 0; left -= takenAtOnce) await setTimeout(50)
  }
  const out = new Writable({
    highWaterMark: 1,
    async write(chunk: Buffer, _, taken) {
      await take(chunk.length)
      taken()
    },
    // As sockets do: what waits is one write.
    async writev(chunks, taken) {
      await take(chunks.reduce((bytes, { chunk }) => bytes + chunk.length, 0))
      taken()
    },
  })
  async function* body() {
    yield Buffer.alloc(8 * PIECE_BYTES)
  }
  await sendStream({ log: { debug() {}, error() {} }, limits: { stalledReplyMs } } as never, body(), {
    out,
    requestId: '',
    end: () => {
      end = 'ended'
      out.end()
    },
    abort: () => {
      end = 'cut off'
      out.destroy()
    },
  })
  return end as 'ended' | 'cut off'
}

test('a client that takes 256 KiB in stalledReplyMs gets a chunk that takes it much longer', async () => {
  // 100 ms for each piece, 800 ms for all.
  assert.equal(await sendTo(PIECE_BYTES / 2, 600), 'ended')
})

test('a client that takes less is cut off', async () => {
  assert.equal(await sendTo(PIECE_BYTES / 64, 600), 'cut off')
})
