import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { FaultCase } from './cases/fault-case.ts'
import { catalog } from './cases/fault-catalog.ts'
import { line, writeReport } from './report.ts'
import { faultRunner, type Outcome, RECOVERY_MS_MAX } from './run.ts'

/**
 * Settings of a run: `BERTH_TEST_FAULTS`, a regular expression for names of faults, and `BERTH_TEST_FAULTS_REPORT`, a path that the table is
 * written to, with `.md` and `.json` at its end.
 */
const { BERTH_TEST_FAULTS: only = '', BERTH_TEST_FAULTS_REPORT: report = '' } = process.env

/** Runs faults as one test, and asserts on all of them when all have run. */
export async function runFaults(t: TestContext): Promise<void> {
  const outcomes: Outcome[] = []
  const runner = faultRunner()
  try {
    for (const one of chosen()) {
      const outcome = await runner.run(one)
      outcomes.push(outcome)
      t.diagnostic(line(outcome))
      if (report !== '') writeReport(report, outcomes)
    }
  } finally {
    await runner.close()
  }
  assert.ok(outcomes.length > 0, 'no fault matches')
  assert.deepEqual(
    outcomes.flatMap((outcome) => problemsOf(outcome).map((problem) => `${outcome.case.name}: ${problem}`)),
    [],
  )
}

/** Cases of one shape follow each other: they share an installation. */
function chosen(): readonly FaultCase[] {
  const pattern = new RegExp(only)
  const cases = catalog.filter(({ name }) => pattern.test(name))
  const shapes = [...new Set(cases.map(({ shape }) => JSON.stringify(shape)))]
  return shapes.flatMap((shape) => cases.filter((one) => JSON.stringify(one.shape) === shape))
}

function problemsOf(outcome: Outcome): string[] {
  const { broken, verified, wrong, contradictions, readyWrong, metricsWrong, allMs, stopMs } = outcome
  if (broken !== undefined) return typeof outcome.case.skip === 'string' ? [] : [broken]
  const problems = [
    ...(verified?.lost ?? []).map((what) => `lost: ${what}`),
    ...(verified?.inconsistent ?? []),
    ...contradictions,
  ]
  for (const [code, n] of Object.entries(wrong)) problems.push(`${n} requests failed with ${code}`)
  for (const text of [readyWrong, metricsWrong]) if (text !== undefined) problems.push(text)
  // The report has the measured times: a busy machine must not fail a test.
  if (Number.isNaN(allMs)) problems.push(`a node did not recover within ${RECOVERY_MS_MAX} ms`)
  if (Number.isNaN(stopMs ?? 0)) problems.push('SIGTERM did not end a node')
  return problems
}
