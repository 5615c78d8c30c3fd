import { type FileContents, packageProblem } from '../found-package.ts'
import { isExecutable, MAGIC_BYTES } from '../languages/executable.ts'
import type { LayerLimits } from '../limits.ts'
import { entryPath, splitPath } from './entry-path.ts'
import { FileCollector } from './file-collector.ts'
import { databasePaths, executableReader, type FileReader, readerOf } from './file-readers.ts'
import type { FileTree } from './file-tree.ts'
import type { ImageLayer } from './image-layer.ts'
import type { ProblemList } from './problem-list.ts'
import { LimitReached, type ReadBudget } from './read-budget.ts'
import { readTarEntries, type TarEntry } from './tar-entries.ts'
import { unpackLayer } from './unpack-layer.ts'

export interface LayerReaderParts {
  readonly tree: FileTree
  readonly problems: ProblemList
  readonly budget: ReadBudget
  readonly limits: LayerLimits
  readonly signal: AbortSignal | undefined
}

const WHITEOUT = '.wh.'
const OPAQUE = '.wh..wh..opq'
const RESERVED = '.wh..wh.'

/** Applies the entries of layers to a tree (OCI image specification, "Image Layer Filesystem Changeset"), and reads the files that list packages. */
export class LayerReader {
  readonly #parts: LayerReaderParts
  readonly #collector: FileCollector
  #packages = 0
  #sboms = 0
  #sbomBytes = 0
  #resolved = { folder: '', path: '', changes: -1 }

  constructor(parts: LayerReaderParts) {
    this.#parts = parts
    this.#collector = new FileCollector(parts.budget)
  }

  /** `index`: place of the layer, from the base up. */
  async readLayer(layer: ImageLayer, index: number): Promise<void> {
    await this.#readEntries(layer, async (path, entry) => {
      await this.#apply(path, entry, index)
      return true
    })
  }

  /** Reads files that are known by the name of a link only: databases behind symbolic links, and hard links to a file with another name. */
  async readLinkedFiles(layers: readonly ImageLayer[]): Promise<void> {
    const { tree, problems } = this.#parts
    const hardLinks = [...tree.hardLinks()]
    const databases = new Map<string, string>()
    for (const path of databasePaths) {
      const target = tree.resolve(path, true)
      if (target === undefined) problems.add(path, 'its links form a cycle')
      // A target with a reader of its own was read by its name, or is not there.
      else if (target !== path && readerOf(target) === undefined) databases.set(target, path)
    }
    for (const [index, layer] of [...layers.entries()].reverse()) {
      const wanted = new Map(databases)
      for (const link of hardLinks) if (link.layer === index) wanted.set(link.target, link.path)
      if (wanted.size === 0) continue
      await this.#readEntries(layer, async (path, entry) => {
        const name = wanted.get(path)
        const reader = name === undefined ? undefined : readerOf(name)
        if (name === undefined || reader === undefined || entry.kind !== 'file') return true
        this.#remember(name, index, await this.#read(entry, name, reader))
        wanted.delete(path)
        databases.delete(path)
        return wanted.size > 0
      })
    }
    for (const { path, target } of tree.hardLinks())
      problems.add(path, `it is a hard link to ${target}, which its layer does not contain`)
  }

  /** Calls `visit` for each entry with a valid path, until it returns false. */
  async #readEntries(
    { digest, mediaType, open }: ImageLayer,
    visit: (path: string, entry: TarEntry) => Promise<boolean>,
  ): Promise<void> {
    const { problems, budget, signal, limits } = this.#parts
    if (mediaType.endsWith('+encrypted')) {
      problems.add('', `layer ${digest} is encrypted`)
      return
    }
    try {
      for await (const entry of readTarEntries(unpackLayer(open(), budget))) {
        budget.addEntry()
        const named = entryPath(entry.name, limits)
        if ('problem' in named) problems.add(entry.name, named.problem)
        else if (named.path !== '') {
          const path = this.#resolve(named.path)
          if (path === undefined) problems.add(named.path, 'the links of its folder form a cycle')
          else if (!(await visit(path, entry))) return
        }
      }
    } catch (error) {
      signal?.throwIfAborted()
      if (error instanceof LimitReached) throw error
      problems.add('', `layer ${digest} ${layerReason(error)}`)
    }
  }

  /** Entries of a folder follow each other, so that its links are resolved once. */
  #resolve(path: string): string | undefined {
    const { tree } = this.#parts
    const [folder, name] = splitPath(path)
    if (folder === '') return path
    if (this.#resolved.folder !== folder || this.#resolved.changes !== tree.changes) {
      const resolved = tree.resolve(folder, true)
      if (resolved === undefined) return undefined
      this.#resolved = { folder, path: resolved, changes: tree.changes }
    }
    return this.#resolved.path === '' ? name : `${this.#resolved.path}/${name}`
  }

  async #apply(path: string, entry: TarEntry, index: number): Promise<void> {
    const { tree, problems, limits } = this.#parts
    const [folder, name] = splitPath(path)
    if (name.startsWith(WHITEOUT)) {
      if (name === OPAQUE) tree.removeChildren(folder, index)
      else if (!name.startsWith(RESERVED)) {
        const deleted = name.slice(WHITEOUT.length)
        if (['', '.', '..'].includes(deleted)) problems.add(path, 'it deletes no file')
        else tree.remove(folder === '' ? deleted : `${folder}/${deleted}`, index)
      }
      return
    }
    switch (entry.kind) {
      case 'directory':
        tree.addFolder(path)
        return
      case 'symbolic link':
        tree.remove(path)
        if (entry.target.includes('\0') || Buffer.byteLength(entry.target) > limits.pathBytesMax)
          problems.add(path, 'it is a link to an invalid name')
        else this.#requireSpace(tree.add(path, index, { link: entry.target }))
        return
      case 'hard link':
        this.#applyHardLink(path, entry, index)
        return
      case 'file':
        await this.#applyFile(path, entry, index)
        return
      case 'other':
        tree.remove(path)
    }
  }

  #applyHardLink(path: string, { target }: TarEntry, index: number): void {
    const { tree, problems, limits } = this.#parts
    const named = entryPath(target, limits)
    const linked = 'problem' in named ? undefined : this.#resolve(named.path)
    if (linked === path) return
    tree.remove(path)
    if (linked === undefined) {
      problems.add(path, 'it is a hard link to an invalid name')
      return
    }
    const contents = tree.contentsAt(linked)
    if (contents !== undefined) this.#requireSpace(tree.add(path, index, { contents }))
    else if (readerOf(path) !== undefined) this.#requireSpace(tree.add(path, index, { hardLink: linked }))
  }

  async #applyFile(path: string, entry: TarEntry, index: number): Promise<void> {
    this.#parts.tree.remove(path)
    const reader = readerOf(path)
    const contents =
      reader === undefined ? await this.#readExecutable(entry, path) : await this.#read(entry, path, reader)
    this.#remember(path, index, contents)
  }

  async #readExecutable(entry: TarEntry, path: string): Promise<FileContents | undefined> {
    if (entry.bytes < MAGIC_BYTES) return undefined
    const { executableBytesMax: max } = this.#parts.limits
    const content = await this.#collector.collect(entry.read(), max, {
      headBytes: MAGIC_BYTES,
      test: isExecutable,
    })
    if (content === 'not wanted') return undefined
    return content === 'too large' ? tooLarge(max) : this.#parse(executableReader, content, path)
  }

  async #read(entry: TarEntry, path: string, reader: FileReader): Promise<FileContents | undefined> {
    const max = this.#parts.limits[reader.limit]
    if (entry.isSparse) return { packages: [], problems: ['it is stored as a sparse file'] }
    if (entry.bytes === 0) return undefined
    if (entry.bytes > max) return tooLarge(max)
    const content = await this.#collector.collect(entry.read(), max)
    return typeof content === 'string' ? tooLarge(max) : this.#parse(reader, content, path)
  }

  async #parse(reader: FileReader, content: Buffer, path: string): Promise<FileContents> {
    const { limits, signal, budget } = this.#parts
    let contents: FileContents
    try {
      contents = await reader.read(content, path, signal)
    } catch (error) {
      signal?.throwIfAborted()
      contents = { packages: [], problems: [(error as Error).message] }
    }
    budget.check()
    const problems = new Set(contents.problems)
    const packages = contents.packages.filter((found) => {
      const problem = packageProblem(found, limits)
      if (problem !== undefined) problems.add(problem)
      return problem === undefined
    })
    return {
      ...contents,
      problems: [...problems],
      packages: packages.map((found) => ({
        ...found,
        license: (found.license ?? '').slice(0, limits.packageLicenseCharsMax),
      })),
    }
  }

  #remember(path: string, index: number, contents: FileContents | undefined): void {
    if (contents === undefined) return
    const { packages, problems, distribution, license = '', embeddedSbom } = contents
    if (packages.length + problems.length === 0 && license === '' && !(distribution ?? embeddedSbom)) return
    const { packagesMax, embeddedSbomsMax, embeddedSbomsBytesMax } = this.#parts.limits
    this.#packages += packages.length
    if (this.#packages > packagesMax) throw new LimitReached(`it has more than ${packagesMax} packages`)
    if (embeddedSbom !== undefined) {
      this.#sboms++
      this.#sbomBytes += embeddedSbom.byteLength
      if (this.#sboms > embeddedSbomsMax || this.#sbomBytes > embeddedSbomsBytesMax)
        throw new LimitReached('it contains too many SBOMs')
    }
    this.#requireSpace(this.#parts.tree.add(path, index, { contents }))
  }

  #requireSpace(isAdded: boolean): void {
    const { rememberedPathsMax } = this.#parts.limits
    if (!isAdded) throw new LimitReached(`it has more than ${rememberedPathsMax} links and package files`)
  }
}

function tooLarge(bytesMax: number): FileContents {
  return { packages: [], problems: [`it has more than ${bytesMax} bytes`] }
}

const TRUNCATED = 'is truncated'
const reasons: Readonly<Record<string, string>> = {
  Z_DATA_ERROR: 'is damaged: it cannot be unpacked',
  Z_BUF_ERROR: TRUNCATED,
  'Unexpected end of data': TRUNCATED,
  // The end of the archive within a file that is read.
  'Stream was destroyed': TRUNCATED,
}

function layerReason(error: unknown): string {
  const { code = '', message = '' } = error as NodeJS.ErrnoException
  if (code.startsWith('ZSTD_')) return 'is damaged: it cannot be unpacked'
  if (message.startsWith('Invalid tar header')) return 'is damaged: it has an invalid tar header'
  return reasons[code] ?? reasons[message] ?? `could not be read to its end: ${message}`
}
