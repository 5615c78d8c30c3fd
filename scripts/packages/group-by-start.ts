import type { Plugin, PluginContext } from 'rolldown'
import { type ModuleGroup, mergeGroups } from './merge-groups.ts'
import { PROGRAM } from './paths.ts'

/** Decides which modules become one file of the bundle. */
export interface StartGroups {
  readonly plugin: Plugin
  /** Returns the name of the file of a module; null leaves it to the bundler. */
  readonly fileOf: (module: string) => string | null
}

const UNNEEDED_BYTES = { eachMax: 16_384, totalMax: 65_536 }

/** Returns these modules, and all that importing them loads. */
export function modulesLoadedBy(
  graph: Pick<PluginContext, 'getModuleInfo'>,
  starts: readonly string[],
): ReadonlySet<string> {
  const loaded = new Set(starts)
  // The loop also visits what it adds.
  for (const id of loaded)
    for (const imported of graph.getModuleInfo(id)?.importedIds ?? []) loaded.add(imported)
  return loaded
}

/** What most time of a start loads: a module, and the modules that import others only after it is loaded. */
const roots = [
  { file: 'command', root: '/cli/src/main.js', isAfter: (module: string) => !module.endsWith(`/${PROGRAM}`) },
  {
    file: 'server',
    root: '/server/src/commands/serving/serve-node.js',
    isAfter: (module: string) => /\/server\/src\/(?!commands\/)/.test(module),
  },
]

/**
 * Joins the modules that the same commands, threads and processes start with (ADR 101). Left to the bundler, each import() of a library that
 * the running server rarely needs, and each command, would split what a start loads, into more than a hundred files. `started` has the
 * modules that threads and processes start with, after all modules are parsed. `root` is the directory of the package.
 */
export function groupByStart(root: string, started: ReadonlyMap<string, string>): StartGroups {
  const files = new Map<string, string>()
  /** Is the same in any directory. */
  const stableName = (module: string) => module.split('/node_modules/').at(-1)!.replace(`${root}/`, '')
  const plugin: Plugin = {
    name: 'group-by-start',
    buildEnd() {
      const loadedBy = (start: string) => modulesLoadedBy(this, [start])
      const isExternal = (id: string) => (this.getModuleInfo(id)?.code ?? null) === null
      const modules = [...this.getModuleIds()].filter((id) => !isExternal(id))
      /** Returns what each start loads that some module imports; the order depends on no path outside of the package. */
      const startsOf = (isImporter: (module: string) => boolean) =>
        modules
          .filter((id) => this.getModuleInfo(id)?.dynamicImporters.some(isImporter))
          .concat(...started.values())
          .sort((a, b) => (stableName(a) < stableName(b) ? -1 : 1))
          .map(loadedBy)
      for (const { file, root: end, isAfter } of roots) {
        const starting = modules.find((id) => id.endsWith(end))
        if (starting === undefined) throw new Error(`the package has no module ${end}`)
        const starts = startsOf((importer) => !isAfter(importer))
        const keyOf = (id: string) => starts.map((loaded) => (loaded.has(id) ? '1' : '0')).join('')
        const ownKey = keyOf(starting)
        const own = [...loadedBy(starting)].filter((id) => !files.has(id) && !isExternal(id))
        const keys = [...new Set(own.map(keyOf))].sort()
        for (const id of own) {
          const key = keyOf(id)
          files.set(id, key === ownKey ? file : `${file}-${keys.indexOf(key)}`)
        }
      }
      const nameOf = (id: string) => files.get(id) ?? id
      const groups = new Map<string, ModuleGroup & { readonly imports: Set<string> }>()
      for (const [id, file] of files) {
        const { code, importedIds } = this.getModuleInfo(id) ?? { code: '', importedIds: [] }
        const { bytes, imports } = groups.get(file) ?? { bytes: 0, imports: new Set<string>() }
        for (const imported of importedIds) {
          // A start must not load a module outside of the bundle for a merge.
          if (!files.has(imported))
            groups.set(imported, { bytes: Number.POSITIVE_INFINITY, imports: new Set() })
          if (nameOf(imported) !== file) imports.add(nameOf(imported))
        }
        groups.set(file, { bytes: bytes + (code?.length ?? 0), imports })
      }
      const starts = startsOf(() => true).map((loaded) => new Set([...loaded].map(nameOf)))
      const sorted = new Map([...groups].sort(([a], [b]) => (a < b ? -1 : 1)))
      const names = mergeGroups(sorted, starts, UNNEEDED_BYTES)
      for (const [id, file] of files) files.set(id, names.get(file) ?? file)
    },
  }
  return { plugin, fileOf: (module) => files.get(module) ?? null }
}
