import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../config/limits.ts'
import { createReadiness } from './readiness.ts'

test('a failed check makes the server not ready, a warning does not', async () => {
  const disk = { name: 'disk', run: () => ({ state: 'warning', message: 'full' }) as const }
  const database = { name: 'database', run: () => ({ state: 'failed', message: 'read-only' }) as const }
  const good = { name: 'good', run: async () => ({ state: 'ok' }) as const }
  const named = ({ name, message }: { name: string; message: string }) => `${name}: ${message}`
  const first = await createReadiness([disk, good])()
  assert.deepEqual(
    [first.ready, first.failed.map(named), first.warnings.map(named)],
    [true, [], ['disk: full']],
  )
  const second = await createReadiness([disk, database, good])()
  assert.deepEqual([second.ready, second.failed.map(named)], [false, ['database: read-only']])
})

test('a check that rejects has failed, with its cause', async () => {
  const cause = new Error('no')
  const { ready, failed } = await createReadiness([{ name: 'a', run: () => Promise.reject(cause) }])()
  assert.deepEqual([ready, failed[0]?.cause], [false, cause])
})

test('a check that does not answer has failed after readinessCheckMs', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const running = createReadiness([{ name: 'a', run: () => new Promise(() => {}) }])()
  t.mock.timers.tick(limits.readinessCheckMs)
  const { ready, failed } = await running
  assert.deepEqual(
    [ready, failed[0]?.message],
    [false, `no response within ${limits.readinessCheckMs / 1000} s`],
  )
})

test('calls that arrive during a run share it', async () => {
  let runs = 0
  const ready = createReadiness([
    { name: 'a', run: () => ({ state: runs++ === 0 ? 'ok' : 'failed', message: '' }) },
  ])
  const [one, two] = await Promise.all([ready(), ready()])
  assert.deepEqual([runs, one?.ready, two?.ready], [1, true, true])
  assert.equal((await ready()).ready, false)
})
