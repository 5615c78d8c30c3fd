import type { ArchiveEntry } from '@berth/advisory-formats/archives/archive.ts'
import type { UnpackBudget } from '@berth/advisory-formats/archives/unpack-budget.ts'
import {
  BlobReader,
  configure,
  type FileEntry,
  Uint8ArrayReader,
  ZipReader,
} from '@zip.js/zip.js/lib/zip-core-custom.js'
import { chunksOf } from './stream-chunks.ts'

/** Zip archives in the browser. */

// Without workers: their scripts would need `blob:` in the content security policy.
configure({ useWebWorkers: false })

export async function* readZipEntries(
  source: Blob | Uint8Array,
  budget: UnpackBudget,
  onRead?: (bytes: number) => void,
): AsyncGenerator<ArchiveEntry> {
  const reader = source instanceof Uint8Array ? new Uint8ArrayReader(source) : new BlobReader(source)
  // Names are checked one by one, so that an invalid name does not hide the other entries.
  const zip = new ZipReader(reader, { strictness: 'tolerant', filenameValidation: 'tolerant' })
  try {
    for await (const entry of zip.getEntriesGenerator()) {
      yield {
        name: entry.filename,
        kind: entry.symlink ? 'link' : entry.directory ? 'directory' : 'file',
        bytes: entry.uncompressedSize,
        read: () => readZipEntry(entry as FileEntry, budget),
      }
      onRead?.(entry.compressedSize)
    }
  } finally {
    await zip.close()
  }
}

async function* readZipEntry(entry: FileEntry, budget: UnpackBudget): AsyncGenerator<Uint8Array> {
  if (entry.encrypted) throw new Error('is encrypted')
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  const stop = new AbortController()
  const failed = entry.getData(writable, { signal: stop.signal }).then(
    () => undefined,
    (error: unknown) => error ?? new Error('is damaged'),
  )
  try {
    for await (const chunk of chunksOf(readable)) {
      budget.addBytes(chunk.byteLength)
      yield chunk
    }
  } catch (error) {
    stop.abort()
    throw error
  }
  const failure = await failed
  if (failure !== undefined) throw failure
}
