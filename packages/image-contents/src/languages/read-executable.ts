import type { FileContents, FoundPackage } from '../found-package.ts'
import { type Executable, readExecutable } from './executable.ts'
import { readGoModules } from './go.ts'
import { readRustCrates } from './rust.ts'

/** Reads what compilers record in an executable. Most executables contain nothing of it. */
export function readExecutablePackages(content: Buffer): FileContents {
  const packages: FoundPackage[] = []
  const problems: string[] = []
  try {
    const executable = readExecutable(content)
    if (executable === undefined) return { packages, problems }
    const readers: readonly ((executable: Executable) => FoundPackage[])[] = [readGoModules, readRustCrates]
    for (const read of readers) packages.push(...read(executable))
  } catch (error) {
    problems.push(error instanceof RangeError ? 'it is a damaged executable' : (error as Error).message)
  }
  return { packages, problems }
}
