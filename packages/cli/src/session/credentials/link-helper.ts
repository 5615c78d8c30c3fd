import { existsSync, lstatSync, mkdirSync, readlinkSync, symlinkSync, unlinkSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Environment } from '../../config/settings.ts'
import { HELPER_NAME } from './docker-config.ts'

const program = fileURLToPath(new URL('../../../../../bin/berth.js', import.meta.url))

/** Directories that npm and npx add to the PATH of the programs that they start: Docker does not have them. */
const NPM_PATH = /[/\\]node_modules[/\\]\.bin[/\\]?$/

/** Links the credential helper into the PATH. Returns a message if the user has to do something, otherwise undefined. */
export function linkHelper(env: Environment): string | undefined {
  const name = `docker-credential-${HELPER_NAME}`
  const path = (env['PATH'] ?? '').split(delimiter)
  const isInstalled = (directory: string) =>
    directory !== '' && !NPM_PATH.test(directory) && existsSync(join(directory, name))
  if (path.some(isInstalled)) return undefined
  const directory = join(env['HOME'] || homedir(), '.local', 'bin')
  const link = join(directory, name)
  try {
    mkdirSync(directory, { recursive: true })
    if (isOwnLink(link)) unlinkSync(link)
    symlinkSync(program, link)
  } catch (error) {
    return `${link} cannot be created (${(error as Error).message}); create a link to ${program} with the name ${name} in a directory of your PATH`
  }
  return path.includes(directory) ? undefined : `add ${directory} to your PATH so that Docker finds ${name}`
}

/** Reports whether a path is a link to an earlier location of this program. */
function isOwnLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink() && readlinkSync(path).endsWith('berth.js')
  } catch {
    return false
  }
}
