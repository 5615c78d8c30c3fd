import { randomBytes } from 'node:crypto'
import { openSqlite } from '@berth/server/storage/engines/sqlite/statements.ts'
import { ORGANIZATION } from '../dataset.ts'
import { serveParent } from './control.ts'
import { type LoopRequest, loop } from './loop.ts'

/** Baseline: the row of a new group, alone, in the same table with the same indexes, committed durably every time. */

const { file, parents } = JSON.parse(process.argv[2] ?? '') as { file: string; parents: string[] }
const database = openSqlite(file)
const insert = database.prepare(
  `insert into groups (root, uid, parent, name, description, created_ms, updated_ms, verified, kind, status)
   values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
)
let last = 0

function insertOne(): void {
  const parent = parents[last++ % parents.length] as string
  const uid = `${parent}/${randomBytes(8).toString('hex')}`
  const now = Date.now()
  insert.run([ORGANIZATION, uid, parent, `new-${last}`, 'A group made by the benchmark', now, now, 0, 0, 1])
}

serveParent(undefined, { run: (request: LoopRequest) => loop(request, insertOne) })
