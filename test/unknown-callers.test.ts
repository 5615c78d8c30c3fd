import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { SecurityTokenService } from '@berth/contract/gen/chainguard/platform/oidc/sts_pb.js'
import pg from 'pg'
import { type ApiFixture, newName, onEveryDatabase } from './support/api/api-fixture.ts'
import { addressOf, selectedCluster } from './support/database/databases.ts'
import { eventually } from './support/eventually.ts'
import type { Cleanup } from './support/server/process.ts'
import { exchange } from './support/tokens/exchange.ts'
import { SUBJECT, startIssuer, type TestIssuer } from './support/tokens/issuer.ts'

/**
 * Requests of callers that are not known yet and wait for the rows of one organization, as on a database server that does not respond, leave
 * the database connections to those of other organizations (ADR 18).
 */

/** More than any share has. */
const FLOOD = 40

const suite = (cast: () => ApiFixture) => {
  const cleanups: (() => unknown)[] = []
  const t: Cleanup = { after: (work) => cleanups.push(work) }
  let operator: pg.Client
  let issuer: TestIssuer
  let frozen: Tenant
  let other: Tenant
  const pool = () => cast().berth.berth.installation.store.db.pool()

  before(async () => {
    issuer = await startIssuer(t)
    frozen = await tenant()
    other = await tenant()
    // The keys of the issuer and of the server are known.
    for (const [name, send] of Object.entries(requests)) assert.equal(await send(other), 200, name)
    operator = new pg.Client({ connectionString: addressOf(cast().berth.berth.installation.store.db) })
    // The database is dropped when the server stops.
    operator.on('error', () => undefined)
    await operator.connect()
    await operator.query(`
      create table frozen (root text primary key);
      create function responds(root text) returns boolean language plpgsql cost 1000000 as $$
        begin
          while exists (select from frozen as f where f.root = responds.root) loop
            perform pg_sleep(0.05);
          end loop;
          return true;
        end $$`)
    for (const table of ['identities', 'groups'])
      await operator.query(`
        alter table ${table} rename to all_${table};
        create view ${table} as select * from all_${table} where responds(root)`)
  })
  after(async () => {
    await operator?.end().catch(() => undefined)
    for (const work of cleanups.reverse()) await work()
  })

  async function tenant() {
    const organization = await cast().organization()
    const { uid: identity } = await organization.owner.api.create(`iam/identities/${organization.uid}`, {
      name: newName('ci'),
      claimMatch: { issuer: issuer.name, subject: SUBJECT },
    })
    const path = `vulnerabilities/advisoryPublications/${organization.uid}`
    assert.equal((await cast().admin.patch(path, { public: true })).status, 200)
    return { organization, identity }
  }
  type Tenant = Awaited<ReturnType<typeof tenant>>

  const workloadToken = () => issuer.sign({ aud: cast().berth.url })
  /** Requests without a caller that is known, by protocol. Each returns its HTTP status, or that of its RPC code. */
  const requests: Readonly<Record<string, (of: Tenant) => Promise<number>>> = {
    async 'an exchange by REST'({ identity }) {
      const { url } = cast().berth
      return (await exchange(url, await workloadToken(), { aud: url, identity })).status
    },
    async 'an exchange by gRPC'({ identity }) {
      const { berth, grpc } = cast()
      const request = { aud: [berth.url], identity }
      return grpc.call(SecurityTokenService.method.exchange, request, { token: await workloadToken() }).then(
        () => 200,
        ({ code }) => (code === 14 ? 503 : 500),
      )
    },
    async 'a token of the registry'({ identity }) {
      const basic = Buffer.from(`${identity}:${await workloadToken()}`).toString('base64')
      const { status, body } = await fetch(`${cast().berth.url}/token?service=x`, {
        headers: { authorization: `Basic ${basic}` },
      })
      await body?.cancel()
      return status
    },
    async 'a published feed'({ organization }) {
      const url = `${cast().berth.url}/vulnerabilities/feeds/${organization.uid}/osv/none.json`
      const { status, body } = await fetch(url)
      await body?.cancel()
      // There is no such advisory.
      return status === 404 ? 200 : status
    },
  }

  const freeze = () => operator.query('insert into frozen values ($1)', [frozen.organization.uid])
  const thaw = () => operator.query('delete from frozen')

  for (const [name, send] of Object.entries(requests))
    test(`${name} succeeds while those for an organization that does not respond wait`, async () => {
      await freeze()
      const { uid, owner } = frozen.organization
      // Those of known callers wait, too.
      const read = async () => (await owner.api.get(`iam/groups/${uid}`)).status
      const waiting: Promise<number>[] = []
      try {
        waiting.push(...Array.from({ length: FLOOD }, () => send(frozen)))
        waiting.push(...Array.from({ length: FLOOD }, read))
        await eventually(() => pool().waiting > 0)
        // It fails after `databaseWaitMsMax` in the share of the others.
        for (let n = 0; n < 5; n++) assert.equal(await send(other), 200)
      } finally {
        await thaw()
      }
      for (const status of await Promise.all(waiting))
        assert.ok(status === 200 || status === 503, `${status}`)
    })
}

if (selectedCluster === undefined)
  onEveryDatabase('callers that are not known yet', suite, { only: 'servers' })
