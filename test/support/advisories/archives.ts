import { buffer } from 'node:stream/consumers'
import { crc32, deflateRawSync, gzipSync } from 'node:zlib'
import { type Header, pack } from 'tar-stream'

/** Archives for tests, also such as no program makes. */

export interface ZipMember {
  readonly name: string
  readonly content?: Uint8Array | string
  /** Mode of a file on Unix, e.g. 0o120777 for a link. */
  readonly mode?: number
  /** What the archive says of its size, in place of the truth. */
  readonly declaredBytes?: number
  readonly encrypted?: boolean
}

/** A zip archive (APPNOTE.TXT, sections 4.3 and 4.4) of these files in this order. */
export function buildZip(members: readonly ZipMember[]): Buffer {
  const files: Buffer[] = []
  const directory: Buffer[] = []
  let at = 0
  for (const { name, content = '', mode = 0, declaredBytes: saysBytes, encrypted = false } of members) {
    const bytes = Buffer.from(content)
    const packed = deflateRawSync(bytes)
    const path = Buffer.from(name)
    const both = Buffer.alloc(26)
    both.writeUInt16LE(20, 0)
    both.writeUInt16LE(0x800 | (encrypted ? 1 : 0), 2) // names in UTF-8
    both.writeUInt16LE(8, 4) // deflate
    both.writeUInt32LE(crc32(bytes), 10)
    both.writeUInt32LE(packed.length, 14)
    both.writeUInt32LE(saysBytes ?? bytes.length, 18)
    both.writeUInt16LE(path.length, 22)
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), both, path, packed])
    const tail = Buffer.alloc(14)
    tail.writeUInt32LE((mode << 16) >>> 0, 6)
    tail.writeUInt32LE(at, 10)
    // 3: made on Unix, whose modes are in the upper half of the attributes.
    directory.push(Buffer.from('PK\x01\x02\x14\x03', 'latin1'), both, tail, path)
    files.push(local)
    at += local.length
  }
  const central = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 0, 'latin1')
  end.writeUInt16LE(members.length, 8)
  end.writeUInt16LE(members.length, 10)
  end.writeUInt32LE(central.length, 12)
  end.writeUInt32LE(at, 16)
  return Buffer.concat([...files, central, end])
}

export type TarMember = Partial<Header> & { readonly name: string; readonly content?: string }

export async function buildTar(members: readonly TarMember[]): Promise<Buffer> {
  const archive = pack()
  for (const { content = '', ...header } of members) archive.entry(header, content)
  archive.finalize()
  return buffer(archive)
}

export async function buildTarGz(members: readonly TarMember[]): Promise<Buffer> {
  return gzipSync(await buildTar(members))
}
