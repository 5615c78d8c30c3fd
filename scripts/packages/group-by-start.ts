import type { Plugin } from 'rolldown'
import { PROGRAM } from './paths.ts'

/** Decides which modules become one file of the bundle. */
export interface StartGroups {
  readonly plugin: Plugin
  /** Returns the name of the file of a module; null leaves it to the bundler. */
  readonly fileOf: (module: string) => string | null
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
      /** Returns what an import of a module loads. */
      const loadedBy = (start: string): ReadonlySet<string> => {
        const loaded = new Set([start])
        // The loop also visits what it adds.
        for (const id of loaded)
          for (const imported of this.getModuleInfo(id)?.importedIds ?? []) loaded.add(imported)
        return loaded
      }
      const modules = [...this.getModuleIds()]
      for (const { file, root: end, isAfter } of roots) {
        const starting = modules.find((id) => id.endsWith(end))
        if (starting === undefined) throw new Error(`the package has no module ${end}`)
        const starts = modules
          .filter((id) => this.getModuleInfo(id)?.dynamicImporters.some((importer) => !isAfter(importer)))
          .concat(...started.values())
          .sort((a, b) => (stableName(a) < stableName(b) ? -1 : 1))
          .map(loadedBy)
        const keyOf = (id: string) => starts.map((loaded) => (loaded.has(id) ? '1' : '0')).join('')
        const ownKey = keyOf(starting)
        const own = [...loadedBy(starting)].filter((id) => !files.has(id))
        const keys = [...new Set(own.map(keyOf))].sort()
        for (const id of own) {
          const key = keyOf(id)
          files.set(id, key === ownKey ? file : `${file}-${keys.indexOf(key)}`)
        }
      }
    },
  }
  return { plugin, fileOf: (module) => files.get(module) ?? null }
}
