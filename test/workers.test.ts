import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { Agent, type IncomingMessage, request } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { limits } from '@berth/server/config/limits.ts'
import { readConfig } from '@berth/server/installation/config.ts'
import { buildZip } from './support/advisories/archives.ts'
import { type FeedServer, startFeedServer } from './support/advisories/feed-server.ts'
import { FEEDS, osvRecord, waitForFeed } from './support/advisories/feeds.ts'
import { type Api, apiOf, managedRole, newName } from './support/api/api-fixture.ts'
import { databases } from './support/database/databases.ts'
import { withoutPostgres } from './support/database/postgres.ts'
import { eventually } from './support/eventually.ts'
import { selfSignedCertificate } from './support/http/certificate.ts'
import { createCrossNodeWork, nodeClient } from './support/server/cross-node-work.ts'
import { cleanups, runBerth, serveBerth, temporaryDirectory } from './support/server/process.ts'
import { type ServerWithWorkers, startWithWorkers } from './support/server/workers.ts'

/** Several processes that serve one port: `BERTH_WORKERS`. */

async function metric(url: string, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const line = text.split('\n').find((one) => one.startsWith(`${name} `))
  return Number(line?.slice(name.length + 1))
}

async function statusOf(agent: Agent, url: string, headers: Readonly<Record<string, string>>) {
  const [response] = (await once(request(url, { agent, headers }).end(), 'response')) as [IncomingMessage]
  response.resume()
  await once(response, 'end')
  return { status: response.statusCode, connection: response.headers.connection }
}

for (const engine of ['sqlite', 'postgres'] as const) {
  const skip =
    (!databases.some(({ name }) => name === engine) && 'not among BERTH_TEST_DATABASES') ||
    (engine === 'postgres' && withoutPostgres)

  describe(`two workers (${engine})`, { skip }, () => {
    const cleanup = cleanups()
    let feeds: FeedServer
    let server: ServerWithWorkers
    let first = ''
    let second = ''
    let one: Api
    let two: Api
    before(async () => {
      feeds = await startFeedServer(cleanup)
      server = await startWithWorkers(cleanup, engine, {
        BERTH_ISSUER_PRIVATE_NETWORKS: '127.0.0.0/8',
        BERTH_DRAIN_DELAY: '10s',
      })
      ;[first, second] = [await server.origin(1), await server.origin(2)]
      one = apiOf({ url: first }, server.tokens.api)
      two = apiOf({ url: second }, server.tokens.api)
    })
    after(() => cleanup.run())

    test('both serve, and the access log says which one', async () => {
      await server.untilLogged('"worker":1')
      await server.untilLogged('"worker":2')
      assert.equal((await one.get(`iam/groups/${server.organization}`)).status, 200)
      assert.equal((await two.get(`iam/groups/${server.organization}`)).status, 200)
    })

    test('a role that one removes, the other sees immediately', async (t) => {
      const { organization, settings } = server
      const robot = await one.create(`iam/identities/${organization}`, {
        name: newName('robot'),
        claimMatch: { issuer: 'https://issuer.example', subject: 'robot' },
      })
      const binding = await two.create(`iam/roleBindings/${organization}`, {
        identityUid: robot.uid,
        roleUid: managedRole('viewer'),
      })
      const { stdout } = await runBerth(t, ['admin', 'token', '--identity', robot.uid], settings)
      const robotAt = [first, second].map((url) => apiOf({ url }, stdout.trim()))
      const statuses = () =>
        Promise.all(robotAt.map(async (api) => (await api.get('iam/groups')).body?.groups?.length))
      assert.deepEqual(await statuses(), [1, 1])
      for (let round = 0; round < 20; round++) {
        const [writer, other] = round % 2 === 0 ? [one, 1] : [two, 0]
        const made = await writer.create(`iam/groups/${organization}`, { name: newName('group') })
        assert.equal((await (robotAt[other] as Api).get(`iam/groups/${made.uid}`)).status, 200)
        assert.equal((await writer.delete(`iam/groups/${made.uid}`)).status, 200)
        assert.equal((await (robotAt[other] as Api).get(`iam/groups/${made.uid}`)).status, 404)
      }
      assert.equal((await one.delete(`iam/roleBindings/${binding.uid}`)).status, 200)
      assert.equal((await robotAt[1]?.get(`iam/groups/${organization}`))?.status, 403)
      assert.equal((await two.delete(`iam/identities/${robot.uid}`)).status, 200)
      assert.equal((await robotAt[0]?.get('iam/groups'))?.status, 401)
    })

    test('a limit that is set, and what counts for it, applies to both', async (t) => {
      const { organization, settings } = server
      const before = Number(
        (await one.get('iam/groups', { 'uidp.descendants_of': organization })).body.totalCount,
      )
      const limit = ['admin', 'organization', organization, '--limit', `groups=${before + 2}`]
      assert.equal((await runBerth(t, limit, settings)).code, 0)
      const create = (api: Api) => api.post(`iam/groups/${organization}`, { name: newName('counted') })
      const statuses = [await create(one), await create(two), await create(one), await create(two)].map(
        ({ status }) => status,
      )
      assert.deepEqual(statuses.slice(-2), [429, 429])
      assert.ok(statuses.indexOf(200) === 0)
      assert.equal(
        (await runBerth(t, ['admin', 'organization', organization, '--limit', 'groups=none'], settings)).code,
        0,
      )
      assert.equal((await create(two)).status, 200)
    })

    test('both see everything that nodes share: groups, uploads, images', async () => {
      const work = createCrossNodeWork(server.organization)
      const clients = [first, second].map((url) => nodeClient(url, server.tokens)) as [
        ReturnType<typeof nodeClient>,
        ReturnType<typeof nodeClient>,
      ]
      await work.run(...clients)
      await work.race(...clients)
      for (const client of clients) await work.verify(client)
    })

    test('both write at the same time', async () => {
      const { organization } = server
      const names = Array.from({ length: 100 }, () => newName('many'))
      const made = await Promise.all(
        names.map((name, at) => (at % 2 === 0 ? one : two).create(`iam/groups/${organization}`, { name })),
      )
      for (const { uid } of made.slice(-10)) assert.equal((await one.get(`iam/groups/${uid}`)).status, 200)
      const total = await Promise.all(
        [one, two].map(
          async (api) =>
            (await api.get('iam/groups', { 'uidp.descendants_of': organization })).body.totalCount,
        ),
      )
      assert.equal(total[0], total[1])
    })

    test('one of them runs a job', async () => {
      const paths = Array.from({ length: 6 }, (_, at) => `/${at}.zip`)
      const archive = buildZip(
        [0, 1, 2].map((at) => ({ name: `${at}.json`, content: JSON.stringify(osvRecord(at)) })),
      )
      for (const path of paths) feeds.files.set(path, archive)
      const added = await Promise.all(
        paths.map((path, at) =>
          (at % 2 === 0 ? one : two).create(`${FEEDS}/${server.organization}`, { url: feeds.url + path }),
        ),
      )
      for (const { uid } of added) await waitForFeed(two, uid, ({ state }) => state === 'STATE_SUCCEEDED')
      assert.deepEqual(feeds.requests.map(({ path }) => path).sort(), paths)
    })

    test('a second server does not start on their data directory', {
      skip: engine !== 'sqlite' && 'PostgreSQL is for several servers',
    }, async (t) => {
      const { code, stderr } = await runBerth(t, ['serve'], {
        ...server.settings,
        BERTH_LISTEN: '127.0.0.1:0',
        BERTH_WORKERS: '2',
      })
      assert.equal(code, 1)
      assert.match(stderr, /^berth: another server uses the data directory /)
    })

    test('one that is killed fails only its own requests, and comes back', async () => {
      const { url, tokens } = server
      const path = `/iam/v2beta1/groups/${server.organization}`
      const get = async (origin: string) =>
        (await fetch(`${origin}${path}`, { headers: { authorization: `Bearer ${tokens.api}` } })).status
      const calls =
        'berth_requests_total{method="chainguard.platform.iam.v2beta1.GroupsService/GetGroup",protocol="rest",code="OK"}'
      const callsBefore = await metric(url, calls)
      for (const origin of [first, second]) for (let n = 0; n < 5; n++) assert.equal(await get(origin), 200)
      assert.equal(await metric(url, calls), callsBefore + 10)

      const killed = server.pid(1)
      process.kill(killed, 'SIGKILL')
      for (let n = 0; n < 5; n++) assert.equal(await get(second), 200)
      await server.untilLogged('a worker is started again')
      // New connections are not for the worker that starts.
      for (let n = 0; n < 10; n++)
        assert.equal((await fetch(`${url}/readyz`, { headers: { connection: 'close' } })).status, 200)
      await eventually(async () => (await metric(url, 'berth_workers_ready')) === 2)
      assert.notEqual(server.pid(1), killed)
      assert.equal(await get(await server.origin(1)), 200)
      assert.equal(await metric(url, 'berth_worker_restarts_total'), 1)
      assert.equal(await metric(url, calls), callsBefore + 16, 'the counts of a worker that ended stay')
    })

    test('one that hangs gets one connection, which another one serves when it ends', {
      skip: engine !== 'sqlite' && 'the same on every database',
    }, async () => {
      const hung = server.pid(1)
      process.kill(hung, 'SIGSTOP')
      let served = 0
      const agent = new Agent()
      const all = Promise.all(
        Array.from({ length: 20 }, async () => {
          const { status } = await statusOf(agent, `${server.url}/healthz`, {})
          assert.equal(status, 200)
          served++
        }),
      )
      await eventually(() => served === 19)
      await pause(200)
      assert.equal(served, 19)
      process.kill(hung, 'SIGKILL')
      await all
      await eventually(async () => (await metric(server.url, 'berth_workers_ready')) === 2)
    })

    test('a flood of connections from one address costs only connections of this address', {
      skip: engine !== 'sqlite' && 'the same on every database',
    }, async (t) => {
      const { hostname: host, port } = new URL(server.url)
      const workers = [server.pid(1), server.pid(2)]
      t.after(() => {
        for (const pid of workers) process.kill(pid, 'SIGCONT')
      })
      for (const pid of workers) process.kill(pid, 'SIGSTOP')
      const ask = () => statusOf(new Agent(), `${server.url}/healthz`, {})
      const replies = [ask(), ask()]
      const flood: Socket[] = []
      t.after(() => {
        for (const socket of flood) socket.resetAndDestroy()
      })
      const surplus = 20
      while (flood.length < limits.workerConnectionsWaitingMax + surplus) {
        const socket = connect({ host, port: Number(port), localAddress: '127.0.0.2' })
        socket.on('error', () => undefined)
        await once(socket, 'connect')
        flood.push(socket)
      }
      const closed = () => flood.filter((socket) => socket.closed).length
      await eventually(() => closed() >= surplus)
      replies.push(...Array.from({ length: 10 }, ask))
      await eventually(() => closed() >= surplus + 10)

      for (const pid of workers) process.kill(pid, 'SIGCONT')
      for (const reply of replies) assert.equal((await reply).status, 200)
      assert.ok((await metric(server.url, 'berth_worker_connections_dropped_total')) >= surplus + 10)
    })

    test('SIGTERM drains both', async (t) => {
      const path = `/iam/v2beta1/groups/${server.organization}`
      const headers = { authorization: `Bearer ${server.tokens.api}` }
      // Connections of before: each serves one more request, whose reply closes it.
      const open = async (worker: number) => {
        const origin = await server.origin(worker)
        const agent = new Agent({ keepAlive: true, maxSockets: 1 })
        t.after(() => agent.destroy())
        const ask = (path: string) => statusOf(agent, `${origin}${path}`, headers)
        assert.equal((await ask(path)).status, 200)
        return ask
      }
      const asks = [await open(1), await open(2)]
      const probes = [await open(1), await open(2)]
      server.child.kill('SIGTERM')
      await server.untilLogged('"signal":"SIGTERM"', 2)
      for (const ask of asks) assert.deepEqual(await ask(path), { status: 200, connection: 'close' })
      for (const ask of probes) assert.deepEqual(await ask('/readyz'), { status: 503, connection: 'close' })
      const fresh = await fetch(`${server.url}/healthz`)
      assert.deepEqual([fresh.status, fresh.headers.get('connection')], [200, 'close'])
      const { code, stderr } = await server.finished
      assert.equal(code, 0, stderr)
      await assert.rejects(fetch(`${server.url}/healthz`))
    })
  })
}

const skip = !databases.some(({ name }) => name === 'sqlite') && 'not among BERTH_TEST_DATABASES'

test('workers serve HTTP/2 and TLS; the listener for metrics adds up all workers', { skip }, async (t) => {
  const directory = temporaryDirectory(t)
  const { cert, key } = selfSignedCertificate()
  const env = {
    BERTH_TLS_CERT_FILE: join(directory, 'tls.crt'),
    BERTH_TLS_KEY_FILE: join(directory, 'tls.key'),
  }
  writeFileSync(env.BERTH_TLS_CERT_FILE, cert)
  writeFileSync(env.BERTH_TLS_KEY_FILE, key)
  const server = await serveBerth(t, {
    ...env,
    BERTH_WORKERS: '2',
    BERTH_DATA_DIR: directory,
    BERTH_METRICS_LISTEN: '127.0.0.1:0',
  })
  for (let connection = 0; connection < 4; connection++) {
    const session = connectHttp2(server.url, { rejectUnauthorized: false })
    const stream = session.request({ ':path': '/readyz' })
    const [head] = await once(stream, 'response')
    assert.equal(head[':status'], 200)
    session.destroy()
  }
  const line =
    server
      .output()
      .stderr.split('\n')
      .find((one) => one.includes('"listener":"metrics"')) ?? '{}'
  const { url } = JSON.parse(line) as { url: string }
  assert.equal(await metric(url, 'berth_workers_ready'), 2)

  await t.test(
    'a client may close its half of the connection, and resume a TLS session at another worker',
    async () => {
      const { hostname: host, port } = new URL(server.url)
      let session: Buffer | undefined
      for (let connection = 0; connection < 5; connection++) {
        const socket = connectTls({
          host,
          port: Number(port),
          rejectUnauthorized: false,
          ...(session && { session }),
        })
        socket.on('session', (next) => {
          session = next
        })
        await once(socket, 'secureConnect')
        assert.equal(socket.isSessionReused(), connection > 0)
        let text = ''
        socket.on('data', (piece) => {
          text += piece
        })
        socket.end('GET /healthz HTTP/1.1\r\nhost: berth.test\r\nconnection: close\r\n\r\n')
        await once(socket, 'close')
        assert.match(text, /^HTTP\/1\.1 200 /)
      }
    },
  )

  await t.test(
    'a worker that replaces another one uses the former certificate while the files are invalid',
    async () => {
      const served = async () => {
        const { hostname: host, port } = new URL(server.url)
        const socket = connectTls({ host, port: Number(port), rejectUnauthorized: false })
        await once(socket, 'secureConnect')
        const { fingerprint256 } = socket.getPeerCertificate()
        socket.destroy()
        return fingerprint256
      }
      const servedByAll = async () => [
        ...new Set([await served(), await served(), await served(), await served()]),
      ]
      const logged = (text: string) => server.output().stderr.split(text).length - 1
      const before = await servedByAll()
      writeFileSync(env.BERTH_TLS_KEY_FILE, 'no key')
      await eventually(() => logged('the former certificate stays in use: BERTH_TLS_KEY_FILE') === 2)
      const [, pid] = /"pid":(\d+),"msg":"a worker started"/.exec(server.output().stderr) ?? []
      process.kill(Number(pid), 'SIGKILL')
      await eventually(() => logged('"msg":"serving"') === 3)
      await eventually(async () => (await metric(url, 'berth_workers_ready')) === 2)
      assert.equal(logged('the former certificate stays in use: BERTH_TLS_KEY_FILE'), 3)
      assert.deepEqual(await servedByAll(), before)
      assert.ok(!server.output().stderr.includes('PRIVATE KEY'))

      const renewed = selfSignedCertificate()
      writeFileSync(env.BERTH_TLS_CERT_FILE, renewed.cert)
      writeFileSync(env.BERTH_TLS_KEY_FILE, renewed.key)
      const fingerprint = new X509Certificate(renewed.cert).fingerprint256
      await eventually(async () => (await servedByAll()).join() === fingerprint)
    },
  )
})

test('a start that fails ends as without workers', { skip }, async (t) => {
  const dataDir = temporaryDirectory(t)
  writeFileSync(join(dataDir, 'berth.db'), 'this is no database')
  const outcomes = []
  for (const BERTH_WORKERS of ['1', '2']) {
    const env = {
      BERTH_DATA_DIR: dataDir,
      BERTH_LISTEN: '127.0.0.1:0',
      BERTH_LOG_LEVEL: 'error',
      BERTH_WORKERS,
    }
    const { code, stderr } = await runBerth(t, ['serve'], env)
    outcomes.push({ code, stderr })
  }
  assert.match(outcomes[0]?.stderr ?? '', /is not a SQLite database/)
  assert.deepEqual(outcomes[1], outcomes[0])
})

test('rejects numbers of workers that are invalid', () => {
  for (const workers of ['0', '-1', '1.5', 'all', String(limits.workersMax + 1), '2 '])
    assert.deepEqual(readConfig({ BERTH_WORKERS: workers }), {
      problems: [`BERTH_WORKERS must be auto, or a number from 1 to ${limits.workersMax}`],
    })
})

test('an address in use fails as without workers', { skip }, async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  t.after(() => void taken.close())
  await once(taken, 'listening')
  const host = `127.0.0.1:${(taken.address() as AddressInfo).port}`
  const { code, stderr } = await runBerth(t, ['serve'], {
    BERTH_DATA_DIR: temporaryDirectory(t),
    BERTH_WORKERS: '2',
    BERTH_LISTEN: host,
  })
  assert.deepEqual(
    [code, stderr],
    [1, `berth: ${host} is in use; choose another address with BERTH_LISTEN\n`],
  )
})

test('workers count rate limits together, and share reloads and restarts', { skip }, async (t) => {
  const file = join(temporaryDirectory(t), 'env')
  const write = (limit: number, owners: boolean) =>
    writeFileSync(file, `BERTH_RATE_LIMITS_ADDRESS=read=${limit}/1h\nBERTH_OWNERS_MANAGE_CATALOG=${owners}\n`)
  write(20, false)
  const server = await startWithWorkers(t, 'sqlite', { BERTH_ENV_FILE: file })
  const origins = [await server.origin(1), await server.origin(2)]
  const read = async (worker: number) => {
    const reply = await fetch(`${origins[worker - 1]}/iam/v2beta1/groups`, {
      headers: { authorization: `Bearer ${server.tokens.api}` },
    })
    return [reply.status, reply.headers.get('ratelimit-limit'), reply.headers.get('ratelimit-remaining')]
  }
  for (let count = 1; count <= 6; count++)
    assert.deepEqual(await read(1 + (count % 2)), [200, '20', String(20 - count)])

  write(7, true)
  server.child.kill('SIGHUP')
  await server.untilLogged('reload: the settings and files were read again', 2)
  await server.untilLogged('reload: BERTH_OWNERS_MANAGE_CATALOG changed', 2)
  for (const worker of [1, 2]) assert.equal((await read(worker))[1], '7')

  const former = server.pid(1)
  process.kill(former, 'SIGTERM')
  await eventually(() => server.pid(1) !== former)
  await server.untilLogged('"msg":"serving"', 3)
  // What a reload changes applies to the new worker, and what needs a restart of the server does not.
  assert.equal((await read(1))[1], '7')
  server.child.kill('SIGHUP')
  await server.untilLogged('reload: BERTH_OWNERS_MANAGE_CATALOG changed', 4)

  await t.test('a client may close its half of a connection without TLS', async () => {
    const address = new URL(server.url)
    for (let connection = 0; connection < 4; connection++) {
      const socket = connect({ host: address.hostname, port: Number(address.port), allowHalfOpen: true })
      let text = ''
      socket.on('data', (piece) => {
        text += piece
      })
      socket.end('GET /healthz HTTP/1.1\r\nhost: berth.test\r\n\r\n')
      await once(socket, 'end')
      assert.match(text, /^HTTP\/1\.1 200 /)
    }
  })

  await t.test('a supervisor that is killed leaves no worker behind', async () => {
    const pids = [server.pid(1), server.pid(2)]
    server.child.kill('SIGKILL')
    await server.finished
    const isRunning = (pid: number) => {
      try {
        return process.kill(pid, 0)
      } catch {
        return false
      }
    }
    await eventually(() => !pids.some(isRunning))
    // Nothing holds the database.
    const next = await serveBerth(t, { ...server.settings, BERTH_BASE_URL: '' })
    assert.equal((await fetch(`${next.url}/readyz`)).status, 200)
  })
})
