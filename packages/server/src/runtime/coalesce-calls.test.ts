import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { coalesceCalls } from './coalesce-calls.ts'

test('R28: 20 calls at a time share two runs, and each result is as new as its call', async () => {
  let runs = 0
  let value = 'old'
  const read = coalesceCalls(async () => {
    runs += 1
    const seen = value
    await setImmediate()
    await setImmediate()
    return seen
  })
  const first = read()
  while (runs === 0) await setImmediate()
  value = 'new'
  const others = Array.from({ length: 20 }, () => read())
  assert.equal(await first, 'old')
  assert.deepEqual(new Set(await Promise.all(others)), new Set(['new']))
  assert.equal(runs, 2)
  assert.equal(await read(), 'new')
  assert.equal(runs, 3)
})

test('a run that fails does not stop the next', async () => {
  let fails = true
  const read = coalesceCalls(async () => {
    if (fails) throw new Error('once')
    return 'fine'
  })
  await assert.rejects(read(), /once/)
  fails = false
  assert.equal(await read(), 'fine')
})
