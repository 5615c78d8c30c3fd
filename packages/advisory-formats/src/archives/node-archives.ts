import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { extract } from 'tar-stream'
import { type ArchivePlatform, createDocumentFinder } from './archive.ts'
import { createTarReader } from './read-tar.ts'
import { readZipEntries } from './read-zip.ts'

/** Archives in Node. A source is a path. */

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  EACCES: 'is not readable: permission denied',
  Z_DATA_ERROR: 'is damaged: it cannot be unpacked',
  Z_BUF_ERROR: 'is truncated: not a complete gzip file',
}

const platform: ArchivePlatform<string> = {
  async readHead(path, bytesMax) {
    const file = await open(path)
    try {
      const { buffer, bytesRead } = await file.read(new Uint8Array(bytesMax), 0, bytesMax, 0)
      return buffer.subarray(0, bytesRead)
    } finally {
      await file.close()
    }
  },
  streamOf: (path) => createReadStream(path) as AsyncIterable<Uint8Array>,
  readZipEntries,
  readTarEntries: createTarReader(extract),
  async *gunzip(bytes) {
    const compressed = Readable.from(bytes, { objectMode: false })
    const decompressed = createGunzip()
    compressed.on('error', (error) => decompressed.destroy(error))
    try {
      yield* compressed.pipe(decompressed) as AsyncIterable<Uint8Array>
    } finally {
      compressed.destroy()
      decompressed.destroy()
    }
  },
  rejectionReason(error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    return reasons[code] ?? `cannot be unpacked: ${message}`
  },
}

export const documentsInFile = createDocumentFinder(platform)
