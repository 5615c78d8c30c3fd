import { opendir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { formatLimits } from '../limits.ts'
import { type FoundFile, isArchiveName, isDocumentName, rejectedFile } from './found-file.ts'
import { documentsInFile } from './node-archives.ts'
import { secdbLast } from './secdb-last.ts'
import { createUnpackBudget, type UnpackLimits } from './unpack-budget.ts'

/** Finds the documents in files and folders, one at a time, in a stable order. */

export interface SearchOptions {
  readonly bounds?: UnpackLimits
  readonly signal?: AbortSignal
  /** Called with the number of further bytes that were processed. */
  readonly onRead?: (bytes: number) => void
}

/**
 * Finds the documents in a file or folder. `name` is its name in messages, and identifies documents without an id of their own.
 * Security databases come last: they are superseded by documents with more detail.
 */
export async function* findDocuments(
  path: string,
  name: string,
  options: SearchOptions = {},
): AsyncGenerator<FoundFile> {
  yield* secdbLast(documentsUnder(path, name, options), options.signal)
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
    else if (isLink) yield rejectedFile(displayName, 'is a link; links are not followed')
    else if (isFile) yield* documentsOf(entryPath, displayName, (await stat(entryPath)).size, options)
    else yield rejectedFile(displayName, 'is neither a file nor a folder')
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

/** Returns the number of bytes to process, for progress output. */
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
