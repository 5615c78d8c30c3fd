import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { Agent, request as requestHttp1 } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { connect, type Socket } from 'node:net'
import type { Readable, Writable } from 'node:stream'
import {
  type Cleanup,
  type Environment,
  runBerth,
  serveBerth,
  temporaryDirectory,
} from '../server/process.ts'

/** Transfers of blobs that are large, many, slow or cut off, and what they cost the server. */

/** A repo, and a caller who can push to it. */
export interface Repo {
  readonly url: string
  readonly name: string
  readonly authorization: string
}

/** A server in a process of its own, whose memory can be looked at. */
export async function startRegistry(
  t: Cleanup,
  env: Environment = {},
): Promise<Repo & { readonly pid: number }> {
  const settings = { BERTH_DATA_DIR: temporaryDirectory(t), BERTH_LOG_LEVEL: 'error', ...env }
  const { url, child } = await serveBerth(t, settings)
  const first = JSON.parse((await runBerth(t, ['admin', 'bootstrap', '--json'], settings)).stdout) as {
    organization: { uid: string }
  }
  const { stdout: token } = await runBerth(t, ['admin', 'token', '--audience', new URL(url).host], settings)
  return {
    url,
    name: `${first.organization.uid}/transfers`,
    authorization: `Bearer ${token}`,
    pid: child.pid as number,
  }
}

const BYTES_PER_KIB = 1024
const MB = 1_000_000

/** Megabytes of a process that are in memory. */
export function residentMb(pid: number): number {
  const [, kib] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return (Number(kib) * BYTES_PER_KIB) / MB
}

/** Files below `blobs` and sockets that a process has open. */
export function openHandles(pid: number | 'self'): { readonly files: number; readonly sockets: number } {
  const targets = readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${fd}`)]
    } catch {
      return [] // closed meanwhile
    }
  })
  return {
    files: targets.filter((target) => target.includes('/blobs/')).length,
    sockets: targets.filter((target) => target.startsWith('socket:')).length,
  }
}

/** Runs something, and says how much memory a process had beyond what it had before, at most. */
export async function growthMb(pid: number, work: () => Promise<void>): Promise<number> {
  const before = residentMb(pid)
  let most = before
  const timer = setInterval(() => {
    most = Math.max(most, residentMb(pid))
  }, 50)
  try {
    await work()
  } finally {
    clearInterval(timer)
  }
  return most - before
}

const PIECE_BYTES = 1024 * 1024

/** A blob that is made as it is sent: no two pieces of it are the same. */
export function largeBlob(size: number): Blob {
  const piece = randomBytes(PIECE_BYTES)
  const pieces = function* () {
    for (let at = 0; at < size; at += PIECE_BYTES) {
      const bytes = Buffer.from(piece.subarray(0, Math.min(PIECE_BYTES, size - at)))
      bytes.writeUInt32LE(at / PIECE_BYTES, 0)
      yield bytes
    }
  }
  const hash = createHash('sha256')
  for (const bytes of pieces()) hash.update(bytes)
  return { size, digest: `sha256:${hash.digest('hex')}`, pieces }
}

interface Blob {
  readonly size: number
  readonly digest: string
  pieces(): Iterable<Uint8Array>
}

/** One exchange over either version of HTTP. */
interface Sent {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Readable
}

export type Send = (
  method: string,
  path: string,
  body?: { readonly size: number; readonly pieces: Iterable<Uint8Array> },
) => Promise<Sent>

export function http1Sender(t: Cleanup, { url, authorization }: Repo): Send {
  const agent = new Agent({ keepAlive: true })
  t.after(() => agent.destroy())
  return async (method, path, body) => {
    const headers = { authorization, 'content-length': body?.size ?? 0 }
    const request = requestHttp1(`${url}${path}`, { agent, method, headers })
    const answered = once(request, 'response')
    await sendBody(request, body?.pieces)
    const [response] = await answered
    return { status: response.statusCode, headers: response.headers, body: response }
  }
}

const WINDOW_BYTES = 4 * 1024 * 1024

export function http2Sender(t: Cleanup, { url, authorization }: Repo): Send {
  const session = connectHttp2(url, { settings: { initialWindowSize: WINDOW_BYTES } })
  session.on('connect', () => session.setLocalWindowSize(WINDOW_BYTES))
  t.after(() => session.destroy())
  return async (method, path, body) => {
    const stream = session.request(
      { ':method': method, ':path': path, authorization, 'content-length': body?.size ?? 0 },
      { endStream: body === undefined },
    )
    const answered = once(stream, 'response')
    if (body !== undefined) await sendBody(stream, body.pieces)
    const [headers] = await answered
    return { status: headers[':status'], headers, body: stream }
  }
}

/** Ends early if the server stops reading: the response says why. */
async function sendBody(out: Writable, pieces: Iterable<Uint8Array> = []): Promise<void> {
  let wake = () => {}
  for (const event of ['error', 'drain', 'close']) out.on(event, () => wake())
  for (const piece of pieces) {
    if (out.destroyed) return
    if (out.write(piece)) continue
    await new Promise<void>((resolve) => {
      wake = resolve
    })
  }
  out.end()
}

export async function pushLarge(send: Send, { name }: Repo, { digest, size, pieces }: Blob): Promise<void> {
  const begun = await send('POST', `/v2/${name}/blobs/uploads/`)
  begun.body.resume()
  assert.equal(begun.status, 202)
  const { status, body } = await send('PUT', `${begun.headers['location']}?digest=${digest}`, {
    size,
    pieces: pieces(),
  })
  assert.equal(status, 201, String(await body.toArray()))
}

/** Pulls a blob and looks whether it is what was pushed. */
export async function pullAndVerify(
  send: Send,
  { name }: Repo,
  { digest, size }: Pick<Blob, 'digest' | 'size'>,
) {
  const { status, body } = await send('GET', `/v2/${name}/blobs/${digest}`)
  assert.equal(status, 200)
  const hash = createHash('sha256')
  let bytes = 0
  for await (const piece of body) {
    hash.update(piece)
    bytes += piece.length
  }
  assert.equal(bytes, size)
  assert.equal(`sha256:${hash.digest('hex')}`, digest)
}

/**
 * Pulls a blob and compares it, byte for byte, on a connection of its own: a cheap client, for a thousand concurrent ones beside the
 * server on one machine.
 */
export function comparePulls(
  { url, name, authorization }: Repo,
  digest: string,
  expected: Buffer,
): Promise<void> {
  const { hostname, port } = new URL(url)
  const end = '\r\n\r\n'
  return new Promise((resolve, reject) => {
    let head = ''
    let at = 0
    const buffer = Buffer.allocUnsafe(READ_BYTES)
    const callback = (length: number) => {
      let bytes = buffer.subarray(0, length)
      if (!head.includes(end)) {
        const before = head.length
        head += bytes.toString('latin1')
        if (!head.includes(end)) return true
        head = head.slice(0, head.indexOf(end) + end.length)
        bytes = bytes.subarray(head.length - before)
      }
      const isSame = bytes.equals(expected.subarray(at, at + bytes.length))
      at += bytes.length
      if (!head.startsWith('HTTP/1.1 200 ')) socket.destroy(new Error(head))
      else if (!isSame) socket.destroy(new Error(`other bytes came before ${at}`))
      else if (at === expected.length) {
        resolve()
        socket.destroy()
      }
      return true
    }
    const socket = connect({ port: Number(port), host: hostname, onread: { buffer, callback } })
    socket.on('error', reject)
    socket.on('close', () => reject(new Error(`cut off after ${at} bytes`)))
    socket.write(
      `GET /v2/${name}/blobs/${digest} HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\n\r\n`,
    )
  })
}

const READ_BYTES = 64 * 1024
const SECOND_MS = 1000

/** A connection of a client that takes its time. */
export interface SlowClient {
  readonly socket: Socket
  /** Milliseconds until it saw that the server had ended it. A client that reads next to nothing does not see it. */
  readonly cutAfterMs: Promise<number>
}

async function slowClient(
  t: Cleanup,
  { url, authorization }: Repo,
  request: string,
  headers: readonly string[],
  everySecond: (socket: Socket) => void,
): Promise<SlowClient> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  t.after(() => {
    socket.destroy()
  })
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  socket.write(
    [`${request} HTTP/1.1`, 'host: x', `authorization: ${authorization}`, ...headers, '', ''].join('\r\n'),
  )
  const startMs = performance.now()
  const timer = setInterval(() => everySecond(socket), SECOND_MS)
  const cutAfterMs = once(socket, 'close').then(() => {
    clearInterval(timer)
    return performance.now() - startMs
  })
  return { socket, cutAfterMs }
}

/** Reads a blob, one byte a second. */
export function startSlowReader(t: Cleanup, repo: Repo, digest: string): Promise<SlowClient> {
  const path = `/v2/${repo.name}/blobs/${digest}`
  return slowClient(t, repo, `GET ${path}`, [], (socket) => socket.read(1))
}

/** Sends a blob, one byte a second. */
export async function startSlowSender(t: Cleanup, repo: Repo): Promise<SlowClient> {
  const path = `/v2/${repo.name}/blobs/uploads/?digest=sha256:${'0'.repeat(64)}`
  const client = await slowClient(t, repo, `POST ${path}`, ['content-length: 1000000'], (socket) => {
    if (socket.writable) socket.write('x')
  })
  client.socket.resume()
  return client
}

/** Milliseconds of one request, as the median of some, one at a time. */
export async function latencyMs(send: Send, path: string, count: number): Promise<number> {
  const times: number[] = []
  for (let at = 0; at < count; at++) times.push(await oneLatencyMs(send, path))
  return medianOf(times)
}

/** Of two servers that are asked in turn, so that a busy machine delays both. */
export async function comparedLatenciesMs(
  targets: readonly [Target, Target],
  count: number,
): Promise<readonly [number, number]> {
  const times: [number[], number[]] = [[], []]
  for (let at = 0; at < count; at++)
    for (const server of [0, 1] as const)
      times[server].push(await oneLatencyMs(targets[server].send, targets[server].path))
  return [medianOf(times[0]), medianOf(times[1])]
}

interface Target {
  readonly send: Send
  readonly path: string
}

async function oneLatencyMs(send: Send, path: string): Promise<number> {
  const startMs = performance.now()
  const { status, body } = await send('GET', path)
  body.resume()
  await once(body, 'end')
  assert.equal(status, 200)
  return performance.now() - startMs
}

function medianOf(times: number[]): number {
  return times.sort((a, b) => a - b)[times.length >> 1] as number
}
