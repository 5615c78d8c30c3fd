import { spawnSync } from 'node:child_process'

const OUTPUT_BYTES_MAX = 64 * 1024 ** 2

/** Runs a program of the build. Returns its output, and throws with its error output if it fails. */
export function run(
  program: string,
  args: readonly string[],
  { cwd, env = {} }: { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> } = {},
): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    encoding: 'utf8',
    env: { ...process.env, ...env },
    maxBuffer: OUTPUT_BYTES_MAX,
    ...(cwd !== undefined && { cwd }),
  })
  if (status === 0) return stdout.trim()
  throw new Error(`${program} ${args.join(' ')} failed: ${error?.message ?? `${stdout}${stderr}`}`)
}
