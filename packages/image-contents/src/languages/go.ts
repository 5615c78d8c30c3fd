import type { FoundPackage } from '../found-package.ts'
import { layerLimits } from '../limits.ts'
import type { Executable } from './executable.ts'

/**
 * Reads the build information of a Go program (`debug/buildinfo`): a header of 32 bytes, followed by the version of Go and the modules
 * (since Go 1.18), or with pointers to them.
 */
export function readGoModules(executable: Executable): FoundPackage[] {
  const info = buildInfo(executable)
  return info === undefined ? [] : [...modulesOf(info.modules), ...standardLibrary(info.goVersion)]
}

interface BuildInfo {
  readonly goVersion: string
  readonly modules: string
}

const MAGIC = Buffer.from('\xff Go buildinf:', 'latin1')
const ALIGNMENT = 16
const HEADER_BYTES = 32
const IS_BIG_ENDIAN = 1
const HAS_INLINE_TEXTS = 2

function buildInfo(executable: Executable): BuildInfo | undefined {
  const named = executable.sections.filter(
    ({ name }) => name === '.go.buildinfo' || name === '__go_buildinfo',
  )
  // PE has no section of its own, and an ELF file may have lost its table of sections.
  const searched = named.length > 0 ? named : executable.sections.filter(({ isWritable }) => isWritable)
  for (const { content } of searched)
    for (let at = content.indexOf(MAGIC); at >= 0; at = content.indexOf(MAGIC, at + ALIGNMENT)) {
      if (at % ALIGNMENT !== 0 || at + HEADER_BYTES > content.length) continue
      const flags = content[at + 15] ?? 0
      const info =
        (flags & HAS_INLINE_TEXTS) === 0
          ? pointedInfo(executable, content, at, (flags & IS_BIG_ENDIAN) !== 0)
          : inlineInfo(content, at + HEADER_BYTES)
      if (info !== undefined && info.goVersion !== '') return info
    }
  return undefined
}

function inlineInfo(content: Buffer, at: number): BuildInfo | undefined {
  const version = textWithLength(content, at)
  const modules = version === undefined ? undefined : textWithLength(content, version.end)
  return version === undefined
    ? undefined
    : { goVersion: version.text, modules: withoutMarkers(modules?.text ?? '') }
}

/** A length in base 128, as `binary.Uvarint` reads it, and the text. */
function textWithLength(content: Buffer, at: number) {
  let length = 0
  for (let shift = 0; shift < 35; shift += 7) {
    const byte = content[at++] ?? 0
    length += (byte & 0x7f) * 2 ** shift
    if ((byte & 0x80) === 0) break
  }
  const end = at + length
  return length > layerLimits.executableListBytesMax || end > content.length
    ? undefined
    : { text: content.toString('latin1', at, end), end }
}

/** Two pointers at 16: to the Go strings (pointer and length) of the version and of the modules. */
function pointedInfo(
  executable: Executable,
  content: Buffer,
  at: number,
  isBigEndian: boolean,
): BuildInfo | undefined {
  const bytes = content[at + 14]
  if (bytes !== 4 && bytes !== 8) return undefined
  const pointer = (from: Buffer, offset: number) => {
    if (bytes === 4) return isBigEndian ? from.readUInt32BE(offset) : from.readUInt32LE(offset)
    return Number(isBigEndian ? from.readBigUInt64BE(offset) : from.readBigUInt64LE(offset))
  }
  const textAt = (address: number) => {
    const header = executable.atAddress(address, 2 * bytes)
    if (header === undefined) return ''
    const length = pointer(header, bytes)
    if (length > layerLimits.executableListBytesMax) return ''
    return executable.atAddress(pointer(header, 0), length)?.toString('latin1') ?? ''
  }
  return {
    goVersion: textAt(pointer(content, at + 16)),
    modules: withoutMarkers(textAt(pointer(content, at + 16 + bytes))),
  }
}

const MARKER_BYTES = 16

/** The list is between two markers of 16 bytes, and ends with a line feed. */
function withoutMarkers(text: string): string {
  return text.length > 2 * MARKER_BYTES && text.at(-MARKER_BYTES - 1) === '\n'
    ? Buffer.from(text.slice(MARKER_BYTES, -MARKER_BYTES), 'latin1').toString()
    : ''
}

interface Module {
  readonly path: string
  readonly version: string
}

/** Lines of tab-separated fields: `mod` is the main module, `dep` a dependency, and `=>` replaces the one before it. */
function modulesOf(text: string): FoundPackage[] {
  const modules: Module[] = []
  const settings = new Map<string, string>()
  let program = ''
  let hasMain = false
  for (const line of text.split('\n')) {
    const [kind, path = '', version = ''] = line.split('\t')
    if (kind === 'mod') hasMain = true
    if (kind === 'path') program = path
    else if (kind === 'mod' || kind === 'dep') modules.push({ path, version })
    // A folder takes the place of a module without changing what it is.
    else if (kind === '=>' && !/^[./]/.test(path)) modules.splice(-1, 1, { path, version })
    else if (kind === 'build') {
      const [, name = '', value = ''] = /^([^=]+)=(.*)$/.exec(path) ?? []
      settings.set(name, value)
    }
  }
  // Programs that were built without modules, as Debian does, have only the path of their package.
  if (!hasMain && program !== 'command-line-arguments') modules.unshift({ path: program, version: '' })
  return modules
    .filter(({ path }) => path !== '')
    .map(({ path, version }) =>
      goPackage(path, version === '(devel)' ? (pseudoVersion(settings) ?? '') : version),
    )
}

/** A version of a commit without a tag, as Go writes it, if the program was built in a repository. */
function pseudoVersion(settings: ReadonlyMap<string, string>): string | undefined {
  const revision = settings.get('vcs.revision')
  const time = new Date(settings.get('vcs.time') ?? '')
  if (revision === undefined || Number.isNaN(time.getTime())) return undefined
  return `v0.0.0-${time.toISOString().replaceAll(/[-:T]|\..*/g, '')}-${revision.slice(0, 12)}`
}

function goPackage(path: string, version: string): FoundPackage {
  const parts = path.split('/')
  const name = parts.pop() ?? ''
  return { type: 'golang', namespace: parts.join('/'), name, version }
}

function standardLibrary(goVersion: string): FoundPackage[] {
  const [, version] = /^go(\d\S*)/.exec(goVersion) ?? []
  return version === undefined ? [] : [{ type: 'golang', name: 'stdlib', version, license: 'BSD-3-Clause' }]
}
