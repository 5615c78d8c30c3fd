import {
  constants,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
  type ServerStreamResponseOptions,
} from 'node:http2'
import { limits } from '../../config/limits.ts'

/** What the HTTP and gRPC handlers of a stream of HTTP/2 share. */

/**
 * Sends the headers of a reply of HTTP/2 as a list of names and values: node:http2 copies an object property by property (bench/README.md
 * has the difference). Throws for headers that HTTP/2 does not allow.
 */
export function sendHead(
  stream: ServerHttp2Stream,
  headers: OutgoingHttpHeaders,
  options?: ServerStreamResponseOptions,
): void {
  const list: string[] = []
  for (const name in headers) {
    const value = headers[name]
    if (Array.isArray(value)) {
      for (const one of value) list.push(name, one)
    } else if (value !== undefined) list.push(name, String(value))
  }
  stream.respond(list, options)
}

/**
 * RFC 9113, section 8.1: after a whole reply, NO_ERROR asks the client to send no more of its request. On a stream whose request has
 * ended this does nothing. A reset can overtake the reply that says why, so what the client still sends is swallowed for a moment.
 */
export function discardRequestBody(stream: ServerHttp2Stream): void {
  if (stream.readableEnded || stream.destroyed) return
  stream.resume()
  const timer = setTimeout(() => stream.close(constants.NGHTTP2_NO_ERROR), limits.lingerMs)
  stream.once('close', () => clearTimeout(timer))
}
