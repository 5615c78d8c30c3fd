import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { test } from 'node:test'
import type { MetricsTexts } from '../telemetry/workers/metrics-snapshot.ts'
import type { ToWorker } from './messages.ts'
import { createWorkerMetrics, type WorkerMetrics } from './worker-metrics.ts'

const counted = (value: number) => ({
  aggregate: `# HELP calls Calls.\n# TYPE calls counter\ncalls ${value}\n`,
  tenants: '',
  aggregators: {},
})

/** Workers that count one call each, and how often each was asked for it. */
function startWorkers(count: number) {
  const asked = Array.from({ length: count }, () => 0)
  const replies: (MetricsTexts | undefined)[] = []
  const workers = asked.map((_, at) => {
    const worker = {
      connected: true,
      send(message: ToWorker) {
        if (message.type === 'metrics') replies.push(message.texts)
        if (message.type !== 'collect') return
        asked[at] = (asked[at] as number) + 1
        setImmediate(() => metrics.receive(worker, counted(1), message.round))
      },
    } as unknown as ChildProcess
    return worker
  })
  const metrics: WorkerMetrics = createWorkerMetrics(
    () => workers,
    async () => counted(100),
    assert.ifError,
  )
  const untilReplied = async () => {
    let iterations = 0
    for (; replies.length < count; iterations++) await new Promise(setImmediate)
    return iterations
  }
  return { workers, metrics, asked, replies, untilReplied }
}

test('scrapes of all workers at the same time ask each worker twice at most', async () => {
  const { workers, metrics, asked, replies, untilReplied } = startWorkers(10)
  const [first, ...others] = workers
  metrics.request(first as ChildProcess, 1)
  for (let count = 0; asked[0] === 0 && count < 100; count++) await new Promise(setImmediate)
  for (const worker of others) metrics.request(worker, 1)
  await untilReplied()
  assert.deepEqual(new Set(asked), new Set([2]))
  for (const texts of replies) assert.match(texts?.aggregate ?? '', /^calls 110$/m)
})

test('other work runs between the metrics of two workers', async () => {
  const { workers, metrics, untilReplied } = startWorkers(64)
  for (const worker of workers) metrics.request(worker, 1)
  assert.ok((await untilReplied()) > 64)
})

test('a worker that ends keeps its last counts', async () => {
  const { workers, metrics, replies, untilReplied } = startWorkers(2)
  const [one, other] = workers as [ChildProcess, ChildProcess]
  metrics.receive(other, counted(7), undefined)
  metrics.forget(other)
  workers.pop()
  metrics.request(one, 1)
  metrics.request(one, 2)
  await untilReplied()
  assert.match(replies[0]?.aggregate ?? '', /^calls 108$/m)
})

test('a scrape does not wait for a worker that stops and has sent its last counts', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  for (const isEarlier of [true, false]) {
    const { workers, metrics, replies, untilReplied } = startWorkers(1)
    let wasAsked = false
    const stopping = { connected: true, send: () => (wasAsked = true) } as unknown as ChildProcess
    workers.push(stopping)
    if (isEarlier) metrics.receive(stopping, counted(7), undefined)
    metrics.request(workers[0] as ChildProcess, 1)
    if (!isEarlier) {
      while (!wasAsked) await new Promise(setImmediate)
      metrics.receive(stopping, counted(7), undefined)
    }
    await untilReplied()
    assert.equal(wasAsked, !isEarlier)
    assert.match(replies[0]?.aggregate ?? '', /^calls 108$/m)
  }
})
