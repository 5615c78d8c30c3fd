import { type FoundFile, isArchiveName, isDocumentName } from '@berth/advisory-formats/archives/found-file.ts'
import { secdbLast } from '@berth/advisory-formats/archives/secdb-last.ts'
import { createUnpackBudget } from '@berth/advisory-formats/archives/unpack-budget.ts'
import { formatLimits } from '@berth/advisory-formats/limits.ts'
import { documentsInFile } from './browser-archives.ts'

export interface SearchOptions {
  readonly signal: AbortSignal
  /** Called with the number of further bytes that were read. */
  readonly onRead: (bytes: number) => void
}

/** The documents in files, in a stable order, so that an interrupted import can continue. */
export function documentsAmong(files: readonly File[], options: SearchOptions): AsyncGenerator<FoundFile> {
  const named = files.map((file) => ({ file, name: nameOf(file) }))
  named.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
  return secdbLast(search(named, options), options.signal)
}

/** The path within the folder that the user chose or dropped. */
const nameOf = (file: File): string => file.webkitRelativePath || file.name

async function* search(
  named: readonly { readonly file: File; readonly name: string }[],
  { signal, onRead }: SearchOptions,
): AsyncGenerator<FoundFile> {
  for (const { file, name } of named) {
    signal.throwIfAborted()
    // A file that the user chose can have any name, as on the command line; one in a folder cannot.
    const isWanted = named.length === 1 || isDocumentName(name) || isArchiveName(name)
    if (isWanted)
      yield* documentsInFile(
        { name, source: file, onRead },
        createUnpackBudget(file.size, formatLimits, signal),
      )
    else {
      onRead(file.size)
      yield { kind: 'skipped', name }
    }
  }
}

const CHUNK_BYTES = 0x8000

/** base64, compressed from `compressedFrom` bytes on. */
export async function encodeContent(content: Uint8Array, compressedFrom: number): Promise<string> {
  const bytes = content.byteLength > compressedFrom ? await gzip(content) : content
  let text = ''
  for (let at = 0; at < bytes.byteLength; at += CHUNK_BYTES)
    text += String.fromCharCode(...bytes.subarray(at, at + CHUNK_BYTES))
  return btoa(text)
}

async function gzip(content: Uint8Array): Promise<Uint8Array> {
  const stream = new Blob([content as Uint8Array<ArrayBuffer>])
    .stream()
    .pipeThrough(new CompressionStream('gzip'))
  return new Uint8Array(await new Response(stream).arrayBuffer())
}
