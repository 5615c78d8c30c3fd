import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildPackages } from '../scripts/packages/build.ts'
import type { Bench } from './bench.ts'

/** A Berth that is compared with another one. */
export interface Version {
  readonly name: string
  /** Path of its program. */
  readonly program: string
}

const root = fileURLToPath(new URL('..', import.meta.url))
const PROGRAM = 'bin/berth.js'

/** The package of the working tree. */
export function currentVersion(bench: Bench): Version {
  bench.say('  building the package of the working tree')
  const { berth } = buildPackages(join(bench.scratch(), 'dist'))
  return { name: 'working tree', program: installed(berth) }
}

/**
 * Finds a release: `what` is a tarball of `npm pack`, an unpacked package, or a version or commit of this repository, whose package is built
 * from its sources, if it has a build.
 */
export function findRelease(bench: Bench, what: string): Version {
  const path = resolve(what)
  const directory = bench.scratch()
  if (!existsSync(path)) return { name: what, program: installed(checkOut(directory, what)) }
  if (statSync(path).isFile()) {
    run('tar', ['-xzf', path, '--strip-components=1', '-C', directory])
    return { name: what, program: installed(directory) }
  }
  if (!existsSync(join(path, PROGRAM))) throw new Error(`${what} contains no ${PROGRAM}`)
  if (existsSync(join(path, 'node_modules'))) return { name: what, program: join(path, PROGRAM) }
  cpSync(path, directory, { recursive: true })
  return { name: what, program: installed(directory) }
}

/** Extracts a commit; returns the directory of its package. */
function checkOut(directory: string, what: string): string {
  const commit = [`v${what}`, what].find(
    (name) =>
      spawnSync('git', ['rev-parse', '--verify', '--quiet', `${name}^{commit}`], { cwd: root }).status === 0,
  )
  if (commit === undefined) throw new Error(`${what} is no file, and no version or commit of this repository`)
  const archive = join(directory, 'sources.tar')
  run('git', ['archive', '--format=tar', '-o', archive, commit], root)
  run('tar', ['-xf', archive, '-C', directory])
  if (!existsSync(join(directory, 'scripts/build.ts'))) return directory
  if (hasItsDependencies(directory)) symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'))
  else run('npm', ['ci', '--no-audit', '--no-fund'], directory)
  for (const script of ['scripts/build-console.ts', 'scripts/build.ts'])
    run(process.execPath, [script], directory)
  return join(directory, 'dist/berth')
}

/** Gives a package its dependencies: those of this clone, if the versions are the same. Returns the path of its program. */
function installed(directory: string): string {
  if (!existsSync(join(directory, 'node_modules'))) {
    if (hasItsDependencies(directory))
      symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'))
    else run('npm', ['install', '--omit=dev', '--omit=optional', '--no-audit', '--no-fund'], directory)
  }
  return join(directory, PROGRAM)
}

function hasItsDependencies(directory: string): boolean {
  const read = (...path: string[]) => JSON.parse(readFileSync(join(...path, 'package.json'), 'utf8'))
  return Object.entries<string>(read(directory).dependencies).every(([name, version]) => {
    const place = join(root, 'node_modules', name)
    return existsSync(place) && read(place).version === version
  })
}

function run(command: string, args: readonly string[], cwd?: string): void {
  const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8', ...(cwd && { cwd }) })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${error?.message ?? stderr}`)
}
