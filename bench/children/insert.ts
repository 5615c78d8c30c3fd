import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { openSqlite } from '@berth/server/storage/engines/sqlite/statements.ts'
import { ORGANIZATION } from '../dataset.ts'
import { serveParent } from './control.ts'
import { type LoopRequest, loop } from './loop.ts'

/**
 * Baseline: the row of a new group, alone, in the same table with the same indexes, committed durably every time. In a loop, and for each
 * request of a bare HTTP server, which shows what HTTP alone costs.
 */

export interface InsertReady {
  readonly port: number
}

const { file, parents } = JSON.parse(process.argv[2] ?? '') as { file: string; parents: string[] }
const database = openSqlite(file)
const insert = database.prepare(
  `insert into groups (root, uid, parent, name, description, created_ms, updated_ms, verified, kind, status)
   values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
)
let last = 0

function insertOne() {
  const parent = parents[last++ % parents.length] as string
  const uid = `${parent}/${randomBytes(8).toString('hex')}`
  const name = `new-${last}`
  const description = 'A group made by the benchmark'
  const now = Date.now()
  insert.run([ORGANIZATION, uid, parent, name, description, now, now, 0, 0, 1])
  return { uid, name, description, now }
}

const server = createServer((request, response) => {
  request.resume()
  request.on('end', () => {
    const { now, ...group } = insertOne()
    const time = new Date(now)
    const body = JSON.stringify({ ...group, createTime: time, updateTime: time })
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length })
    response.end(body)
  })
})
server.listen(0, '127.0.0.1', () =>
  serveParent({ port: (server.address() as AddressInfo).port } satisfies InsertReady, {
    run: (request: LoopRequest) => loop(request, () => void insertOne()),
  }),
)
