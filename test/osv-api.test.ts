import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Organization, onEveryDatabase } from './support/api/api-fixture.ts'

/** OSV's API as scanners call it. */

const osv = (id: string, name: string, fixed: string, ecosystem = 'npm') => ({
  schema_version: '1.6.0',
  id,
  modified: '2024-01-02T00:00:00Z',
  aliases: [`CVE-2024-1${id.length}${name.length}`],
  affected: [
    {
      package: { ecosystem, name },
      ranges: [{ type: 'ECOSYSTEM', events: [{ introduced: '0' }, { fixed }] }],
    },
  ],
})

onEveryDatabase("OSV's API", (cast) => {
  const call = async ({ uid, owner }: Organization, path: string, body?: unknown, headers?: object) => {
    const response = await fetch(`${cast().berth.url}/osv/${uid}/v1/${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { ...(headers ?? { authorization: `Bearer ${owner.api.token}` }) } as Record<string, string>,
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    // biome-ignore lint/suspicious/noExplicitAny: JSON of the API.
    return { status: response.status, body: (await response.json()) as any }
  }
  const organizationWithRecords = async () => {
    const organization = await cast().organization()
    const records = [
      osv('GHSA-2222-3333-4444', 'left-pad', '1.2.0'),
      osv('DEBIAN-CVE-2024-1175', 'glibc', '2.36-9', 'Debian:12'),
    ]
    const documents = records.map((record) => ({
      name: `${record.id}.json`,
      content: Buffer.from(JSON.stringify(record)).toString('base64'),
    }))
    const imported = await cast().admin.create(
      `vulnerabilities/advisories/${organization.uid}:importDocuments`,
      { documents },
    )
    assert.ok(
      imported.documents.every(({ accepted }: { accepted: boolean }) => accepted),
      JSON.stringify(imported),
    )
    return organization
  }

  test('finds records by name, package URL and version, with the IDs of their source', async () => {
    const organization = await organizationWithRecords()
    const idsOf = async (query: object) => {
      const { status, body } = await call(organization, 'query', query)
      assert.equal(status, 200, JSON.stringify(body))
      return (body.vulns ?? []).map(({ id }: { id: string }) => id)
    }
    const npm = { name: 'left-pad', ecosystem: 'npm' }
    assert.deepEqual(await idsOf({ package: npm, version: '1.1.0' }), ['GHSA-2222-3333-4444'])
    assert.deepEqual(await idsOf({ package: npm, version: '1.2.0' }), [])
    assert.deepEqual(await idsOf({ package: npm }), ['GHSA-2222-3333-4444'])
    assert.deepEqual(await idsOf({ package: { purl: 'pkg:npm/left-pad@1.1.0' } }), ['GHSA-2222-3333-4444'])
    assert.deepEqual(await idsOf({ package: { name: 'glibc', ecosystem: 'Debian' }, version: '2.36-8' }), [
      'DEBIAN-CVE-2024-1175',
    ])
    assert.deepEqual(
      await idsOf({ package: { name: 'glibc', ecosystem: 'Debian:11' }, version: '2.36-8' }),
      [],
    )
    assert.deepEqual(
      await idsOf({ package: { purl: 'pkg:deb/debian/libc6@2.36-8?upstream=glibc&distro=debian-12' } }),
      ['DEBIAN-CVE-2024-1175'],
    )
    assert.deepEqual(await idsOf({ commit: '6879efc2c1596d11a6a6ad296f80063b558d5e0f', package: {} }), [])
  })

  test('answers batches in order, and returns each record', async () => {
    const organization = await organizationWithRecords()
    const queries = [
      { package: { name: 'unknown', ecosystem: 'npm' }, version: '1' },
      { package: { name: 'left-pad', ecosystem: 'npm' }, version: '1.0.0' },
    ]
    const basic = Buffer.from(`_token:${organization.owner.api.token}`).toString('base64')
    const { status, body } = await call(
      organization,
      'querybatch',
      { queries },
      { authorization: `Basic ${basic}` },
    )
    assert.equal(status, 200)
    const [none, one] = body.results
    assert.deepEqual(none, {})
    assert.deepEqual(Object.keys(one.vulns[0]), ['id', 'modified'])
    const record = await call(organization, `vulns/${one.vulns[0].id}`)
    assert.equal(record.body.modified, one.vulns[0].modified)
    assert.equal(record.body.affected[0].package.name, 'left-pad')
    assert.equal((await call(organization, 'vulns/GHSA-none')).status, 404)
  })

  test('rejects callers without access, and invalid queries', async () => {
    const organization = await organizationWithRecords()
    const other = await cast().organization()
    assert.equal((await call(organization, 'vulns/GHSA-2222-3333-4444', undefined, {})).status, 401)
    const foreign = { authorization: `Bearer ${other.owner.api.token}` }
    assert.equal((await call(organization, 'query', {}, foreign)).status, 403)
    const invalid: readonly (readonly [unknown, RegExp])[] = [
      ['[', /body/],
      ['['.repeat(5000), /body/],
      [{ package: { name: 'a' } }, /package\.ecosystem/],
      [{ package: { name: 'a', ecosystem: 'No such' } }, /not an ecosystem/],
      [{ package: { purl: 'npm/a' } }, /package\.purl/],
      [{ package: { purl: 'pkg:npm/a@1' }, version: '2' }, /version/],
      [{ package: { name: 'a', ecosystem: 'npm' }, page_token: 'x' }, /page_token/],
    ]
    for (const [body, message] of invalid) {
      const reply = await call(organization, 'query', body)
      assert.equal(reply.status, 400, JSON.stringify(reply.body))
      assert.equal(reply.body.code, 3)
      assert.match(reply.body.message, message)
    }
    const many = Array.from({ length: 1001 }, () => ({ package: { purl: 'pkg:npm/a@1' } }))
    assert.match((await call(organization, 'querybatch', { queries: many })).body.message, /at most 1000/)
    await cast().admin.patch(`vulnerabilities/advisoryPublications/${organization.uid}`, { public: true })
    assert.equal((await call(organization, 'vulns/GHSA-2222-3333-4444', undefined, {})).status, 200)
  })
})
