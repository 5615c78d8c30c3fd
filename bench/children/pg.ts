import { createHash } from 'node:crypto'
import pg from 'pg'
import type { Statement } from './berth.ts'
import { serveParent } from './control.ts'
import { type LoopRequest, loop } from './loop.ts'

/** Baseline: the statements of a request alone, named, through `pg`. */

const POOL = 16

const { url, requests } = JSON.parse(process.argv[2] ?? '') as { url: string; requests: Statement[][] }
const pool = new pg.Pool({ connectionString: url, max: POOL })
const named = requests.map((statements) =>
  statements.map(({ text, values }) => ({
    name: createHash('sha256').update(text).digest('base64url').slice(0, 24),
    text,
    values: [...values],
  })),
)
let next = 0

serveParent(undefined, {
  run: (request: LoopRequest) =>
    loop(request, async () => {
      const statements = named[next++ % named.length] as (typeof named)[number]
      for (const statement of statements) await pool.query(statement)
    }),
})
