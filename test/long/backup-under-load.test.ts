import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backUpUnderLoad, createInstallations, type Engine } from '../support/database/backups.ts'
import { withoutPostgres } from '../support/database/postgres.ts'
import { temporaryDirectory } from '../support/server/process.ts'

const wanted = process.env['BERTH_TEST_DATABASES']?.split(',')
const pairs: readonly (readonly [from: Engine, to: Engine])[] = [
  ['sqlite', 'sqlite'],
  ['postgres', 'postgres'],
]

for (const [from, to] of pairs)
  test(`a backup of ${from} under load, with collections, loses nothing that was acknowledged`, {
    skip: from === 'postgres' ? withoutPostgres : wanted !== undefined && !wanted.includes('sqlite'),
  }, async (t) => {
    const newInstallation = await createInstallations(t, [from, to])
    const result = await backUpUnderLoad(t, await newInstallation(from), await newInstallation(to), {
      destination: temporaryDirectory(t),
      images: 20,
    })
    t.diagnostic(JSON.stringify(result))
    assert.ok(result.acknowledged > 10 && result.deleted > 0)
    assert.equal(result.lost, 0)
    assert.ok(result.addedBySecond < result.blobs, 'the second backup copies new blobs only')
  })
