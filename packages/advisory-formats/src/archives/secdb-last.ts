import { formatLimits } from '../limits.ts'
import type { FoundFile } from './found-file.ts'

/** Moves security databases to the end: they are superseded by documents with more detail. */
export async function* secdbLast(
  found: AsyncIterable<FoundFile>,
  signal: AbortSignal | undefined,
): AsyncGenerator<FoundFile> {
  const deferred: FoundFile[] = []
  let bytes = 0
  for await (const one of found) {
    if (one.kind === 'document' && looksLikeSecdb(one.content)) {
      bytes += one.content.byteLength
      // Yield it now: keeping more would need too much memory.
      if (bytes <= formatLimits.advisoryDocumentBytesMax) {
        deferred.push(one)
        continue
      }
    }
    yield one
  }
  for (const one of deferred) {
    signal?.throwIfAborted()
    yield one
  }
}

/** A word that every entry of a security database contains. Others that contain it are only deferred. */
const WORD = new TextEncoder().encode('secfixes')

function looksLikeSecdb(content: Uint8Array): boolean {
  const [first = 0] = WORD
  for (let at = content.indexOf(first); at >= 0; at = content.indexOf(first, at + 1))
    if (WORD.every((byte, offset) => content[at + offset] === byte)) return true
  return false
}
