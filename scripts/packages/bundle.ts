import { chmodSync, copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire, findPackageJSON, isBuiltin } from 'node:module'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { type OutputChunk, type Plugin, rolldown } from 'rolldown'
import { groupByStart, type StartGroups } from './group-by-start.ts'
import { groupForServe, serveFiles } from './group-for-serve.ts'
import { lazyDescriptors } from './lazy-descriptors.ts'
import { LOAD, PROGRAM, PROGRAM_MODE, relativeName, START } from './paths.ts'

/**
 * `node scripts/packages/bundle.ts DIRECTORY KEPT PACKAGE...`: joins the modules of a linked package into a few files in lib/, because most
 * of the time of a start is finding and loading modules. The named packages of the registry become part of these files, the others stay
 * imports. Modules in the directory KEPT also stay as they are, for importers of the package.
 */

const LIBRARY = 'lib'
/** `berth serve` has files of its own, because it loads most modules of the server (ADR 117). */
const SERVE_LIBRARY = 'lib/serve'
/** The program of the workers of a server. */
const WORKER = '/server/src/commands/serving/worker.js'
/** References of files, relative to a module. */
const fileReferences = [
  /\bnew URL\(\s*'(\.[^']+)',\s*import\.meta\.url\s*\)/g,
  /\bimport\.meta\.resolve\(\s*'(\.[^']+)'\s*\)/g,
]

const [, , directory = '', kept = '', ...inlined] = process.argv
const root = resolve(directory)
const program = join(root, PROGRAM)
const bundled = new Set<string>()
/** The files in the libraries that threads and processes start with. */
const startedFiles = new Set<string>()

const isFile = (name: string) => name.startsWith('.') || name.startsWith('/')
const isInlined = (name: string) => inlined.some((one) => name === one || name.startsWith(`${one}/`))
/** Functions for syntax that the bundler rewrites; it contains them. */
const isHelper = (name: string) => name.startsWith('@oxc-project/runtime/')
/** Modules of packages that are part of the bundle import each other by file. */
const isExternal = (name: string) => !isFile(name) && !isInlined(name) && !isHelper(name)

/** The modules that threads and processes start with, by their names in a library. */
type StartedModules = Map<string, string>

/**
 * All bundled modules are in a library: corrects their references of files, and bundles the modules that threads and processes start with.
 * Workers start with what a server does, and threads with little.
 */
function linkFiles(library: string, started: StartedModules): Plugin {
  return {
    name: 'link-files',
    /** The package may be built elsewhere: its dependencies are those of this repository. */
    async resolveId(name, importer) {
      if (!isInlined(name) || importer?.startsWith(`${root}/`) !== true) return
      return await this.resolve(name, fileURLToPath(import.meta.url))
    },
    transform(code, id) {
      if (!id.startsWith(`${root}/`)) return
      bundled.add(id)
      /** Returns the path of a module, which keeps its name in its library. */
      const start = (module: string) => {
        const fileName = basename(module).replace(/\.js$/, '.cjs')
        const targetLibrary = module.endsWith(WORKER) ? SERVE_LIBRARY : LIBRARY
        const known = started.get(fileName)
        if (known !== undefined && known !== module) throw new Error(`two modules are named ${fileName}`)
        if (known === undefined && targetLibrary === library) {
          this.emitFile({ type: 'chunk', id: module, fileName })
          started.set(fileName, module)
        }
        const path = join(root, targetLibrary, fileName)
        startedFiles.add(path)
        return path
      }
      const link = (reference: string, name: string) => {
        const file = join(dirname(id), name)
        const target = isStarted(file) ? start(file) : file
        return reference.replace(
          name,
          `${relativeName(join(root, library), target)}${name.endsWith('/') ? '/' : ''}`,
        )
      }
      const linked = fileReferences.reduce((text, pattern) => text.replaceAll(pattern, link), code)
      return { code: linked.replaceAll(resolveCall, resolveInCommonJs) }
    },
  }
}

const resolveCall = /\bimport\.meta\.resolve\(('[^']+')\)/g

function resolveInCommonJs(_: string, name: string): string {
  return name.startsWith("'.")
    ? `new URL(${name}, import.meta.url).href`
    : `require('node:url').pathToFileURL(require.resolve(${name})).href`
}

function isStarted(file: string): boolean {
  return file.endsWith('.js') && file !== program && !/\/(page|static)\//.test(file)
}

const COLLATOR = 'const { compare: localeCompare } = new Intl.Collator()'

/**
 * packageurl-js compares eight positions with a collator when it is loaded, which loads locale data (ICU): 2.4 MB of memory, and 2 % of
 * the time of a start.
 */
function noCollator(): Plugin {
  let hasReplaced = false
  return {
    name: 'no-collator',
    transform(code, id) {
      if (!id.includes('/packageurl-js/') || !code.includes(COLLATOR)) return
      const compare = 'const localeCompare = (one, other) => (one < other ? -1 : Number(one > other))'
      hasReplaced = true
      return { code: code.replace(COLLATOR, compare) }
    },
    buildEnd() {
      if (isInlined('packageurl-js') && !hasReplaced)
        throw new Error('the collator of packageurl-js was not found')
    },
  }
}

/**
 * Bundles the program into a library, and returns its files. `createGroups` gets the modules that threads and processes start with.
 */
async function bundle(
  library: string,
  createGroups: (started: StartedModules) => StartGroups,
): Promise<readonly OutputChunk[]> {
  const started: StartedModules = new Map()
  const groups = createGroups(started)
  const build = await rolldown({
    cwd: root,
    // The paths of a build would be in the comments, and so in the names of the files.
    experimental: { attachDebugInfo: 'none' },
    input: { program },
    platform: 'node',
    preserveEntrySignatures: 'allow-extension',
    external: isExternal,
    plugins: [linkFiles(library, started), groups.plugin, noCollator(), lazyDescriptors()],
    // Slow builds are no mistake; a start of the server loads modules that others load on demand.
    checks: { bundlerTimings: false, ineffectiveDynamicImport: false },
    onLog(level, log) {
      if (level === 'warn') throw new Error(log.message)
    },
  })
  const { output } = await build.write({
    dir: join(root, library),
    // Loading these takes less time than loading ECMAScript modules (ADR 117).
    format: 'cjs',
    // `vm.Script` would need an experimental option for `import()`. The commands keep it: older versions of Node, which run only them, cannot
    // require ECMAScript modules.
    dynamicImportInCjs: library !== SERVE_LIBRARY,
    entryFileNames: '[name].cjs',
    chunkFileNames: '[name]-[hash].cjs',
    codeSplitting: {
      groups: [{ debugName: 'start', name: groups.fileOf }],
      includeDependenciesRecursively: false,
    },
    // V8 keeps the text of all modules in memory, in twice the memory if it has a character above U+00FF.
    charset: 'ascii',
    comments: { annotation: false, jsdoc: false, legal: true },
    // Errors and logs contain the names of functions and classes.
    keepNames: true,
  })
  await build.close()
  const chunks = output.filter((file) => file.type === 'chunk')
  for (const { imports } of chunks) imports.forEach(requireCommonJs)
  return chunks
}

/** Lets the files that every start of the server runs be loaded with their cached code (ADR 118). */
function loadFromCache(chunks: readonly OutputChunk[]): void {
  const names = new Set(
    chunks.filter(({ name }) => serveFiles.includes(name)).map(({ fileName }) => fileName),
  )
  if (names.size !== serveFiles.length) throw new Error(`a start does not load ${serveFiles.join(', ')}`)
  copyFileSync(LOAD, join(root, SERVE_LIBRARY, basename(LOAD)))
  for (const { fileName } of chunks) {
    const file = join(root, SERVE_LIBRARY, fileName)
    const code = readFileSync(file, 'utf8')
      .replaceAll(requiredFile, (required, name: string) =>
        names.has(name) ? `require("./${basename(LOAD)}")("${name}")` : required,
      )
      // The bundler takes what these return for a CommonJS module.
      .replaceAll(convertedModule, (converted, required: string, name: string) =>
        isEcmaScriptModule(name) ? required : converted,
      )
    writeFileSync(file, code)
  }
}

const requiredFile = /\brequire\("\.\/([^"]+)"\)/g
const convertedModule = /\brequire_rolldown_runtime\.__toESM\((require\("([^"]+)"\)), 1\)/g

/** Throws for an ECMAScript module: what `require` returns for its default export is another value. */
function requireCommonJs(name: string): void {
  if (isEcmaScriptModule(name))
    throw new Error(`${name} has ECMAScript modules only: import it with import()`)
}

function isEcmaScriptModule(name: string): boolean {
  if (isBuiltin(name) || name.endsWith('.cjs')) return false
  const path = createRequire(import.meta.url).resolve(name)
  const { type } = JSON.parse(readFileSync(findPackageJSON(pathToFileURL(path)) ?? '', 'utf8'))
  return path.endsWith('.mjs') || (type === 'module' && path.endsWith('.js'))
}

await bundle(LIBRARY, (started) => groupByStart(root, started))
loadFromCache(await bundle(SERVE_LIBRARY, () => groupForServe(root)))
for (const file of startedFiles) if (!existsSync(file)) throw new Error(`no bundle contains ${file}`)

for (const module of bundled) if (!relative(root, module).startsWith(kept)) rmSync(module)
copyFileSync(START, program)
chmodSync(program, PROGRAM_MODE)
// The manifest of the package declares ECMAScript modules, for those that import it.
writeFileSync(join(dirname(program), 'package.json'), '{ "type": "commonjs" }\n')
