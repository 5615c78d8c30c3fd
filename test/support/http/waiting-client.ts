import { once } from 'node:events'
import { request as requestHttp1 } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import type { Readable, Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { parentPort, workerData } from 'node:worker_threads'

// A client in a thread of its own, which continues while the thread of the server is blocked. It sends one request, stops in the middle
// until it gets a message, and posts what it received.

/** Where the client stops: after it has connected, after a part of its headers or of its body, or before it reads the body of the reply. */
export type Stop = 'connected' | 'headers' | 'sending' | 'reading'

export interface WaitingClientData {
  readonly url: string
  readonly version: '1.1' | '2'
  readonly stop: Stop
  /** Of the body that it sends. */
  readonly bodyBytes: number
}

export interface ReceivedReply {
  readonly status: number
  readonly bytes: number
  readonly isWhole: boolean
}

/** What a client receives that stops before it has sent its headers. */
export interface ReceivedText {
  readonly text: string
}

const { url, version, stop, bodyBytes } = workerData as WaitingClientData
const port = parentPort ?? process.exit(1)
const released = once(port, 'message')

async function send(body: Writable): Promise<void> {
  if (stop !== 'sending') return void body.end()
  body.write('x')
  await released
  body.end(Buffer.alloc(bodyBytes - 1))
}

async function receive(status: number, body: Readable): Promise<ReceivedReply> {
  if (stop === 'reading') await released
  let bytes = 0
  let isWhole = true
  try {
    for await (const chunk of body) bytes += chunk.length
  } catch {
    isWhole = false
  }
  return { status, bytes, isWhole }
}

/** Sends headers after it stopped: `sent` of them before. */
async function sendHeaders(sent: number): Promise<ReceivedText> {
  const headers = 'GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  if (sent > 0) socket.write(headers.slice(0, sent))
  await released
  socket.write(headers.slice(sent))
  return { text: await text(socket) }
}

async function exchange(): Promise<ReceivedReply | ReceivedText> {
  if (stop === 'connected') return sendHeaders(0)
  if (stop === 'headers') return sendHeaders(20)
  const method = stop === 'sending' ? 'PUT' : 'GET'
  if (version === '1.1') {
    const sending = requestHttp1(url, { method })
    const replied = once(sending, 'response')
    await send(sending)
    const [reply] = await replied
    return receive(reply.statusCode, reply)
  }
  const session = connectHttp2(url)
  const stream = session.request({ ':path': '/', ':method': method })
  const replied = once(stream, 'response')
  await send(stream)
  const [headers] = await replied
  const received = await receive(headers[':status'], stream)
  session.close()
  return received
}

port.postMessage(await exchange())
port.close()
