import { randomBytes } from 'node:crypto'
import { freePort } from '../../../scripts/free-port.ts'
import type { TestDatabase } from '../database/databases.ts'
import { type Cleanup, temporaryDirectory } from './process.ts'
import { startTestBerth, type TestBerth, type TestBerthOptions } from './test-berth.ts'

/** Nodes of one installation: they share its database, its master key and its addresses, and nothing else. */

export interface TestNode {
  readonly berth: TestBerth
  /** Where this node is reached; its `url` is that of the installation. */
  readonly origin: string
}

export interface TestNodes {
  readonly all: readonly TestNode[]
  /** Moves the clocks of all. */
  advance(ms: number): void
}

interface NodesOptions extends TestBerthOptions {
  /** Settings of one node, by its place. */
  readonly envOfNode?: (n: number) => Readonly<Record<string, string>>
}

export async function startNodes(
  t: Cleanup,
  database: TestDatabase,
  count: number,
  { env = {}, envOfNode, ...parts }: NodesOptions = {},
): Promise<TestNodes> {
  const shared = await database.share()
  // Blobs are in the data directory, which all nodes share.
  const dataDir = temporaryDirectory(t)
  const all: TestNode[] = []
  t.after(async () => {
    for (const { berth } of all) await berth.stop()
    await shared.close()
  })
  const masterKey = randomBytes(32).toString('base64')
  for (let n = 0; n < count; n++) {
    const port = await freePort()
    const berth = await startTestBerth(database, {
      env: {
        BERTH_LISTEN: `127.0.0.1:${port}`,
        BERTH_BASE_URL: 'http://berth.test',
        BERTH_DATA_DIR: dataDir,
        BERTH_MASTER_KEY: masterKey,
        ...env,
        ...envOfNode?.(n),
      },
      openDb: () => shared.open(),
      ...parts,
    })
    all.push({ berth, origin: `http://127.0.0.1:${port}` })
  }
  return {
    all,
    advance: (ms) => {
      for (const { berth } of all) berth.advance(ms)
    },
  }
}
