import { opendir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { limits } from '../../core/limits.ts'
import { documentsInFile } from './archive.ts'
import { type Found, isDocumentName, isPackedName, refused } from './found.ts'
import { type UnpackingLimits, unpacking } from './unpacking.ts'

/** The documents in files and folders, one by one, in an order that is the same each time. */

export interface Searching {
  readonly bounds?: UnpackingLimits
  readonly signal?: AbortSignal
  /** Hears how many more bytes of the files were gone through. */
  readonly onRead?: (bytes: number) => void
}

/**
 * `name`: what the file is called in messages, and what names a document that does not name itself. Security databases come last:
 * nothing is made of what other documents tell in more detail.
 */
export async function* documentsAt(
  path: string,
  name: string,
  searching: Searching = {},
): AsyncGenerator<Found> {
  const kept: Found[] = []
  let bytes = 0
  for await (const found of documentsBelow(path, name, searching)) {
    if (found.kind === 'document' && isOfSecdb(found.content)) {
      bytes += found.content.byteLength
      // What is too much to be kept has to come now.
      if (bytes <= limits.advisoryDocumentBytesMax) {
        kept.push(found)
        continue
      }
    }
    yield found
  }
  for (const found of kept) {
    searching.signal?.throwIfAborted()
    yield found
  }
}

/** By a word that every entry of a security database has; where it is in others, they only come later. */
function isOfSecdb({ buffer, byteOffset, byteLength }: Uint8Array): boolean {
  return Buffer.from(buffer, byteOffset, byteLength).includes('secfixes')
}

async function* documentsBelow(path: string, name: string, searching: Searching): AsyncGenerator<Found> {
  searching.signal?.throwIfAborted()
  const found = await stat(path)
  if (!found.isDirectory()) {
    yield* documentsOf(path, name, found.size, searching)
    return
  }
  for (const { name: inside, isFile, isDirectory, isLink } of await listed(path)) {
    const [at, called] = [join(path, inside), join(name, inside)]
    if (inside.startsWith('.')) continue
    if (isDirectory) yield* documentsBelow(at, called, searching)
    else if (!isDocumentName(inside) && !isPackedName(inside)) yield { kind: 'skipped', name: called }
    else if (isLink) yield refused(called, 'is a link, which is not followed')
    else if (isFile) yield* documentsOf(at, called, (await stat(at)).size, searching)
    else yield refused(called, 'is neither a file nor a folder')
  }
}

async function* documentsOf(
  path: string,
  name: string,
  bytes: number,
  { bounds = limits, signal, onRead }: Searching,
): AsyncGenerator<Found> {
  const account = unpacking(bytes, bounds, signal)
  yield* documentsInFile({ name, source: path, ...(onRead && { onRead }) }, account)
}

/** How many bytes there are to go through, for whoever wants to know how far they are. */
export async function bytesAt(path: string): Promise<number> {
  const found = await stat(path)
  if (!found.isDirectory()) return found.size
  let bytes = 0
  for (const { name, isFile, isDirectory } of await listed(path)) {
    if (name.startsWith('.')) continue
    const isWanted = isDirectory || (isFile && (isDocumentName(name) || isPackedName(name)))
    if (isWanted) bytes += await bytesAt(join(path, name))
  }
  return bytes
}

async function listed(folder: string) {
  const entries = []
  for await (const entry of await opendir(folder))
    entries.push({
      name: entry.name,
      isFile: entry.isFile(),
      isDirectory: entry.isDirectory(),
      isLink: entry.isSymbolicLink(),
    })
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1))
}
