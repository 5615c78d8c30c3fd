import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import { openPostgresDb } from '@berth/server/storage/db.ts'
import { type Api, apiOf, managedRole, newName } from '../support/api/api-fixture.ts'
import { call } from '../support/api/rest.ts'
import { capabilitiesJson, createOrganization } from '../support/api/tenant.ts'
import { webBrowser } from '../support/browser/web-browser.ts'
import { runAdmin } from '../support/database/backups.ts'
import { urlOf } from '../support/database/citus-databases.ts'
import { type ClusterDatabase, selectedCluster } from '../support/database/databases.ts'
import { executeStatement } from '../support/database/postgres-template.ts'
import { eventually } from '../support/eventually.ts'
import { alpineFiles, imageOfFiles, repoUid, waitForContents } from '../support/images/readable-image.ts'
import { bearerOf, pushImage } from '../support/registry/registry.ts'
import { createCrossNodeWork, type NodeClient, nodeClient } from '../support/server/cross-node-work.ts'
import { startNodes, type TestNode } from '../support/server/nodes.ts'
import { cleanups, type Environment, runBerth, temporaryDirectory } from '../support/server/process.ts'
import type { TestBerth } from '../support/server/test-berth.ts'
import { createPerson, createSession, endSession } from '../support/signin/accounts.ts'
import { isSignedIn, localAccount, PASSWORD, setPassword } from '../support/signin/local-accounts.ts'

/** Nodes whose database address is a worker of a distributed database, beside nodes that use the coordinator. */

const cluster = selectedCluster
const skip = cluster === undefined && 'no Citus cluster is selected'

test('a database on one server is rejected by --query-from-any-node', async (t) => {
  const env = { BERTH_DATA_DIR: temporaryDirectory(t) }
  const { code, stderr } = await runBerth(t, ['migrate', '--query-from-any-node'], env)
  assert.equal(code, 1, stderr)
  assert.match(
    stderr,
    /^berth: --query-from-any-node is for a distributed database: this one does not have the extension Citus\n$/,
  )
})

describe('query from any node', { skip }, () => {
  const t = cleanups()
  let database: ClusterDatabase
  let nodes: readonly TestNode[]
  let settings: (url: string | undefined) => Environment
  const masterKey = randomBytes(32).toString('base64')

  before(async () => {
    const { share } = cluster as NonNullable<typeof cluster>
    database = await share()
    t.after(() => database.close())
    const dataDir = temporaryDirectory(t)
    settings = (url = '') => ({
      BERTH_DATA_DIR: dataDir,
      BERTH_DATABASE_URL: url,
      BERTH_MASTER_KEY: masterKey,
      BERTH_LISTEN: '127.0.0.1:0',
    })
  })
  after(() => t.run())

  const assertRefused = async (args: readonly string[], url: string | undefined, problem: RegExp) => {
    const { code, stderr } = await runBerth(t, args, settings(url))
    assert.equal(code, 1, stderr)
    assert.match(stderr, problem)
  }

  test('berth migrate lets nodes use the workers, once', async (t) => {
    const migrate = (url: string | undefined, ...args: string[]) =>
      runBerth(t, ['migrate', ...args], settings(url))
    const [coordinator, worker] = database.urls
    const enabled = await migrate(coordinator, '--query-from-any-node', '--json')
    assert.equal(enabled.code, 0, enabled.stderr)
    assert.equal(JSON.parse(enabled.stdout).queryFromAnyNode, true)
    for (const url of [coordinator, worker]) {
      const again = await migrate(url)
      assert.equal(again.code, 0, again.stderr)
      assert.match(again.stdout, /^the schema is up to date\n.*\nnodes can use its workers\n$/)
    }
    await assertRefused(
      ['migrate', '--query-from-any-node'],
      worker,
      /is a worker of a distributed database, and --query-from-any-node needs the coordinator\. Set the address to the coordinator\.\n$/,
    )
    const { json } = await runAdmin(t, settings(worker), 'check', '--json')
    const found = json.checks.find(({ name }: { name: string }) => name === 'distributed database')
    assert.match(`${found.result} ${found.message}`, /^ok this node uses the worker 127\.0\.0\.1:\d+$/)
  })

  test('a worker without a new table of the coordinator is refused until berth migrate has run there', async () => {
    const [coordinator = '', worker] = database.urls
    await executeStatement(coordinator, `select undistribute_table('job_results')`)
    await assertRefused(
      ['serve'],
      worker,
      /is a worker of a distributed database, whose schema is not up to date\. Run berth migrate with the address of the coordinator\.\n$/,
    )
    for (const url of [coordinator, worker]) {
      const { code, stdout, stderr } = await runBerth(t, ['migrate'], settings(url))
      assert.equal(code, 0, stderr)
      assert.match(stdout, /\nnodes can use its workers\n$/)
    }
  })

  describe('nodes on every server', () => {
    before(async () => {
      let opened = 0
      const open = () =>
        openPostgresDb(database.urls[opened++ % database.urls.length] as string, { onError() {} })
      const everyServer = {
        ...(cluster as NonNullable<typeof cluster>),
        share: async () => ({ open, close: async () => {} }),
      }
      nodes = (
        await startNodes(t, everyServer, database.urls.length, {
          env: { BERTH_MASTER_KEY: masterKey, BERTH_TRUSTED_PROXIES: '127.0.0.0/8' },
          contents: { pollMs: 30 },
        })
      ).all
    })

    const nodeAt = (n: number): TestNode => nodes[n % nodes.length] as TestNode
    const newOrganization = (name: string) => {
      const { origin, berth } = nodeAt(0)
      return createOrganization({ url: origin, token: berth.token }, newName(name))
    }
    /** The owner at each node: of the coordinator, of one worker and of the other. */
    const clientsOf = async (berth: TestBerth): Promise<[NodeClient, NodeClient, NodeClient]> => {
      const registry = (await bearerOf(berth, berth.owner)).replace('Bearer ', '')
      const at = (n: number) => nodeClient(nodeAt(n).origin, { api: berth.token, registry })
      return [at(0), at(1), at(2)]
    }
    /** The API for a token, at each node. */
    const apisOf = (token: string) => nodes.map(({ origin }) => apiOf({ url: origin }, token))

    test('what one starts the others continue, read and delete', async () => {
      const organization = await newOrganization('nodes')
      const work = createCrossNodeWork(organization)
      const clients = await clientsOf(nodeAt(0).berth)
      const [coordinator, one, other] = clients
      await work.run(one, other)
      await work.run(coordinator, one)
      await work.race(one, other)
      for (const node of clients) await work.verify(node)
    })

    test('an image that was pushed to one node is read by any of them', async () => {
      const organization = await newOrganization('images')
      const [coordinator, one, other] = await clientsOf(nodeAt(0).berth)
      const name = `${organization}/app`
      await pushImage(one.oci, name, await imageOfFiles([alpineFiles('musl 1.2.5-r0')]), 'v1')
      const repo = await repoUid(coordinator.api, name)
      assert.equal((await waitForContents(other.api, repo, 'v1')).packageCount, 1)
    })

    test('a session and its tokens end at every node', async () => {
      const identity = await createPerson(nodeAt(1).berth)
      const session = await createSession(nodeAt(1).berth, { identity })
      const apis = apisOf(await nodeAt(2).berth.tokenOf(identity, { session: session.id }))
      for (const api of apis) assert.equal((await api.get('iam/groups')).status, 200)
      await endSession(nodeAt(2).berth, session.id)
      for (const api of apis) assert.equal((await api.get('iam/groups')).status, 401)
    })

    test('a password that was set at one node signs in at the others, and wrong ones are counted together', async () => {
      const email = `${newName('ada')}@example.com`
      const browsers = (address: string) =>
        nodes.map(({ origin }) => webBrowser(origin, { headers: { 'x-forwarded-for': address } }))
      const [, first] = browsers('2001:db8:1::1')
      await localAccount({ url: nodeAt(1).origin, berth: nodeAt(1).berth.berth }, email, first)
      for (const browser of browsers('2001:db8:2::1')) {
        await setPassword(browser, email, PASSWORD)
        assert.ok(await isSignedIn(browser))
      }
      const guessing = browsers('2001:db8:3::1')
      const statuses: number[] = []
      for (let n = 0; n <= limits.guessesPerAccountAndAddressMax; n++) {
        const browser = guessing[n % guessing.length]
        assert.ok(browser)
        statuses.push((await setPassword(browser, email, 'wrong wrong wrong')).status)
      }
      assert.deepEqual(statuses, [...Array(limits.guessesPerAccountAndAddressMax).fill(401), 429])
    })

    test('a create that is repeated at another node creates nothing; roles and limits apply at every node', async () => {
      const { berth } = nodeAt(0)
      const organization = await newOrganization('limits')
      const post = (n: number) =>
        call('POST', `${nodeAt(n).origin}/registry/v2beta1/repos/${organization}`, {
          token: berth.token,
          body: { name: 'app' },
          headers: { 'idempotency-key': 'one' },
        })
      const replies = [await post(1), await post(2), await post(0)]
      assert.deepEqual(
        replies.map(({ status, text }) => [status, text]),
        Array(3).fill([200, replies[0]?.text]),
      )
      const [coordinator, one, other] = (await clientsOf(berth)).map(({ api }) => api) as [Api, Api, Api]
      const identity = await createPerson(nodeAt(1).berth)
      const role = await one.create(`iam/roles/${organization}`, {
        name: 'reader',
        capabilities: capabilitiesJson('groups.list'),
      })
      const binding = await other.create(`iam/roleBindings/${organization}`, {
        identityUid: identity,
        roleUid: role.uid,
      })
      const members = apisOf(await berth.tokenOf(identity))
      for (const api of members) assert.equal((await api.get(`iam/groups/${organization}`)).status, 200)
      assert.equal((await coordinator.delete(`iam/roleBindings/${binding.uid}`)).status, 200)
      for (const api of members) assert.equal((await api.get(`iam/groups/${organization}`)).status, 403)
      await one.create(`iam/roleBindings/${organization}`, {
        identityUid: identity,
        roleUid: managedRole('viewer'),
      })
      for (const api of members) assert.equal((await api.get(`iam/groups/${organization}`)).status, 200)
    })

    test('a node on a worker serves and warns while the coordinator is away, and one on the coordinator is not ready', async () => {
      const [coordinator = '', ...workers] = database.urls
      const name = new URL(coordinator).pathname.slice(1)
      const readiness = async () => {
        const replies = await Promise.all(nodes.map(({ origin }) => fetch(`${origin}/readyz`)))
        return Promise.all(replies.map(async (reply) => `${reply.status} ${await reply.text()}`))
      }
      const setAccess = (isAllowed: boolean) =>
        executeStatement(
          urlOf(coordinator, 'postgres'),
          `alter database ${name} allow_connections ${isAllowed}`,
        )
      await setAccess(false)
      try {
        await executeStatement(
          urlOf(coordinator, 'postgres'),
          `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`,
        )
        const [own = '', ...others] = await readiness()
        assert.match(own, /^503 .*database: the database does not respond/)
        assert.equal(others.length, workers.length)
        for (const other of others)
          assert.equal(other, '200 ok\ndistributed database: the coordinator does not respond\n')
        const [worker] = workers
        const { code, stderr } = await runBerth(t, ['serve'], settings(worker))
        const [at, lost] = [worker, coordinator].map((url = '') => new URL(url).host)
        assert.equal(
          stderr,
          `berth: the database at ${at} cannot connect to the server ${lost} of the distributed database: check that this server runs and accepts connections (BERTH_DATABASE_URL)\n`,
        )
        assert.equal(code, 3)
      } finally {
        await setAccess(true)
      }
      await eventually(readiness, (all) => all.every((one) => one === '200 ok\n'))
    })
  })
})
