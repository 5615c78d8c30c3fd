import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DAY_MS, limits } from '@berth/server/config/limits.ts'
import { policiesOf } from './support/api/policies.ts'
import { databases, serverDatabases } from './support/database/databases.ts'
import { eventually } from './support/eventually.ts'
import { bearerOf, ociClient, pushImage, testImage } from './support/registry/registry.ts'
import { startNodes } from './support/server/nodes.ts'
import { startTestBerth } from './support/server/test-berth.ts'

/** Policies on several nodes, and decisions over time. */

for (const database of serverDatabases) {
  test(`a change of a binding or override on one node counts for the next pull on the other (${database.name})`, async (t) => {
    const { all } = await startNodes(t, database, 2)
    const [first, second] = all
    assert.ok(first && second)
    const one = first.berth
    const bearer = await bearerOf(one, one.owner)
    const clientAt = ({ origin }: { readonly origin: string }) => ociClient({ url: origin }, bearer)
    const name = `${one.organization}/app`
    const image = await pushImage(clientAt(first), name, testImage(), 'main')
    const client = clientAt(second)
    const pull = async () => (await client.request('GET', `${name}/manifests/main`)).status
    const policies = policiesOf({ url: first.origin }, one.token)
    assert.equal(await pull(), 200)
    for (let at = 0; at < 5; at++) {
      const { id } = await policies.bind(one.organization, 'tag-pattern', { patterns: ['v*'] })
      assert.equal(await pull(), 403)
      const override = await policies.override(one.organization, 'tag-pattern', image.digest)
      assert.equal(await pull(), 200)
      await policies.request('DELETE', `overrides/${override.id}`)
      assert.equal(await pull(), 403)
      await policies.request('DELETE', `bindings/${id}`)
      assert.equal(await pull(), 200)
    }
  })
}

for (const database of databases)
  test(`decisions are recorded once a day, and deleted after policyDecisionDays (${database.name})`, async (t) => {
    const berth = await startTestBerth(database, { expiryIntervalMs: 20, decisionFlushMs: 20 })
    t.after(() => berth.stop())
    const client = ociClient(berth, await bearerOf(berth, berth.owner))
    const name = `${berth.organization}/app`
    await pushImage(client, name, testImage(), 'main')
    const policies = policiesOf(berth, berth.token)
    await policies.bind(berth.organization, 'maximum-age', { days: 1000, since: 'pushed' })
    const { db } = berth.berth.installation.store
    const days = async () =>
      (await db.kysely.selectFrom('policy_decisions').select('day').execute()).map(({ day }) => Number(day))
    const pull = () => client.request('GET', `${name}/manifests/main`)
    for (let at = 0; at < 3; at++) assert.equal((await pull()).status, 200)
    await eventually(async () => (await days()).length === 1)
    const [first = 0] = await days()
    // Tokens expire meanwhile.
    berth.advance(DAY_MS)
    const later = ociClient(berth, await bearerOf(berth, berth.owner))
    assert.equal((await later.request('GET', `${name}/manifests/main`)).status, 200)
    await eventually(async () => (await days()).length === 2)
    berth.advance((limits.policyDecisionDays - 1) * DAY_MS)
    await eventually(async () => (await days()).length === 1)
    assert.deepEqual(await days(), [first + 1])
  })

test('pulls are counted by the mode of the policy and its result', async (t) => {
  const [database] = databases
  assert.ok(database)
  const berth = await startTestBerth(database, {})
  t.after(() => berth.stop())
  const client = ociClient(berth, await bearerOf(berth, berth.owner))
  const name = `${berth.organization}/app`
  for (const tag of ['main', 'v1']) await pushImage(client, name, testImage(), tag)
  const policies = policiesOf(berth, berth.token)
  const counts = async () => {
    const text = await (await fetch(`${berth.url}/metrics`)).text()
    const lines = text.matchAll(/^berth_policy_decisions_total\{mode="(.*)",result="(.*)"\} (\d+)$/gm)
    return Object.fromEntries([...lines].map(([, mode, result, n]) => [`${mode} ${result}`, Number(n)]))
  }
  const pull = async (tag: string) => (await client.request('GET', `${name}/manifests/${tag}`)).status
  assert.equal(await pull('main'), 200)
  assert.deepEqual(await counts(), {})
  await policies.bind(berth.organization, 'tag-pattern', { patterns: ['v*'] })
  assert.deepEqual([await pull('main'), await pull('main'), await pull('v1')], [403, 403, 200])
  // The same decision twice is one row a day, and two pulls.
  assert.deepEqual(await counts(), { 'enforced denied': 2, 'enforced allowed': 1 })
})
