import { parseArgs } from 'node:util'

/**
 * Returns the directory that a script was called with, or `defaultDirectory`. Prints `help` and ends the process if it was asked for, or if
 * the arguments are wrong: an unknown option must not become the name of a directory.
 */
export function directoryArgument(help: string, defaultDirectory: string): string {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { help: { type: 'boolean', short: 'h', default: false } },
    })
    if (values.help) {
      process.stdout.write(help)
      process.exit()
    }
    if (positionals.length > 1)
      throw new Error(`expected at most one directory, not ${positionals.join(' ')}`)
    return positionals[0] ?? defaultDirectory
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${help}`)
    process.exit(2)
  }
}
