import { CommanderError } from 'commander'
import { createProgram } from './commands.ts'
import { describeFailure, exitCodes } from './invocation/invoke.ts'
import { sanitizeText } from './output/text-width.ts'
import type { ServerPackage } from './server-package.ts'

/** Runs the command line. Exit codes: 0 success, 1 failed or denied, 2 wrong usage, 3 server unreachable, 4 not signed in. */
export async function main(args: readonly string[], server?: ServerPackage): Promise<void> {
  // The reader of a pipe may close it early, as head does.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    process.exit()
  })
  try {
    const program = await createProgram(args, server)
    await program.parseAsync(args, { from: 'user' })
  } catch (error) {
    fail(error)
  }
}

function fail(error: unknown): void {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? 0 : exitCodes.usage
    return
  }
  const failure = describeFailure(error)
  if (failure === undefined) throw error
  // Texts of servers and files must not contain terminal control or bidirectional characters.
  const lines = failure.lines
    .flatMap((line) => line.split('\n'))
    .map((line) => sanitizeText(line).trimEnd())
    .filter((line) => line !== '')
  process.stderr.write(`berth: ${lines.join('\n')}\n`)
  process.exitCode = failure.code
}
