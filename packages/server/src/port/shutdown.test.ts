import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { runShutdown, ShutdownTimeout } from './shutdown.ts'

const quiet = { error() {} }
const never = () => new Promise<never>(() => {})

describe('a shutdown', () => {
  test('runs every step in order, also after one that fails, and reports the failure', async () => {
    const ran: string[] = []
    const failed = new Error('not today')
    const steps = [
      { name: 'a', run: () => void ran.push('a') },
      { name: 'b', run: () => Promise.reject(failed) },
      { name: 'c', run: async () => void ran.push('c') },
    ]
    await assert.rejects(runShutdown(steps, { timeoutMs: 60_000, log: quiet }), failed)
    assert.deepEqual(ran, ['a', 'c'])
  })

  test('names the steps that do not finish, with what they wait for, and runs the others', async () => {
    const ran: string[] = []
    const steps = [
      { name: 'requests', run: never, waitsFor: () => ['GET /a', 'PATCH /b'] },
      { name: 'audit events', run: () => void ran.push('audit events') },
      { name: 'database', run: never },
    ]
    await assert.rejects(
      runShutdown(steps, { timeoutMs: 50, log: quiet }),
      (error) =>
        error instanceof ShutdownTimeout &&
        error.unfinished.join('; ') === 'requests (GET /a, PATCH /b); database',
    )
    assert.deepEqual(ran, ['audit events'])
  })

  test('starts early steps before what the others wait for', async () => {
    const ran: string[] = []
    const gate = Promise.withResolvers<void>()
    const steps = [
      { name: 'late', run: () => void ran.push('late') },
      { name: 'early', early: true, run: () => void ran.push('early') },
    ]
    const done = runShutdown(steps, { after: gate.promise, timeoutMs: 60_000, log: quiet })
    assert.deepEqual(ran, ['early'])
    gate.resolve()
    await done
    assert.deepEqual(ran, ['early', 'late'])
  })
})
