import { test } from 'node:test'
import fc from 'fast-check'
import { onEveryDatabase } from '../support/api/api-fixture.ts'
import {
  assertPagesMatchList,
  assertSkipsAddUp,
  assertStableUnderChanges,
  listQuestions,
  runProperty,
} from '../support/api/paging.ts'

// The same properties as test/api/paging.test.ts, on more and larger trees.

const runs = Number(process.env['BERTH_TEST_RUNS'] ?? 1000)
const large = listQuestions({ groups: 30, rows: 10 })

for (const [title, sizes] of [
  ['with small buckets', { bucketRowsMax: 4, rowsInlineMax: 3, branchesMax: 2 }],
  ['as it is run', undefined],
] as const) {
  onEveryDatabase(
    `lists ${title}, at length`,
    (cast) => {
      test('all pages together are the list', () =>
        runProperty(large, (question) => assertPagesMatchList(cast(), question), runs))

      test('a further skip counts from the cursor', () =>
        runProperty(
          fc.tuple(large, fc.nat(30)),
          ([question, further]) => assertSkipsAddUp(cast(), question, further),
          runs,
        ))

      test('changes between pages disturb nothing else', () =>
        runProperty(
          fc.tuple(large, fc.array(fc.nat(1000), { minLength: 1 })),
          ([question, changes]) => assertStableUnderChanges(cast(), { ...question, skip: 0 }, changes),
          runs,
        ))
    },
    sizes === undefined ? {} : { sizes },
  )
}
