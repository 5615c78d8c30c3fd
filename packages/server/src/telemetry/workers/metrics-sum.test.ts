import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMetrics } from '../metrics.ts'
import { createMetricsSum } from './metrics-sum.ts'

const snapshot = (values: Readonly<Record<string, readonly [type: string, value: string]>>) => ({
  aggregate: Object.entries(values)
    .map(([series, [type, value]]) => {
      const name = series.replace(/\{.*/, '')
      return `# HELP ${name} Help of ${name}.\n# TYPE ${name} ${type}\n${series} ${value}`
    })
    .join('\n\n'),
  tenants: '',
  aggregators: { largest: 'max', least: 'min', same: 'first', left_out: 'omit' } as const,
})

/** Series and their values. */
const seriesOf = (text: string) => text.split('\n').filter((line) => /^[^#]/.test(line))

test('values of several processes are combined by the kind of the metric', () => {
  const sum = createMetricsSum()
  for (const [at, delay] of [
    [1, 'Nan'],
    [3, '0.5'],
    [2, 'Nan'],
  ] as const)
    sum.add(
      snapshot({
        'counted{path="a b"}': ['counter', String(at)],
        largest: ['gauge', String(at)],
        least: ['gauge', String(at)],
        same: ['gauge', String(at)],
        left_out: ['gauge', String(at)],
        delay: ['gauge', delay],
        unbounded: ['gauge', '+Inf'],
      }),
    )
  const { aggregate } = sum.render()
  assert.deepEqual(seriesOf(aggregate), [
    'counted{path="a b"} 6',
    'largest 3',
    'least 1',
    'same 1',
    'delay 0.5',
    'unbounded +Inf',
  ])
  assert.ok(aggregate.startsWith('# HELP counted Help of counted.\n# TYPE counted counter\n'), aggregate)
})

test('of a process that has ended, only what it counted stays', () => {
  const ended = createMetricsSum()
  ended.addCounts(
    snapshot({ counted: ['counter', '4'], seconds_sum: ['histogram', '1'], state: ['gauge', '9'] }),
  )
  const sum = ended.copy()
  sum.add(snapshot({ counted: ['counter', '2'], state: ['gauge', '1'] }))
  assert.deepEqual(seriesOf(sum.render().aggregate), ['counted 6', 'seconds_sum 1', 'state 1'])
  assert.deepEqual(seriesOf(ended.render().aggregate), ['counted 4', 'seconds_sum 1'])
})

test('event-loop lags of several processes are those of the most delayed one', async () => {
  const { aggregate, aggregators } = await createMetrics().snapshot()
  const lags = [...aggregate.matchAll(/^# TYPE (nodejs_eventloop_lag_\S+)/gm)].map(([, name = '']) => name)
  assert.ok(lags.length > 5)
  assert.deepEqual(
    lags.filter((name) => aggregators[name] !== 'max'),
    ['nodejs_eventloop_lag_min_seconds'],
  )
})

test('what a process has counted is reported without its state', async () => {
  const metrics = createMetrics()
  metrics.recordAuditWritten(3)
  const { aggregate } = await metrics.counts()
  assert.match(aggregate, /^berth_audit_written_total 3$/m)
  assert.match(aggregate, /^# TYPE berth_request_duration_seconds histogram$/m)
  assert.doesNotMatch(aggregate, /^# TYPE \S+ gauge$/m)
})
