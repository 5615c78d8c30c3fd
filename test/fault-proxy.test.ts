import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { startFaultProxy } from './support/http/fault-proxy.ts'

/** The faults that other tests rely on. */

async function echoServer(t: TestContext): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.pipe(socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => void server.close())
  return (server.address() as AddressInfo).port
}

async function client(t: TestContext, port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  t.after(() => void socket.destroy())
  await once(socket, 'connect')
  return socket
}

async function echoed(socket: Socket, text: string): Promise<string> {
  socket.write(text)
  const [bytes] = await once(socket, 'data')
  return String(bytes)
}

test('a proxy without a fault forwards both ways', async (t) => {
  const proxy = await startFaultProxy(t, await echoServer(t))
  assert.equal(proxy.through('postgres://a:b@db.example:5432/c'), `postgres://a:b@127.0.0.1:${proxy.port}/c`)
  const socket = await client(t, proxy.port)
  assert.equal(await echoed(socket, 'one'), 'one')
  assert.deepEqual([proxy.open(), proxy.accepted()], [1, 1])
})

test('a stalled path delivers everything once it passes again', async (t) => {
  const proxy = await startFaultProxy(t, await echoServer(t))
  const socket = await client(t, proxy.port)
  await echoed(socket, 'one')
  await proxy.apply({ kind: 'stall' })
  const late = await client(t, proxy.port)
  const replies = Promise.all([echoed(socket, 'two'), echoed(late, 'three')])
  const first = await Promise.race([replies, new Promise((resolve) => setTimeout(resolve, 50, 'nothing'))])
  assert.equal(first, 'nothing')
  await proxy.apply({ kind: 'pass' })
  assert.deepEqual(await replies, ['two', 'three'])
})

test('connections that are lost stay silent for good, and new ones work', async (t) => {
  const proxy = await startFaultProxy(t, await echoServer(t))
  const socket = await client(t, proxy.port)
  await echoed(socket, 'one')
  assert.equal(proxy.loseOpen(), 1)
  let signs = 0
  for (const event of ['data', 'end', 'close', 'error']) socket.on(event, () => signs++)
  socket.write('two')
  assert.equal(await echoed(await client(t, proxy.port), 'three'), 'three')
  assert.equal(signs, 0)
})

test('a half-open path forwards requests and loses replies', async (t) => {
  const received: string[] = []
  const server = createServer((socket) => socket.on('data', (bytes) => received.push(String(bytes))))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => void server.close())
  const proxy = await startFaultProxy(t, (server.address() as AddressInfo).port)
  await proxy.apply({ kind: 'drop replies' })
  const socket = await client(t, proxy.port)
  socket.write('one')
  while (received.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  assert.deepEqual(received, ['one'])
})

test('connections are reset, cut in the middle of a reply, and refused', async (t) => {
  const proxy = await startFaultProxy(t, await echoServer(t))
  const socket = await client(t, proxy.port)
  await echoed(socket, 'one')
  proxy.resetOpen()
  assert.equal((await once(socket, 'error'))[0].code, 'ECONNRESET')

  await proxy.apply({ kind: 'cut', replyBytes: 3 })
  const cut = await client(t, proxy.port)
  const broken = once(cut, 'close').catch((error: NodeJS.ErrnoException) => [error.code])
  assert.equal(await echoed(cut, 'abcdef'), 'abc')
  await broken

  await proxy.apply({ kind: 'refuse' })
  const refused = connect(proxy.port, '127.0.0.1')
  assert.equal((await once(refused, 'error'))[0].code, 'ECONNREFUSED')
  await proxy.apply({ kind: 'pass' })
  assert.equal(await echoed(await client(t, proxy.port), 'four'), 'four')
})
