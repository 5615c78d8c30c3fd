import { once } from 'node:events'
import { createServer as createPlainServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { selfSignedCertificate } from '../http/certificate.ts'
import type { Cleanup } from '../server/process.ts'

/** A web server that publishes files, honestly or not. */
export interface FeedServer {
  readonly url: string
  /** What was asked for, in the order in which it came. */
  readonly requests: { readonly path: string; readonly headers: IncomingMessage['headers'] }[]
  /** Files by their paths; each with an entity tag, and in parts where asked for. */
  readonly files: Map<string, Uint8Array>
  /** Answers instead of the files while it is set. */
  answer: ((request: IncomingMessage, response: ServerResponse) => void) | undefined
}

export async function startFeedServer(
  t: Cleanup,
  tls?: ReturnType<typeof selfSignedCertificate>,
): Promise<FeedServer> {
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    const path = request.url ?? ''
    feed.requests.push({ path, headers: request.headers })
    if (feed.answer !== undefined) return feed.answer(request, response)
    const content = feed.files.get(path.split('?')[0] ?? '')
    if (content === undefined) response.writeHead(404).end()
    else sendFile(request, response, content)
  }
  const server = tls === undefined ? createPlainServer(handle) : createSecureServer(tls, handle)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const feed: FeedServer = {
    url: tls === undefined ? `http://127.0.0.1:${port}` : `https://localhost:${port}`,
    requests: [],
    files: new Map(),
    answer: undefined,
  }
  return feed
}

let trusted: ReturnType<typeof selfSignedCertificate> | undefined

/** The certificate that this process trusts: one, because those of one name cannot be distinguished. */
export function trustedCertificate(): ReturnType<typeof selfSignedCertificate> {
  if (trusted === undefined) {
    trusted = selfSignedCertificate()
    setDefaultCACertificates([...getCACertificates('default'), trusted.cert])
  }
  return trusted
}

export function etagOf(content: Uint8Array): string {
  let hash = 7
  for (const byte of content) hash = (hash * 31 + byte) | 0
  return `"${(hash >>> 0).toString(16)}-${content.byteLength}"`
}

/** As web servers do it: conditional requests, and parts of files (RFC 9110). */
export function sendFile(request: IncomingMessage, response: ServerResponse, content: Uint8Array): void {
  const etag = etagOf(content)
  response.setHeader('etag', etag)
  if (request.headers['if-none-match'] === etag) return void response.writeHead(304).end()
  const [, first] = /^bytes=([0-9]+)-$/.exec(request.headers.range ?? '') ?? []
  const condition = request.headers['if-range']
  if (first === undefined || (condition !== undefined && condition !== etag))
    return void response.writeHead(200, { 'content-length': content.byteLength }).end(content)
  const from = Number(first)
  if (from >= content.byteLength)
    return void response.writeHead(416, { 'content-range': `bytes */${content.byteLength}` }).end()
  const range = `bytes ${from}-${content.byteLength - 1}/${content.byteLength}`
  const rest = content.subarray(from)
  response.writeHead(206, { 'content-range': range, 'content-length': rest.byteLength }).end(rest)
}
