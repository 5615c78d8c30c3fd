import {
  concatBytes,
  entryName,
  entryNameProblem,
  type FoundFile,
  isArchiveName,
  isDocumentName,
  readUpTo,
  rejectedFile,
  tooLargeReason,
} from './found-file.ts'
import { ArchiveRejected, type UnpackBudget } from './unpack-budget.ts'

/**
 * Finds the documents in one file: a document, a compressed document, or an archive (zip, tar, tar.gz) that may contain others.
 * One document is in memory at a time; nothing is written to disk. Runs in Node and in browsers: what differs is an ArchivePlatform.
 */

export interface ArchiveEntry {
  readonly name: string
  readonly kind: 'file' | 'directory' | 'link' | 'device'
  /** Size that the archive declares. */
  readonly bytes: number
  /** The unpacked content. */
  read(): AsyncIterable<Uint8Array>
}

/** A file that the platform can open (`Source`), or the content of a file from an archive. */
export interface SourceFile<Source> {
  readonly name: string
  readonly source: Source | Uint8Array
  /** Called with the number of bytes that were processed. */
  readonly onRead?: (bytes: number) => void
}

/** Opens and unpacks files. Each function fails with an error that `rejectionReason` describes. */
export interface ArchivePlatform<Source> {
  /** Reads up to `bytesMax` bytes from the start. */
  readHead(source: Source, bytesMax: number): Promise<Uint8Array>
  streamOf(source: Source): AsyncIterable<Uint8Array>
  readZipEntries(
    source: Source | Uint8Array,
    budget: UnpackBudget,
    onRead?: (bytes: number) => void,
  ): AsyncIterable<ArchiveEntry>
  readTarEntries(bytes: AsyncIterable<Uint8Array>): AsyncIterable<ArchiveEntry>
  gunzip(bytes: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>
  /** Describes an error of the platform. */
  rejectionReason(error: unknown): string
}

/** Finds the documents in one file. */
export type DocumentFinder<Source> = (
  file: SourceFile<Source>,
  budget: UnpackBudget,
) => AsyncGenerator<FoundFile>

type FileFormat = 'zip' | 'gzip' | 'tar' | 'plain'

const HEAD_BYTES = 512

/** `platform`: opens and unpacks files. */
export function createDocumentFinder<Source>(platform: ArchivePlatform<Source>): DocumentFinder<Source> {
  async function* documentsInFile(
    file: SourceFile<Source>,
    budget: UnpackBudget,
    depth = 0,
  ): AsyncGenerator<FoundFile> {
    const { name } = file
    try {
      const format = detectFormat(await readHead(file.source))
      if (format === 'unknown') yield rejectedFile(name, 'has an unsupported compression: use zip or gzip')
      else yield* documentsOfFormat({ ...file, format }, budget, depth)
    } catch (error) {
      budget.throwIfStopped()
      yield rejectedFile(name, rejectionReason(error))
    }
  }

  async function* documentsOfFormat(
    file: SourceFile<Source> & { readonly format: FileFormat },
    budget: UnpackBudget,
    depth: number,
  ): AsyncGenerator<FoundFile> {
    const { name, source, format } = file
    switch (format) {
      case 'plain':
        yield await readDocumentEntry(name, streamOf(file), budget)
        return
      case 'zip':
        yield* documentsAmong(platform.readZipEntries(source, budget, file.onRead), file, budget, depth)
        return
      case 'tar':
        yield* documentsAmong(platform.readTarEntries(metered(streamOf(file), budget)), file, budget, depth)
        return
      case 'gzip': {
        const inner = await peekHead(metered(platform.gunzip(streamOf(file)), budget))
        const innerFormat = detectFormat(inner.head)
        if (innerFormat === 'tar')
          yield* documentsAmong(platform.readTarEntries(inner.all), file, budget, depth)
        else if (innerFormat === 'plain') yield await readDocumentEntry(name, inner.all, budget)
        else yield* documentsOfNested(name, inner.all, budget, depth + 1)
      }
    }
  }

  async function* documentsAmong(
    entries: AsyncIterable<ArchiveEntry>,
    { name: archive }: SourceFile<Source>,
    budget: UnpackBudget,
    depth: number,
  ): AsyncGenerator<FoundFile> {
    const names = new Set<string>()
    for await (const entry of entries) {
      budget.addEntry()
      const name = entryName(archive, entry.name)
      if (entry.kind === 'directory') continue
      const problem = entryProblem(entry) ?? (names.has(entry.name) ? 'occurs twice' : undefined)
      names.add(entry.name)
      if (problem !== undefined) yield rejectedFile(name, problem)
      else if (isDocumentName(entry.name))
        yield await readDocumentEntry(name, entry.read(), budget, entry.bytes)
      else if (isArchiveName(entry.name))
        yield* documentsOfNested(name, entry.read(), budget, depth + 1, entry.bytes)
      else yield { kind: 'skipped', name }
    }
  }

  /** The documents of an archive within an archive. It is read completely first: a zip cannot be read as a stream. */
  async function* documentsOfNested(
    name: string,
    stream: AsyncIterable<Uint8Array>,
    budget: UnpackBudget,
    depth: number,
    bytes = 0,
  ): AsyncGenerator<FoundFile> {
    const { archiveNestingMax } = budget.bounds
    if (depth > archiveNestingMax) {
      yield rejectedFile(name, `is nested in more than ${archiveNestingMax} archives`)
      return
    }
    const whole = await readDocumentEntry(name, stream, budget, bytes)
    if (whole.kind === 'document') yield* documentsInFile({ name, source: whole.content }, budget, depth)
    else yield whole
  }

  async function readHead(source: Source | Uint8Array): Promise<Uint8Array> {
    return source instanceof Uint8Array
      ? source.subarray(0, HEAD_BYTES)
      : platform.readHead(source, HEAD_BYTES)
  }

  async function* streamOf({ source, onRead }: SourceFile<Source>): AsyncGenerator<Uint8Array> {
    if (source instanceof Uint8Array) {
      yield source
      return
    }
    for await (const chunk of platform.streamOf(source)) {
      onRead?.(chunk.byteLength)
      yield chunk
    }
  }

  /** `bytes`: the declared size, so that content that is too large need not be read. */
  async function readDocumentEntry(
    name: string,
    stream: AsyncIterable<Uint8Array>,
    { bounds, throwIfStopped }: UnpackBudget,
    bytes = 0,
  ): Promise<FoundFile> {
    const { advisoryDocumentBytesMax: max } = bounds
    try {
      const content = bytes > max ? undefined : await readUpTo(stream, max)
      return content === undefined
        ? rejectedFile(name, tooLargeReason(max))
        : { kind: 'document', name, content }
    } catch (error) {
      throwIfStopped()
      // An error that ends the archive also ends this search.
      if (error instanceof ArchiveRejected) throw error
      return rejectedFile(name, rejectionReason(error))
    }
  }

  function rejectionReason(error: unknown): string {
    return error instanceof ArchiveRejected ? error.message : platform.rejectionReason(error)
  }

  return documentsInFile
}

function entryProblem({ name, kind }: ArchiveEntry): string | undefined {
  if (kind === 'link') return 'is a link; links are not followed'
  if (kind === 'device') return 'is neither a file nor a folder'
  return entryNameProblem(name)
}

const signatures: readonly (readonly [string, FileFormat | 'unknown'])[] = [
  ['504b0304', 'zip'],
  // An empty zip, and one in several parts.
  ['504b0506', 'zip'],
  ['504b0708', 'zip'],
  ['1f8b', 'gzip'],
  ['28b52ffd', 'unknown'], // zstd
  ['fd377a585a00', 'unknown'], // xz
  ['425a68', 'unknown'], // bzip2
  ['377abcaf271c', 'unknown'], // 7z
  ['526172211a07', 'unknown'], // rar
]

const TAR_MAGIC_AT = 257
const TAR_MAGIC = 'ustar'

/** Detects the format from the content, since file extensions are often wrong. */
function detectFormat(head: Uint8Array): FileFormat | 'unknown' {
  const hex = [...head.subarray(0, 8)].map((byte) => byte.toString(16).padStart(2, '0')).join('')
  const found = signatures.find(([signature]) => hex.startsWith(signature))
  if (found !== undefined) return found[1]
  const magic = String.fromCharCode(...head.subarray(TAR_MAGIC_AT, TAR_MAGIC_AT + TAR_MAGIC.length))
  return magic === TAR_MAGIC ? 'tar' : 'plain'
}

async function* metered(bytes: AsyncIterable<Uint8Array>, budget: UnpackBudget): AsyncGenerator<Uint8Array> {
  for await (const chunk of bytes) {
    budget.addBytes(chunk.byteLength)
    yield chunk
  }
}

async function peekHead(bytes: AsyncIterable<Uint8Array>) {
  const iterator = bytes[Symbol.asyncIterator]()
  const first: Uint8Array[] = []
  let length = 0
  while (length < HEAD_BYTES) {
    const { done, value } = await iterator.next()
    if (done === true) break
    first.push(value)
    length += value.byteLength
  }
  const head = concatBytes(first)
  async function* all(): AsyncGenerator<Uint8Array> {
    try {
      yield head
      for (;;) {
        const { done, value } = await iterator.next()
        if (done === true) return
        yield value
      }
    } finally {
      await iterator.return?.()
    }
  }
  return { head, all: all() }
}
