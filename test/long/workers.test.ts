import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { limits } from '@berth/server/config/limits.ts'
import { apiOf, newName } from '../support/api/api-fixture.ts'
import { startWithWorkers } from '../support/server/workers.ts'

test('a worker that does not respond is killed, and the others write again', async (t) => {
  const server = await startWithWorkers(t, 'sqlite')
  const { organization, tokens } = server
  const one = apiOf({ url: await server.origin(1) }, tokens.api)
  const two = apiOf({ url: await server.origin(2) }, tokens.api)
  // The worker that hangs has the turn to write.
  await one.create(`iam/groups/${organization}`, { name: newName('before') })
  const hung = server.pid(1)
  process.kill(hung, 'SIGSTOP')
  const startMs = performance.now()
  const written = two.create(`iam/groups/${organization}`, { name: newName('meanwhile') })
  assert.equal((await two.get(`iam/groups/${organization}`)).status, 200, 'reads continue')
  await written
  const waitedMs = performance.now() - startMs
  assert.ok(waitedMs > limits.workerUnresponsiveMs / 2, `${waitedMs}`)
  assert.ok(waitedMs < 2 * limits.workerUnresponsiveMs, `${waitedMs}`)
  await server.untilLogged('a worker does not respond and is killed')
  while (server.pid(1) === hung) await pause(50)
  await server.untilLogged('"msg":"serving"', 3)
  assert.equal(
    (await apiOf({ url: await server.origin(1) }, tokens.api).get(`iam/groups/${organization}`)).status,
    200,
  )
})

test('a worker that hangs while it is starting is killed, and started again', async (t) => {
  const server = await startWithWorkers(t, 'sqlite')
  const former = server.pid(1)
  process.kill(former, 'SIGKILL')
  while (server.pid(1) === former) await pause(1)
  const hung = server.pid(1)
  process.kill(hung, 'SIGSTOP')
  await server.untilLogged('a worker does not respond and is killed')
  while (server.pid(1) === hung) await pause(50)
  // Worker 1, worker 2, and the third worker 1: the second one did not become ready.
  await server.untilLogged('"msg":"serving"', 3)
})
