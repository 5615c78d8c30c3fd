import { layerLimits } from '../limits.ts'

/** Sections of an executable: ELF, PE (Windows) or Mach-O (macOS). Throws a RangeError if an offset is beyond the end of the file. */
export interface Executable {
  readonly isBigEndian: boolean
  readonly pointerBytes: 4 | 8
  readonly sections: readonly Section[]
  /** Returns the bytes at an address of the loaded program; undefined if the file has none there. */
  atAddress(address: number, bytes: number): Buffer | undefined
}

export interface Section {
  readonly name: string
  readonly address: number
  readonly content: Buffer
  /** Loaded as data that the program can change. */
  readonly isWritable: boolean
}

/** The first bytes of a file tell whether it is worth reading. */
export const MAGIC_BYTES = 4

export function isExecutable(head: Buffer): boolean {
  return formatOf(head) !== undefined
}

type Reader = (file: Buffer) => Omit<Executable, 'atAddress'>

function formatOf(head: Buffer): Reader | undefined {
  if (head.length < MAGIC_BYTES) return undefined
  const magic = head.readUInt32BE(0)
  if (magic === 0x7f454c46) return readElf
  if (magic >>> 16 === 0x4d5a) return readPe
  return magic === 0xcffaedfe || magic === 0xcefaedfe ? readMachO : undefined
}

export function readExecutable(file: Buffer): Executable | undefined {
  const read = formatOf(file)
  if (read === undefined) return undefined
  const executable = read(file)
  return {
    ...executable,
    atAddress(address, bytes) {
      const found = executable.sections.find(
        (section) => section.address > 0 && section.address <= address && address + bytes <= endOf(section),
      )
      return found?.content.subarray(address - found.address, address - found.address + bytes)
    },
  }
}

function endOf({ address, content }: Section): number {
  return address + content.length
}

function requireSections(count: number): number {
  if (count > layerLimits.executableSectionsMax) throw new RangeError('an executable has too many sections')
  return count
}

function slice(file: Buffer, offset: number, bytes: number): Buffer {
  if (offset + bytes > file.length) throw new RangeError('a section is beyond the end of the file')
  return file.subarray(offset, offset + bytes)
}

const SHT_NOBITS = 8
const SHF_WRITE = 1
const PT_LOAD = 1
const PF_W = 2

/** System V ABI, "ELF". Programs whose table of sections was removed have their segments as sections. */
function readElf(file: Buffer): ReturnType<Reader> {
  const is64 = file[4] === 2
  const isBigEndian = file[5] === 2
  const half = (at: number) => (isBigEndian ? file.readUInt16BE(at) : file.readUInt16LE(at))
  const word = (at: number) => (isBigEndian ? file.readUInt32BE(at) : file.readUInt32LE(at))
  const long = (at: number) =>
    is64 ? Number(isBigEndian ? file.readBigUInt64BE(at) : file.readBigUInt64LE(at)) : word(at)
  const [tableAt, entryBytes, count, namesIndex] = is64
    ? [long(40), half(58), half(60), half(62)]
    : [long(32), half(46), half(48), half(50)]
  const field = (at: number, offset64: number, offset32: number) => long(at + (is64 ? offset64 : offset32))
  const sections: Section[] = []
  const namesHeader = tableAt + namesIndex * entryBytes
  const names = count === 0 ? file : slice(file, field(namesHeader, 24, 16), field(namesHeader, 32, 20))
  for (let index = 0; index < requireSections(count); index++) {
    const at = tableAt + index * entryBytes
    if (word(at + 4) === SHT_NOBITS) continue
    sections.push({
      name: textAt(names, word(at)),
      address: field(at, 16, 12),
      content: slice(file, field(at, 24, 16), field(at, 32, 20)),
      isWritable: (field(at, 8, 8) & SHF_WRITE) !== 0,
    })
  }
  if (count === 0) {
    const segmentsAt = field(0, 32, 28)
    const segmentBytes = half(is64 ? 54 : 42)
    for (let index = 0; index < half(is64 ? 56 : 44); index++) {
      const at = segmentsAt + index * segmentBytes
      if (word(at) !== PT_LOAD) continue
      sections.push({
        name: '',
        address: field(at, 16, 8),
        content: slice(file, field(at, 8, 4), field(at, 32, 16)),
        isWritable: (word(at + (is64 ? 4 : 24)) & PF_W) !== 0,
      })
    }
  }
  return { isBigEndian, pointerBytes: is64 ? 8 : 4, sections }
}

const PE_OFFSET_AT = 0x3c
const PE_SECTION_BYTES = 40
const PE_64_MAGIC = 0x20b
const SCN_MEM_WRITE = 0x80000000

/** Microsoft, "PE Format". */
function readPe(file: Buffer): ReturnType<Reader> {
  const header = file.readUInt32LE(PE_OFFSET_AT)
  if (file.readUInt32BE(header) !== 0x50450000) return { isBigEndian: false, pointerBytes: 4, sections: [] }
  const optional = header + 24
  const is64 = file.readUInt16LE(optional) === PE_64_MAGIC
  const base = is64 ? Number(file.readBigUInt64LE(optional + 24)) : file.readUInt32LE(optional + 28)
  const sectionsAt = optional + file.readUInt16LE(header + 20)
  const sections = Array.from({ length: file.readUInt16LE(header + 6) }, (_, index) => {
    const at = sectionsAt + index * PE_SECTION_BYTES
    const bytes = Math.min(file.readUInt32LE(at + 16), file.readUInt32LE(at + 8))
    return {
      name: textAt(file.subarray(at, at + 8), 0),
      address: base + file.readUInt32LE(at + 12),
      content: slice(file, file.readUInt32LE(at + 20), bytes),
      isWritable: (file.readUInt32LE(at + 36) & SCN_MEM_WRITE) !== 0,
    }
  })
  return { isBigEndian: false, pointerBytes: is64 ? 8 : 4, sections }
}

const LC_SEGMENT = 0x1
const LC_SEGMENT_64 = 0x19
const VM_PROT_WRITE = 2

/** Apple, `mach-o/loader.h`; little-endian. */
function readMachO(file: Buffer): ReturnType<Reader> {
  const is64 = file[0] === 0xcf
  const long = (at: number) => (is64 ? Number(file.readBigUInt64LE(at)) : file.readUInt32LE(at))
  const sections: Section[] = []
  const commands = requireSections(file.readUInt32LE(16))
  for (let index = 0, at = is64 ? 32 : 28; index < commands; index++) {
    const bytes = file.readUInt32LE(at + 4)
    if (bytes < 8) throw new RangeError('a load command has no size')
    if (file.readUInt32LE(at) === (is64 ? LC_SEGMENT_64 : LC_SEGMENT)) {
      const isWritable = (file.readUInt32LE(at + (is64 ? 60 : 44)) & VM_PROT_WRITE) !== 0
      const count =
        requireSections(sections.length + file.readUInt32LE(at + (is64 ? 64 : 48))) - sections.length
      for (let section = 0; section < count; section++) {
        const start = at + (is64 ? 72 + section * 80 : 56 + section * 68)
        const offset = file.readUInt32LE(start + (is64 ? 48 : 40))
        sections.push({
          name: textAt(file.subarray(start, start + 16), 0),
          address: long(start + 32),
          // Sections without content in the file have offset 0.
          content: offset === 0 ? file.subarray(0, 0) : slice(file, offset, long(start + (is64 ? 40 : 36))),
          isWritable,
        })
      }
    }
    at += bytes
  }
  return { isBigEndian: false, pointerBytes: is64 ? 8 : 4, sections }
}

const NAME_BYTES_MAX = 256

function textAt(bytes: Buffer, at: number): string {
  const part = bytes.subarray(at, at + NAME_BYTES_MAX)
  const end = part.indexOf(0)
  return part.toString('latin1', 0, end < 0 ? part.length : end)
}
