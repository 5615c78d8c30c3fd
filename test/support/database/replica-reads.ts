import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import pg from 'pg'
import { freePort } from '../../../scripts/free-port.ts'
import { call } from '../api/rest.ts'
import { type Cleanup, type Environment, serveBerth } from '../server/process.ts'
import type { ObservedServer } from './database-outage.ts'
import type { OwnPostgres } from './postgres.ts'

/** Nodes that read from a standby (BERTH_DATABASE_READ_URL), and which server serves their reads. */

/** Starts a node. All nodes have one base URL, which is not their address. */
export async function startNode(t: Cleanup, env: Environment) {
  const port = await freePort()
  const serving = await serveBerth(t, { ...env, BERTH_LISTEN: `127.0.0.1:${port}` })
  return { ...serving, url: `http://127.0.0.1:${port}` }
}

/** Lists events of the audit log, which a replica serves. */
export function listAll({ serving, token }: ObservedServer) {
  return call('GET', `${serving.url}/audit/v1/events?pageSize=1`, { token })
}

/** Returns how many events of a resource the audit log lists. */
export async function countEvents({ serving, token }: ObservedServer, uid: string): Promise<number> {
  const listed = await call('GET', `${serving.url}/audit/v1/events?resourceUid=${encodeURIComponent(uid)}`, {
    token,
  })
  assert.equal(listed.status, 200, listed.text)
  return listed.body.events.length
}

/** Creates a group through `writer`, and returns how many events of it `through` lists. */
export async function writeAndList(through: ObservedServer, writer = through): Promise<number> {
  const { status, body, text } = await writer.write()
  assert.equal(status, 200, text)
  return countEvents(through, body.uid)
}

/** Returns the reads by the server that served them, from the metrics. */
export async function countReads(of: ObservedServer) {
  const text = await (await of.get('/metrics')).text()
  const count = (outcome: string) =>
    Number(
      new RegExp(`^berth_database_replica_reads_total\\{outcome="${outcome}"\\} (\\d+)$`, 'm').exec(
        text,
      )?.[1],
    )
  return {
    replica: count('replica'),
    behind: count('behind'),
    diverged: count('diverged'),
    unavailable: count('unavailable'),
  }
}

export async function isReplicaUsed(of: ObservedServer): Promise<boolean> {
  const before = await countReads(of)
  assert.equal((await listAll(of)).status, 200)
  return (await countReads(of)).replica > before.replica
}

export async function runSql({ url }: OwnPostgres, text: string) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

/**
 * Distributes connections over servers, in turn, as a service or a TCP balancer does. Returns its address. `servers` may change: new
 * connections use the servers that it has then.
 */
export async function startBalancer(t: Cleanup, servers: readonly OwnPostgres[]): Promise<string> {
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
