import { createWriteStream } from 'node:fs'
import { finished } from 'node:stream/promises'
import { createGzip } from 'node:zlib'

const CHUNK_CHARS = 64 * 1024

/**
 * Writes chunks to a file, and compressed (gzip) to another; returns false if there were none. The files are durable when it
 * resolves, and no longer written when it rejects.
 */
export async function writeFeedFiles(
  file: string,
  compressed: string | undefined,
  chunks: AsyncIterable<string | Uint8Array>,
): Promise<boolean> {
  const gzip = createGzip()
  const files = [file, compressed ?? []]
    .flat()
    .map((path) => createWriteStream(path, { mode: 0o600, flush: true }))
  const [plain, target] = files
  if (plain === undefined) throw new Error('no file was given')
  if (target !== undefined) gzip.pipe(target)
  const streams = target === undefined ? [plain] : [plain, gzip]

  let failure: unknown
  let wake = () => {}
  const ends = files.map((one) =>
    finished(one).catch((error: unknown) => {
      failure ??= error
      wake()
    }),
  )
  const write = async (bytes: Uint8Array) => {
    for (const stream of streams) {
      if (stream.write(bytes) || failure !== undefined) continue
      await new Promise<void>((resolve) => {
        wake = resolve
        stream.once('drain', resolve)
      })
    }
    if (failure !== undefined) throw failure
  }

  let isEmpty = true
  let text = ''
  try {
    for await (const chunk of chunks) {
      isEmpty = false
      if (typeof chunk !== 'string') {
        await write(chunk)
        continue
      }
      text += chunk
      if (text.length < CHUNK_CHARS) continue
      await write(Buffer.from(text))
      text = ''
    }
    if (text !== '') await write(Buffer.from(text))
    for (const stream of streams) stream.end()
  } catch (error) {
    failure ??= error
    for (const stream of [gzip, ...files]) stream.destroy()
  }
  await Promise.all(ends)
  if (failure !== undefined) throw failure
  return !isEmpty
}
