import type { CommandBody } from './invocation/command-declaration.ts'
import { CommandFailed } from './session/access-token.ts'

/**
 * The modules of the server package that the command line uses. `bin/berth.js` passes functions that import them, so that this package
 * does not depend on the server.
 */
export interface ServerPackage {
  /** This version of Node cannot load the modules: the functions start the program again with another one, and do not return. */
  readonly needsRestart?: boolean
  operatorCommands(): Promise<{ readonly operatorCommands: OperatorCommands }>
  fileFetcher(): Promise<{ readonly createFileFetcher: CreateFileFetcher }>
}

/** Loads the implementation of each operator command. */
export type OperatorCommands = Readonly<Record<'serve' | 'migrate' | 'admin', () => Promise<CommandBody>>>

/** Creates a downloader. Throws a TypeError for networks that are not in CIDR notation. */
export type CreateFileFetcher = (directory: string, privateNetworks: readonly string[]) => FileFetcher

export interface FileFetcher {
  /** Describes what is wrong with a URL; undefined if it may be fetched. */
  urlProblem(url: string): string | undefined
  /** Downloads a file. Rejects with an error of the name DownloadError. */
  fetch(
    url: string,
    options: {
      readonly signal?: AbortSignal
      readonly onProgress?: (bytes: number, total: number) => void
    },
  ): Promise<DownloadedFile>
  close(): Promise<void>
}

export interface DownloadedFile {
  readonly path: string
  /** Deletes the file. */
  remove(): Promise<void>
  /** Keeps the file for the next run. */
  abandon(): Promise<void>
}

/** Imports a module of the server package. Rejects with CommandFailed if the package is not installed. */
export async function loadServerModule<T>(load: (() => Promise<T>) | undefined): Promise<T> {
  const missing =
    'this command requires the package berth, which contains the server: install berth-x.y.z.tgz of the same release (it replaces berth-cli)'
  if (load === undefined) throw new CommandFailed(missing)
  try {
    return await load()
  } catch (error) {
    const isMissing =
      error instanceof Error && error.message.startsWith("Cannot find package '@berth/server'")
    throw isMissing ? new CommandFailed(missing) : error
  }
}
