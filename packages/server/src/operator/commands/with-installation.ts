import { existsSync } from 'node:fs'
import { NewerDatabaseError, SetupError, UnreachableError, UsageError } from '../../config/setup-errors.ts'
import type { Config } from '../../installation/config.ts'
import { readEnvironment } from '../../installation/environment.ts'
import { type Installation, openBlobStore, openInstallation } from '../../installation/installation.ts'
import type { BlobStore } from '../../registry/blobs/blob-store.ts'
import { createLog } from '../../telemetry/log.ts'

/** What the commands share that work on the installation itself instead of through its API. */

/** The configuration, or one line per mistake and an exit. */
export function readConfigOrExit(): Config {
  const read = readEnvironment()
  if ('config' in read) return read.config
  for (const problem of read.problems) exitWithError(problem)
  process.exit(1)
}

/** Runs `work` on the open installation and closes it. What the operator can mend is one line, not a stack. */
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

/** For what makes nothing: started in the wrong directory, a command would make a second installation. */
export async function withExistingInstallation(
  config: Config,
  work: (installation: Installation) => Promise<void>,
): Promise<void> {
  if (config.databaseUrl === undefined && !existsSync(config.dataDir))
    return exitWithError(
      `there is no data directory ${config.dataDir}; set BERTH_DATA_DIR to that of the server, or make one with berth admin bootstrap`,
    )
  await withInstallation(config, work)
}

/** As withExistingInstallation, with the bytes of its images. */
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

/** Exit code when stored bytes are missing or damaged: none that a failure has. */
export const EXIT_DAMAGE_FOUND = 5

/** Exit codes: 1 it failed, 2 wrong usage, 3 the database could not be reached, 6 a newer version migrated the database. */
const exitCodes = { failed: 1, usage: 2, unreachable: 3, newer: 6 } as const

/** Runs `work`; a failure is one line on standard error and an exit code. */
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

const DATABASE_UNREACHABLE = 'the database does not answer; is the address in BERTH_DATABASE_URL right?'

function describeFailure(error: unknown): string {
  if (error instanceof SetupError) return error.message
  if (!(error instanceof Error)) return String(error)
  const { code } = error as NodeJS.ErrnoException
  if (/^(ECONNREFUSED|ETIMEDOUT|E(HOST|NET)UNREACH|ENOTFOUND|EAI_AGAIN)$/.test(code ?? ''))
    return DATABASE_UNREACHABLE
  if (error.message === 'timeout expired') return DATABASE_UNREACHABLE
  if (code === 'EACCES') return `no permission: ${error.message}`
  const cause = error.cause instanceof Error ? describeFailure(error.cause) : undefined
  if (cause === DATABASE_UNREACHABLE) return cause
  return cause === undefined ? error.message : `${error.message}: ${cause}`
}

function exitWithError(problem: string): void {
  process.stderr.write(`berth: ${problem}\n`)
  process.exitCode = exitCodes.failed
}
