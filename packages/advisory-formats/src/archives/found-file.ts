import { formatLimits } from '../limits.ts'

/** What is found where documents are looked for: documents, what cannot be taken for one, and all the rest. */

export type FoundFile =
  | { readonly kind: 'document'; readonly name: string; readonly content: Uint8Array }
  /** Told of by its name: a document that cannot be read, or something that is not taken from strangers. */
  | { readonly kind: 'refused'; readonly name: string; readonly reason: string }
  /** Says nothing about advisories. */
  | { readonly kind: 'skipped'; readonly name: string }

export function refusedFile(name: string, reason: string): FoundFile {
  return { kind: 'refused', name, reason }
}

/** By its ending: what people call such files. Hidden files configure something. */
export function isDocumentName(path: string): boolean {
  return /\.(json|ya?ml)$/i.test(path) && !isHidden(path)
}

/** By its ending: a document that is packed, or several. */
export function isArchiveName(path: string): boolean {
  return /\.(zip|tar|tgz|gz)$/i.test(path) && !isHidden(path)
}

function isHidden(path: string): boolean {
  return path.split('/').some((part) => part.startsWith('.') && part !== '.' && part !== '..')
}

/** Where something lies in an archive, with no more characters than a name may have: the end tells more than the beginning. */
export function entryName(archive: string, entry: string): string {
  const name = `${archive}:${entry}`
  return name.length <= formatLimits.advisoryNameCharsMax
    ? name
    : `…${name.slice(1 - formatLimits.advisoryNameCharsMax)}`
}

/** Why a name in an archive is none that files have, or undefined. Nothing is ever written there; an honest archive has none. */
export function entryNameProblem(path: string): string | undefined {
  if (path === '' || /\p{Cc}/u.test(path)) return 'has a name that no file has'
  if (/^([/\\]|[a-z]:)/i.test(path)) return 'has an absolute path'
  if (path.split(/[/\\]/).includes('..')) return 'has a path that leads out of the archive'
  return undefined
}

const MIB = 1024 * 1024

export function tooLargeReason(bytesMax: number): string {
  return `must have at most ${bytesMax / MIB} MiB`
}

/** All bytes of a stream; undefined for more than there may be, which are not read to their end. */
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
  return Buffer.concat(chunks)
}
