import { relative } from 'node:path'

/** Paths in the repository and in packages. */

/** The source of the published client. */
export const CLIENT = 'packages/client/src/'

/** The program, in the repository and in packages. */
export const PROGRAM = 'bin/berth.js'
export const PROGRAM_MODE = 0o755

/** The source of the program of a bundled package, which chooses the files to load. */
export const START = 'bin/installed/start.cjs'

/** The source of the module that loads the files of `berth serve`, beside them. */
export const LOAD = 'bin/installed/load.cjs'

/** Returns the name by which a module in `from` refers to a file. */
export function relativeName(from: string, to: string): string {
  const path = relative(from, to)
  return path.startsWith('.') ? path : `./${path}`
}
