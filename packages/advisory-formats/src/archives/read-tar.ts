import type { ArchiveEntry } from './archive.ts'

/** The part of `tar-stream` that is used: a writable stream of the archive, and the entries that it contains. */
export interface TarExtractor extends AsyncIterable<TarEntry> {
  /** Returns false if the stream is full: `drain` follows. */
  write(chunk: Uint8Array): boolean
  end(data?: unknown): unknown
  destroy(error?: Error): void
  once(event: 'drain' | 'close', listener: () => void): unknown
}

interface TarEntry extends AsyncIterable<unknown> {
  readonly header: {
    readonly name: string
    readonly size?: number | undefined
    readonly type?: string | null | undefined
  }
  resume(): void
}

/** Returns a function that reads the entries of a tar archive as a stream. Each can be read only until the next is requested. */
export function createTarReader(extract: () => TarExtractor) {
  return async function* readTarEntries(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<ArchiveEntry> {
    const reader = extract()
    const written = writeAll(bytes, reader)
    try {
      for await (const entry of reader) {
        let isRead = false
        yield {
          name: entry.header.name,
          kind: kindOf(entry.header.type),
          bytes: entry.header.size ?? 0,
          async *read() {
            isRead = true
            for await (const chunk of entry) yield chunk as Uint8Array
          },
        }
        if (!isRead) entry.resume()
      }
    } finally {
      reader.destroy()
      await written
    }
  }
}

/** Never rejects: an error ends the entries. */
async function writeAll(bytes: AsyncIterable<Uint8Array>, reader: TarExtractor): Promise<void> {
  let isClosed = false
  reader.once('close', () => {
    isClosed = true
  })
  try {
    for await (const chunk of bytes) {
      if (isClosed) return
      if (!reader.write(chunk)) await drained(reader)
    }
    reader.end()
  } catch (error) {
    reader.destroy(error as Error)
  }
}

function drained(reader: TarExtractor): Promise<void> {
  return new Promise((resolve) => {
    reader.once('drain', resolve)
    reader.once('close', resolve)
  })
}

function kindOf(type: string | null | undefined): ArchiveEntry['kind'] {
  if (type === 'directory') return 'directory'
  if (type === 'file' || type === 'contiguous-file') return 'file'
  return type === 'link' || type === 'symlink' ? 'link' : 'device'
}
