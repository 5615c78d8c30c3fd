import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { tables } from './rows.ts'

/** Loads rows by `COPY` with psql, which node-postgres cannot do by itself. */

const ROWS_PER_CHUNK = 2000

/** Copies the rows of all organizations into each table. `url`: of the database, on the coordinator. */
export async function copyOrganizations(
  { binaries, url }: { readonly binaries: string; readonly url: string },
  organizations: number,
  say: (text: string) => void,
): Promise<void> {
  await Promise.all(
    Object.entries(tables).map(([table, rowsOf]) => {
      const report = (copied: number) => say(`  ${table} of ${copied} organizations`)
      const rows = lines(rowsOf as unknown as RowsOf, organizations, table === 'groups' ? report : () => {})
      return copyInto(binaries, url, table, rows)
    }),
  )
}

type Row = Readonly<Record<string, unknown>>
type RowsOf = (index: number) => readonly Row[]

async function copyInto(binaries: string, url: string, table: string, rows: RowLines): Promise<void> {
  const copy = `copy ${table} (${rows.columns.join(', ')}) from stdin`
  const psql = spawn(join(binaries, 'psql'), ['-X', '-q', '-v', 'ON_ERROR_STOP=1', '-c', copy, url], {
    stdio: ['pipe', 'inherit', 'inherit'],
  })
  const ended = new Promise<void>((resolve, reject) => {
    psql.once('error', reject)
    psql.once('close', (code) =>
      code === 0 ? resolve() : reject(new Error(`copy of ${table}: exit ${code}`)),
    )
  })
  await Promise.all([pipeline(Readable.from(rows.chunks), psql.stdin), ended])
}

interface RowLines {
  readonly columns: readonly string[]
  readonly chunks: Iterable<string>
}

const PROGRESS = 10_000

function lines(rowsOf: RowsOf, organizations: number, report: (copied: number) => void): RowLines {
  const columns = Object.keys(rowsOf(0)[0] as Row)
  return { columns, chunks: chunks() }

  function* chunks(): Generator<string> {
    let pending: string[] = []
    for (let index = 0; index < organizations; index++) {
      if (index > 0 && index % PROGRESS === 0) report(index)
      for (const row of rowsOf(index))
        pending.push(`${columns.map((column) => textOf(row[column])).join('\t')}\n`)
      if (pending.length < ROWS_PER_CHUNK && index < organizations - 1) continue
      yield pending.join('')
      pending = []
    }
  }
}

/** The text format of COPY; no value of the rows has a character that it escapes. */
function textOf(value: unknown): string {
  return value instanceof Uint8Array ? `\\\\x${Buffer.from(value).toString('hex')}` : String(value)
}
