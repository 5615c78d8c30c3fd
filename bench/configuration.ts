import type { limits } from '@berth/server/config/limits.ts'
import { type Config, readConfig } from '@berth/server/installation/config.ts'
import type { Log } from '@berth/server/runtime/log.ts'

/** Where a Berth under measurement keeps its data. */
export interface Place {
  readonly dataDir: string
  /** PostgreSQL; undefined: SQLite in the data directory. */
  readonly databaseUrl?: string | undefined
  /** The token service of Amazon; undefined: the real one. */
  readonly awsStsEndpoint?: string | undefined
  /** Nothing waits for the disk: what that costs. */
  readonly unsynced?: boolean
  /** Limits of the server that differ. */
  readonly limits?: Partial<Record<keyof typeof limits, number>>
  /** More settings of the server. */
  readonly env?: Readonly<Record<string, string>>
}

/** Each list and its total are read, even if they are repeated. */
export const noCachedLists = { cachedListKeyCharsMax: 0, cachedQueriesCharsMax: 1 } as const

/** A server on a free port of loopback that may fetch the keys of issuers on this machine. */
export function configurationOf({ dataDir, databaseUrl, awsStsEndpoint, env }: Place): Config {
  const read = readConfig({
    BERTH_LISTEN: '127.0.0.1:0',
    BERTH_DATA_DIR: dataDir,
    BERTH_DATABASE_URL: databaseUrl ?? '',
    BERTH_ISSUER_PRIVATE_NETWORKS: '127.0.0.0/8',
    BERTH_AWS_STS_ENDPOINT: awsStsEndpoint ?? '',
    ...env,
  })
  if ('problems' in read) throw new Error(read.problems.join('\n'))
  return read.config
}

/** Errors only, on standard error. */
export const log: Log = {
  error: (fields, message) => {
    const { err } = fields as { err?: unknown }
    process.stderr.write(`${message}: ${err instanceof Error ? err.stack : JSON.stringify(fields)}\n`)
  },
  warn() {},
  info() {},
  debug() {},
}
