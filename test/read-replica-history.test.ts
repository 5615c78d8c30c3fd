import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type ObservedServer, observe } from './support/database/database-outage.ts'
import {
  copyDatabase,
  type OwnPostgres,
  startPostgres,
  startStandby,
  withoutPostgres,
} from './support/database/postgres.ts'
import {
  countEvents,
  countReads,
  isReplicaUsed,
  runSql,
  startBalancer,
  startNode,
  writeAndList,
} from './support/database/replica-reads.ts'
import { eventually } from './support/eventually.ts'
import { type Cleanup, runBerth, temporaryDirectory } from './support/server/process.ts'

const TOKEN = "select value from settings where name = 'replication_token'"

/** A standby that has changes which the primary lost, because the primary was put back to an earlier moment. */
describe('read replica of a restored primary', { skip: withoutPostgres }, () => {
  /** Starts a node whose primary and replica are the servers that two lists have at the time. */
  const start = async (t: Cleanup, primaries: OwnPostgres[], standbys: OwnPostgres[]) => {
    const env = {
      BERTH_DATA_DIR: temporaryDirectory(t),
      BERTH_LOG_LEVEL: 'warn',
      BERTH_DATABASE_URL: await startBalancer(t, primaries),
      BERTH_DATABASE_READ_URL: await startBalancer(t, standbys),
      BERTH_BASE_URL: 'http://berth.test',
      BERTH_MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
    }
    const serving = await startNode(t, env)
    const { stdout } = await runBerth(t, ['admin', 'bootstrap', '--json'], env)
    const { token, organization } = JSON.parse(stdout)
    const node = observe({ serving, token, organization: organization.uid })
    await eventually(() => isReplicaUsed(node))
    return { env, node, serving }
  }

  /** Creates groups. Returns one of them. */
  const writeSome = async (node: ObservedServer) => {
    let uid = ''
    for (let n = 0; n < 20; n++) {
      const { status, body, text } = await node.write()
      assert.equal(status, 200, text)
      uid = body.uid
    }
    return uid
  }

  const writable = (node: ObservedServer) => eventually(async () => (await node.write()).status === 200)

  const isAtLeast = async (server: OwnPostgres, position: string, of: string) =>
    (await runSql(server, `select ${of} >= '${position}'::pg_lsn as n`))[0]?.n === true

  /** How far the log of a primary is on disk, once a standby has replayed as much. */
  const replayedPosition = async (primary: OwnPostgres, standby: OwnPostgres): Promise<string> => {
    const [row] = await runSql(primary, 'select pg_current_wal_flush_lsn()::text as position')
    await eventually(() => isAtLeast(standby, row.position, 'pg_last_wal_replay_lsn()'))
    return row.position
  }

  /** Gives a server the same start after a restart, as one has on a virtual machine that continues from a snapshot of its memory. */
  const keepStart = async (server: OwnPostgres) => {
    await runSql(
      server,
      `create function public.pg_postmaster_start_time() returns timestamptz language sql as
        $$ select timestamptz '2020-01-01' $$`,
    )
    await runSql(server, 'alter role berth set search_path = public, pg_catalog')
  }

  const restores = {
    'a data directory': async () => undefined,
    'a virtual machine with its memory': keepStart,
  }
  for (const [what, prepare] of Object.entries(restores))
    test(`a standby of before the restore of ${what} is not used, however far the primary gets`, async (t) => {
      const primary = await startPostgres(t)
      await prepare(primary)
      const standby = await startStandby(t, primary)
      const standbys = [standby]
      const { env, node, serving } = await start(t, [primary], standbys)
      await primary.kill()
      const restore = primary.copyData()
      await primary.restart()
      await writable(node)
      await eventually(() => isReplicaUsed(node))
      await writeSome(node)
      await runSql(primary, 'select pg_switch_wal()')
      const lost = await writeSome(node)
      assert.equal(await countEvents(node, lost), 1)
      const position = await replayedPosition(primary, standby)

      await primary.kill()
      restore()
      await primary.restart()
      const before = await countReads(node)
      await writable(node)
      // Until a check has decided about the standby.
      await eventually(async () => {
        assert.equal(await countEvents(node, lost), 0, 'a change that the primary does not have')
        return (await countReads(node)).diverged > before.diverged
      })
      assert.equal(await isAtLeast(primary, position, 'pg_current_wal_flush_lsn()'), false)
      for (let n = 0; n < 5; n++) assert.equal(await writeAndList(node), 1, `change ${n}`)
      assert.match(serving.output().stderr, /127\.0\.0\.1:\d+ has changes that the primary does not have/)
      const check = await runBerth(t, ['admin', 'check'], env)
      assert.match(
        check.stdout,
        /reads use the primary: 127\.0\.0\.1:\d+ has changes that the primary does not/,
      )

      await eventually(async () => {
        await runSql(primary, 'select pg_switch_wal()')
        await writable(node)
        return isAtLeast(primary, position, 'pg_current_wal_flush_lsn()')
      })
      for (let n = 0; n < 5; n++) assert.equal(await writeAndList(node), 1, `change ${n}`)
      assert.equal((await countReads(node)).replica, before.replica)
      const late = await runBerth(t, ['admin', 'check'], env)
      assert.match(late.stdout, /reads use the primary: /)

      standbys[0] = await startStandby(t, primary)
      await eventually(() => isReplicaUsed(node))
      assert.equal(await writeAndList(node), 1)
      assert.equal(await countEvents(node, lost), 0)
    })

  test('after a restore into a new cluster behind the same address, its standby is used and the old one is not', async (t) => {
    const old = await startPostgres(t)
    const oldStandby = await startStandby(t, old)
    const primaries = [old]
    const standbys = [oldStandby]
    const { env, node, serving } = await start(t, primaries, standbys)
    const restored = await startPostgres(t, {}, { isStranger: true })
    copyDatabase(old, restored)
    const lost = await writeSome(node)
    await replayedPosition(old, oldStandby)

    await old.kill()
    primaries[0] = restored
    const before = await countReads(node)
    await writable(node)
    await eventually(async () => {
      assert.equal(await countEvents(node, lost), 0, 'a change that the primary does not have')
      return (await countReads(node)).diverged > before.diverged
    })
    for (let n = 0; n < 5; n++) assert.equal(await writeAndList(node), 1, `change ${n}`)
    assert.equal((await countReads(node)).replica, before.replica)
    const check = await runBerth(t, ['admin', 'check'], env)
    assert.match(check.stdout, /reads use the primary: 127\.0\.0\.1:\d+ does not follow this database/)

    standbys[0] = await startStandby(t, restored)
    await eventually(() => isReplicaUsed(node))
    assert.equal(await writeAndList(node), 1)
    assert.equal(await countEvents(node, lost), 0)

    serving.child.kill()
    await serving.finished
    await restored.kill()
    await restored.restart()
    const token = await runSql(restored, TOKEN)
    const alone = await runBerth(t, ['admin', 'check'], env)
    assert.match(
      alone.stdout,
      /reads use the primary: no node has stored a replication token since the primary/,
    )
    assert.deepEqual(await runSql(restored, TOKEN), token, 'the command changes nothing')
  })
})
