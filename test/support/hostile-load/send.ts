import { Agent, request as httpRequest } from 'node:http'
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect as connectHttp2,
  constants,
} from 'node:http2'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Code, codeName } from '@berth/server/api/errors.ts'
import type { Attack, GrpcAttack, HttpAttack, RawAttack, Reply, Target } from './hostile-case.ts'

/** Sends the requests of a case. Everything is bounded: requests by count, waiting by time. */

const WAIT_MS = 6000
const CONNECTED_MS = 5000

/** Counts of replies. */
export type Replies = Map<Reply, number>

/** Where an attack goes to, and the address that it comes from; undefined leaves the address to the system. */
interface Route extends Pick<Target, 'url'> {
  readonly localAddress: string | undefined
}

/** Makes the bytes of an attack; what it returns sends them. */
export function prepare(
  target: Target,
  attack: Attack,
  localAddress: string | undefined,
): () => Promise<Replies> {
  const way: Route = { url: target.url, localAddress }
  const replies: Replies = new Map()
  const count = (reply: Reply) => void replies.set(reply, (replies.get(reply) ?? 0) + 1)
  const body = attack.kind === 'raw' ? attack.first(target) : attack.body?.(target)
  return async () => {
    if (attack.kind === 'raw') await sendRaw(way, attack, body ?? Buffer.alloc(0), count)
    else if (attack.kind === 'grpc') await sendGrpc(way, attack, body, count)
    else if (attack.http2 === true) await sendHttp2(way, attack, body, count)
    else await sendHttp1(way, attack, body, count)
    return replies
  }
}

type Count = (reply: Reply) => void

/** Runs `send` so often, so many at a time. */
async function inParallel(times: number, parallel: number, send: () => Promise<void>): Promise<void> {
  let left = times
  const work = async () => {
    while (left-- > 0) await send()
  }
  await Promise.all(Array.from({ length: Math.min(parallel, times) }, work))
}

/** Counts one reply for a request, however often its end is reported. */
function countOnce(
  count: Count,
  waitMs: number,
  giveUp: () => void,
): { readonly done: Promise<void>; end(reply: Reply): void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(() => {
    end('no reply')
    giveUp()
  }, waitMs)
  let ended = false
  function end(reply: Reply) {
    if (ended) return
    ended = true
    clearTimeout(timer)
    count(reply)
    resolve()
  }
  return { done: promise, end }
}

const cutReply = ({ code }: { readonly code?: string | undefined }): Reply =>
  code === 'ECONNREFUSED' ? 'refused' : code === 'ECONNRESET' || code === 'EPIPE' ? 'reset' : 'closed'

function localAddressOption({ localAddress }: Route): { readonly localAddress?: string } {
  return localAddress === undefined ? {} : { localAddress }
}

async function sendHttp1(
  way: Route,
  attack: HttpAttack,
  body: Uint8Array | undefined,
  count: Count,
): Promise<void> {
  const {
    method,
    path,
    missingBytes: leavesOut = 0,
    times = 1,
    parallel = 1,
    connections = 1,
    waitMs = WAIT_MS,
  } = attack
  const { hostname, port } = new URL(way.url)
  const agent = new Agent({ keepAlive: true, maxSockets: parallel * connections })
  const send = async () => {
    const headers = { ...definedOf(attack.headers), ...(body && { 'content-length': String(body.length) }) }
    const request = httpRequest({ hostname, port, method, path, headers, agent, ...localAddressOption(way) })
    const { done, end } = countOnce(count, waitMs, () => request.destroy())
    request.on('response', (response) => {
      response.on('end', () => end(String(response.statusCode)))
      // Bodies of refusals are short; the status is enough where the connection is cut after it.
      response.on('error', () => end(String(response.statusCode)))
      response.resume()
    })
    request.on('error', (error: NodeJS.ErrnoException) => end(cutReply(error)))
    request.on('close', () => end('closed'))
    if (leavesOut === 0) request.end(body)
    else request.write(body?.subarray(0, -leavesOut))
    await done
  }
  await inParallel(times, parallel * connections, send)
  agent.destroy()
}

function definedOf(headers: HttpAttack['headers'] = {}): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
}

/** Streams on sessions that are opened anew when the server closes them. */
async function onSessions(
  way: Route,
  { times = 1, parallel = 1, connections = 1 }: Pick<HttpAttack, 'times' | 'parallel' | 'connections'>,
  send: (session: ClientHttp2Session) => Promise<void>,
): Promise<void> {
  const work = async () => {
    let session: ClientHttp2Session | undefined
    await inParallel(Math.ceil(times / connections), parallel, async () => {
      if (session === undefined || session.closed || session.destroyed) {
        session = connectHttp2(way.url, {
          ...localAddressOption(way),
          maxSessionMemory: 1000,
          settings: { initialWindowSize: 1 << 20 },
        })
        session.on('error', () => undefined)
      }
      await send(session)
    })
    session?.destroy()
  }
  await Promise.all(Array.from({ length: connections }, work))
}

async function sendHttp2(
  way: Route,
  attack: HttpAttack,
  body: Uint8Array | undefined,
  count: Count,
): Promise<void> {
  const { method, path, missingBytes: leavesOut = 0, waitMs = WAIT_MS } = attack
  await onSessions(way, attack, async (session) => {
    const headers = { ':method': method, ':path': path, ...definedOf(attack.headers) }
    const stream = openStream(session, headers, body === undefined)
    if (stream === undefined) return count('closed')
    const { done, end } = countOnce(count, waitMs, () => stream.close(constants.NGHTTP2_CANCEL))
    stream.on('response', (reply) => end(String(reply[':status'])))
    endWithStream(stream, end)
    if (body !== undefined && leavesOut === 0) stream.end(body)
    else if (body !== undefined) stream.write(body.subarray(0, -leavesOut))
    await done
  })
}

function openStream(
  session: ClientHttp2Session,
  headers: Record<string, string>,
  endStream: boolean,
): ClientHttp2Stream | undefined {
  try {
    return session.request(headers, { endStream })
  } catch {
    return undefined // the session has just been closed
  }
}

function endWithStream(stream: ClientHttp2Stream, end: (reply: Reply) => void): void {
  stream.on('error', () => undefined)
  stream.on('close', () => end(stream.rstCode === constants.NGHTTP2_NO_ERROR ? 'closed' : 'reset'))
  stream.resume()
}

async function sendGrpc(
  way: Route,
  attack: GrpcAttack,
  body: Uint8Array | undefined,
  count: Count,
): Promise<void> {
  const { waitMs = WAIT_MS, staysOpen = false } = attack
  await onSessions(way, attack, async (session) => {
    const headers = {
      ':method': 'POST',
      ':path': `/${attack.method}`,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...definedOf(attack.headers),
    }
    const stream = openStream(session, headers, false)
    if (stream === undefined) return count('closed')
    const { done, end } = countOnce(
      (reply) => count(reply === 'no reply' && staysOpen ? 'open' : reply),
      waitMs,
      () => stream.close(constants.NGHTTP2_CANCEL),
    )
    const ended = (reply: Readonly<Record<string, unknown>>) => {
      const code = reply['grpc-status']
      if (code !== undefined) end(codeName[Number(code) as Code] ?? String(code))
      else if (reply[':status'] !== undefined && reply[':status'] !== 200) end(String(reply[':status']))
    }
    stream.on('response', ended)
    stream.on('trailers', ended)
    endWithStream(stream, end)
    if (staysOpen) stream.write(body)
    else stream.end(body)
    await done
  })
}

async function sendRaw(way: Route, attack: RawAttack, first: Uint8Array, count: Count): Promise<void> {
  const { connections = 1, rounds = 1 } = attack
  for (let round = 0; round < rounds; round++)
    await Promise.all(Array.from({ length: connections }, () => rawConnection(way, attack, first, count)))
}

async function rawConnection(
  way: Route,
  { next, holdMs, neverReads: deaf = false }: RawAttack,
  first: Uint8Array,
  count: Count,
): Promise<void> {
  const { hostname, port } = new URL(way.url)
  const socket = connect({ host: hostname, port: Number(port), noDelay: true, ...localAddressOption(way) })
  const isHttp2 = Buffer.from(first.subarray(0, 3)).toString() === 'PRI'
  let received = Buffer.alloc(0)
  let cut: Reply | undefined
  const closed = new Promise<void>((resolve) => {
    socket.on('error', (error: NodeJS.ErrnoException) => {
      cut = cutReply(error)
    })
    socket.on('close', () => {
      cut ??= 'closed'
      resolve()
    })
  })
  if (deaf) socket.pause()
  else
    socket.on('data', (chunk: Buffer) => {
      // The beginning says how an HTTP/1 server replies, the end how an HTTP/2 server says goodbye.
      received = isHttp2
        ? Buffer.concat([received, chunk]).subarray(-64)
        : received.length < 16
          ? Buffer.concat([received, chunk])
          : received
    })
  const isOpen = () => cut === undefined && !socket.destroyed
  const deadline = AbortSignal.timeout(CONNECTED_MS)
  const stopped = new Promise<void>((resolve) => deadline.addEventListener('abort', () => resolve()))
  const write = async (bytes: Uint8Array) => {
    if (!socket.write(bytes))
      await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed, stopped])
  }
  await write(first)
  if (next !== undefined) {
    for (let at = 0; at < next.times && isOpen() && !deadline.aborted; at++) {
      await write(next.bytes(at))
      if (next.everyMs !== undefined) await Promise.race([sleep(next.everyMs), closed])
    }
  }
  await Promise.race([sleep(holdMs), closed])
  count(rawReply(received, isHttp2) ?? cut ?? 'open')
  socket.destroy()
}

/** The status of the first HTTP/1 reply, or the code of a GOAWAY at the end. */
function rawReply(received: Buffer, isHttp2: boolean): Reply | undefined {
  if (!isHttp2) return /^HTTP\/1\.1 ([0-9]{3})/.exec(received.toString('latin1'))?.[1]
  for (let at = received.length - 17; at >= 0; at--) {
    const isGoaway =
      received[at + 3] === 7 && received.readUInt32BE(at + 5) === 0 && received.readUIntBE(at, 3) < 256
    if (isGoaway) return `goaway ${received.readUInt32BE(at + 13)}`
  }
  return undefined
}
