import { existsSync } from 'node:fs'
import type { CommandDeclaration } from '@berth/cli/invocation/command-declaration.ts'
import type { Invocation } from '@berth/cli/invocation/invocation.ts'
import { type ListDeclaration, listCommand, printList } from '@berth/cli/invocation/list-command.ts'
import { NewerDatabaseError, SetupError, UnreachableError, UsageError } from '../config/setup-errors.ts'
import type { Config } from '../installation/config.ts'
import { readEnvironment } from '../installation/environment.ts'
import { type Installation, openBlobStore, openInstallation } from '../installation/installation.ts'
import type { BlobStore } from '../registry/blobs/blob-store.ts'
import { createLog } from '../telemetry/log.ts'

/** Helpers of commands that work on the installation itself instead of through its API. */

/** Reads the configuration. Exits with a line for each invalid setting. */
export function readConfigOrExit(): Config {
  const read = readEnvironment()
  if ('config' in read) return read.config
  for (const problem of read.problems) exitWithError(problem)
  process.exit(1)
}

/** Runs `work` on the open installation and closes it. Failures are reported in one line without a stack trace. */
export async function withInstallation(
  config: Config,
  work: (installation: Installation) => Promise<void>,
): Promise<void> {
  await reportFailure(async () => {
    const installation = await openInstallation(config, createLog(config.logLevel))
    try {
      const { store } = installation
      await work({ ...installation, store: { ...store, db: store.db.background } })
    } finally {
      await installation.close()
    }
  })
}

/** As withInstallation, but fails if there is no installation: in the wrong directory, a command must not create a second one. */
export async function withExistingInstallation(
  config: Config,
  work: (installation: Installation) => Promise<void>,
): Promise<void> {
  if (config.databaseUrl === undefined && !existsSync(config.dataDir))
    return exitWithError(
      `data directory ${config.dataDir} not found; set BERTH_DATA_DIR to that of the server, or create one with berth admin bootstrap`,
    )
  await withInstallation(config, work)
}

/** As withExistingInstallation, with its blob store. */
export async function withBlobStore(
  config: Config,
  work: (installation: Installation, blobs: BlobStore) => Promise<void>,
  options?: { readonly adopt?: boolean },
): Promise<void> {
  await withExistingInstallation(config, async (installation) => {
    const blobs = await openBlobStore(config, installation.store.db, createLog(config.logLevel), options)
    try {
      await work(installation, blobs)
    } finally {
      blobs.close()
    }
  })
}

/** Exit code if blobs are missing or damaged; differs from those of failures. */
export const EXIT_DAMAGE_FOUND = 5

/** Exit codes: 1 failed, 2 wrong usage, 3 database or bucket unreachable, 6 the database was migrated by a newer version. */
const exitCodes = { failed: 1, usage: 2, unreachable: 3, newer: 6 } as const

/** Exit code of a start that may succeed later without a change. */
export const EXIT_UNREACHABLE = exitCodes.unreachable

/** Runs `work`. Reports a failure in one line on standard error, with an exit code. */
export async function reportFailure(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    const problem = describeFailure(error)
    exitWithError(problem)
    if (error instanceof NewerDatabaseError) process.exitCode = exitCodes.newer
    if (error instanceof UsageError) process.exitCode = exitCodes.usage
    if (problem === DATABASE_UNREACHABLE || error instanceof UnreachableError)
      process.exitCode = exitCodes.unreachable
  }
}

const DATABASE_UNREACHABLE = 'the database is unreachable; check the address in BERTH_DATABASE_URL'

function describeFailure(error: unknown): string {
  if (error instanceof SetupError) return error.message
  if (!(error instanceof Error)) return String(error)
  const { code } = error as NodeJS.ErrnoException
  if (/^(ECONNREFUSED|ETIMEDOUT|E(HOST|NET)UNREACH|ENOTFOUND|EAI_AGAIN)$/.test(code ?? ''))
    return DATABASE_UNREACHABLE
  if (error.message === 'timeout expired') return DATABASE_UNREACHABLE
  if (code === 'EACCES') return `permission denied: ${error.message}`
  const cause = error.cause instanceof Error ? describeFailure(error.cause) : undefined
  if (cause === DATABASE_UNREACHABLE) return cause
  return cause === undefined ? error.message : `${error.message}: ${cause}`
}

function exitWithError(problem: string): void {
  process.stderr.write(`berth: ${problem}\n`)
  process.exitCode = exitCodes.failed
}

/** A list of `berth admin`, with the options of every list. */
type OperatorList<T extends object> = Omit<ListDeclaration<T>, 'items'>

/** Declares a list of rows that `read` returns; undefined after a failure that it has reported. */
export function operatorList<T extends object>(
  declaration: OperatorList<T>,
  read: (invocation: Invocation) => Promise<readonly T[] | undefined>,
): CommandDeclaration {
  const list = { ...declaration, items: (): readonly T[] => [] }
  return {
    ...listCommand(list),
    async run(invocation) {
      let rows: readonly T[] | undefined
      await reportFailure(async () => {
        rows = await read(invocation)
      })
      const found = rows
      if (found !== undefined) await printList(invocation, { ...list, items: () => found })
    },
  }
}

/** Declares a list of rows of an existing installation. */
export function installationList<T extends object>(
  declaration: OperatorList<T>,
  read: (installation: Installation, invocation: Invocation) => Promise<readonly T[]>,
): CommandDeclaration {
  return operatorList(declaration, async (invocation) => {
    let rows: readonly T[] | undefined
    await withExistingInstallation(readConfigOrExit(), async (installation) => {
      rows = await read(installation, invocation)
    })
    return rows
  })
}
