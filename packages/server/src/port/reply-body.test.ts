import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { setImmediate as nextIteration, setTimeout } from 'node:timers/promises'
import { createUnreadReplies } from './bodies/unread-replies.ts'
import { createMessageSender, type ReplyTarget, sendStream } from './reply-body.ts'

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

/** Takes nothing. A stream of HTTP/2 is closed when the connection has sent its reset. */
class BlockedTarget extends EventEmitter implements ReplyTarget {
  destroyed = false
  readonly writableFinished = false
  writableLength = 0

  write(bytes: Uint8Array): void {
    this.writableLength += bytes.length
  }

  end(): void {}
}

test('a message that exceeds the limit of unread replies together with those before it is not counted', async (t) => {
  const unreadReplies = createUnreadReplies(10)
  const out = new BlockedTarget()
  t.after(() => out.emit('close'))
  const cut = () => {
    out.destroyed = true
  }
  const send = createMessageSender(out, { limits: { stalledReplyMs: 60_000 }, unreadReplies }, cut)
  const countedBytes: number[] = []
  for (let count = 0; count < 2; count++) {
    send(new Uint8Array(10))
    await nextIteration()
    countedBytes.push(unreadReplies.bytes)
  }
  assert.ok(out.destroyed)
  assert.deepEqual(countedBytes, [10, 0])
})
