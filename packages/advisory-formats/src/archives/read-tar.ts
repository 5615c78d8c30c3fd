import { Readable } from 'node:stream'
import { extract, type Header } from 'tar-stream'
import type { ArchiveEntry } from './archive.ts'

/** Returns the entries of a tar archive as a stream. Each can be read only until the next is requested. */
export async function* readTarEntries(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<ArchiveEntry> {
  const reader = extract()
  const source = Readable.from(bytes, { objectMode: false })
  source.on('error', (error) => reader.destroy(error))
  source.pipe(reader)
  try {
    for await (const entry of reader) {
      let isRead = false
      yield {
        name: entry.header.name,
        kind: kindOf(entry.header),
        bytes: entry.header.size ?? 0,
        async *read() {
          isRead = true
          for await (const chunk of entry) yield chunk as Uint8Array
        },
      }
      if (!isRead) entry.resume()
    }
  } finally {
    source.destroy()
    reader.destroy()
  }
}

function kindOf({ type }: Header): ArchiveEntry['kind'] {
  if (type === 'directory') return 'directory'
  if (type === 'file' || type === 'contiguous-file') return 'file'
  return type === 'link' || type === 'symlink' ? 'link' : 'device'
}
