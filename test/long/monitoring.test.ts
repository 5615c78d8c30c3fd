import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../scripts/free-port.ts'
import { call } from '../support/api/rest.ts'
import { databases } from '../support/database/databases.ts'
import { bearerOf, ociClient, pushBlob } from '../support/registry/registry.ts'
import { isInstalled, panels, panelsOfRareEvents, RULES } from '../support/server/monitoring.ts'
import { temporaryDirectory } from '../support/server/process.ts'
import { startTestBerth } from '../support/server/test-berth.ts'

const LOAD_MS = 40_000

test('each panel of the dashboard shows what a real Prometheus reads of a server under load', {
  skip: !isInstalled('prometheus') && "Prometheus is not installed (Debian's package prometheus)",
}, async (t) => {
  const database = databases.at(-1)
  assert.ok(database)
  const berth = await startTestBerth(database, { env: { BERTH_METRICS_LISTEN: '127.0.0.1:0' } })
  t.after(() => berth.stop())
  const directory = temporaryDirectory(t)
  mkdirSync(`${directory}/data`)
  writeFileSync(
    `${directory}/prometheus.yml`,
    JSON.stringify({
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: [resolve(RULES)],
      scrape_configs: [
        { job_name: 'berth', static_configs: [{ targets: [new URL(berth.berth.metricsUrl ?? '').host] }] },
      ],
    }),
  )
  const port = await freePort()
  const prometheus = spawn(
    'prometheus',
    [
      `--config.file=${directory}/prometheus.yml`,
      `--storage.tsdb.path=${directory}/data`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: 'ignore' },
  )
  t.after(async () => {
    prometheus.kill()
    await once(prometheus, 'close')
  })

  const registry = ociClient(berth, await bearerOf(berth, berth.owner))
  const endMs = performance.now() + LOAD_MS
  for (let n = 0; performance.now() < endMs; n++) {
    await call('GET', `${berth.url}/iam/v2beta1/groups`, { token: berth.token })
    if (n % 10 === 0) {
      await pushBlob(registry, `${berth.organization}/images`, Buffer.from(`blob ${n}`))
      await call('POST', `${berth.url}/registry/v2beta1/repos/${berth.organization}`, {
        token: berth.token,
        body: { name: `repo-${n}` },
      })
    }
    await sleep(20)
  }

  const ask = async (expr: string) => {
    const query = new URLSearchParams({
      query: expr.replaceAll('$__rate_interval', '10s').replaceAll('$instance', '.*'),
    })
    const reply = await fetch(`http://127.0.0.1:${port}/api/v1/query?${query}`)
    return (await reply.json()) as { status: string; error?: string; data?: { result: unknown[] } }
  }
  const empty: string[] = []
  for (const { title, targets = [] } of panels()) {
    const answers = await Promise.all(targets.map(({ expr }) => ask(expr)))
    for (const { status, error } of answers) assert.equal(status, 'success', `${title}: ${error}`)
    if (answers.every(({ data }) => data?.result.length === 0)) empty.push(title)
  }
  assert.deepEqual(
    empty.filter((title) => !panelsOfRareEvents.has(title)),
    [],
  )
})
