import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { status } from '@grpc/grpc-js'
import { CompiledQuery } from 'kysely'
import { type GrpcFailure, grpcClient } from '../support/api/grpc.ts'
import { methods, requestAt, shortName } from '../support/api/methods.ts'
import { createTenant, type Tenant } from '../support/api/sample-requests.ts'
import { bindRole, createIdentity, createOrganization } from '../support/api/tenant.ts'
import { type SharedDatabase, selectedCluster } from '../support/database/databases.ts'
import { recordShards, reportShards, type StatementShards } from '../support/database/shards.ts'
import { assertGolden } from '../support/golden.ts'
import { bearerOf, ociClient, pushImage, testImage } from '../support/registry/registry.ts'
import { startTestBerth, type TestBerth } from '../support/server/test-berth.ts'

/** On a distributed database, statements of requests ask the servers of the organizations that they name. */

/** uids of organizations in the values of a statement, at least one: that of the installation is ''. */
function rootsIn(values: readonly unknown[]): ReadonlySet<string> {
  const texts = values.filter((value) => typeof value === 'string')
  const uids = texts.flatMap((text) => text.match(/(?<![0-9a-f])[0-9a-f]{40}(?![0-9a-f])/g) ?? [])
  return new Set(uids.length === 0 ? [''] : uids)
}

/** A statement without its values and without the lengths of its lists. */
function shapeOf(text: string): string {
  return text
    .replace(/\s+/g, ' ')
    .replace(/\$\d+/g, '?')
    .replace(/\((?:\?(?:, )?)+\)/g, '(?)')
    .replace(/(?:\(\?\)(?:, )?){2,}/g, '(?)')
    .trim()
}

const cluster = selectedCluster

describe('shards of statements', { skip: cluster === undefined && 'no Citus cluster is selected' }, () => {
  let shared: SharedDatabase
  let berth: TestBerth
  let tenant: Tenant
  let owner: string
  const recorded = new Map<string, StatementShards[]>()
  let method = ''

  before(async () => {
    shared = await (cluster as NonNullable<typeof cluster>).share()
    const first = await shared.open()
    await reportShards(first)
    await first.close()
    berth = await startTestBerth({ name: 'citus', open: () => shared.open() })
    const organization = await createOrganization(berth, 'shards.example')
    tenant = await createTenant(berth, organization)
    owner = await createIdentity(berth, organization)
    await bindRole(berth, organization, owner, 'owner')
  })
  after(async () => {
    await berth.stop()
    await shared.close()
  })

  test('a request asks the shards of the organizations that it names, but for the statements of the list', async (t) => {
    const client = grpcClient(berth.url)
    t.after(() => client.close())
    const token = await berth.tokenOf(owner)
    const { db } = berth.berth.installation.store
    const { rows } = await db.kysely.executeQuery<{ n: number }>(
      CompiledQuery.raw('select current_setting($1)::bigint as n', ['citus.shard_count']),
    )
    const shardCount = Number(rows[0]?.n)
    const recording = await recordShards(db, (statement) => {
      const all = recorded.get(method) ?? []
      all.push(statement)
      recorded.set(method, all)
    })
    t.after(() => recording.stop())

    const failed: string[] = []
    for (const one of methods) {
      const request = (await tenant.requestOf(one)) ?? requestAt(one, tenant.organization)
      method = shortName(one)
      await client.call(one, request as never, { token, deadlineMs: 20_000 }).catch((error: GrpcFailure) => {
        if (error.code === status.INTERNAL) failed.push(method)
      })
      method = ''
    }
    assert.deepEqual(
      failed,
      [],
      'methods that fail with an internal error, such as a statement that Citus rejects',
    )
    const oci = ociClient(berth, await bearerOf(berth, owner))
    for (const organization of [tenant.organization, 'shards.example']) {
      method = `push and pull, ${organization === tenant.organization ? 'by uid' : 'by name'}`
      const image = await pushImage(oci, `${organization}/app`, testImage(), 'one')
      const reply = await oci.request('GET', `${organization}/app/manifests/one`)
      assert.equal(reply.status, 200)
      const [layer] = JSON.parse(image.manifest.toString()).layers
      assert.equal((await oci.request('GET', `${organization}/app/blobs/${layer.digest}`)).status, 200)
    }
    recording.stop()

    const statements = [...recorded].filter(([name]) => name !== '').flatMap(([, all]) => all)
    const shapes = new Set(statements.map(({ text }) => shapeOf(text)))
    const wide = statements.filter(({ shards, values }) => shards > Math.max(1, rootsIn(values).size))
    const narrowing = wide.filter(({ shards }) => shards < shardCount)
    assert.deepEqual(
      narrowing.map(({ text, shards }) => `${shards} ${shapeOf(text)}`),
      [],
      'statements that ask more shards than they name organizations, but not all',
    )
    const callers = (shape: string) =>
      [...recorded]
        .filter(
          ([name, all]) =>
            name !== '' && all.some((one) => wide.includes(one) && shapeOf(one.text) === shape),
        )
        .map(([name]) => name)
    const lines = [...new Set(wide.map(({ text }) => shapeOf(text)))].sort().map((shape) => {
      const by = callers(shape)
      return `${shape}\n  by ${by.length > 3 ? `${by.slice(0, 3).join(', ')} and ${by.length - 3} more` : by.join(', ')}`
    })
    t.diagnostic(
      `${recorded.size - 1} calls, ${statements.length} statements of ${shapes.size} shapes; ${lines.length} shapes ask all shards`,
    )
    assertGolden(
      'all-shards.txt',
      `Statements of requests that ask every shard of a distributed database; all others ask those of the organizations that they name.

${lines.join('\n\n')}
`,
    )
  })
})
