import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Plugin, rolldown } from 'rolldown'
import { groupByStart } from './group-by-start.ts'
import { PROGRAM, PROGRAM_MODE, relativeName } from './paths.ts'

/**
 * `node scripts/packages/bundle.ts DIRECTORY KEPT PACKAGE...`: joins the modules of a linked package into a few files in lib/, because most
 * of the time of a start is finding and loading modules. The named packages of the registry become part of these files, the others stay
 * imports. Modules in the directory KEPT also stay as they are, for importers of the package.
 */

const LIBRARY = 'lib'
/** References of files, relative to a module. */
const fileReferences = [
  /\bnew URL\(\s*'(\.[^']+)',\s*import\.meta\.url\s*\)/g,
  /\bimport\.meta\.resolve\(\s*'(\.[^']+)'\s*\)/g,
]

const [, , directory = '', kept = '', ...inlined] = process.argv
const root = resolve(directory)
const library = join(root, LIBRARY)
const program = join(root, PROGRAM)
/** Modules that references start in threads and processes of their own, by their names in lib/. */
const started = new Map<string, string>()
const bundled = new Set<string>()

const isFile = (name: string) => name.startsWith('.') || name.startsWith('/')
const isInlined = (name: string) => inlined.some((one) => name === one || name.startsWith(`${one}/`))
/** Functions for syntax that the bundler rewrites; it contains them. */
const isHelper = (name: string) => name.startsWith('@oxc-project/runtime/')
/** Modules of packages that are part of the bundle import each other by file. */
const isExternal = (name: string) => !isFile(name) && !isInlined(name) && !isHelper(name)

/** All bundled modules are in lib/: corrects their references of files, and bundles the modules that they start. */
const linkFiles: Plugin = {
  name: 'link-files',
  /** The package may be built elsewhere: its dependencies are those of this repository. */
  async resolveId(name, importer) {
    if (!isInlined(name) || importer?.startsWith(`${root}/`) !== true) return
    return await this.resolve(name, fileURLToPath(import.meta.url))
  },
  transform(code, id) {
    if (!id.startsWith(`${root}/`)) return
    bundled.add(id)
    const link = (reference: string, name: string) => {
      const file = join(dirname(id), name)
      const target = isStarted(file) ? start(file, (chunk) => this.emitFile(chunk)) : file
      return reference.replace(name, `${relativeName(library, target)}${name.endsWith('/') ? '/' : ''}`)
    }
    return { code: fileReferences.reduce((text, pattern) => text.replaceAll(pattern, link), code) }
  },
}

function isStarted(file: string): boolean {
  return file.endsWith('.js') && file !== program && !/\/(page|static)\//.test(file)
}

/** Returns the path of a module in lib/, where it keeps its name. */
function start(
  module: string,
  emit: (chunk: { type: 'chunk'; id: string; fileName: string }) => void,
): string {
  const fileName = basename(module)
  const known = started.get(fileName)
  if (known !== undefined && known !== module) throw new Error(`two modules are named ${fileName}`)
  if (known === undefined) emit({ type: 'chunk', id: module, fileName })
  started.set(fileName, module)
  return join(library, fileName)
}

const HTTP_IMPORT = /^import (?:(\w+)|\{([^}]*)\}) from "node:http";$/gm

/**
 * Reads the exports of node:http without an import: an import evaluates all of them, and two load the fetch of Node, which takes 6 % of the
 * time of a start, and which the server does not use.
 */
const importLessOfHttp: Plugin = {
  name: 'import-less-of-http',
  renderChunk(code) {
    const rewritten = code.replaceAll(HTTP_IMPORT, (_, whole: string | undefined, names: string) => {
      const binding = whole ?? `{${names.replaceAll(' as ', ': ')}}`
      return `const ${binding} = process.getBuiltinModule("node:http");`
    })
    if (/from "node:http"/.test(rewritten)) throw new Error('an import of node:http was not rewritten')
    return { code: rewritten }
  },
}

const COLLATOR = 'const { compare: localeCompare } = new Intl.Collator()'

/**
 * packageurl-js compares eight positions with a collator when it is loaded, which loads locale data (ICU): 2.4 MB of memory, and 2 % of
 * the time of a start.
 */
const noCollator: Plugin = {
  name: 'no-collator',
  transform(code, id) {
    if (!id.includes('/packageurl-js/') || !code.includes(COLLATOR)) return
    const compare = 'const localeCompare = (one, other) => (one < other ? -1 : Number(one > other))'
    hasReplacedCollator = true
    return { code: code.replace(COLLATOR, compare) }
  },
  buildEnd() {
    if (isInlined('packageurl-js') && !hasReplacedCollator)
      throw new Error('the collator of packageurl-js was not found')
  },
}
let hasReplacedCollator = false

const groups = groupByStart(root, started)

const build = await rolldown({
  cwd: root,
  // The paths of a build would be in the comments, and so in the names of the files.
  experimental: { attachDebugInfo: 'none' },
  input: { program },
  platform: 'node',
  preserveEntrySignatures: 'allow-extension',
  external: isExternal,
  plugins: [linkFiles, groups.plugin, importLessOfHttp, noCollator],
  onLog(level, log) {
    if (level === 'warn') throw new Error(log.message)
  },
})
await build.write({
  dir: library,
  format: 'esm',
  entryFileNames: '[name].js',
  chunkFileNames: '[name]-[hash].js',
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

for (const module of bundled) if (!relative(root, module).startsWith(kept)) rmSync(module)
const [shebang = ''] = readFileSync(join(library, 'program.js'), 'utf8').split('\n')
writeFileSync(
  program,
  `${shebang}\nimport '${relativeName(dirname(program), join(library, 'program.js'))}'\n`,
)
chmodSync(program, PROGRAM_MODE)
