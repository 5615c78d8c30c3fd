/** Runs the codec against the one of node:http2. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import {
  type ClientHttp2Session,
  connect,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from 'node:http2'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { HpackDecoder } from './decoder.ts'
import { headerBlockBytesMax, writeHeaderBlock } from './encoder.ts'

const prefaceBytes = 24
const frameHeaderBytes = 9
const headersFrame = 1
const settingsFrame = 4
const endStream = 1
const acknowledge = 1
const endHeaders = 4
const padded = 8
const priority = 0x20

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(frameHeaderBytes)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** Calls `respond` with the header block of each request; it returns the fields of the response. */
function serve(socket: Socket, respond: (block: Buffer) => string[]): void {
  let rest: Buffer = Buffer.alloc(0)
  let at = prefaceBytes
  socket.on('error', () => socket.destroy())
  socket.write(frame(settingsFrame, 0, 0, Buffer.alloc(0)))
  socket.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk])
    while (rest.length >= at + frameHeaderBytes) {
      const end = at + frameHeaderBytes + rest.readUIntBE(at, 3)
      if (rest.length < end) return
      const type = rest[at + 3]!
      const flags = rest[at + 4]!
      const stream = rest.readUInt32BE(at + 5)
      const payload = rest.subarray(at + frameHeaderBytes, end)
      at = end
      if (type === settingsFrame && flags === 0) {
        socket.write(frame(settingsFrame, acknowledge, 0, Buffer.alloc(0)))
      }
      if (type !== headersFrame) continue
      assert.ok(flags & endHeaders && !(flags & padded))
      const fields = respond(payload.subarray(flags & priority ? 5 : 0))
      const out = Buffer.alloc(headerBlockBytesMax(fields))
      const block = out.subarray(0, writeHeaderBlock(fields, out, 0))
      socket.write(frame(headersFrame, endHeaders | endStream, stream, block))
    }
  })
}

/** Runs `use` with a session of node:http2 to a server that responds so. */
async function withSession(
  respond: (block: Buffer) => string[],
  use: (session: ClientHttp2Session) => Promise<void>,
): Promise<void> {
  const server = createServer((socket) => serve(socket, respond)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  try {
    await use(session)
  } finally {
    session.destroy()
    server.close()
  }
}

async function request(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
): Promise<IncomingHttpHeaders> {
  const stream = session.request(headers)
  stream.resume()
  const [received] = await once(stream, 'response')
  return received
}

/** Every byte that node:http2 sends, among enough short codes that it sends the Huffman code. */
const allCharacters = Array.from({ length: 256 }, (_, code) => code)
  .filter((code) => code === 9 || (code >= 32 && code !== 127))
  .map((code) => `0${String.fromCharCode(code)}${'0'.repeat(12)}`)

test('the decoder reads what node:http2 sends', async () => {
  const decoder = new HpackDecoder({ headerBytesMax: 100_000, headerFieldsMax: 1000 })
  let received: string[] | undefined
  const respond = (block: Buffer) => {
    received = decoder.decode(block)
    return [':status', '200']
  }
  await withSession(respond, async (session) => {
    for (let at = 0; at < 400; at++) {
      const sent: Record<string, string> = {
        ':method': at % 2 ? 'GET' : 'POST',
        ':scheme': 'http',
        ':authority': 'berth.example',
        ':path': `/berth.v1.Groups/${'Method'.repeat(at % 7)}`,
        authorization: `Bearer ${'eyJhbGciOiJSUzI1NiJ9.'.repeat(20)}${Math.floor(at / 50)}`,
        'x-characters': allCharacters[at % allCharacters.length]!,
        [`x-name-${at % 90}`]: 'Value!'.repeat(at % 40),
        'x-long': at % 25 === 0 ? 'L'.repeat(5000) : 's',
      }
      await request(session, sent)
      assert.deepEqual(received, Object.entries(sent).flat())
    }
  })
})

test('node:http2 reads what the encoder writes', async () => {
  let sent: string[] = []
  await withSession(
    () => sent,
    async (session) => {
      for (let at = 0; at < 300; at++) {
        const fields: Record<string, string> = {
          ':status': `${200 + at}`,
          'content-type': 'application/grpc+proto',
          'grpc-status': '0',
          'x-characters': allCharacters[at % allCharacters.length]!,
          [`x-name-${at}`]: 'v'.repeat(at),
          etag: 'e'.repeat(at * 20),
        }
        sent = [...Object.entries(fields).flat(), 'set-cookie', 'a=b', 'set-cookie', 'c=d']
        const received = await request(session, { ':path': '/' })
        const expected = { ...fields, ':status': 200 + at, 'set-cookie': ['a=b', 'c=d'] }
        assert.deepEqual(Object.fromEntries(Object.entries(received)), expected)
      }
    },
  )
})
