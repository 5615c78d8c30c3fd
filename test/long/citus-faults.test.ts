import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { randomUids } from '@berth/server/api/uid.ts'
import { openPostgresDb } from '@berth/server/storage/db.ts'
import pg from 'pg'
import { clusterSettings, hasCitus } from '../../scripts/citus.ts'
import { findServerBinaries } from '../../scripts/postgres.ts'
import {
  type Api,
  apiOf,
  createApiFixture,
  managedRole,
  newName,
  type Organization,
} from '../support/api/api-fixture.ts'
import { runAdminJson } from '../support/database/backups.ts'
import { joinServers } from '../support/database/citus-databases.ts'
import { openDatabase } from '../support/database/open-database.ts'
import { type OwnPostgres, startPostgres } from '../support/database/postgres.ts'
import { eventually } from '../support/eventually.ts'
import { type Cleanup, temporaryDirectory } from '../support/server/process.ts'
import { startTestBerth, type TestBerth } from '../support/server/test-berth.ts'
import { type Attempt, loadKinds, startOrganizationLoad } from '../support/shards/organization-load.ts'
import { createPerson } from '../support/signin/accounts.ts'
import { exchange } from '../support/tokens/exchange.ts'
import { startIssuer, type TestIssuer } from '../support/tokens/issuer.ts'

/**
 * Faults of a distributed database under load: a worker dies, stops responding, comes back, is replaced and added, and shards move. Which
 * organizations fail, for how long, and that no acknowledged write is lost.
 */

/** Half of them on each of the two workers; each has an organization. */
const SHARDS = 6
const DEAD_MS = 10_000
const FROZEN_MS = 25_000
/** Organizations of a frozen server, which do not exist, that unauthenticated clients name: more than a node has connections. */
const NAMED = 20
/** After a fault. */
const RECOVERED_MS = 90_000
const MOVE_MS_MAX = 240_000

const settings = {
  ...clusterSettings,
  'citus.shard_count': SHARDS,
  wal_level: 'logical',
  max_replication_slots: 40,
  max_wal_senders: 40,
  max_logical_replication_workers: 20,
}

const binaries = findServerBinaries()
const skip = (binaries === undefined || !hasCitus(binaries)) && 'Citus is not installed'

describe('faults of a distributed database', { skip }, () => {
  const cleanups: (() => unknown)[] = []
  const t: Cleanup = { after: (work) => cleanups.push(work) }
  let servers: OwnPostgres[]
  let coordinator: pg.Client
  let berth: TestBerth
  let issuer: TestIssuer
  let load: Awaited<ReturnType<typeof startOrganizationLoad>>
  /** An owner of organizations on each worker; its own row is on the first one. */
  let member: Api
  const organizations: Organization[] = []

  const run = async <R>(text: string, values: readonly unknown[] = []): Promise<R[]> =>
    (await coordinator.query(text, values as unknown[])).rows

  /** The port of the server with an organization. */
  const portOf = async (root: string) => {
    const [row] = await run<{ port: number }>(
      `select nodeport as port from pg_dist_shard_placement
        where shardid = get_shard_id_for_distribution_column('groups', $1::text) limit 1`,
      [root],
    )
    return row?.port
  }
  const shardOf = async (root: string) => {
    const [row] = await run<{ shard: string }>(
      `select get_shard_id_for_distribution_column('groups', $1::text)::text as shard`,
      [root],
    )
    return row?.shard ?? ''
  }
  const onServer = async (port: number) => {
    const found = new Set<string>()
    for (const { uid } of organizations) if ((await portOf(uid)) === port) found.add(uid)
    return found
  }

  before(async () => {
    servers = []
    for (let n = 0; n < 3; n += 1) servers.push(await startPostgres(t, settings))
    await joinServers(
      servers.map(({ url }) => url),
      'postgres',
    )
    const [{ url }] = servers as [OwnPostgres]
    coordinator = await connectTo(url)
    berth = await startTestBerth({ name: 'citus', open: () => openPostgresDb(url, { onError() {} }) })
    const fixture = createApiFixture(berth)
    const found = new Set<string>()
    while (found.size < SHARDS) {
      const organization = await fixture.organization()
      const shard = await shardOf(organization.uid)
      if (found.has(shard)) continue
      found.add(shard)
      organizations.push(organization)
    }
    fixture.grpc.close()
    const [, first] = servers as [OwnPostgres, OwnPostgres]
    let user: string
    do user = await createPerson(berth)
    while ((await portOf(user)) !== first.port)
    for (const { uid } of organizations)
      await fixture.admin.create(`iam/roleBindings/${uid}`, {
        identityUid: user,
        roleUid: managedRole('owner'),
      })
    member = apiOf(berth, await berth.tokenOf(user))
    issuer = await startIssuer(t)
    load = await startOrganizationLoad(berth, organizations, issuer)
  })
  after(async () => {
    await load?.stop()
    await berth?.stop()
    await coordinator?.end().catch(() => undefined)
    for (const work of cleanups.reverse()) await work()
  })

  const report = (name: string, attempts: readonly Attempt[], affected: ReadonlySet<string>) => {
    const of = (isAffected: boolean) => {
      const all = attempts.filter(({ organization }) => affected.has(organization) === isAffected)
      const failed = all.filter(({ status }) => status !== 200)
      const statuses = [...new Set(failed.map(({ status }) => status))].join(', ')
      const slowest = Math.round(Math.max(0, ...all.map(({ startMs, endMs }) => endMs - startMs)))
      return `${failed.length} of ${all.length} failed${statuses && ` with ${statuses}`}, slowest ${slowest} ms`
    }
    return `${name}: organizations on it: ${of(true)}; others: ${of(false)}`
  }
  const failedOutside = (attempts: readonly Attempt[], affected: ReadonlySet<string>) =>
    attempts
      .filter(({ organization, status }) => status !== 200 && !affected.has(organization))
      .map(({ kind, status, text }) => `${kind} ${status} ${text.slice(0, 200)}`)
  const assertUnavailable = (attempts: readonly Attempt[]) => {
    const other = attempts.filter(({ status }) => status !== 200 && status !== 503)
    assert.deepEqual(
      other.map(({ kind, status, text }) => `${kind} ${status} ${text.slice(0, 200)}`),
      [],
    )
  }
  /** Milliseconds until a request of each kind has succeeded once more for each organization. */
  const untilRecovered = async () => {
    const sinceMs = performance.now()
    for (;;) {
      const done = new Set(
        load.attempts
          .filter(({ startMs, status }) => startMs >= sinceMs && status === 200)
          .map(({ organization, kind }) => `${organization} ${kind}`),
      )
      if (done.size === loadKinds.length * organizations.length)
        return Math.round(performance.now() - sinceMs)
      assert.ok(performance.now() - sinceMs < RECOVERED_MS, 'has not recovered')
      await sleep(20)
    }
  }
  const assertNothingLost = async () => {
    // Those that are acknowledged later can be missing from the rows.
    const acknowledged = [...load.acknowledged]
    const rows = await run<{ uid: string }>('select uid from groups')
    const stored = new Set(rows.map(({ uid }) => uid))
    const lost = acknowledged.filter((uid) => !stored.has(uid))
    assert.ok(acknowledged.length > 0)
    assert.deepEqual(lost, [])
    // Citus ends the transactions that a fault has left prepared, once a minute.
    await eventually(load.damagedImages, ({ length }) => length === 0, { patienceMs: RECOVERED_MS })
  }

  const newUidsOn = async (port: number) => {
    const found: string[] = []
    while (found.length < NAMED) {
      const uid = randomUids.root()
      if ((await portOf(uid)) === port) found.push(uid)
    }
    return found
  }
  /** Clients that each exchange a token for an identity that does not exist, one request after the other, until `stop`. */
  const startExchanges = (identities: readonly string[]) => {
    let isRunning = true
    const clients = identities.map(async (identity) => {
      while (isRunning)
        await exchange(berth.url, await issuer.sign({ aud: berth.url }), { aud: berth.url, identity })
    })
    return async () => {
      isRunning = false
      await Promise.all(clients)
    }
  }

  for (const { name, ms, isFrozen } of [
    { name: 'a worker that dies', ms: DEAD_MS, isFrozen: false },
    { name: 'a worker that does not respond', ms: FROZEN_MS, isFrozen: true },
  ])
    test(`${name} fails only requests of its organizations, until it is back`, async (t) => {
      await untilRecovered()
      const [, , worker] = servers as [OwnPostgres, OwnPostgres, OwnPostgres]
      const affected = await onServer(worker.port)
      const named = isFrozen ? await newUidsOn(worker.port) : []
      const first = load.attempts.length
      if (isFrozen) worker.freeze()
      else await worker.kill()
      const stopExchanges = startExchanges(named)
      await sleep(ms)
      const ready = await fetch(`${berth.url}/readyz`)
      // A user with roles on both: the server of a frozen worker is not known before its statements time out.
      const ofMember: { uid: string; statuses: number[] }[] = []
      if (!isFrozen)
        for (const { uid } of organizations) {
          const read = await member.get(`iam/groups/${uid}`)
          const write = await member.post(`iam/groups/${uid}`, { name: newName('g') })
          ofMember.push({ uid, statuses: [read.status, write.status] })
        }
      // Lists of all organizations are complete or fail.
      const listed = isFrozen ? 503 : (await member.get('iam/groups')).status
      const attempts = load.attempts.slice(first)
      if (isFrozen) worker.thaw()
      else await worker.restart()
      await stopExchanges()
      const recoveredMs = await untilRecovered()
      t.diagnostic(`${report(name, attempts, affected)}; all succeed ${recoveredMs} ms after it is back`)
      for (const { uid, statuses } of ofMember)
        assert.deepEqual(statuses, Array(2).fill(affected.has(uid) ? 503 : 200), uid)
      assert.equal(listed, 503)
      assert.ok(attempts.some(({ organization, status }) => affected.has(organization) && status === 503))
      const exchanges = attempts.filter(
        ({ kind, organization }) => kind === 'exchange' && !affected.has(organization),
      )
      const failed = exchanges.filter(({ status }) => status !== 200)
      t.diagnostic(`token exchanges of others: ${failed.length} of ${exchanges.length} failed`)
      assert.ok(exchanges.length > 0)
      assert.deepEqual(failedOutside(attempts, affected), [])
      assertUnavailable(attempts)
      assert.equal(ready.status, 200)
      await assertNothingLost()
    })

  test('while the coordinator is down, all requests fail with 503, and nothing that was acknowledged is lost', async (t) => {
    await untilRecovered()
    const [server] = servers as [OwnPostgres]
    const all = new Set(organizations.map(({ uid }) => uid))
    const first = load.attempts.length
    await server.kill()
    const killed = performance.now()
    await sleep(DEAD_MS)
    const ready = await fetch(`${berth.url}/readyz`)
    const attempts = load.attempts.slice(first)
    await server.restart()
    const recoveredMs = await untilRecovered()
    coordinator = await connectTo(server.url)
    t.diagnostic(
      `${report('the coordinator is down', attempts, all)}; all succeed ${recoveredMs} ms after it is back`,
    )
    const during = attempts.filter(({ startMs }) => startMs >= killed)
    assert.ok(during.length > 0)
    assert.deepEqual(
      during.filter(({ status }) => status === 200),
      [],
    )
    assertUnavailable(attempts)
    assert.equal(ready.status, 503)
    await assertNothingLost()
  })

  test('a backup under load has what was acknowledged before it, and restores to one server', async () => {
    const known = [...load.acknowledged]
    const [{ url }] = servers as [OwnPostgres]
    const destination = temporaryDirectory(t)
    const source = { BERTH_DATA_DIR: berth.dataDir, BERTH_DATABASE_URL: url }
    // The servers are read at moments of their own: of an image that is pushed meanwhile, a layer can be missing.
    await load.withoutImages(() => runAdminJson(t, source, 'backup', destination))
    const restored = { BERTH_DATA_DIR: temporaryDirectory(t) }
    await runAdminJson(t, restored, 'restore', destination)
    const db = await openDatabase(restored)
    t.after(() => db.close())
    const rows = await db.kysely.selectFrom('groups').select('uid').execute()
    const stored = new Set(rows.map(({ uid }) => uid))
    assert.deepEqual(
      known.filter((uid) => !stored.has(uid)),
      [],
    )
  })

  for (const mode of ['force_logical', 'block_writes'])
    test(`shards move under load (${mode})`, async (t) => {
      await untilRecovered()
      const [, one, other] = servers as [OwnPostgres, OwnPostgres, OwnPostgres]
      const [first] = organizations
      const root = first?.uid ?? ''
      const from = (await portOf(root)) === one.port ? one : other
      const to = from === one ? other : one
      const affected = await onServer(from.port)
      const start = load.attempts.length
      const startMs = performance.now()
      await run(`set statement_timeout = ${MOVE_MS_MAX}`)
      await run(
        `select citus_move_shard_placement(get_shard_id_for_distribution_column('groups', $1::text), $2::text, $3::int, $4::text, $5::int, shard_transfer_mode => $6)`,
        [root, '127.0.0.1', from.port, '127.0.0.1', to.port, mode],
      )
      const movedMs = Math.round(performance.now() - startMs)
      const attempts = load.attempts.slice(start)
      await untilRecovered()
      t.diagnostic(`${report(`a shard group moved in ${movedMs} ms, ${mode}`, attempts, affected)}`)
      assert.equal(await portOf(root), to.port)
      assertUnavailable(attempts)
      await assertNothingLost()
    })

  const startWorker = async () => {
    const worker = await startPostgres(t, settings)
    const client = await connectTo(worker.url)
    await client.query('create extension citus')
    await client.end()
    return worker
  }

  test('a worker is replaced under load', async (t) => {
    await untilRecovered()
    const [, , old] = servers as [OwnPostgres, OwnPostgres, OwnPostgres]
    const next = await startWorker()
    const affected = await onServer(old.port)
    const start = load.attempts.length
    const startMs = performance.now()
    await run(`select citus_add_node('127.0.0.1', $1)`, [next.port])
    await run(`select citus_drain_node('127.0.0.1', $1, 'force_logical')`, [old.port])
    await run(`select citus_remove_node('127.0.0.1', $1)`, [old.port])
    const replacedMs = Math.round(performance.now() - startMs)
    await old.kill()
    const attempts = load.attempts.slice(start)
    await untilRecovered()
    t.diagnostic(report(`a worker was replaced in ${replacedMs} ms`, attempts, affected))
    assert.equal((await onServer(old.port)).size, 0)
    assertUnavailable(attempts)
    await assertNothingLost()
  })

  test('shards are rebalanced to a worker that is added under load', async (t) => {
    await untilRecovered()
    const added = await startWorker()
    const start = load.attempts.length
    const startMs = performance.now()
    await run(`select citus_add_node('127.0.0.1', $1)`, [added.port])
    const [job] = await run<{ id: string }>(`select citus_rebalance_start('by_shard_count') as id`)
    await run('select citus_job_wait($1)', [job?.id])
    const rebalancedMs = Math.round(performance.now() - startMs)
    const attempts = load.attempts.slice(start)
    const moved = await onServer(added.port)
    await untilRecovered()
    const name = `a worker was added and got ${moved.size} of ${SHARDS} shard groups in ${rebalancedMs} ms`
    t.diagnostic(report(name, attempts, moved))
    const [state] = await run<{ state: string }>(
      'select state::text from pg_dist_background_job where job_id = $1',
      [job?.id],
    )
    assert.equal(state?.state, 'finished')
    assert.ok(moved.size > 0)
    assertUnavailable(attempts)
    await assertNothingLost()
  })

  test('after all faults, no transaction stays prepared', async () => {
    await load.stop()
    const nodes = await run<{ port: number }>('select nodeport as port from pg_dist_node')
    for (const { port } of nodes) {
      const url = new URL((servers as [OwnPostgres])[0].url)
      url.port = String(port)
      const client = await connectTo(url.href)
      const prepared = async () => (await client.query('select gid from pg_prepared_xacts')).rows
      await eventually(prepared, ({ length }) => length === 0, { patienceMs: RECOVERED_MS })
      await client.end()
    }
  })
})

async function connectTo(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  // It ends with its server.
  client.on('error', () => undefined)
  await client.connect()
  return client
}
