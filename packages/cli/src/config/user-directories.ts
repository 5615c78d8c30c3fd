import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Environment } from './settings.ts'

/** Directories of a user's files on each operating system. */

function home(env: Environment): string {
  return env['HOME'] || homedir()
}

/** Directory of files that may be deleted. */
export function cacheDirectory(env: Environment, platform: NodeJS.Platform = process.platform): string {
  if (platform === 'win32') return env['LOCALAPPDATA'] || join(home(env), 'AppData', 'Local')
  if (platform === 'darwin') return join(home(env), 'Library', 'Caches')
  return env['XDG_CACHE_HOME'] || join(home(env), '.cache')
}

/** Directory of configuration files. */
export function configDirectory(env: Environment, platform: NodeJS.Platform = process.platform): string {
  if (platform === 'win32') return env['APPDATA'] || join(home(env), 'AppData', 'Roaming')
  return env['XDG_CONFIG_HOME'] || join(home(env), '.config')
}
