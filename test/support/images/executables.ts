/** ELF programs of 64 bits with chosen sections. */

export interface ElfSection {
  readonly name: string
  readonly content: Buffer
  readonly address?: number
  readonly isWritable?: boolean
}

const HEADER_BYTES = 64
const SECTION_BYTES = 64
const PROGBITS = 1
const WRITE = 1

export function elfOf(sections: readonly ElfSection[]): Buffer {
  const names = Buffer.from(`\0${sections.map(({ name }) => `${name}\0`).join('')}.shstrtab\0`)
  const all = [...sections, { name: '.shstrtab', content: names }]
  const bodies = all.map(({ content }) => content)
  const tableAt = HEADER_BYTES + bodies.reduce((sum, { length }) => sum + length, 0)
  const header = Buffer.alloc(HEADER_BYTES)
  header.write('\x7fELF\x02\x01\x01', 'latin1')
  header.writeBigUInt64LE(BigInt(tableAt), 40)
  header.writeUInt16LE(SECTION_BYTES, 58)
  header.writeUInt16LE(all.length, 60)
  header.writeUInt16LE(all.length - 1, 62)
  let offset = HEADER_BYTES
  let nameAt = 1
  const table = all.map(({ name, content, ...more }) => {
    const entry = Buffer.alloc(SECTION_BYTES)
    const { address = 0, isWritable = false } = more as Partial<ElfSection>
    entry.writeUInt32LE(nameAt, 0)
    entry.writeUInt32LE(PROGBITS, 4)
    entry.writeBigUInt64LE(BigInt(isWritable ? WRITE : 0), 8)
    entry.writeBigUInt64LE(BigInt(address), 16)
    entry.writeBigUInt64LE(BigInt(offset), 24)
    entry.writeBigUInt64LE(BigInt(content.length), 32)
    offset += content.length
    nameAt += name.length + 1
    return entry
  })
  return Buffer.concat([header, ...bodies, ...table])
}

const MARKER = Buffer.alloc(16, 0x30)

function moduleList(lines: readonly string[]): Buffer {
  return Buffer.concat([MARKER, Buffer.from(`${lines.join('\n')}\n`), MARKER])
}

function withLength(content: Buffer): Buffer {
  const length: number[] = []
  for (let rest = content.length; ; rest >>>= 7) {
    length.push(rest > 0x7f ? (rest & 0x7f) | 0x80 : rest)
    if (rest <= 0x7f) return Buffer.concat([Buffer.from(length), content])
  }
}

/** `.go.buildinfo` as Go 1.18 and later write it. */
export function inlineBuildInfo(goVersion: string, lines: readonly string[]): Buffer {
  const header = Buffer.alloc(32)
  header.write('\xff Go buildinf:', 'latin1')
  header[14] = 8
  header[15] = 2
  return Buffer.concat([header, withLength(Buffer.from(goVersion)), withLength(moduleList(lines))])
}

/** A program of Go 1.13 to 1.17: `.go.buildinfo` points to texts in other sections. */
export function pointerBuildInfo(goVersion: string, lines: readonly string[]): Buffer {
  const [textsAt, headersAt] = [0x1000, 0x100000]
  const version = Buffer.from(goVersion)
  const modules = moduleList(lines)
  const headers = Buffer.alloc(32)
  headers.writeBigUInt64LE(BigInt(textsAt), 0)
  headers.writeBigUInt64LE(BigInt(version.length), 8)
  headers.writeBigUInt64LE(BigInt(textsAt + version.length), 16)
  headers.writeBigUInt64LE(BigInt(modules.length), 24)
  const info = Buffer.alloc(32)
  info.write('\xff Go buildinf:', 'latin1')
  info[14] = 8
  info.writeBigUInt64LE(BigInt(headersAt), 16)
  info.writeBigUInt64LE(BigInt(headersAt + 16), 24)
  return elfOf([
    { name: '.rodata', content: Buffer.concat([version, modules]), address: textsAt },
    { name: '.data', content: headers, address: headersAt, isWritable: true },
    { name: '.go.buildinfo', content: info, address: 0x200000, isWritable: true },
  ])
}
