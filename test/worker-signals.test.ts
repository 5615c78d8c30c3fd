import assert from 'node:assert/strict'
import { readdirSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { databases } from './support/database/databases.ts'
import { eventually } from './support/eventually.ts'
import { spawnBerth, temporaryDirectory } from './support/server/process.ts'
import { startWithWorkers } from './support/server/workers.ts'

/** Signals that a server receives while one of its workers is starting. */

const skip = !databases.some(({ name }) => name === 'sqlite') && 'not among BERTH_TEST_DATABASES'

/** The limits of reads that connections meet: rotation takes them to each worker. */
async function limitsServed(url: string): Promise<readonly (string | null)[]> {
  const served = new Set<string | null>()
  for (let connection = 0; connection < 4; connection++) {
    const { headers } = await fetch(`${url}/iam/v2beta1/groups`, {
      headers: { connection: 'close', authorization: 'Bearer none' },
    })
    served.add(headers.get('ratelimit-limit'))
  }
  return [...served]
}

/** Whether a process has opened the database: it has read its settings before. */
function hasDatabase(pid: number): boolean {
  const directory = `/proc/${pid}/fd`
  return readdirSync(directory).some((fd) => {
    try {
      return readlinkSync(join(directory, fd)).endsWith('berth.db')
    } catch {
      return false
    }
  })
}

for (const workers of ['1', '2'])
  test(`a reload during the first start follows it (workers: ${workers})`, {
    skip: skip || (process.platform !== 'linux' && 'needs /proc'),
  }, async (t) => {
    const directory = temporaryDirectory(t)
    const file = join(directory, 'env')
    const write = (limit: number) => writeFileSync(file, `BERTH_RATE_LIMITS_ADDRESS=read=${limit}/1h\n`)
    write(20)
    const { child, output } = spawnBerth(t, ['serve'], {
      BERTH_ENV_FILE: file,
      BERTH_DATA_DIR: directory,
      BERTH_LISTEN: '127.0.0.1:0',
      BERTH_DRAIN_DELAY: '0s',
      BERTH_WORKERS: workers,
    })
    // The process has read its settings and handles SIGHUP before it opens the database.
    await eventually(() =>
      workers === '1' ? hasDatabase(child.pid as number) : output().stderr.includes('a worker started'),
    )
    write(7)
    child.kill('SIGHUP')
    const [, url = ''] = await eventually(() => /^ready (\S+)\n/.exec(output().stdout))
    await eventually(async () => (await limitsServed(url)).join() === '7')
  })

test('a reload while a worker is replaced reaches the new one', {
  skip: skip || (process.platform !== 'linux' && 'needs /proc'),
}, async (t) => {
  const file = join(temporaryDirectory(t), 'env')
  const write = (limit: number) => writeFileSync(file, `BERTH_RATE_LIMITS_ADDRESS=read=${limit}/1h\n`)
  write(20)
  const server = await startWithWorkers(t, 'sqlite', { BERTH_ENV_FILE: file })
  const former = server.pid(1)
  process.kill(former, 'SIGKILL')
  await eventually(() => server.pid(1) !== former)
  await eventually(() => hasDatabase(server.pid(1)), Boolean, { pollMs: 1 })
  process.kill(server.pid(1), 'SIGSTOP')
  write(7)
  server.child.kill('SIGHUP')
  await server.untilLogged('reload: the settings and files were read again')
  process.kill(server.pid(1), 'SIGCONT')
  await server.untilLogged('"msg":"serving"', 3)
  await eventually(async () => (await limitsServed(server.url)).join() === '7')
})

test('SIGTERM during the first start ends a server with workers by the signal, as one without', {
  skip,
}, async (t) => {
  const stopStarting = async () => {
    const { child, output, finished } = spawnBerth(t, ['serve'], {
      BERTH_DATA_DIR: temporaryDirectory(t),
      BERTH_LISTEN: '127.0.0.1:0',
      BERTH_DRAIN_DELAY: '0s',
      BERTH_WORKERS: '2',
    })
    await eventually(() => output().stderr.includes('a worker started'), Boolean, { pollMs: 1 })
    child.kill('SIGTERM')
    return finished
  }
  let last = await stopStarting()
  // Again if it was ready before the signal came.
  for (let attempt = 1; last.stdout !== '' && attempt < 5; attempt++) last = await stopStarting()
  const { code, signal, stdout } = last
  assert.deepEqual([code, signal, stdout], [null, 'SIGTERM', ''])
})

test('a server that stops while a worker is starting exits with 0', { skip }, async (t) => {
  const server = await startWithWorkers(t, 'sqlite')
  const former = server.pid(1)
  process.kill(former, 'SIGKILL')
  await eventually(() => server.pid(1) !== former, Boolean, { pollMs: 1 })
  server.child.kill('SIGTERM')
  const { code, signal, stderr } = await server.finished
  assert.deepEqual([code, signal], [0, null], stderr)
})
