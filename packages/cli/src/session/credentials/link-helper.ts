import { existsSync, lstatSync, mkdirSync, readlinkSync, symlinkSync, unlinkSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Environment } from '../../config/settings.ts'
import { HELPER_NAME } from './docker-config.ts'

const program = fileURLToPath(new URL('../../../../../bin/berth.js', import.meta.url))

/** Puts the credential helper where Docker finds it. Returns what is left to do, in words, or undefined. */
export function linkHelper(env: Environment): string | undefined {
  const name = `docker-credential-${HELPER_NAME}`
  const path = (env['PATH'] ?? '').split(delimiter)
  if (path.some((directory) => directory !== '' && existsSync(join(directory, name)))) return undefined
  const directory = join(env['HOME'] || homedir(), '.local', 'bin')
  const link = join(directory, name)
  try {
    mkdirSync(directory, { recursive: true })
    if (isOwnLink(link)) unlinkSync(link)
    symlinkSync(program, link)
  } catch (error) {
    return `${link} cannot be made (${(error as Error).message}); put a link to ${program} with the name ${name} on your PATH`
  }
  return path.includes(directory) ? undefined : `Docker looks for ${name} on the PATH: add ${directory} to it`
}

/** A link of ours that leads to where the program was before. */
function isOwnLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink() && readlinkSync(path).endsWith('berth.js')
  } catch {
    return false
  }
}
