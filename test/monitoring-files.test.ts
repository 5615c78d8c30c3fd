import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { databases } from './support/database/databases.ts'
import {
  DASHBOARD,
  isInstalled,
  metricsIn,
  panels,
  panelsOfRareEvents,
  RULES,
} from './support/server/monitoring.ts'
import { startTestBerth } from './support/server/test-berth.ts'

/** What operators get to watch Berth: its metrics, how they are documented, the dashboard and the alerts. */

const documented = metricsIn(
  readFileSync('docs/operating.md', 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| `berth_'))
    .map((line) => line.split('|')[1])
    .join(),
)

test('the dashboard and the alerts use metrics that exist, and no panel is without an explanation', () => {
  for (const file of [DASHBOARD, RULES]) {
    const unknown = [...metricsIn(readFileSync(file, 'utf8'))].filter((name) => !documented.has(name))
    assert.deepEqual(unknown, [], file)
  }
  for (const { title, description, targets } of panels()) {
    assert.ok(description, title)
    assert.ok((targets ?? []).length > 0, title)
  }
})

test('the dashboard has each panel that the test with Prometheus allows to be empty', () => {
  const titles = new Set(panels().map(({ title }) => title))
  assert.deepEqual(
    [...panelsOfRareEvents].filter((title) => !titles.has(title)),
    [],
  )
})

test('every metric that the server serves is in docs/operating.md, and the other way round', async (t) => {
  const [database] = databases
  assert.ok(database)
  const server = await startTestBerth(database, { env: { BERTH_METRICS_LISTEN: '127.0.0.1:0' } })
  t.after(() => server.stop())
  const text = await (await fetch(`${server.berth.metricsUrl}/metrics`)).text()
  const served = new Set([...text.matchAll(/^# TYPE (berth_\S+) /gm)].map(([, name = '']) => name))
  // The certificate's expiry is there with TLS only, and workers where there are some.
  const expected = [...documented].filter((name) => !/^berth_(tls_|workers?(_|$))/.test(name))
  assert.deepEqual([...served].sort(), expected.sort())
})

test('promtool accepts the alerts, and their tests pass', {
  skip: !isInstalled('promtool') && "promtool is not installed (Debian's package prometheus)",
}, () => {
  const run = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync('promtool', args, {
      cwd: 'deploy/prometheus',
      encoding: 'utf8',
    })
    assert.equal(status, 0, `${stdout}${stderr}`)
  }
  run('check', 'config', 'prometheus.yml')
  run('check', 'rules', 'berth-rules.yml')
  run('test', 'rules', 'berth-rules.test.yml')
})
