import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../../scripts/free-port.ts'
import { startPostgres } from '../database/postgres.ts'
import { type Cleanup, runBerth, spawnBerth, temporaryDirectory } from '../server/process.ts'

/** Servers that read feeds and apply retention, each a process of its own. */

const node = fileURLToPath(new URL('feed-node.ts', import.meta.url))

/** `args`: those of feed-node.ts. Each call of `start` starts one more on the same database. */
export async function startNodes(t: Cleanup, engine: 'sqlite' | 'postgres', args: readonly string[]) {
  const dataDir = temporaryDirectory(t)
  const shared = {
    BERTH_DATA_DIR: dataDir,
    BERTH_BASE_URL: 'http://berth.test',
    BERTH_MASTER_KEY: randomBytes(32).toString('base64'),
    BERTH_ISSUER_PRIVATE_NETWORKS: '127.0.0.0/8',
    ...(engine === 'postgres' ? { BERTH_DATABASE_URL: (await startPostgres(t)).url } : {}),
  }
  const start = async () => {
    const listen = `127.0.0.1:${await freePort()}`
    const running = spawnBerth(t, args, { ...shared, BERTH_LISTEN: listen }, { as: node })
    const { child } = running
    if (child.stdout !== null && !running.output().stdout.includes('ready'))
      await Promise.race([once(child.stdout, 'data'), running.finished])
    assert.match(running.output().stdout, /^ready /, running.output().stderr)
    return { ...running, url: `http://${listen}` }
  }
  const { stdout } = await runBerth(t, ['admin', 'bootstrap', '--json'], shared)
  const { organization, token } = JSON.parse(stdout)
  return { start, env: shared, organization: organization.uid as string, token: token as string }
}
