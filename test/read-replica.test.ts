import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { osvRecord } from './support/advisories/feeds.ts'
import { call } from './support/api/rest.ts'
import { type ObservedServer, observe } from './support/database/database-outage.ts'
import {
  type OwnPostgres,
  startPostgres,
  startStandby,
  withoutPostgres,
} from './support/database/postgres.ts'
import {
  countReads,
  isReplicaUsed,
  listAll,
  runSql,
  startBalancer,
  startNode,
  writeAndList,
} from './support/database/replica-reads.ts'
import { eventually } from './support/eventually.ts'
import { type Cleanup, runBerth, temporaryDirectory } from './support/server/process.ts'

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
    const serving = await startNode(suite, env)
    const { stdout } = await runBerth(suite, ['admin', 'bootstrap', '--json'], env)
    const { token, organization } = JSON.parse(stdout)
    node = observe({ serving, token, organization: organization.uid })
    await eventually(() => isReplicaUsed(node))
  })
  after(async () => {
    for (const work of cleanups.reverse()) await work()
  })

  const sessionsOn = async (server: OwnPostgres) =>
    Number(
      (
        await runSql(
          server,
          `select count(*) as n from pg_stat_activity where application_name like 'berth %'`,
        )
      )[0]?.n,
    )

  test('a list includes every change that was acknowledged before, through any node', async (t) => {
    const token = "select value from settings where name = 'replication_token'"
    const first = await runSql(primary, token)
    const other = observe({ ...node, serving: await startNode(t, env) })
    await eventually(() => isReplicaUsed(other))
    assert.deepEqual(await runSql(primary, token), first, 'one token for all nodes')
    const before = await countReads(other)
    for (let n = 0; n < 40; n++) assert.equal(await writeAndList(other, node), 1, `change ${n}`)
    const { replica } = await countReads(other)
    assert.ok(replica > before.replica, 'the replica served reads')
    assert.ok((await sessionsOn(standby)) > 0, 'through connections to it')
  })

  test('the primary serves reads while the replica is behind (databaseReplicaWaitMs), until it has caught up', async () => {
    await eventually(() => isReplicaUsed(node))
    const before = await countReads(node)
    await runSql(standby, 'select pg_wal_replay_pause()')
    try {
      for (let n = 0; n < 5; n++) assert.equal(await writeAndList(node), 1, `change ${n}`)
      const { replica, behind } = await countReads(node)
      assert.equal(replica, before.replica)
      assert.ok(behind > before.behind)
    } finally {
      await runSql(standby, 'select pg_wal_replay_resume()')
    }
    await eventually(() => isReplicaUsed(node))
  })

  test('lists and the API of OSV include an advisory that was just imported', async () => {
    await eventually(() => isReplicaUsed(node))
    const { serving, organization, token } = node
    const count = async () => {
      const url = `${serving.url}/vulnerabilities/v2beta1/advisories?pageSize=1`
      return Number((await call('GET', url, { token })).body.totalCount)
    }
    const before = await countReads(node)
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
      assert.equal(await count(), n)
      const one = await fetch(`${serving.url}/osv/${organization}/v1/vulns/${record['id']}`, { headers })
      assert.equal(one.status, 200, await one.text())
    }
    // A busy machine may replay each change too late for the reads that follow it.
    await eventually(async () => {
      assert.equal(await count(), 5)
      return (await countReads(node)).replica > before.replica
    })
  })

  test('a replica that does not respond fails no read, and is used again when it does (databaseReplicaCheckMs)', async () => {
    await eventually(() => isReplicaUsed(node))
    const before = await countReads(node)
    standby.freeze()
    try {
      const together = await Promise.all(Array.from({ length: 60 }, () => listAll(node)))
      assert.deepEqual(new Set(together.map(({ status }) => status)), new Set([200]))
      for (let n = 0; n < 5; n++) assert.equal(await writeAndList(node), 1, `change ${n}`)
      assert.ok((await countReads(node)).unavailable > before.unavailable)
      assert.equal((await node.get('/readyz')).status, 200)
    } finally {
      standby.thaw()
    }
    await eventually(() => isReplicaUsed(node))
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
    const other = observe({
      ...node,
      serving: await startNode(t, { ...env, BERTH_DATABASE_READ_URL: address }),
    })
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
        assert.equal(await writeAndList(other, node), 1)
        await listTogether()
        assert.equal(await writeAndList(other, node), 1)
        return (await countReads(other)).behind > before.behind
      })
    } finally {
      await runSql(second, 'select pg_wal_replay_resume()')
    }
    await eventually(() => isReplicaUsed(other))
  })

  test('a standby that did not follow the failover is not used, even if it has replayed more of the log', async (t) => {
    const candidate = await startStandby(t, primary)
    const following = await startStandby(t, candidate)
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
          ...env,
          BERTH_DATABASE_URL: candidate.url,
          BERTH_DATABASE_READ_URL: replica.url,
        }),
      })
    const stale = await through(left)
    for (let n = 0; n < 5; n++) assert.equal(await writeAndList(stale), 1, `change ${n}`)
    const position = async (server: OwnPostgres, text: string) => (await runSql(server, text))[0]?.n
    const written = await position(candidate, 'select pg_current_wal_flush_lsn()::text as n')
    await eventually(
      async () =>
        (await position(left, `select pg_last_wal_replay_lsn() >= '${written}'::pg_lsn as n`)) === true ||
        (await node.write()).status !== 200,
    )
    assert.equal(await isReplicaUsed(stale), false)
    assert.equal((await countReads(stale)).replica, 0)
    // One that follows the new primary is used, also before its next checkpoint.
    const current = await through(following)
    await eventually(() => isReplicaUsed(current))
    assert.equal(await writeAndList(current), 1)
  })

  test('a replica that is promoted, or ends, is not used', async () => {
    await eventually(() => isReplicaUsed(node))
    standby.promote()
    await eventually(async () => !(await isReplicaUsed(node)))
    assert.equal(await writeAndList(node), 1)
    await standby.kill()
    for (let n = 0; n < 5; n++) assert.equal(await writeAndList(node), 1, `change ${n}`)
    assert.equal((await node.get('/readyz')).status, 200)
  })
})
