import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '@berth/server/installation/config.ts'
import { databaseFile } from '@berth/server/installation/installation.ts'
import { type Berth, type BerthOverrides, startBerth } from '@berth/server/main.ts'
import { bootstrap } from '@berth/server/operator/bootstrap.ts'
import type { Log } from '@berth/server/runtime/log.ts'
import { selectedCluster, type TestDatabase } from '../database/databases.ts'
import { copySqliteTemplate } from '../database/sqlite-template.ts'

/** A real server on a free port of loopback, for tests through the front door. */

export interface TestBerth {
  readonly dataDir: string
  readonly url: string
  readonly berth: Berth
  /** The first organization. */
  readonly organization: string
  /** The owner's identity, who administers the platform. */
  readonly owner: string
  /** A token of the owner. */
  readonly token: string
  /** A token of any identity for the API; options as in AccessTokenRequest. */
  tokenOf(
    identity: string,
    options?: {
      scopes?: string[]
      audiences?: string[]
      capabilities?: bigint
      session?: string
      isFromServer?: true
    },
  ): Promise<string>
  /** What the server logged as errors, for tests that expect some. */
  readonly errors: readonly object[]
  /** The same for warnings, with their text. */
  readonly warnings: readonly { readonly message: string }[]
  /** Moves the server's clock; it starts at the real time and runs on. */
  advance(ms: number): void
  stop(): Promise<void>
}

export interface TestBerthOptions extends BerthOverrides {
  readonly env?: Readonly<Record<string, string>>
}

/** Options of a server that reads and matches images soon after their push. Polling more often would cost more than the work itself. */
export const imageJobs = { contents: { pollMs: 30 }, findingsPollMs: 30 } as const

const NEVER_MS = 24 * 60 * 60 * 1000

/** Starts a server on an empty database of the given kind. */
export async function startTestBerth(
  database: Pick<TestDatabase, 'name' | 'open'>,
  options: TestBerthOptions = {},
): Promise<TestBerth> {
  const { env = {}, ...parts } = options
  const dataDir = mkdtempSync(join(tmpdir(), 'berth-test-'))
  const read = readConfig({
    BERTH_LISTEN: '127.0.0.1:0',
    BERTH_DATA_DIR: dataDir,
    BERTH_ISSUER_PRIVATE_NETWORKS: '127.0.0.0/8,::1/128',
    ...env,
  })
  if ('problems' in read) throw new Error(read.problems.join('\n'))
  let offsetMs = 0
  const errors: object[] = []
  const warnings: { readonly message: string }[] = []
  const warn: Log['warn'] = (fields, message) => warnings.push({ ...fields, message })
  const log: Log = { error: (fields) => errors.push(fields), warn, info() {}, debug() {} }
  const openDb = database.open === undefined ? {} : { openDb: database.open }
  const isNewFile =
    database.open === undefined && parts.openDb === undefined && read.config.dataDir === dataDir
  if (isNewFile && read.config.databaseUrl === undefined) await copySqliteTemplate(databaseFile(dataDir))
  const berth = await startBerth(read.config, log, {
    clock: () => Date.now() + offsetMs,
    ...openDb,
    // Feeds and images are read where a test is about that: what else it looks at must not change by itself.
    feeds: { pollMs: NEVER_MS },
    garbageCollection: { pollMs: NEVER_MS },
    retention: { pollMs: NEVER_MS },
    contents: { pollMs: NEVER_MS, sweepIntervalMs: NEVER_MS },
    findingsPollMs: NEVER_MS,
    signaturesPollMs: NEVER_MS,
    ...parts,
  })
  const { organization, identity } = await bootstrap(berth.installation, undefined)
  const tokens = berth.installation.tokensFor(berth.addresses)
  const tokenOf: TestBerth['tokenOf'] = async (uid, options = {}) => {
    const { audiences, scopes, capabilities, session, isFromServer } = options
    const request = { identity: uid, audiences: audiences ?? [berth.addresses.baseUrl] }
    const narrowed = {
      ...request,
      ...(scopes && { scopes }),
      ...(session && { session }),
      ...(isFromServer && { isFromServer }),
      ...(capabilities !== undefined && { capabilities: capabilities as never }),
    }
    return (await tokens.issue(narrowed)).token
  }
  return {
    dataDir: read.config.dataDir,
    url: berth.addresses.baseUrl,
    berth,
    organization: organization.uid,
    owner: identity.uid,
    token: await tokenOf(identity.uid, { isFromServer: true }),
    tokenOf,
    errors,
    warnings,
    advance: (ms) => {
      offsetMs += ms
    },
    async stop() {
      await berth.stop().catch((error) => {
        // Each connection to a coordinator closes those to its workers, which takes longer than `databaseCloseMs` on a busy machine.
        const isDatabase = error.unfinished?.every((step: string) => step === 'database')
        if (selectedCluster === undefined || isDatabase !== true) throw error
      })
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}
