import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import { onEveryDatabase } from './support/api/api-fixture.ts'
import { compareVersions } from './support/api/version-agreement.ts'

/** `BERTH_TEST_SEED` repeats a run that failed. */
const seed = Number(process.env['BERTH_TEST_SEED'] ?? randomInt(2 ** 31))

onEveryDatabase('version 1 and version 2', (cast, { isFirst }) => {
  test('show the same after any writes through either, over REST and over gRPC', () =>
    compareVersions(cast(), seed, isFirst ? 25 : 8))
})
