import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import {
  type Found,
  isDocumentName,
  isPackedName,
  nameIn,
  nameProblem,
  readUpTo,
  refused,
  tooLarge,
} from './found.ts'
import { tarEntries } from './tar.ts'
import { ArchiveRefused, type Unpacking } from './unpacking.ts'
import { zipEntries } from './zip.ts'

/**
 * The documents in one file, whatever it is: a document, one that is compressed, or an archive (zip, tar, tar.gz), which may hold
 * others. One document is in memory at a time, and nothing is written anywhere.
 */

export interface ArchiveEntry {
  readonly name: string
  readonly kind: 'file' | 'directory' | 'link' | 'device'
  /** As the archive says. */
  readonly bytes: number
  /** Unpacked. */
  read(): AsyncIterable<Uint8Array>
}

/** A file on disk by its path, or one that was in an archive. */
export interface PackedFile {
  readonly name: string
  readonly source: string | Uint8Array
  /** Hears how many bytes of the file were gone through. */
  readonly onRead?: (bytes: number) => void
}

type Form = 'zip' | 'gzip' | 'tar' | 'plain'

const HEAD_BYTES = 512

export async function* documentsInFile(
  file: PackedFile,
  account: Unpacking,
  depth = 0,
): AsyncGenerator<Found> {
  const { name } = file
  try {
    const form = formOf(await headOf(file.source))
    if (form === 'unknown') yield refused(name, 'is compressed in a way that is not read: use zip or gzip')
    else yield* documentsOf({ ...file, form }, account, depth)
  } catch (error) {
    account.throwIfStopped()
    yield refused(name, reasonOf(error))
  }
}

interface Opened extends PackedFile {
  readonly form: Form
}

async function* documentsOf(file: Opened, account: Unpacking, depth: number): AsyncGenerator<Found> {
  const { name, source, form } = file
  switch (form) {
    case 'plain':
      yield await documentOf(name, streamOf(file), account)
      return
    case 'zip':
      yield* documentsAmong(zipEntries(source, account, file.onRead), file, account, depth)
      return
    case 'tar':
      yield* documentsAmong(tarEntries(metered(streamOf(file), account)), file, account, depth)
      return
    case 'gzip': {
      const inner = await beginningOf(metered(gunzip(streamOf(file)), account))
      const innerForm = formOf(inner.head)
      if (innerForm === 'tar') yield* documentsAmong(tarEntries(inner.all), file, account, depth)
      else if (innerForm === 'plain') yield await documentOf(name, inner.all, account)
      else yield* documentsOfInner(name, inner.all, account, depth + 1)
    }
  }
}

async function* documentsAmong(
  entries: AsyncIterable<ArchiveEntry>,
  { name: archive }: PackedFile,
  account: Unpacking,
  depth: number,
): AsyncGenerator<Found> {
  const names = new Set<string>()
  for await (const entry of entries) {
    account.entry()
    const name = nameIn(archive, entry.name)
    if (entry.kind === 'directory') continue
    const problem = problemOf(entry) ?? (names.has(entry.name) ? 'is there twice' : undefined)
    names.add(entry.name)
    if (problem !== undefined) yield refused(name, problem)
    else if (isDocumentName(entry.name)) yield await documentOf(name, entry.read(), account, entry.bytes)
    else if (isPackedName(entry.name))
      yield* documentsOfInner(name, entry.read(), account, depth + 1, entry.bytes)
    else yield { kind: 'skipped', name }
  }
}

function problemOf({ name, kind }: ArchiveEntry): string | undefined {
  if (kind === 'link') return 'is a link, which is not followed'
  if (kind === 'device') return 'is neither a file nor a folder'
  return nameProblem(name)
}

/** `bytes`: how long it says to be, so that what is too long need not be read. */
async function documentOf(
  name: string,
  stream: AsyncIterable<Uint8Array>,
  { bounds, throwIfStopped }: Unpacking,
  bytes = 0,
): Promise<Found> {
  const { advisoryDocumentBytesMax: max } = bounds
  try {
    const content = bytes > max ? undefined : await readUpTo(stream, max)
    return content === undefined ? refused(name, tooLarge(max)) : { kind: 'document', name, content }
  } catch (error) {
    throwIfStopped()
    // What ends the archive ends it.
    if (error instanceof ArchiveRefused) throw error
    return refused(name, reasonOf(error))
  }
}

/** What is packed in something packed. It is read as a whole first: a zip cannot be read as it comes. */
async function* documentsOfInner(
  name: string,
  stream: AsyncIterable<Uint8Array>,
  account: Unpacking,
  depth: number,
  bytes = 0,
): AsyncGenerator<Found> {
  const { archiveNestingMax } = account.bounds
  if (depth > archiveNestingMax) {
    yield refused(name, `lies in more than ${archiveNestingMax} archives`)
    return
  }
  const whole = await documentOf(name, stream, account, bytes)
  if (whole.kind === 'document') yield* documentsInFile({ name, source: whole.content }, account, depth)
  else yield whole
}

async function headOf(source: string | Uint8Array): Promise<Uint8Array> {
  if (typeof source !== 'string') return source.subarray(0, HEAD_BYTES)
  const file = await open(source)
  try {
    const { buffer, bytesRead } = await file.read(new Uint8Array(HEAD_BYTES), 0, HEAD_BYTES, 0)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}

const signatures: readonly (readonly [string, Form | 'unknown'])[] = [
  ['504b0304', 'zip'],
  // Empty, and one that is in several parts.
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

/** By its content: what a name ends in is easily wrong. */
function formOf(head: Uint8Array): Form | 'unknown' {
  const bytes = Buffer.from(head)
  const hex = bytes.toString('hex', 0, 8)
  const found = signatures.find(([signature]) => hex.startsWith(signature))
  if (found !== undefined) return found[1]
  return bytes.toString('latin1', TAR_MAGIC_AT, TAR_MAGIC_AT + 5) === 'ustar' ? 'tar' : 'plain'
}

async function* streamOf({ source, onRead }: PackedFile): AsyncGenerator<Uint8Array> {
  if (typeof source !== 'string') {
    yield source
    return
  }
  for await (const chunk of createReadStream(source)) {
    onRead?.((chunk as Uint8Array).byteLength)
    yield chunk as Uint8Array
  }
}

async function* gunzip(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const packed = Readable.from(bytes, { objectMode: false })
  const unpacked = createGunzip()
  packed.on('error', (error) => unpacked.destroy(error))
  try {
    yield* packed.pipe(unpacked) as AsyncIterable<Uint8Array>
  } finally {
    packed.destroy()
    unpacked.destroy()
  }
}

async function* metered(bytes: AsyncIterable<Uint8Array>, account: Unpacking): AsyncGenerator<Uint8Array> {
  for await (const chunk of bytes) {
    account.unpacked(chunk.byteLength)
    yield chunk
  }
}

async function beginningOf(bytes: AsyncIterable<Uint8Array>) {
  const iterator = bytes[Symbol.asyncIterator]()
  const first: Uint8Array[] = []
  let length = 0
  while (length < HEAD_BYTES) {
    const { done, value } = await iterator.next()
    if (done === true) break
    first.push(value)
    length += value.byteLength
  }
  const head = Buffer.concat(first)
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

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'is not there',
  EACCES: 'may not be read',
  Z_DATA_ERROR: 'is damaged: it cannot be unpacked',
  Z_BUF_ERROR: 'is cut off: it is not a whole gzip file',
}

function reasonOf(error: unknown): string {
  if (error instanceof ArchiveRefused) return error.message
  const { code = '', message } = error as NodeJS.ErrnoException
  return reasons[code] ?? `cannot be unpacked: ${message}`
}
