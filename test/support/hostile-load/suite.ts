import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { MIB } from './bytes.ts'
import { budgetMibOf, type Caller } from './hostile-case.ts'
import { catalog } from './hostile-catalog.ts'
import { line, writeReport } from './report.ts'
import { type Endpoint, type Outcome, runCases } from './run.ts'

/** What the tests of hostile load have in common: which cases run, and what each must show. */

/**
 * Settings of a run: `BERTH_TEST_HOSTILE_CASES`, a regular expression for `<entrance>: <case> (<caller>)`, and
 * `BERTH_TEST_HOSTILE_REPORT`, a path that the table is written to, with `.md` and `.json` at its end.
 */
const { BERTH_TEST_HOSTILE_CASES: only = '', BERTH_TEST_HOSTILE_REPORT: report = '' } = process.env

/**
 * A case may grow the memory by the first number beyond its budget; the report shows how much it was. The test adds the second, since one
 * case differs by up to 90 MiB between machines: the threads that run first, and what the garbage collectors and malloc keep for later.
 */
const GROWTH_MIB_MAX = 64
const MARGIN_MIB = 128
/** Far beyond what is promised: a machine that is busy must not fail a test. The report has the measured times. */
const PAUSE_CPU_MS_MAX = 1000

/** Runs cases as one test, and asserts on all of them when all have run: a case that breaks the server hides no other. */
export async function runHostileLoad(t: TestContext, wanted: 'quick' | 'whole'): Promise<void> {
  const outcomes: Outcome[] = []
  await runCases(t, chosen(wanted), (outcome) => {
    outcomes.push(outcome)
    t.diagnostic(line(outcome))
    if (report !== '') writeReport(report, outcomes)
  })
  assert.ok(outcomes.length > 0, 'no case matches')
  const found = outcomes.flatMap((outcome) =>
    problemsOf(outcome).map((problem) => `${titleOf(outcome)}: ${problem}`),
  )
  assert.deepEqual(found, [])
}

function titleOf({
  endpoint: entrance,
  case: { name },
  caller,
}: Pick<Outcome, 'endpoint' | 'case' | 'caller'>): string {
  return `${entrance}: ${name} (${caller})`
}

function chosen(wanted: 'quick' | 'whole'): Endpoint[] {
  const pattern = new RegExp(only)
  return catalog.map(({ name, cases }) => ({
    name,
    cases: cases
      .filter(({ quick }) => quick || wanted === 'whole')
      .map((one) => ({
        ...one,
        callers: one.callers
          .filter((caller) => wanted === 'whole' || !isIntermediate(caller, one.callers))
          .filter((caller) => pattern.test(titleOf({ endpoint: name, case: one, caller }))),
      })),
  }))
}

/** Whether a caller may do more than one of the others and less than another: the two ends show most of what there is to see. */
function isIntermediate(caller: Caller, callers: readonly Caller[]): boolean {
  return caller === 'no role' && callers.includes('anonymous') && callers.length > 2
}

function problemsOf(outcome: Outcome): string[] {
  const { broken, wrong, failures, errors, unreleasedBytes: leftBytes, grownBytes, pauseCpuMs } = outcome
  if (broken !== undefined) return [broken]
  const problems = wrong.map((reply) => `the reply is ${reply}`)
  for (const text of errors) problems.push(`the server logged ${text}`)
  for (const [what, count] of Object.entries(failures))
    problems.push(`the other client failed: ${what} (${count} times)`)
  if (leftBytes > 0) problems.push(`${leftBytes} bytes of bodies are still counted`)
  const growthMib = Math.round(grownBytes / MIB)
  const growthMibMax = budgetMibOf(outcome.case, outcome.caller) + GROWTH_MIB_MAX + MARGIN_MIB
  if (growthMib > growthMibMax)
    problems.push(`the memory grew by ${growthMib} MiB, of at most ${growthMibMax}`)
  if (pauseCpuMs > PAUSE_CPU_MS_MAX)
    problems.push(`the event loop was held for ${Math.round(pauseCpuMs)} ms of processor time`)
  return problems
}
