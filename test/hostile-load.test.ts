import assert from 'node:assert/strict'
import { test } from 'node:test'
import { catalog } from './support/hostile-load/hostile-catalog.ts'
import { runHostileLoad } from './support/hostile-load/suite.ts'

test('the catalog of hostile requests has at least 200, through every entrance, each with a name of its own', () => {
  const names = catalog.flatMap(({ name, cases }) => cases.map((one) => `${name}: ${one.name}`))
  assert.ok(names.length >= 200, `${names.length} cases`)
  assert.deepEqual(
    names.filter((name, at) => names.indexOf(name) !== at),
    [],
  )
  const withoutQuick = catalog.filter(({ cases }) => !cases.some(({ quick }) => quick))
  assert.deepEqual(
    withoutQuick.map(({ name }) => name),
    ['feeds'],
  )
})

test('hostile requests of every kind neither stop the server, nor grow it, nor keep others from reading', async (t) => {
  await runHostileLoad(t, 'quick')
})
