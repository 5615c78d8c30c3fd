import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Cleanup, type Environment, temporaryDirectory } from './process.ts'

/** The release before this version, run from its own sources. Changes with each release. */
export const previousRelease = {
  version: '0.6.0',
  commit: '2b3f43a4d314a441bc990f7c644521abba919e3e',
  /** The last of its migrations. */
  migration: '0007-registry',
} as const

const root = fileURLToPath(new URL('../../..', import.meta.url))

/** Why tests that run the previous release are skipped; false where they are not. */
export const withoutPreviousRelease: string | false =
  spawnSync('git', ['cat-file', '-e', `${previousRelease.commit}^{commit}`], { cwd: root }).status === 0
    ? false
    : `this clone does not have the commit of ${previousRelease.version} (a shallow clone?)`

/** A version of Berth besides this one. */
export interface OtherVersion {
  /** Path of its program. */
  readonly program: string
  /** The settings that it knows: it does not start with others. */
  settingsOf(env: Environment): Environment
}

/** Extracts the previous release into a temporary directory. */
export function checkOutPreviousRelease(t: Cleanup): OtherVersion {
  const directory = temporaryDirectory(t)
  const archive = join(directory, 'sources.tar')
  execFileSync('git', ['archive', '--format=tar', '-o', archive, previousRelease.commit], { cwd: root })
  execFileSync('tar', ['-xf', archive, '--exclude=test', '--exclude=bench'], { cwd: directory })
  if (hasItsDependencies(directory)) symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'))
  else
    execFileSync('npm', ['ci', '--omit=dev', '--no-audit', '--no-fund'], { cwd: directory, stdio: 'ignore' })
  const sources = globSync('src/**/*.ts', { cwd: directory })
  const text = sources.map((file) => readFileSync(join(directory, file), 'utf8')).join('\n')
  const known = new Set(text.match(/\bBERTH_[A-Z0-9_]+/g))
  return {
    program: join(directory, 'bin', 'berth.js'),
    settingsOf: (env) => Object.fromEntries(Object.entries(env).filter(([name]) => known.has(name))),
  }
}

/** Whether exactly the versions that it names are installed here. */
function hasItsDependencies(directory: string): boolean {
  const read = (...path: string[]) => JSON.parse(readFileSync(join(...path, 'package.json'), 'utf8'))
  return Object.entries<string>(read(directory).dependencies).every(([name, version]) => {
    const installed = join(root, 'node_modules', name)
    return existsSync(installed) && read(installed).version === version
  })
}
