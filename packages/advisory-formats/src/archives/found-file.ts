import { formatLimits } from '../limits.ts'

/** Results of a search for documents: documents, rejected files and skipped files. */

export type FoundFile =
  | { readonly kind: 'document'; readonly name: string; readonly content: Uint8Array }
  /** Reported by its name: an unreadable document, or a file type that is not accepted from untrusted sources. */
  | { readonly kind: 'rejected'; readonly name: string; readonly reason: string }
  /** Contains no advisories. */
  | { readonly kind: 'skipped'; readonly name: string }

export function rejectedFile(name: string, reason: string): FoundFile {
  return { kind: 'rejected', name, reason }
}

/** Checks the file extension; of CSV files, only those of EPSS are documents. Hidden files are configuration. */
export function isDocumentName(path: string): boolean {
  return (/\.(json|ya?ml)$/i.test(path) || /(^|\/)epss[^/]*\.csv$/i.test(path)) && !isHidden(path)
}

/** Checks the file extension for a compressed document or an archive. */
export function isArchiveName(path: string): boolean {
  return /\.(zip|tar|tgz|gz)$/i.test(path) && !isHidden(path)
}

function isHidden(path: string): boolean {
  return path.split('/').some((part) => part.startsWith('.') && part !== '.' && part !== '..')
}

/** Returns the path within an archive. Paths that are too long keep their end, which identifies the file better. */
export function entryName(archive: string, entry: string): string {
  const name = `${archive}:${entry}`
  return name.length <= formatLimits.advisoryNameCharsMax
    ? name
    : `…${name.slice(1 - formatLimits.advisoryNameCharsMax)}`
}

/** Returns why the path of an archive entry is invalid, or undefined. Nothing is written there, but valid archives have no such paths. */
export function entryNameProblem(path: string): string | undefined {
  if (path === '' || /\p{Cc}/u.test(path)) return 'has an invalid file name'
  if (/^([/\\]|[a-z]:)/i.test(path)) return 'has an absolute path'
  if (path.split(/[/\\]/).includes('..')) return 'has a path outside the archive'
  return undefined
}

const MIB = 1024 * 1024

export function tooLargeReason(bytesMax: number): string {
  return `must have at most ${bytesMax / MIB} MiB`
}

/** Reads a stream completely. Returns undefined, without reading further, if it is longer than the limit. */
export async function readUpTo(
  stream: AsyncIterable<Uint8Array>,
  bytesMax: number,
): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of stream) {
    bytes += chunk.byteLength
    if (bytes > bytesMax) return undefined
    chunks.push(chunk)
  }
  return concatBytes(chunks)
}

export function concatBytes(chunks: readonly Uint8Array[]): Uint8Array {
  const [only] = chunks
  if (only !== undefined && chunks.length === 1) return only
  const all = new Uint8Array(chunks.reduce((bytes, { byteLength }) => bytes + byteLength, 0))
  let at = 0
  for (const chunk of chunks) {
    all.set(chunk, at)
    at += chunk.byteLength
  }
  return all
}
