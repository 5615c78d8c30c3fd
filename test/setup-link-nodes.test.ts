import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import { freePort } from '../scripts/free-port.ts'
import { webBrowser } from './support/browser/web-browser.ts'
import { startPostgres, withoutPostgres } from './support/database/postgres.ts'
import { runBerth, serveBerth, temporaryDirectory } from './support/server/process.ts'

test('R41: nodes that start together on an empty database print one link, which is good; setup-link replaces it', {
  skip: withoutPostgres,
}, async (t) => {
  assert.equal(limits.setupLinkSharedMs, 10 * 60_000)
  const env = {
    BERTH_DATA_DIR: temporaryDirectory(t),
    BERTH_DATABASE_URL: (await startPostgres(t)).url,
    BERTH_MASTER_KEY: randomBytes(32).toString('base64'),
    BERTH_BASE_URL: 'http://berth.test',
  }
  const ports = await Promise.all([1, 2, 3].map(() => freePort()))
  const nodes = await Promise.all(
    ports.map((port) => serveBerth(t, { ...env, BERTH_LISTEN: `127.0.0.1:${port}` })),
  )
  const links = nodes.map(
    ({ output }) => /http:\/\/berth\.test(\/setup\?code=\S+)/.exec(output().stdout)?.[1],
  )
  assert.ok(links[0] !== undefined)
  assert.deepEqual(new Set(links).size, 1, String(links))
  const statusAt = async (port: number, path: string) =>
    (await webBrowser(`http://127.0.0.1:${port}`).open(path)).status
  for (const port of ports) assert.equal(await statusAt(port, links[0]), 200)
  const { stdout } = await runBerth(t, ['admin', 'setup-link'], env)
  assert.equal(await statusAt(ports[0] ?? 0, links[0]), 404)
  assert.equal(
    await statusAt(ports[0] ?? 0, new URL(stdout.trim()).pathname + new URL(stdout.trim()).search),
    200,
  )
})
