import { extract } from 'tar-stream'

/** An entry of a layer. It can be read only until the next is requested. */
export interface TarEntry {
  readonly name: string
  readonly kind: 'file' | 'directory' | 'hard link' | 'symbolic link' | 'other'
  /** Size that the archive declares. */
  readonly bytes: number
  /** Target of a link; ''. */
  readonly target: string
  /** Stored without its holes: its bytes are not its content. */
  readonly isSparse: boolean
  read(): AsyncIterable<Uint8Array>
}

const kinds: Readonly<Record<string, TarEntry['kind']>> = {
  file: 'file',
  'contiguous-file': 'file',
  directory: 'directory',
  link: 'hard link',
  symlink: 'symbolic link',
}

/** Yields the entries of a tar archive as a stream. Entries before an error are yielded before it is thrown. */
export async function* readTarEntries(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<TarEntry> {
  // Archives of the time before POSIX, too; the types do not know this option.
  const reader = extract({ allowUnknownFormat: true } as Parameters<typeof extract>[0])
  let failure: unknown
  let isClosed = false
  let wake = () => {}
  reader.on('drain', () => wake())
  reader.on('close', () => {
    isClosed = true
    wake()
  })
  const drained = () =>
    new Promise<void>((resolve) => {
      wake = resolve
    })
  const writeAll = async () => {
    try {
      for await (const chunk of bytes) {
        if (isClosed) return
        if (!reader.write(chunk)) await drained()
      }
    } catch (error) {
      failure = error
    }
    reader.end(undefined)
  }
  const written = writeAll()
  try {
    for await (const entry of reader) {
      const { name, type, size, linkname, pax } = entry.header
      let isRead = false
      yield {
        name: name.endsWith('/') && name.length > 1 ? name.slice(0, -1) : name,
        kind: kinds[type ?? ''] ?? 'other',
        bytes: size ?? 0,
        target: linkname ?? '',
        isSparse: Object.keys(pax ?? {}).some((key) => key.startsWith('GNU.sparse.')),
        async *read() {
          isRead = true
          try {
            for await (const chunk of entry) yield chunk as Uint8Array
          } catch (error) {
            throw failure ?? error
          }
        },
      }
      if (!isRead) entry.resume()
    }
  } catch (error) {
    throw failure ?? error
  } finally {
    reader.destroy()
    await written
  }
  if (failure !== undefined) throw failure
}
