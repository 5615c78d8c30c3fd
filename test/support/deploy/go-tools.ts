import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { type Cleanup, temporaryDirectory } from '../server/process.ts'

/** Programs and data files of Go modules, which tests get with Go's own client. */

const goBin = join(process.env['GOPATH'] || join(homedir(), 'go'), 'bin')

/** Why tests that need Go are skipped; false where they are not. */
export const withoutGo: string | false =
  spawnSync('go', ['version']).error !== undefined && 'no Go on this machine'

/** Finds a program in PATH or in Go's `bin` folder, or builds it, which takes minutes. */
export function goProgram(name: string, packageVersion: string): string {
  const find = () =>
    [...(process.env['PATH'] ?? '').split(delimiter), goBin]
      .map((directory) => join(directory, name))
      .find((path) => existsSync(path))
  const found = find()
  if (found !== undefined) return found
  mkdirSync(goBin, { recursive: true })
  go(['install', packageVersion])
  const built = find()
  if (built === undefined) throw new Error(`go install ${packageVersion} did not create ${name}`)
  return built
}

/** Returns the directory of a module, which Go downloads and verifies. */
export function goModule(t: Cleanup, moduleVersion: string): string {
  const { Dir } = JSON.parse(go(['mod', 'download', '-json', moduleVersion], temporaryDirectory(t)))
  return Dir
}

function go(args: readonly string[], cwd?: string): string {
  const { status, stdout, stderr } = spawnSync('go', args, {
    encoding: 'utf8',
    env: { ...process.env, GOBIN: goBin, GOFLAGS: '-mod=mod' },
    ...(cwd !== undefined && { cwd }),
  })
  if (status !== 0) throw new Error(`go ${args.join(' ')}: ${stderr}`)
  return stdout
}
