import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { withoutPostgres } from '../support/database/postgres.ts'
import type { Shape } from '../support/faults/site/fault-site.ts'
import { type SoakResult, soak, writeSoakReport } from '../support/faults/soak.ts'

/**
 * `BERTH_TEST_SOAK_MINUTES`: how long each load lasts, default 60. `BERTH_TEST_SOAK_REPORT`: a path that the report is written to, with `.md`
 * and `.json` at its end.
 */
const { BERTH_TEST_SOAK_MINUTES = '60', BERTH_TEST_SOAK_REPORT: report = '' } = process.env
const minutes = Number(BERTH_TEST_SOAK_MINUTES)

const GROWTH_MAX = 0.05
/** A young process still grows to its size. */
const EVALUATED_MINUTES_MIN = 30
const HANDLES_GROWTH_MAX = 20
/** What the removal of expired rows records itself. */
const LEFT_MAX = 5

const results: SoakResult[] = []

async function run(t: TestContext, name: string, shape: Shape): Promise<void> {
  const result = await soak(name, shape, minutes, (line) => t.diagnostic(line))
  results.push(result)
  if (report !== '') writeSoakReport(report, results)
  assert.deepEqual(result.failed, {})
  assert.deepEqual([result.verified.lost, result.verified.inconsistent], [[], []])
  for (const table of ['idempotency_keys', 'audit_events', 'pending', 'sessions', 'uploads'])
    assert.ok(
      (result.left[table] ?? 0) <= LEFT_MAX,
      `${result.left[table]} rows of ${table} have expired and are left`,
    )
  for (const { first, last } of result.handles)
    assert.ok(last - first <= HANDLES_GROWTH_MAX, `${first} to ${last} handles`)
  if (minutes < EVALUATED_MINUTES_MIN) return
  for (const { growth } of result.memory)
    assert.ok(growth < GROWTH_MAX, `the memory grew by ${(growth * 100).toFixed(1)} %`)
}

const options = {
  skip: process.platform !== 'linux' && 'memory and handles are read from /proc',
  timeout: (minutes + 10) * 60_000,
}

test('a mixed load on SQLite fails no request, and neither memory nor handles grow', options, async (t) => {
  await run(t, 'SQLite', { database: 'sqlite' })
})

test('a mixed load on three nodes with PostgreSQL fails no request, and neither memory nor handles grow', {
  ...options,
  skip: options.skip || withoutPostgres,
}, async (t) => {
  await run(t, 'three nodes on PostgreSQL', {})
})
