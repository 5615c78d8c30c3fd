import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { inflateRawSync } from 'node:zlib'
import { OrgStatus } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { corpora, documentsIn } from './support/advisories/advisory-documents.ts'
import { formatProblems } from './support/advisories/format-schemas.ts'
import { type ApiFixture, newName, type Organization, onEveryDatabase } from './support/api/api-fixture.ts'
import { call } from './support/api/rest.ts'
import { eventually } from './support/eventually.ts'

/** Published feeds as scanners get them. */

// biome-ignore lint/suspicious/noExplicitAny: JSON of the feeds.
type Json = any

interface Got {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Buffer
}

async function get(
  url: string,
  headers: Readonly<Record<string, string>> = {},
  method = 'GET',
): Promise<Got> {
  const response = await fetch(url, { method, headers: { 'accept-encoding': 'identity', ...headers } })
  return {
    status: response.status,
    headers: response.headers,
    bytes: Buffer.from(await response.arrayBuffer()),
  }
}

const json = ({ bytes }: Got): Json => JSON.parse(bytes.toString())

/** The files of a zip file by name, each as long and as sound as it says. */
function unzipped(zip: Buffer): Map<string, Json> {
  const end = zip.lastIndexOf(Buffer.from([0x50, 0x4b, 5, 6]))
  const files = new Map<string, Json>()
  for (let at = zip.readUInt32LE(end + 16), left = zip.readUInt16LE(end + 10); left > 0; left--) {
    const [packed, size, name, extra] = [20, 24, 28, 30].map((offset) =>
      offset < 28 ? zip.readUInt32LE(at + offset) : zip.readUInt16LE(at + offset),
    ) as [number, number, number, number]
    const begin = zip.readUInt32LE(at + 42)
    const data = begin + 30 + zip.readUInt16LE(begin + 26)
    const content = inflateRawSync(zip.subarray(data, data + packed))
    assert.equal(content.length, size)
    files.set(zip.subarray(at + 46, at + 46 + name).toString(), JSON.parse(content.toString()))
    at += 46 + name + extra
  }
  return files
}

const [{ root: SELECTION } = { root: '' }] = corpora
const selection = { root: SELECTION, isComplete: false }

async function importInto({ admin }: ApiFixture, group: string, folder: string): Promise<void> {
  const documents = documentsIn(selection, folder).map(({ path, content }) => ({
    name: path,
    content: content.toString('base64'),
  }))
  await admin.create(`vulnerabilities/advisories/${group}:importDocuments`, { documents })
}

const feedsOf = ({ berth }: ApiFixture, group: string) => `${berth.url}/vulnerabilities/feeds/${group}`
const bearer = ({ owner }: Organization) => ({ authorization: `Bearer ${owner.api.token}` })
const publication = (group: string) => `vulnerabilities/advisoryPublications/${group}`
const publish = async ({ admin }: ApiFixture, group: string, body: object = { public: true }) => {
  const reply = await admin.patch(publication(group), body)
  assert.equal(reply.status, 200, reply.text)
  return reply.body
}

onEveryDatabase('publishing advisories', (cast) => {
  test('publishes every advisory of a group, and of those below it, in each format', async () => {
    const organization = await cast().organization()
    const { uid: folder } = await organization.owner.api.create(`iam/groups/${organization.uid}`, {
      name: newName('f'),
    })
    await importInto(cast(), organization.uid, 'wolfi/current')
    await importInto(cast(), folder, 'osv')
    await importInto(cast(), folder, 'openvex')
    const listed = await organization.owner.api.get('vulnerabilities/advisories', {
      'uidp.descendants_of': organization.uid,
    })
    const feeds = feedsOf(cast(), organization.uid)
    const headers = bearer(organization)

    const zip = await get(`${feeds}/osv/all.zip`, headers)
    assert.equal(zip.headers.get('content-type'), 'application/zip')
    const records = unzipped(zip.bytes)
    const live = [...records.values()].filter(({ withdrawn }) => withdrawn === undefined)
    assert.equal(live.length, Number(listed.body.totalCount))
    for (const [name, record] of records) {
      assert.equal(name, `${record.id}.json`)
      assert.equal(formatProblems('osv', record), '')
    }
    assert.ok(
      live.some(({ severity }) => severity !== undefined),
      'scores of documents come along',
    )

    const [one] = live
    assert.deepEqual(json(await get(`${feeds}/osv/${one.id}.json`, headers)), one)
    assert.equal((await get(`${feeds}/osv/CGA-2222-2222-2222.json`, headers)).status, 404)

    const lines = (await get(`${feeds}/osv/modified_id.csv`, headers)).bytes.toString().trimEnd().split('\n')
    const expected = [...records.values()]
      .map(({ id, modified }) => ({ ms: Date.parse(modified), line: `${modified},${id}` }))
      .sort((a, b) => b.ms - a.ms || (a.line < b.line ? -1 : 1))
    assert.deepEqual(
      lines,
      expected.map(({ line }) => line),
    )

    const secdb = json(await get(`${feeds}/secdb/security.json`, headers))
    assert.equal(formatProblems('secdb', secdb), '')
    const index = json(await get(`${feeds}/openvex/index.json`, headers))
    const documents = unzipped((await get(`${feeds}/openvex/all.zip`, headers)).bytes)
    assert.deepEqual(documents.get('index.json'), index)
    const locations = new Set(index.packages.map(({ location }: Json) => location))
    assert.deepEqual(new Set([...documents.keys()].filter((name) => name !== 'index.json')), locations)
    for (const [name, document] of documents)
      if (name !== 'index.json') assert.equal(formatProblems('openvex', document), '')
    const manifest = json(await get(`${feeds}/openvex/.well-known/vex-repository.json`, headers))
    assert.deepEqual(manifest.versions[0].locations, [{ url: `${feeds}/openvex/all.zip` }])
    const location = 'golang.org%2Fx%2Fnet.json'
    for (const name of ['postgresql-14.json', ...[...locations].filter((known) => known === location)])
      assert.deepEqual(json(await get(`${feeds}/openvex/${name}`, headers)), documents.get(String(name)))
    assert.equal((await get(`${feeds}/openvex/nothing-of-the-kind.json`, headers)).status, 404)

    // Some clients escape the slashes of a uid, and of the path after it.
    const escaped = feedsOf(cast(), folder.replaceAll('/', '%2F'))
    const plain = await get(`${feedsOf(cast(), folder)}/osv/modified_id.csv`, headers)
    for (const path of ['/osv/modified_id.csv', '%2fosv%2Fmodified_id.csv'])
      assert.deepEqual((await get(escaped + path, headers)).bytes, plain.bytes)
    const manifestPath = '/openvex%2F.well-known%2Fvex-repository.json'
    assert.equal((await get(escaped + manifestPath, headers)).status, 200)
    // A filter that has no effect would mislead.
    const filtered = await get(`${feeds}/osv/all.zip?artifact_name=git&x=1`, headers)
    assert.equal(filtered.status, 400)
    assert.match(filtered.bytes.toString(), /artifact_name: is unknown: feeds have no parameters/)

    const below = feedsOf(cast(), folder)
    const fewer = unzipped((await get(`${below}/osv/all.zip`, headers)).bytes)
    assert.ok(fewer.size > 0 && fewer.size < records.size)
    for (const [name, record] of fewer) assert.deepEqual(record, records.get(name))
  })

  test('publishes the database that was derived from the same documents', async () => {
    const organization = await cast().organization()
    await importInto(cast(), organization.uid, 'wolfi/current')
    await publish(cast(), organization.uid, {
      securityDatabase: { urlprefix: 'https://packages.wolfi.dev' },
    })
    const feeds = feedsOf(cast(), organization.uid)
    const { packages, ...head } = json(await get(`${feeds}/secdb/security.json`, bearer(organization)))
    const derived = JSON.parse(readFileSync('test/publications/wolfi-security-derived.json', 'utf8'))
    assert.deepEqual({ ...head, packages: derived.packages }, derived)
    assert.deepEqual(
      // What was never affected is `0-r0` there.
      JSON.parse(JSON.stringify(packages).replaceAll('"0":[', '"0-r0":[')),
      derived.packages,
    )
    assert.equal(packages.length, derived.packages.length)
  })

  test('returns the same to unauthorized callers whether or not a group publishes or exists', async () => {
    const organization = await cast().organization()
    await importInto(cast(), organization.uid, 'wolfi/schema-fixtures')
    const other = await cast().organization()
    const missing = 'f'.repeat(40)
    const shape = async (group: string, headers: Readonly<Record<string, string>>) => {
      const got = await get(`${feedsOf(cast(), group)}/secdb/security.json`, headers)
      // The error names the group, of whatever length its uid is.
      const stableHeaders = [...got.headers].filter(
        ([name]) => !/^(date|x-request-id|content-length)$/.test(name),
      )
      return [got.status, stableHeaders, got.bytes.toString().replaceAll(group, 'GROUP')]
    }
    for (const headers of [{}, bearer(other), { authorization: 'Bearer nonsense' }]) {
      assert.deepEqual(await shape(organization.uid, headers), await shape(missing, headers))
      assert.deepEqual(
        await shape(organization.uid, headers),
        await shape(`${organization.uid}/${'f'.repeat(16)}`, headers),
      )
    }
    assert.equal((await shape(organization.uid, {}))[0], 401)
    assert.equal((await shape(organization.uid, bearer(other)))[0], 403)
    assert.equal((await shape(organization.uid, bearer(organization)))[0], 200)
    assert.equal((await shape(`${organization.uid}/${'f'.repeat(16)}`, bearer(organization)))[0], 404)
  })

  test('lets anyone read what a public group and its descendants publish', async () => {
    const organization = await cast().organization()
    const { uid: folder } = await organization.owner.api.create(`iam/groups/${organization.uid}`, {
      name: newName('f'),
    })
    const { uid: inner } = await organization.owner.api.create(`iam/groups/${folder}`, { name: newName('f') })
    await importInto(cast(), inner, 'wolfi/schema-fixtures')
    const status = async (group: string) =>
      (await get(`${feedsOf(cast(), group)}/secdb/security.json`)).status
    const shown = await publish(cast(), folder)
    assert.equal(shown.public, true)
    assert.equal(shown.publicThrough, folder)
    assert.deepEqual(await Promise.all([organization.uid, folder, inner].map(status)), [401, 200, 200])
    const below = (await organization.owner.api.get(publication(inner))).body
    assert.deepEqual([below.public, below.publicThrough], [false, folder])
    assert.equal(await status(`${folder}/${'f'.repeat(16)}`), 401)
    await publish(cast(), folder, { public: false })
    assert.deepEqual(await Promise.all([folder, inner].map(status)), [401, 401])
  })

  test('closes the feeds of a suspended organization', async () => {
    const organization = await cast().organization()
    await publish(cast(), organization.uid)
    const feed = `${feedsOf(cast(), organization.uid)}/secdb/security.json`
    assert.equal((await get(feed)).status, 200)
    const { db } = cast().berth.berth.installation.store
    await db.kysely
      .updateTable('groups')
      .set({ status: OrgStatus.SUSPENDED })
      .where('uid', '=', organization.uid)
      .execute()
    assert.equal((await get(feed)).status, 401)
    assert.equal((await get(feed, bearer(organization))).status, 403)
  })

  test('serves changes immediately, and unchanged content only once', async () => {
    const organization = await cast().organization()
    await publish(cast(), organization.uid)
    const feeds = feedsOf(cast(), organization.uid)
    for (const feed of ['secdb/security.json', 'osv/all.zip', 'osv/modified_id.csv', 'openvex/index.json']) {
      const before = await get(`${feeds}/${feed}`)
      assert.equal(before.status, 200)
      const etag = String(before.headers.get('etag'))
      assert.match(etag, /^"[\w-]+"$/)
      assert.equal(before.headers.get('cache-control'), 'public, max-age=60')
      assert.equal(before.headers.get('vary'), 'accept-encoding')
      const same = await get(`${feeds}/${feed}`, { 'if-none-match': `"other", ${etag}` })
      assert.deepEqual([same.status, same.bytes.length, same.headers.get('etag')], [304, 0, etag])
    }
    const tagOf = async () => (await get(`${feeds}/secdb/security.json`)).headers.get('etag')
    const first = await tagOf()
    assert.equal(await tagOf(), first)
    await importInto(cast(), organization.uid, 'wolfi/schema-fixtures')
    const second = await tagOf()
    assert.notEqual(second, first)
    assert.ok((await get(`${feeds}/osv/modified_id.csv`)).bytes.length > 0)
    await importInto(cast(), organization.uid, 'wolfi/schema-fixtures')
    assert.equal(await tagOf(), second, 'an import that changes nothing')
    const { uid: folder } = await organization.owner.api.create(`iam/groups/${organization.uid}`, {
      name: newName('f'),
    })
    assert.equal(await tagOf(), second)
    await importInto(cast(), folder, 'secdb')
    assert.notEqual(await tagOf(), second)
  })

  test('uses modification times once no other change can be in the same second', async () => {
    const organization = await cast().organization()
    const feed = `${feedsOf(cast(), organization.uid)}/osv/all.zip`
    // Again if the response took longer than this second.
    await eventually(async () => {
      await publish(cast(), organization.uid, { public: false })
      await publish(cast(), organization.uid)
      return (await get(feed)).headers.get('last-modified') === null
    })
    cast().berth.advance(2000)
    const modified = String((await get(feed)).headers.get('last-modified'))
    assert.equal((await get(feed, { 'if-modified-since': modified })).status, 304)
    const earlier = new Date(Date.parse(modified) - 1000).toUTCString()
    assert.equal((await get(feed, { 'if-modified-since': earlier })).status, 200)
    assert.equal((await get(feed, { 'if-modified-since': modified, 'if-none-match': '"other"' })).status, 200)
  })

  test('returns 404 for missing content, whatever the conditions', async () => {
    const organization = await cast().organization()
    await importInto(cast(), organization.uid, 'wolfi/schema-fixtures')
    await publish(cast(), organization.uid)
    cast().berth.advance(2000)
    const feeds = feedsOf(cast(), organization.uid)
    const later = { 'if-modified-since': new Date(Date.now() + 86_400_000).toUTCString() }
    for (const path of ['osv/NOPE.json', 'osv/CGA-xxxx-xxxx-xxxx.json', 'openvex/nothing.json']) {
      assert.equal((await get(`${feeds}/${path}`, later)).status, 404, path)
      assert.equal((await get(`${feeds}/${path}`, { 'if-none-match': '*' })).status, 404, path)
    }
    const [line = ''] = (await get(`${feeds}/osv/modified_id.csv`)).bytes.toString().split('\n')
    assert.equal((await get(`${feeds}/osv/${line.split(',')[1]}.json`, later)).status, 304)
    assert.equal((await get(`${feeds}/openvex/index.json`, later)).status, 304)
  })

  test('a change of severity modifies the record, so that mirrors fetch it again', async () => {
    const organization = await cast().organization()
    const { uid: folder } = await organization.owner.api.create(`iam/groups/${organization.uid}`, {
      name: newName('f'),
    })
    const add = (group: string, document: object) => {
      const content = Buffer.from(JSON.stringify(document)).toString('base64')
      const documents = [{ name: 'a.json', content }]
      return cast().admin.create(`vulnerabilities/advisories/${group}:importDocuments`, { documents })
    }
    const id = 'CVE-2024-600001'
    const statement = {
      vulnerability: { name: id },
      products: [{ '@id': 'pkg:apk/wolfi/git' }],
      status: 'under_investigation',
    }
    await add(folder, {
      '@context': 'https://openvex.dev/ns/v0.2.0',
      '@id': 'urn:a',
      author: 'A',
      version: 1,
      timestamp: '2024-01-01T00:00:00Z',
      statements: [statement],
    })
    await publish(cast(), organization.uid)
    const feeds = feedsOf(cast(), folder)
    const now = async () => {
      const lines = (await get(`${feeds}/osv/modified_id.csv`)).bytes.toString().trimEnd().split('\n')
      const [modified = '', name] = String(lines[0]).split(',')
      const record = json(await get(`${feeds}/osv/${name}.json`))
      assert.equal(record.modified, modified)
      assert.equal(lines.length, 1)
      return record
    }
    const first = await now()
    assert.deepEqual([first.modified, first.severity], ['2024-01-01T00:00:00Z', undefined])
    const score = (of: string, modified: string, more: object) =>
      add(organization.uid, { id: of, aliases: [id], affected: [], modified, ...more })
    const severity = (attack: string) => [
      { type: 'CVSS_V3', score: `CVSS:3.1/AV:${attack}/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H` },
    ]
    let last = first
    for (const [of, modified, more] of [
      ['GHSA-2222-3333-4444', '2024-02-01T00:00:00Z', { severity: severity('N') }],
      ['GHSA-2222-3333-4444', '2024-02-02T00:00:00Z', { severity: severity('L') }],
      [id, '2024-02-01T00:00:00Z', { severity: severity('P') }],
      [id, '2024-02-02T00:00:00Z', { severity: severity('P'), withdrawn: '2024-02-02T00:00:00Z' }],
    ] as const) {
      cast().berth.advance(2000)
      await score(of, modified, more)
      const next = await now()
      assert.notDeepEqual(next.severity, last.severity)
      assert.ok(next.modified > last.modified, `${next.modified} after ${last.modified}`)
      last = next
    }
    const unchanged = await now()
    assert.equal(unchanged.modified, last.modified)
  })

  test('compresses if accepted, with a separate ETag, and answers HEAD like GET', async () => {
    const organization = await cast().organization()
    await importInto(cast(), organization.uid, 'secdb')
    await publish(cast(), organization.uid)
    const feeds = feedsOf(cast(), organization.uid)
    const id = unzipped((await get(`${feeds}/osv/all.zip`)).bytes)
      .keys()
      .next().value
    for (const feed of ['secdb/security.json', `osv/${id}`, 'openvex/binutils.json']) {
      const plain = await get(`${feeds}/${feed}`)
      const packed = await get(`${feeds}/${feed}`, { 'accept-encoding': 'br, gzip;q=0.5' })
      // fetch unpacks it.
      assert.deepEqual(packed.bytes, plain.bytes)
      assert.equal(packed.headers.get('content-encoding'), 'gzip')
      assert.equal(plain.headers.get('content-encoding'), null)
      assert.equal(
        String(packed.headers.get('etag')),
        String(plain.headers.get('etag')).replace(/"$/, '-gzip"'),
      )
      const tag = { 'if-none-match': String(packed.headers.get('etag')) }
      assert.equal((await get(`${feeds}/${feed}`, tag)).status, 304)
      assert.equal(
        (await get(`${feeds}/${feed}`, { 'accept-encoding': 'gzip;q=0' })).headers.get('content-encoding'),
        null,
      )
      const head = await get(`${feeds}/${feed}`, {}, 'HEAD')
      assert.equal(head.status, 200)
      assert.equal(head.bytes.length, 0)
      for (const name of ['etag', 'content-type', 'content-length', 'cache-control'])
        assert.equal(head.headers.get(name), plain.headers.get(name), name)
    }
    assert.equal((await get(`${feeds}/secdb/security.json`, {}, 'POST')).status, 405)
  })

  test('does not publish unapproved events', async () => {
    const organization = await cast().organization()
    await importInto(cast(), organization.uid, 'wolfi/schema-fixtures')
    await publish(cast(), organization.uid)
    const text = (await get(`${feedsOf(cast(), organization.uid)}/osv/all.zip`)).bytes
    for (const record of unzipped(text).values())
      for (const { database_specific } of record.affected) {
        assert.ok(!JSON.stringify(database_specific).includes(organization.uid))
        for (const event of database_specific.advisory.events ?? [])
          assert.equal(event.reviewState, 'REVIEW_STATE_APPROVED')
      }
  })

  test('lets callers who may change advisories change a publication, and reports invalid settings', async () => {
    const organization = await cast().organization()
    const viewer = await organization.member('viewer')
    assert.equal((await viewer.api.patch(publication(organization.uid), { public: true })).status, 403)
    const before = (await organization.owner.api.get(publication(organization.uid))).body
    assert.equal(before.public, false)
    assert.equal(before.publicThrough, '')
    assert.deepEqual(before.distribution, { ecosystem: 'Wolfi', namespace: 'wolfi' })
    const api = cast().admin
    assert.equal(
      (await organization.owner.api.patch(publication(organization.uid), { public: true })).status,
      403,
    )
    const refused = async (body: object, field: string) => {
      const { status, body: answer } = await api.patch(publication(organization.uid), body)
      assert.equal(status, 400)
      assert.equal(answer.details.at(-1).fieldViolations[0].field, field)
    }
    await refused({ distribution: { ecosystem: 'Nobody', namespace: 'x' } }, 'distribution.ecosystem')
    await refused({ distribution: { ecosystem: 'Wolfi', namespace: 'A B' } }, 'distribution.namespace')
    // limits.publicationArchitecturesMax
    await refused({ securityDatabase: { archs: Array(51).fill('x86_64') } }, 'securityDatabase.archs')
    const changed = await publish(cast(), organization.uid, {
      distribution: { ecosystem: 'Alpine:v3.20', namespace: 'alpine' },
      securityDatabase: {
        archs: ['riscv64'],
        urlprefix: 'https://dl.example',
        reponame: 'main',
        distroversion: 'v3.20',
      },
    })
    assert.equal(changed.securityDatabase.distroversion, 'v3.20')
    await importInto(cast(), organization.uid, 'wolfi/schema-fixtures')
    const feeds = feedsOf(cast(), organization.uid)
    const secdb = json(await get(`${feeds}/secdb/security.json`, bearer(organization)))
    assert.deepEqual(
      [secdb.archs, secdb.urlprefix, secdb.distroversion],
      [['riscv64'], 'https://dl.example', 'v3.20'],
    )
    const [record] = unzipped((await get(`${feeds}/osv/all.zip`, bearer(organization))).bytes).values()
    assert.equal(record.affected[0].package.ecosystem, 'Alpine:v3.20')
    assert.match(record.affected[0].package.purl, /^pkg:apk\/alpine\//)
    const audited = await cast().auditEventsOf(organization.uid)
    assert.ok(audited.some(({ method }) => method.endsWith('/UpdateAdvisoryPublication')))
    const stale = await call(
      'PATCH',
      `${cast().berth.url}/vulnerabilities/v2beta1/advisoryPublications/${organization.uid}`,
      {
        token: api.token,
        body: { public: true },
        headers: { 'if-match': 'W/"old"' },
      },
    )
    assert.equal(stale.status, 412)
  })
})

onEveryDatabase(
  'publishing advisories to many',
  (cast) => {
    test('counts requests for public feeds by address, and others by caller too', async () => {
      const organization = await cast().organization()
      const { db } = cast().berth.berth.installation.store
      await db.kysely
        .insertInto('advisory_groups')
        .values({
          root: organization.uid,
          uid: organization.uid,
          revision: 1,
          changed_ms: 1,
          public: 1,
          publication: '',
        })
        .execute()
      const feed = `${feedsOf(cast(), organization.uid)}/secdb/security.json`
      const got = await Promise.all(Array.from({ length: 25 }, () => get(feed)))
      const refused = got.filter(({ status }) => status === 429)
      assert.equal(got.length - refused.length, 20)
      assert.ok(Number(refused[0]?.headers.get('retry-after')) > 0)
      assert.equal(refused[0]?.headers.get('ratelimit-limit'), '20')
    })
  },
  { only: 'sqlite', env: { BERTH_RATE_LIMITS_ADDRESS: 'read=20/1h' } },
)
