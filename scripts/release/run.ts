import { spawnSync } from 'node:child_process'

/** Runs a program. Returns what it printed; throws with its messages if it fails. */
export function run(program: string, args: readonly string[], cwd?: string): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    encoding: 'utf8',
    maxBuffer: Number.POSITIVE_INFINITY,
    ...(cwd !== undefined && { cwd }),
  })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} failed: ${error?.message ?? stderr}`)
  return stdout
}
