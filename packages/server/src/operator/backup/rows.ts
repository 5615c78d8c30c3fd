import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import type { Column } from '../../storage/schema/catalog.ts'

/** Rows of a table in a file: JSON lines, compressed with gzip. A line is a list of the values of its columns; bytes are base64. */

export type Row = readonly unknown[]

const NEWLINE = 0x0a

export function packRows(
  batches: AsyncIterable<readonly Row[]>,
  columns: readonly Column[],
): AsyncIterable<Uint8Array> {
  async function* lines() {
    for await (const rows of batches)
      yield Buffer.from(
        rows
          .map((row) => `${JSON.stringify(columns.map(({ type }, at) => toJsonValue(row[at], type)))}\n`)
          .join(''),
      )
  }
  return pipeThrough(lines(), createGzip())
}

export async function* unpackRows(
  bytes: AsyncIterable<Uint8Array>,
  columns: readonly Column[],
): AsyncGenerator<Row> {
  for await (const line of linesOf(pipeThrough(bytes, createGunzip()))) {
    const values = JSON.parse(line) as unknown[]
    yield columns.map(({ type }, at) => {
      const value = values[at]
      return type === 'bytes' && typeof value === 'string' ? Buffer.from(value, 'base64') : value
    })
  }
}

function toJsonValue(value: unknown, type: Column['type']): unknown {
  if (type !== 'bytes' || value === null) return value
  return Buffer.from(value as Uint8Array).toString('base64')
}

async function* pipeThrough(
  bytes: AsyncIterable<Uint8Array>,
  zip: ReturnType<typeof createGzip> | ReturnType<typeof createGunzip>,
): AsyncGenerator<Uint8Array> {
  const source = Readable.from(bytes, { objectMode: false })
  // A failure of the source reaches the reader through `zip`, which it destroys.
  const done = pipeline(source, zip).catch(() => undefined)
  try {
    yield* zip as AsyncIterable<Uint8Array>
  } finally {
    zip.destroy()
    await done
  }
}

async function* linesOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let parts: Buffer[] = []
  for await (const piece of bytes) {
    const chunk = Buffer.from(piece)
    let from = 0
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      yield Buffer.concat([...parts, chunk.subarray(from, end)]).toString()
      parts = []
      from = end + 1
    }
    if (from < chunk.length) parts.push(chunk.subarray(from))
  }
  if (parts.length > 0) throw new Error('the file ends in the middle of a row')
}
