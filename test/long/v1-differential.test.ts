import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import { onEveryDatabase } from '../support/api/api-fixture.ts'
import { compareVersions } from '../support/api/version-agreement.ts'

// The same as test/v1-differential.test.ts, for longer sequences and more of them.

const RUNS = 10
const first = Number(process.env['BERTH_TEST_SEED'] ?? randomInt(2 ** 31))

onEveryDatabase('version 1 and version 2, at length', (cast) => {
  for (let run = 0; run < RUNS; run++)
    test(`show the same, run ${run + 1}`, () => compareVersions(cast(), first + run, 300))
})
