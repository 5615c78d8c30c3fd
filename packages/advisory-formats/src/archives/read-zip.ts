import { type Entry, fromBufferPromise, getFileNameLowLevel, openPromise, type ZipFile } from 'yauzl'
import type { ArchiveEntry } from './archive.ts'
import type { UnpackBudget } from './unpack-budget.ts'

/** Returns the entries of a zip archive in the order of its directory. Entries that cannot be unpacked fail when they are read. */

const openOptions = {
  // Names are checked one by one, so that an invalid name does not hide the other entries.
  decodeStrings: false,
  autoClose: false,
}

export async function* readZipEntries(
  source: string | Uint8Array,
  budget: UnpackBudget,
  onRead?: (bytes: number) => void,
): AsyncGenerator<ArchiveEntry> {
  const zip =
    typeof source === 'string'
      ? await openPromise(source, openOptions)
      : await fromBufferPromise(Buffer.from(source.buffer, source.byteOffset, source.byteLength), openOptions)
  // An error after the last entry has no other listener.
  zip.on('error', () => {})
  try {
    for await (const entry of zip.eachEntry()) {
      const { generalPurposeBitFlag, fileNameRaw, extraFields } = entry
      const name = getFileNameLowLevel(generalPurposeBitFlag, fileNameRaw, extraFields, false)
      yield {
        name,
        kind: kindOf(entry, name),
        bytes: entry.uncompressedSize,
        read: () => readEntry(zip, entry, budget),
      }
      onRead?.(entry.compressedSize)
    }
  } finally {
    zip.close()
  }
}

const S_IFMT = 0o170000
const S_IFREG = 0o100000
const S_IFLNK = 0o120000
const S_IFDIR = 0o040000

function kindOf({ externalFileAttributes }: Entry, name: string): ArchiveEntry['kind'] {
  // The upper half is the Unix file mode, if the archive was created on such a system.
  const type = (externalFileAttributes >>> 16) & S_IFMT
  if (type === S_IFLNK) return 'link'
  if (name.endsWith('/') || type === S_IFDIR) return 'directory'
  return type === 0 || type === S_IFREG ? 'file' : 'device'
}

async function* readEntry(zip: ZipFile, entry: Entry, budget: UnpackBudget): AsyncGenerator<Uint8Array> {
  if (entry.isEncrypted()) throw new Error('is encrypted')
  if (!entry.canDecodeFileData()) throw new Error('has an unsupported compression: use deflate')
  for await (const chunk of await zip.openReadStreamPromise(entry)) {
    budget.addBytes((chunk as Uint8Array).byteLength)
    yield chunk as Uint8Array
  }
}
