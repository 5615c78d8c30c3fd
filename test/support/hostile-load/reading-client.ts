import { Agent, request as httpRequest } from 'node:http'
import { type ClientHttp2Session, connect } from 'node:http2'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * The other client of the server, in a process of its own: it reads steadily, by REST and gRPC on connections that stay, and asks for the
 * health on new ones, as an orchestrator does.
 */

/** The first message to the process. */
export interface ReadingSetup {
  readonly url: string
  readonly token: string
  readonly group: string
}

/** What it reports when it is asked to stop. */
export interface ReadingResult {
  /** Times of single requests in ms, in order. */
  readonly latenciesMs: readonly number[]
  /** What went wrong, by kind of request. */
  readonly failures: Readonly<Record<string, number>>
}

const PAUSE_MS = 5
const HEALTH_PAUSE_MS = 50

let running = false
let latenciesMs: number[] = []
let failures: Record<string, number> = {}
/** Beginnings of requests that have no reply yet. */
const open = new Set<{ readonly startMs: number }>()

process.on('message', (message: ReadingSetup | 'start' | 'stop') => {
  if (message === 'start') {
    latenciesMs = []
    failures = {}
    running = true
  } else if (message === 'stop') {
    running = false
    const nowMs = performance.now()
    // A request that still waits took at least so long.
    for (const { startMs } of open) latenciesMs.push(nowMs - startMs)
    const result: ReadingResult = { latenciesMs: latenciesMs.toSorted((a, b) => a - b), failures }
    process.send?.(result)
  } else {
    read(message)
  }
})
process.on('disconnect', () => process.exit())

function read({ url, token, group }: ReadingSetup): void {
  const authorization = `Bearer ${token}`
  const agent = new Agent({ keepAlive: true })
  const rest = () =>
    new Promise<void>((resolve, reject) => {
      const request = httpRequest(
        `${url}/iam/v2beta1/groups/${group}`,
        { agent, headers: { authorization } },
        (reply) => {
          reply.on('end', () =>
            reply.statusCode === 200 ? resolve() : reject(new Error(String(reply.statusCode))),
          )
          reply.on('error', reject)
          reply.resume()
        },
      )
      request.on('error', reject)
      request.end()
    })
  let session: ClientHttp2Session | undefined
  const grpc = () => {
    if (session === undefined || session.closed || session.destroyed) session = newSession(url)
    const uid = Buffer.from(group)
    return callGrpc(
      session,
      '/chainguard.platform.iam.v2beta1.GroupsService/GetGroup',
      Buffer.concat([Buffer.from([10, uid.length]), uid]),
      { authorization },
    )
  }
  const health = async () => {
    const own = newSession(url)
    try {
      await callGrpc(own, '/grpc.health.v1.Health/Check', Buffer.alloc(0))
    } finally {
      own.destroy()
    }
  }
  void repeat('REST', PAUSE_MS, rest)
  void repeat('gRPC', PAUSE_MS, grpc)
  void repeat('Health/Check', HEALTH_PAUSE_MS, health)
}

async function repeat(kind: string, pauseMs: number, request: () => Promise<void>): Promise<void> {
  for (;;) {
    if (running) {
      const one = { startMs: performance.now() }
      open.add(one)
      try {
        await request()
      } catch (error) {
        const name = `${kind}: ${(error as Error).message}`
        if (running) failures[name] = (failures[name] ?? 0) + 1
      }
      open.delete(one)
      if (running) latenciesMs.push(performance.now() - one.startMs)
    }
    await sleep(pauseMs)
  }
}

function newSession(url: string): ClientHttp2Session {
  return connect(url).on('error', () => undefined)
}

function callGrpc(
  session: ClientHttp2Session,
  path: string,
  message: Uint8Array,
  headers: Readonly<Record<string, string>> = {},
): Promise<void> {
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...headers,
    })
    const prefix = Buffer.from([0, 0, 0, 0, message.length])
    let status: unknown
    const note = (reply: Readonly<Record<string, unknown>>) => {
      status ??= reply['grpc-status']
    }
    stream.on('response', note)
    stream.on('trailers', note)
    stream.on('error', reject)
    stream.on('close', () => (status === '0' ? resolve() : reject(new Error(`code ${status ?? 'none'}`))))
    stream.resume()
    stream.end(Buffer.concat([prefix, message]))
  })
}
