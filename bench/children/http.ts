import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serveParent } from './control.ts'

/** Baseline: nothing but node:http, answering the same JSON to everything. */

const { body } = JSON.parse(process.argv[2] ?? '') as { body: string }
const bytes = Buffer.from(body)
const headers = { 'content-type': 'application/json', 'content-length': bytes.length }

const server = createServer((_, response) => {
  response.writeHead(200, headers)
  response.end(bytes)
})
server.listen(0, '127.0.0.1', () => serveParent({ port: (server.address() as AddressInfo).port }, {}))
