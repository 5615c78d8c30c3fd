import type { Plugin } from 'rolldown'

/** Decides which modules of the server become one file of the bundle. */
export interface StartGroups {
  readonly plugin: Plugin
  /** Returns the name of the file of a module; null leaves it to the bundler. */
  readonly fileOf: (module: string) => string | null
}

const SERVER = '/server/src/commands/serving/serve-node.js'
/** Modules of the running server, which imports libraries when it needs them. */
const isServing = (module: string) => /\/server\/src\/(?!commands\/)/.test(module)

/**
 * Joins the modules of the server that the same commands, threads and processes start with (ADR 101). Left to the bundler, each import() of
 * a library that the running server rarely needs would split what it starts with, into more than a hundred files. `started` has the modules
 * that threads and processes start with, after all modules are parsed. `root` is the directory of the package.
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
      const server = modules.find((id) => id.endsWith(SERVER))
      if (server === undefined) return
      const starts = modules
        .filter((id) => this.getModuleInfo(id)?.dynamicImporters.some((importer) => !isServing(importer)))
        .concat(...started.values())
        .sort((a, b) => (stableName(a) < stableName(b) ? -1 : 1))
        .map(loadedBy)
      const keyOf = (id: string) => starts.map((loaded) => (loaded.has(id) ? '1' : '0')).join('')
      const serverKey = keyOf(server)
      const keys = [...new Set([...loadedBy(server)].map(keyOf))].sort()
      for (const id of loadedBy(server)) {
        const key = keyOf(id)
        files.set(id, key === serverKey ? 'server' : `server-${keys.indexOf(key)}`)
      }
    },
  }
  return { plugin, fileOf: (module) => files.get(module) ?? null }
}
