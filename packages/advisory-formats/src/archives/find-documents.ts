import { opendir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { formatLimits } from '../limits.ts'
import { documentsInFile } from './archive.ts'
import { type FoundFile, isArchiveName, isDocumentName, refusedFile } from './found-file.ts'
import { createUnpackBudget, type UnpackLimits } from './unpack-budget.ts'

/** The documents in files and folders, one by one, in an order that is the same each time. */

export interface SearchOptions {
  readonly bounds?: UnpackLimits
  readonly signal?: AbortSignal
  /** Hears how many more bytes of the files were gone through. */
  readonly onRead?: (bytes: number) => void
}

/**
 * `name`: what the file is called in messages, and what names a document that does not name itself. Security databases come last:
 * nothing is made of what other documents tell in more detail.
 */
export async function* findDocuments(
  path: string,
  name: string,
  options: SearchOptions = {},
): AsyncGenerator<FoundFile> {
  const deferred: FoundFile[] = []
  let bytes = 0
  for await (const found of documentsUnder(path, name, options)) {
    if (found.kind === 'document' && looksLikeSecdb(found.content)) {
      bytes += found.content.byteLength
      // What is too much to be kept has to come now.
      if (bytes <= formatLimits.advisoryDocumentBytesMax) {
        deferred.push(found)
        continue
      }
    }
    yield found
  }
  for (const found of deferred) {
    options.signal?.throwIfAborted()
    yield found
  }
}

/** By a word that every entry of a security database has; where it is in others, they only come later. */
function looksLikeSecdb({ buffer, byteOffset, byteLength }: Uint8Array): boolean {
  return Buffer.from(buffer, byteOffset, byteLength).includes('secfixes')
}

async function* documentsUnder(
  path: string,
  name: string,
  options: SearchOptions,
): AsyncGenerator<FoundFile> {
  options.signal?.throwIfAborted()
  const found = await stat(path)
  if (!found.isDirectory()) {
    yield* documentsOf(path, name, found.size, options)
    return
  }
  for (const { name: entryName, isFile, isDirectory, isLink } of await listFolder(path)) {
    const [entryPath, displayName] = [join(path, entryName), join(name, entryName)]
    if (entryName.startsWith('.')) continue
    if (isDirectory) yield* documentsUnder(entryPath, displayName, options)
    else if (!isDocumentName(entryName) && !isArchiveName(entryName))
      yield { kind: 'skipped', name: displayName }
    else if (isLink) yield refusedFile(displayName, 'is a link, which is not followed')
    else if (isFile) yield* documentsOf(entryPath, displayName, (await stat(entryPath)).size, options)
    else yield refusedFile(displayName, 'is neither a file nor a folder')
  }
}

async function* documentsOf(
  path: string,
  name: string,
  bytes: number,
  { bounds = formatLimits, signal, onRead }: SearchOptions,
): AsyncGenerator<FoundFile> {
  const budget = createUnpackBudget(bytes, bounds, signal)
  yield* documentsInFile({ name, source: path, ...(onRead && { onRead }) }, budget)
}

/** How many bytes there are to go through, for whoever wants to know how far they are. */
export async function totalBytes(path: string): Promise<number> {
  const found = await stat(path)
  if (!found.isDirectory()) return found.size
  let bytes = 0
  for (const { name, isFile, isDirectory } of await listFolder(path)) {
    if (name.startsWith('.')) continue
    const isWanted = isDirectory || (isFile && (isDocumentName(name) || isArchiveName(name)))
    if (isWanted) bytes += await totalBytes(join(path, name))
  }
  return bytes
}

async function listFolder(folder: string) {
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
