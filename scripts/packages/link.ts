import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { init, parse } from 'es-module-lexer'
import type { PublishedPackage } from './definitions.ts'
import { PROGRAM, relativeName } from './paths.ts'

/** Finds the files that a package needs, and makes their references relative, so that the package needs no workspace. */

export interface LinkedPackage {
  /** Contents by path in the package. */
  readonly files: ReadonlyMap<string, string | Buffer>
  /** Names of the packages from the registry that the files import. */
  readonly dependencies: ReadonlySet<string>
}

/** A reference of a module: the text between `start` and `end` names a file or a package. */
interface Reference {
  readonly start: number
  readonly end: number
  readonly name: string
}

const WORKSPACE = /^@berth\/([^/]+)\/(.+)$/
/** References to files, and to packages, that are no imports. */
const fileReference = /\bnew URL\(\s*'([^']+)',\s*import\.meta\.url\s*\)/g
const packageReferences = [
  /\bimport\.meta\.resolve\(\s*'([^']+)'\s*\)/g,
  /\bcreateRequire\(import\.meta\.url\)\('([^']+)'\)/g,
]

await init

/**
 * Links the modules that the entries of a package reach. Files keep their paths, except entries and the files in `top`. TypeScript is read
 * in its compiled form from `compiled`.
 */
export function linkPackage(
  { entries, top = '' }: Pick<PublishedPackage, 'entries' | 'top'>,
  compiled: string,
): LinkedPackage {
  const targetOf = (path: string) =>
    entries[path] ?? javaScript(path.startsWith(top) ? path.slice(top.length) : path)
  const files = new Map<string, string | Buffer>()
  const dependencies = new Set<string>()
  const pending = Object.keys(entries)
  const seen = new Set(pending)

  const add = (path: string) => {
    if (!seen.has(path)) pending.push(path)
    seen.add(path)
    return targetOf(path)
  }
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    const target = targetOf(path)
    if (!isModule(path)) {
      files.set(target, readFileSync(path))
      continue
    }
    const code = readFileSync(path.endsWith('.ts') ? join(compiled, javaScript(path)) : path, 'utf8')
    files.set(
      target,
      replaceReferences(code, (name) => {
        const file = resolveFile(path, name)
        if (file === undefined) {
          if (!name.startsWith('node:') && !name.includes('//')) dependencies.add(packageName(name))
          return name
        }
        // The package has its own manifest and program in these places.
        if (['package.json', PROGRAM].includes(file)) return relativeName(dirname(target), file)
        if (!existsSync(file)) throw new Error(`${path} refers to ${file}, which does not exist`)
        if (!statSync(file).isDirectory()) return relativeName(dirname(target), add(file))
        for (const inside of globSync(`${file}/**/*`)) if (statSync(inside).isFile()) add(inside)
        return `${relativeName(dirname(target), file)}/`
      }),
    )
  }
  return { files, dependencies }
}

function javaScript(path: string): string {
  return path.replace(/\.ts$/, '.js')
}

/** Reports whether a file is a module of Node; those of pages are files like images. */
function isModule(path: string): boolean {
  return path.endsWith('.ts') || (path.endsWith('.js') && !/\/(page|static)\//.test(path))
}

function replaceReferences(code: string, replace: (name: string) => string): string {
  let result = ''
  let end = 0
  for (const reference of referencesOf(code)) {
    result += code.slice(end, reference.start) + replace(reference.name)
    end = reference.end
  }
  return result + code.slice(end)
}

function referencesOf(code: string): Reference[] {
  const references: Reference[] = []
  const [imports] = parse(code)
  for (const found of imports) {
    if (found.type === 'import-meta' || found.specifier === undefined) continue
    const start = code.indexOf(found.specifier, found.start)
    references.push({ start, end: start + found.specifier.length, name: found.specifier })
  }
  for (const pattern of [fileReference, ...packageReferences])
    for (const match of code.matchAll(pattern)) {
      const [text, name = ''] = match
      const start = match.index + text.indexOf(name, text.indexOf("'"))
      const isFile = pattern === fileReference && !name.startsWith('.')
      references.push({ start, end: start + name.length, name: isFile ? `./${name}` : name })
    }
  return references.sort((a, b) => a.start - b.start)
}

/** Returns the path in the repository; undefined for a package of the registry or of Node. */
function resolveFile(from: string, name: string): string | undefined {
  const [, workspace = '', path = ''] = WORKSPACE.exec(name) ?? []
  if (workspace !== '') return join('packages', workspace, path.startsWith('gen/') ? path : `src/${path}`)
  if (!name.startsWith('.')) return undefined
  const file = join(dirname(from), name).replace(/\/$/, '')
  // TypeScript has written the extension of its output.
  const source = file.replace(/\.js$/, '.ts')
  return existsSync(file) ? file : source
}

function packageName(name: string): string {
  return name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/')
}
