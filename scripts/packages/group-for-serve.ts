import type { Plugin } from 'rolldown'
import { modulesLoadedBy, type StartGroups } from './group-by-start.ts'

/** The modules that every start of a server on SQLite imports, which import all others that it loads. */
const entryModules = [
  'cli/src/main',
  'server/src/commands/serve',
  'server/src/commands/serving/serve-alone',
  'server/src/storage/engines/sqlite/driver',
  'server/src/storage/engines/sqlite/file-lock',
]

/**
 * Joins the modules that a start of the server loads into three files (ADR 117). The others are left to the bundler. `root`: the directory of
 * the package.
 */
export function groupForServe(root: string): StartGroups {
  let loaded: ReadonlySet<string> = new Set()
  const plugin: Plugin = {
    name: 'group-for-serve',
    buildEnd() {
      const modules = [...this.getModuleIds()]
      const entries = entryModules.map((entry) => {
        const found = modules.find((id) => id.endsWith(`/${entry}.js`))
        if (found === undefined) throw new Error(`the package has no module ${entry}`)
        return found
      })
      loaded = modulesLoadedBy(this, entries)
    },
  }
  return { plugin, fileOf: (module) => (loaded.has(module) ? fileOf(root, module) : null) }
}

/** Names of the files. */
export const serveFiles: readonly string[] = ['libraries', 'server', 'shared']

/** Returns the name of a file. Compiling one large file for the first time would leave 7 MB more memory. */
function fileOf(root: string, module: string): string {
  if (!module.startsWith(`${root}/`)) return 'libraries'
  return module.includes('/packages/server/') ? 'server' : 'shared'
}
