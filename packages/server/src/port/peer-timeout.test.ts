import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createStandstillMeter } from './peer-timeout.ts'

test('standstills count until the window has passed in which the process was not standing still', () => {
  let nowMs = 0
  const lostMs = createStandstillMeter(100, 1000, () => nowMs)
  const after = (ms: number) => {
    nowMs += ms
    return lostMs()
  }
  assert.deepEqual([after(100), after(90)], [0, 0])
  assert.equal(after(2100), 2000)
  // The functions of several limits ask at the same time.
  assert.equal(after(0), 2000)
  for (let passed = 0; passed < 500; passed += 100) assert.equal(after(100), 2000)
  assert.equal(after(5100), 7000)
  for (let passed = 0; passed < 400; passed += 100) assert.equal(after(100), 7000)
  assert.equal(after(100), 5000)
  for (let passed = 0; passed < 500; passed += 100) assert.equal(after(100), 5000)
  assert.equal(after(100), 0)
})
