import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import { compareVersions } from './support/both-versions.ts'
import { onEveryDatabase } from './support/cast.ts'

/** `BERTH_TEST_SEED` repeats a run that failed. */
const seed = Number(process.env['BERTH_TEST_SEED'] ?? randomInt(2 ** 31))

onEveryDatabase('version 1 and version 2', (cast) => {
  test('show the same after any writes through either, over REST and over gRPC', () =>
    compareVersions(cast(), seed, 25))
})
