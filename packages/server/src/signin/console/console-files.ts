import { readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import type { Asset } from '../../port/documents/static-file.ts'
import { assetPath } from '../pages/assets.ts'

/** The build of packages/console: its page, and the files with content hashes that the page loads. */

const build = new URL('../../../../console/dist/static/', import.meta.url)

const PREFIX = '/console-assets/'

const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
}

/** Where the page has the session of its user. */
const SESSION_PLACE = 'id="session">{}<'

/** The page without its session; undefined if the console is not built. */
export function consolePage(): string | undefined {
  try {
    return withIcon(readFileSync(new URL('console.html', build), 'utf8'))
  } catch {
    return undefined
  }
}

/** Without a link, browsers request `/favicon.ico`, and report that it is missing. */
function withIcon(page: string): string {
  return page.replace(
    '</title>',
    (end) => `${end}\n    <link rel="icon" href="${assetPath('icon.svg')}" type="image/svg+xml" />`,
  )
}

/** Returns the page with what its scripts know of the user: JSON that no content can end early. */
export function withSession(page: string, session: object): string {
  const json = JSON.stringify(session).replaceAll('<', '\\u003c')
  return page.replace(SESSION_PLACE, () => `id="session">${json}<`)
}

/** The files of the console by their paths. */
export function consoleAssets(): Readonly<Record<string, Asset>> {
  const files = listBuild().flatMap((name): [string, Asset][] => {
    const type = types[extname(name)]
    return type === undefined
      ? []
      : [[`${PREFIX}${name}`, { content: () => readFileSync(new URL(name, build)), type }]]
  })
  return Object.fromEntries(files)
}

function listBuild(): string[] {
  try {
    return readdirSync(build)
  } catch {
    return []
  }
}
