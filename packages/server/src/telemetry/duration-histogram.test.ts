import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AggregatorRegistry, Histogram, Registry } from 'prom-client'
import { createDurationHistogram } from './duration-histogram.ts'
import { createMetricsSum } from './workers/metrics-sum.ts'

const options = { name: 'seconds', help: 'Time of something.', buckets: [0.1, 1] }

/** The histogram and that of prom-client, with the same observations. */
function both(
  labelNames: readonly string[],
  observe: (add: (labels: object, seconds: number) => void) => void,
) {
  const registries = [new Registry(), new Registry()] as const
  const [ours, theirs] = registries
  const own = createDurationHistogram<string>({ ...options, registers: [ours] })
  const library = new Histogram({ ...options, labelNames: [...labelNames], registers: [theirs] })
  if (labelNames.length === 0) own.series({})
  observe((labels, seconds) => {
    own.series(labels as Record<string, string>).observe(seconds)
    library.observe(labels as Record<string, string>, seconds)
  })
  return registries
}

const observations = [0, 0.05, 0.1, 0.2, 1, 1.1, 500]

function addAll(add: (labels: object, seconds: number) => void, labels: object): void {
  for (const seconds of observations) add(labels, seconds)
}

test('a histogram of durations is that of prom-client, before and after observations', async () => {
  const cases = [
    both([], () => undefined),
    both([], (add) => addAll(add, {})),
    both(['method'], (add) => {
      for (const method of ['a', 'b"\\\n']) addAll(add, { method })
    }),
  ]
  for (const [ours, theirs] of cases) assert.equal(await ours.metrics(), await theirs.metrics())
})

test('histograms of several processes are added up', async () => {
  const [ours, theirs] = both(['method'], (add) => addAll(add, { method: 'a' }))
  const sum = createMetricsSum()
  for (let process = 0; process < 2; process++)
    sum.add({ aggregate: await ours.metrics(), tenants: '', aggregators: {} })
  const metrics = await theirs.getMetricsAsJSON()
  assert.equal(
    sum.render().aggregate.trim(),
    (await AggregatorRegistry.aggregate([metrics, metrics]).metrics()).trim(),
  )
})

test('series that are kept count on after a reset', async () => {
  const registry = new Registry()
  const series = createDurationHistogram({ ...options, registers: [registry] }).series({})
  series.observe(0.5)
  registry.resetMetrics()
  series.observe(2)
  assert.match(await registry.metrics(), /seconds_bucket\{le="1"\} 0\n.*\nseconds_sum 2\nseconds_count 1\n/)
})
