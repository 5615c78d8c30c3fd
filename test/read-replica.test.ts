import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { osvRecord } from './support/advisories/feeds.ts'
import { call } from './support/api/rest.ts'
import { type ObservedServer, observe } from './support/database/database-outage.ts'
import {
  freePort,
  type OwnPostgres,
  startPostgres,
  startStandby,
  withoutPostgres,
} from './support/database/postgres.ts'
import { eventually } from './support/eventually.ts'
import { type Cleanup, runBerth, serveBerth, temporaryDirectory } from './support/server/process.ts'

/** Reads from a standby (BERTH_DATABASE_READ_URL), with real replication. */
describe('read replica', { skip: withoutPostgres }, () => {
  const cleanups: (() => unknown)[] = []
  const suite: Cleanup = { after: (work) => cleanups.push(work) }
  let primary: OwnPostgres
  let standby: OwnPostgres
  let node: ObservedServer
  let env: Readonly<Record<string, string>>

  before(async () => {
    primary = await startPostgres(suite)
    standby = await startStandby(suite, primary)
    env = {
      BERTH_DATA_DIR: temporaryDirectory(suite),
      BERTH_LOG_LEVEL: 'warn',
      BERTH_DATABASE_URL: primary.url,
      BERTH_DATABASE_READ_URL: standby.url,
      BERTH_BASE_URL: 'http://berth.test',
      BERTH_MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
    }
    const serving = await startNode(suite)
    const { stdout } = await runBerth(suite, ['admin', 'bootstrap', '--json'], env)
    const { token, organization } = JSON.parse(stdout)
    node = observe({ serving, token, organization: organization.uid })
    await eventually(isReplicaUsed)
  })
  after(async () => {
    for (const work of cleanups.reverse()) await work()
  })

  /** All nodes have one base URL, which is not their address. */
  const startNode = async (t: Cleanup, more: Readonly<Record<string, string>> = {}) => {
    const port = await freePort()
    const serving = await serveBerth(t, { ...env, ...more, BERTH_LISTEN: `127.0.0.1:${port}` })
    return { ...serving, url: `http://127.0.0.1:${port}` }
  }

  const listAll = (through = node) =>
    call('GET', `${through.serving.url}/audit/v1/events?pageSize=1`, { token: node.token })

  /** Creates a group, and returns how many events of it the audit log lists, which a replica serves. */
  const writeAndList = async (through = node, writer = node) => {
    const { status, body, text } = await writer.write()
    assert.equal(status, 200, text)
    const address = `${through.serving.url}/audit/v1/events?resourceUid=${encodeURIComponent(body.uid)}`
    const listed = await call('GET', address, { token: node.token })
    assert.equal(listed.status, 200, listed.text)
    return listed.body.events.length as number
  }

  const countReads = async (of = node) => {
    const text = await (await of.get('/metrics')).text()
    const count = (server: string) =>
      Number(
        new RegExp(`^berth_database_replica_reads_total\\{outcome="${server}"\\} (\\d+)$`, 'm').exec(
          text,
        )?.[1],
      )
    return { replica: count('replica'), behind: count('behind'), unavailable: count('unavailable') }
  }

  const isReplicaUsed = async (of = node) => {
    const before = await countReads(of)
    assert.equal((await listAll(of)).status, 200)
    return (await countReads(of)).replica > before.replica
  }

  const sessionsOn = async (server: OwnPostgres) =>
    Number(
      (
        await runSql(
          server,
          `select count(*) as n from pg_stat_activity where application_name like 'berth %'`,
        )
      )[0]?.n,
    )

  const runSql = async (server: OwnPostgres, text: string) => {
    const client = new pg.Client({ connectionString: server.url })
    await client.connect()
    try {
      return (await client.query(text)).rows
    } finally {
      await client.end()
    }
  }

  test('a list includes every change that was acknowledged before, through any node', async (t) => {
    const other = observe({ ...node, serving: await startNode(t) })
    await eventually(() => isReplicaUsed(other))
    const before = await countReads(other)
    for (let n = 0; n < 40; n++) assert.equal(await writeAndList(other), 1, `change ${n}`)
    const { replica } = await countReads(other)
    assert.ok(replica > before.replica, 'the replica served reads')
    assert.ok((await sessionsOn(standby)) > 0, 'through connections to it')
  })

  test('the primary serves reads while the replica is behind (databaseReplicaWaitMs), until it has caught up', async () => {
    await eventually(isReplicaUsed)
    const before = await countReads()
    await runSql(standby, 'select pg_wal_replay_pause()')
    try {
      for (let n = 0; n < 5; n++) assert.equal(await writeAndList(), 1, `change ${n}`)
      const { replica, behind } = await countReads()
      assert.equal(replica, before.replica)
      assert.ok(behind > before.behind)
    } finally {
      await runSql(standby, 'select pg_wal_replay_resume()')
    }
    await eventually(isReplicaUsed)
  })

  test('lists and the API of OSV include an advisory that was just imported', async () => {
    await eventually(isReplicaUsed)
    const { serving, organization, token } = node
    const before = await countReads()
    for (let n = 1; n <= 5; n++) {
      const record = osvRecord(n)
      const documents = [{ name: 'a.json', content: Buffer.from(JSON.stringify(record)).toString('base64') }]
      const imported = await call(
        'POST',
        `${serving.url}/vulnerabilities/v2beta1/advisories/${organization}:importDocuments`,
        { token, body: { documents } },
      )
      assert.equal(imported.status, 200, imported.text)
      const headers = { authorization: `Bearer ${token}` }
      const listed = await call('GET', `${serving.url}/vulnerabilities/v2beta1/advisories?pageSize=1`, {
        token,
      })
      assert.equal(Number(listed.body.totalCount), n)
      const one = await fetch(`${serving.url}/osv/${organization}/v1/vulns/${record['id']}`, { headers })
      assert.equal(one.status, 200, await one.text())
    }
    assert.ok((await countReads()).replica > before.replica)
  })

  test('a replica that does not respond fails no read, and is used again when it does (databaseReplicaCheckMs)', async () => {
    await eventually(isReplicaUsed)
    const before = await countReads()
    standby.freeze()
    try {
      const together = await Promise.all(Array.from({ length: 60 }, () => listAll()))
      assert.deepEqual(new Set(together.map(({ status }) => status)), new Set([200]))
      for (let n = 0; n < 5; n++) assert.equal(await writeAndList(), 1, `change ${n}`)
      assert.ok((await countReads()).unavailable > before.unavailable)
      assert.equal((await node.get('/readyz')).status, 200)
    } finally {
      standby.thaw()
    }
    await eventually(isReplicaUsed)
  })

  test('berth admin check says whether the replica can be used', async (t) => {
    const used = await runBerth(t, ['admin', 'check'], env)
    assert.match(used.stdout, /read replica: it follows the database/)
    assert.equal(used.code, 0, used.stdout)
    const stranger = await startPostgres(t, {}, { isStranger: true })
    const unused = await runBerth(t, ['admin', 'check'], { ...env, BERTH_DATABASE_READ_URL: stranger.url })
    assert.match(unused.stdout, /reads use the primary: 127\.0\.0\.1:\d+ does not follow this database/)
    const alone = await runBerth(t, ['admin', 'check'], { ...env, BERTH_DATABASE_READ_URL: primary.url })
    assert.match(alone.stdout, /reads use the primary: 127\.0\.0\.1:\d+ is not a standby/)
  })

  test('several standbys behind one address serve reads, and one that is behind is not used', async (t) => {
    const second = await startStandby(t, primary)
    const address = await startBalancer(t, [standby, second])
    const other = observe({ ...node, serving: await startNode(t, { BERTH_DATABASE_READ_URL: address }) })
    await eventually(() => isReplicaUsed(other))
    /** Each read that runs beside others has a connection of its own, and so reaches both. */
    const listTogether = () => Promise.all(Array.from({ length: 10 }, () => listAll(other)))
    await eventually(async () => {
      await listTogether()
      return (await sessionsOn(second)) > 0
    })
    await runSql(second, 'select pg_wal_replay_pause()')
    try {
      const before = await countReads(other)
      await eventually(async () => {
        assert.equal(await writeAndList(other), 1)
        await listTogether()
        assert.equal(await writeAndList(other), 1)
        return (await countReads(other)).behind > before.behind
      })
    } finally {
      await runSql(second, 'select pg_wal_replay_resume()')
    }
    await eventually(() => isReplicaUsed(other))
  })

  test('a standby that did not follow the failover is not used, even if it has replayed more of the log', async (t) => {
    const candidate = await startStandby(t, primary)
    const left = await startStandby(t, primary)
    candidate.promote()
    await eventually(
      async () => (await runSql(candidate, 'select pg_is_in_recovery() as standby'))[0]?.standby === false,
    )
    // Lost changes: the new primary does not have them.
    for (let n = 0; n < 20; n++) assert.equal((await node.write()).status, 200)
    const through = async (replica: OwnPostgres) =>
      observe({
        ...node,
        serving: await startNode(t, {
          BERTH_DATABASE_URL: candidate.url,
          BERTH_DATABASE_READ_URL: replica.url,
        }),
      })
    const stale = await through(left)
    for (let n = 0; n < 5; n++) assert.equal(await writeAndList(stale, stale), 1, `change ${n}`)
    const position = async (server: OwnPostgres, text: string) => (await runSql(server, text))[0]?.n
    const written = await position(candidate, 'select pg_current_wal_flush_lsn()::text as n')
    await eventually(
      async () =>
        (await position(left, `select pg_last_wal_replay_lsn() >= '${written}'::pg_lsn as n`)) === true ||
        (await node.write()).status !== 200,
    )
    assert.equal(await isReplicaUsed(stale), false)
    assert.equal((await countReads(stale)).replica, 0)
    // One that follows the new primary is used.
    const current = await through(await startStandby(t, candidate))
    await eventually(() => isReplicaUsed(current))
    assert.equal(await writeAndList(current, current), 1)
  })

  test('a replica that is promoted, or ends, is not used', async () => {
    await eventually(isReplicaUsed)
    standby.promote()
    await eventually(async () => !(await isReplicaUsed()))
    assert.equal(await writeAndList(), 1)
    await standby.kill()
    for (let n = 0; n < 5; n++) assert.equal(await writeAndList(), 1, `change ${n}`)
    assert.equal((await node.get('/readyz')).status, 200)
  })
})

/** Distributes connections over servers, in turn, as a service or a TCP balancer does. Returns its address. */
async function startBalancer(t: Cleanup, servers: readonly OwnPostgres[]): Promise<string> {
  let at = 0
  const balancer = createServer((client) => {
    const { port = 0 } = servers[at++ % servers.length] ?? {}
    const server = connect(port, '127.0.0.1')
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const)
      one
        .on('error', () => other.destroy())
        .on('close', () => other.destroy())
        .pipe(other)
  }).listen(0, '127.0.0.1')
  await once(balancer, 'listening')
  t.after(() => {
    balancer.close()
  })
  const { port } = balancer.address() as AddressInfo
  return `postgres://berth@127.0.0.1:${port}/postgres`
}
