import { createDocumentFinder } from '@berth/advisory-formats/archives/archive.ts'
import { createTarReader } from '@berth/advisory-formats/archives/read-tar.ts'
import { chunksOf } from './stream-chunks.ts'

/** Archives in the browser: one document is in memory at a time. The readers of zip and tar are loaded when a file needs them. */

export const documentsInFile = createDocumentFinder<Blob>({
  readHead: async (file, bytesMax) => new Uint8Array(await file.slice(0, bytesMax).arrayBuffer()),
  streamOf: (file) => chunksOf(file.stream()),
  async *readZipEntries(...archive) {
    const { readZipEntries } = await import('./read-zip.ts')
    yield* readZipEntries(...archive)
  },
  async *readTarEntries(bytes) {
    const { extract } = await import('tar-stream')
    yield* createTarReader(extract)(bytes)
  },
  gunzip: (bytes) => chunksOf(streamOf(bytes).pipeThrough(new DecompressionStream('gzip'))),
  rejectionReason: (error) =>
    `cannot be unpacked: ${error instanceof Error ? error.message : 'it may be damaged or truncated'}`,
})

function streamOf(bytes: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array<ArrayBuffer>> {
  const chunks = bytes[Symbol.asyncIterator]()
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next()
      if (done === true) controller.close()
      else controller.enqueue(value as Uint8Array<ArrayBuffer>)
    },
    async cancel() {
      await chunks.return?.()
    },
  })
}
