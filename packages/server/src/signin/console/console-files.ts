import { readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { IMMUTABLE, type StaticFile, staticFile } from '../../port/documents/static-file.ts'

/** The build of packages/console: its page, and the files with content hashes that the page loads. */

const build = new URL('../../../../console/dist/static/', import.meta.url)

const PREFIX = '/console-assets/'

const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml; charset=utf-8',
}

/** Where the page has the session of its user. */
const SESSION_PLACE = 'id="session">{}<'

/** The page without its session; undefined if the console is not built. */
export function consolePage(): string | undefined {
  try {
    return readFileSync(new URL('console.html', build), 'utf8')
  } catch {
    return undefined
  }
}

/** Returns the page with what its scripts know of the user: JSON that no content can end early. */
export function withSession(page: string, session: object): string {
  const json = JSON.stringify(session).replaceAll('<', '\\u003c')
  return page.replace(SESSION_PLACE, () => `id="session">${json}<`)
}

/** The files of the console by their paths, each compressed when it is first requested. */
export function consoleFiles(): (path: string) => Promise<StaticFile> | undefined {
  const names = new Set(listBuild().filter((name) => extname(name) in types))
  const files = new Map<string, Promise<StaticFile>>()
  return (path) => {
    const name = path.startsWith(PREFIX) ? path.slice(PREFIX.length) : ''
    if (!names.has(name)) return undefined
    const file = files.get(name) ?? load(name)
    files.set(name, file)
    return file
  }
}

function load(name: string): Promise<StaticFile> {
  return staticFile(readFileSync(new URL(name, build)), {
    'content-type': types[extname(name)] ?? '',
    'cache-control': IMMUTABLE,
    'cross-origin-resource-policy': 'same-origin',
  })
}

function listBuild(): string[] {
  try {
    return readdirSync(build)
  } catch {
    return []
  }
}
