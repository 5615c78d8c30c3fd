import assert from 'node:assert/strict'
import type { Tables } from '@berth/server/storage/schema/tables.ts'
import type { Kysely } from 'kysely'
import { sql } from 'kysely'
import { freePort } from '../../../scripts/free-port.ts'
import { eventually } from '../eventually.ts'
import { type Cleanup, runBerth, serveBerth } from '../server/process.ts'
import { openDatabaseAfterKill } from './open-database.ts'

const CLIENTS = 8
/** Reached only if something is wrong: a busy machine takes long. */
const ROUND_MS_MAX = 10 * 60_000
const collections = ['groups', 'identities', 'roles', 'role_bindings', 'repos'] as const

/** What was acknowledged to clients. */
interface Acknowledged {
  readonly table: (typeof collections)[number]
  readonly uid: string
}

/**
 * Kills the server in the middle of concurrent writes, again and again, starts it anew, and looks whether everything that was
 * acknowledged is there and nothing is there by half. Returns how many writes were acknowledged.
 */
export async function crashRounds(
  t: Cleanup,
  env: Readonly<Record<string, string>>,
  rounds: number,
): Promise<number> {
  const settings = { ...env, BERTH_LISTEN: `127.0.0.1:${await freePort()}`, BERTH_LOG_LEVEL: 'error' }
  const acknowledged: Acknowledged[] = []
  let token = ''
  for (let round = 0; round < rounds; round++) {
    const server = await serveBerth(t, settings)
    if (round === 0) token = (await runBerth(t, ['admin', 'token'], settings)).stdout
    const clients = Array.from({ length: CLIENTS }, (_, at) =>
      write(server.url, token, `${round}-${at}`, acknowledged),
    )
    const enough = acknowledged.length + 1 + Math.floor(Math.random() * 60)
    await eventually(() => acknowledged.length >= enough, Boolean, { pollMs: 1, patienceMs: ROUND_MS_MAX })
    server.child.kill('SIGKILL')
    const { signal, stderr } = await server.finished
    assert.equal(signal, 'SIGKILL', stderr)
    await Promise.all(clients)
    // Opened while nothing runs: the journal is recovered here, as by the next start.
    const db = await openDatabaseAfterKill(settings)
    try {
      await assertConsistent(db.kysely, acknowledged)
    } finally {
      await db.close()
    }
  }
  return acknowledged.length
}

/** Founds organizations and fills them, until the server is gone. */
async function write(url: string, token: string, name: string, acknowledged: Acknowledged[]): Promise<void> {
  const create = async (table: Acknowledged['table'], path: string, body: object): Promise<string> => {
    const response = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const { uid } = (await response.json()) as { uid?: string }
    assert.ok(response.status === 200 && uid !== undefined, `${path}: ${response.status}`)
    acknowledged.push({ table, uid })
    return uid
  }
  for (let count = 0; ; count++) {
    try {
      const organization = await create('groups', '/iam/v2beta1/groups', { name: `org-${name}-${count}` })
      await Promise.all(
        ['a', 'b'].map((sub) => create('groups', `/iam/v2beta1/groups/${organization}`, { name: sub })),
      )
      const identity = await create('identities', `/iam/v2beta1/identities/${organization}`, {
        name: 'x',
        claimMatch: { issuer: 'https://ci.example.com', subject: 'x' },
      })
      const role = await create('roles', `/iam/v2beta1/roles/${organization}`, {
        name: 'x',
        capabilities: ['CAP_IAM_GROUPS_LIST'],
      })
      await create('role_bindings', `/iam/v2beta1/roleBindings/${organization}`, {
        identityUid: identity,
        roleUid: role,
      })
      await create('repos', `/registry/v2beta1/repos/${organization}`, { name: 'x' })
    } catch (error) {
      // Connections break when the server dies; an answer that is not the right one is a finding.
      if (error instanceof assert.AssertionError) throw error
      return
    }
  }
}

async function assertConsistent(db: Kysely<Tables>, acknowledged: readonly Acknowledged[]): Promise<void> {
  const uids = new Map<string, Set<string>>()
  for (const table of collections) {
    uids.set(table, await assertCounts(db, table))
  }
  for (const { table, uid } of acknowledged)
    assert.ok(uids.get(table)?.has(uid), `${table} ${uid} was acknowledged and is lost`)

  const events = await db
    .selectFrom('audit_events')
    .select(['parent as uid', 'method'])
    .where('actor', '!=', 'system')
    .execute()
  const recorded = new Set(events.map(({ uid }) => uid))
  const written = new Set([...uids.values()].flatMap((set) => [...set]))
  for (const { uid, method } of events) {
    if (/\/Create/.test(method)) assert.ok(written.has(uid), `${method} ${uid} is recorded and not there`)
  }
  const bindings = await db.selectFrom('role_bindings').select(['uid', 'parent', 'automatic']).execute()
  const automatic = new Map(bindings.filter((row) => row.automatic === 1).map((row) => [row.parent, row.uid]))
  const groups = await db.selectFrom('groups').select(['uid', 'parent']).execute()
  const names = new Set(
    (await db.selectFrom('organization_names').select('uid').execute()).map(({ uid }) => uid),
  )
  const first = new Set(
    (await db.selectFrom('platform_bindings').select('identity_uid').execute()).map(
      (row) => row.identity_uid,
    ),
  )
  for (const { uid, parent } of groups) {
    if (parent !== '') continue
    assert.ok(automatic.has(uid), `organization ${uid} has no owner`)
    assert.ok(names.has(uid), `organization ${uid} has no entry for its name`)
  }
  const system = new Set(
    (await db.selectFrom('audit_events').select('parent as uid').where('actor', '=', 'system').execute()).map(
      ({ uid }) => uid,
    ),
  )
  const own = new Set(automatic.values())
  for (const table of collections) {
    for (const uid of uids.get(table) ?? []) {
      // What the product made itself: managed roles, the first organization and its owner, founders' bindings.
      const product =
        (table === 'roles' && uid.length === 40) || system.has(uid) || first.has(uid) || own.has(uid)
      assert.ok(product || recorded.has(uid), `${table} ${uid} has no audit record`)
    }
  }
}

/** The counters of a table are right; its uids. */
export async function assertCounts(
  db: Kysely<Tables>,
  table: (typeof collections)[number] | 'tags',
): Promise<Set<string>> {
  const rows = await db.selectFrom(table).select(['uid', 'root']).execute()
  const perRoot = new Map<string, number>()
  for (const { root } of rows) perRoot.set(root, (perRoot.get(root) ?? 0) + 1)
  const counts = await db
    .selectFrom('counts')
    .where('collection', '=', table)
    .groupBy('root')
    .select(['root', sql<number>`sum(n)`.as('n')])
    .execute()
  const counted = new Map(counts.filter(({ n }) => Number(n) > 0).map(({ root, n }) => [root, Number(n)]))
  assert.deepEqual(counted, new Map([...perRoot].sort()), `counters of ${table}`)
  return new Set(rows.map(({ uid }) => uid))
}
