/** Tar archives that no tool writes: headers with any name, size and type. */

export interface RawHeader {
  readonly name: string
  /** Declared; the content may be shorter. */
  readonly size?: number | bigint
  readonly type?: string
  readonly target?: string
  readonly content?: Buffer | string
}

const BLOCK_BYTES = 512

export function rawEntry({ name, type = '0', target = '', content = '', size }: RawHeader): Buffer {
  const data = Buffer.from(content as string)
  const header = Buffer.alloc(BLOCK_BYTES)
  header.write(name.slice(0, 100), 0, 'latin1')
  header.write('0000644\0', 100)
  header.write('0000000\0', 108)
  header.write('0000000\0', 116)
  writeSize(header, size ?? data.length)
  header.write('00000000000\0', 136)
  header.write(type, 156, 'latin1')
  header.write(target.slice(0, 100), 157, 'latin1')
  header.write('ustar\x0000', 257, 'latin1')
  header.fill(' ', 148, 156)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return Buffer.concat([
    header,
    data,
    Buffer.alloc((BLOCK_BYTES - (data.length % BLOCK_BYTES)) % BLOCK_BYTES),
  ])
}

const OCTAL_MAX = 0o77777777777

/** Sizes beyond 8 GiB, and negative ones, are in base 256. */
function writeSize(header: Buffer, size: number | bigint): void {
  if (size >= 0 && size <= OCTAL_MAX) {
    header.write(`${size.toString(8).padStart(11, '0')}\0`, 124)
    return
  }
  header.fill(size < 0 ? 0xff : 0, 124, 136)
  header.writeBigInt64BE(BigInt(size), 128)
  if (size >= 0) header[124] = 0x80
}

/** An extended header of POSIX for the entry that follows. */
export function paxHeader(records: Readonly<Record<string, string>>, type = 'x'): Buffer {
  const content = Buffer.concat(
    Object.entries(records).map(([key, value]) => {
      const text = Buffer.from(` ${key}=${value}\n`)
      let length = text.length
      while (String(length).length + text.length !== length) length = String(length).length + text.length
      return Buffer.concat([Buffer.from(String(length)), text])
    }),
  )
  return rawEntry({ name: 'PaxHeader', type, content })
}

export const TAR_END = Buffer.alloc(2 * BLOCK_BYTES)
