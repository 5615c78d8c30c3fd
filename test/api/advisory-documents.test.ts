import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { ParsedDocument } from '@berth/advisory-formats/advisory-record.ts'
import { readDocument } from '@berth/advisory-formats/read-document.ts'
import { AdvisoryDocumentsService } from '@berth/contract/gen/berth/vulnerabilities/v1/documents_pb.js'
import { importDocument } from '@berth/server/advisories/import/import-documents.ts'
import type { Uid } from '@berth/server/api/uid.ts'
import { limits } from '@berth/server/config/limits.ts'
import {
  assertError,
  invalidFieldError,
  notFoundError,
  onEveryDatabase,
  permissionDeniedError,
} from '../support/api/api-fixture.ts'

/** biome-ignore lint/suspicious/noExplicitAny: JSON of the API. */
type Json = any

const wolfi = (packageName: string, ...ids: string[]) =>
  `schema-version: 2.0.2
package:
  name: ${packageName}
advisories:
${ids
  .map(
    (id, at) => `  - id: ${id}
    aliases:
      - CVE-2024-100${at}
    events:
      - timestamp: 2024-05-01T10:00:0${at}Z
        type: fixed
        data:
          fixed-version: 1.2.${at}-r0
`,
  )
  .join('')}`

const [first, second] = ['CGA-2222-3333-4444', 'CGA-5555-6666-7777']
const base64 = (text: string | Buffer) => Buffer.from(text).toString('base64')

onEveryDatabase('advisory documents', (cast) => {
  const newGroup = async () => {
    const organization = await cast().organization()
    const { api } = await organization.member('advisories.admin')
    const path = `vulnerabilities/advisories/${organization.uid}`
    const send = async (documents: Json[], more = {}): Promise<Json[]> => {
      const { status, body, text } = await api.post(`${path}:importDocuments`, { documents, ...more })
      assert.equal(status, 200, text)
      return body.documents
    }
    const list = async (query = {}): Promise<Json> =>
      (await api.get('vulnerabilities/advisories', query)).body
    return { ...organization, api, path, send, list }
  }

  test('a document becomes advisories; the same again changes nothing, not even a time', async () => {
    const { send, list, uid } = await newGroup()
    const document = { name: 'git.advisories.yaml', content: base64(wolfi('git', first, second)) }
    const [tried] = await send([document], { dryRun: true })
    assert.equal(tried.created, 2)
    assert.equal((await list()).totalCount, '0')
    const [made] = await send([document])
    assert.deepEqual(made, { ...tried, accepted: true, format: 'wolfi', events: { fixed: 2 } })
    const { advisories } = await list({ order_by: 'advisory_id' })
    assert.deepEqual(
      advisories.map(({ uid: one, events, ...rest }: Json) => [
        one.slice(0, -17),
        events.length,
        rest.advisoryId,
        rest.aliases,
      ]),
      [
        [uid, 1, first, ['CVE-2024-1000']],
        [uid, 1, second, ['CVE-2024-1001']],
      ],
    )
    const [{ events, createTime, updateTime }] = advisories
    assert.deepEqual([createTime, updateTime], ['2024-05-01T10:00:00.000Z', '2024-05-01T10:00:00.000Z'])
    assert.deepEqual(
      [events[0].fixed.fixedVersion, events[0].reviewState],
      ['1.2.0-r0', 'REVIEW_STATE_APPROVED'],
    )
    const [again] = await send([{ ...document, name: 'other.yaml' }])
    assert.deepEqual([again.created, again.updated, again.unchanged], [0, 0, 2])
    assert.deepEqual((await list({ order_by: 'advisory_id' })).advisories, advisories)
  })

  test('an advisory that was withdrawn can be imported again, although an entry of it is left in the index', async () => {
    const { send, list, uid } = await newGroup()
    const { kysely } = cast().berth.berth.installation.store.db
    const document = (...ids: string[]) => ({
      name: 'git.advisories.yaml',
      content: base64(wolfi('git', ...ids)),
    })
    await send([document(first, second)])
    const entries = await kysely.selectFrom('advisory_packages').selectAll().where('root', '=', uid).execute()
    await send([document(first)])
    const kept = await kysely.selectFrom('advisory_packages').select('uid').where('root', '=', uid).execute()
    const left = entries.filter((entry) => !kept.some((one) => one.uid === entry.uid))
    assert.ok(left.length > 0)
    await kysely
      .insertInto('advisory_packages')
      .values(left.map((entry) => ({ ...entry, ecosystem: 'of another version' })))
      .execute()
    const [again] = await send([document(first, second)])
    assert.ok(again.accepted, again.reason)
    assert.equal((await list()).totalCount, '2')
    const now = await kysely.selectFrom('advisory_packages').selectAll().where('root', '=', uid).execute()
    const sorted = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row)).sort()
    assert.deepEqual(sorted(now), sorted(entries))
  })

  test('an invalid document is reported with its line, and does not stop the others', async () => {
    const { send, list } = await newGroup()
    const answers = await send([
      { name: 'a.yaml', content: base64(wolfi('a', first)) },
      { name: 'broken.yaml', content: base64('package:\n  name: x\nadvisories:\n  - id: [\n') },
      {
        name: 'wrong.yaml',
        content: base64(wolfi('w', first).replace('timestamp: 2024', 'timestamp: 20x4')),
      },
      { name: 'cut.json.gz', content: base64(gzipSync(wolfi('z', first)).subarray(0, 60)) },
      { name: 'b.yaml.gz', content: base64(gzipSync(wolfi('b', second))) },
    ])
    assert.deepEqual(
      answers.map(({ name, accepted, created, line }) => [name, accepted, created, line > 0]),
      [
        ['a.yaml', true, 1, false],
        ['broken.yaml', false, 0, true],
        ['wrong.yaml', false, 0, true],
        ['cut.json.gz', false, 0, false],
        ['b.yaml.gz', true, 1, false],
      ],
    )
    for (const { accepted, reason } of answers) assert.equal(reason === '', accepted, reason)
    assert.equal((await list()).totalCount, '2')
  })

  test('names can have their full length in any script, and longer ones do not stop other documents', async () => {
    const { send, list } = await newGroup()
    const { advisoryIndexedNameBytesMax, advisoryAliasBytesMax, advisoryDocumentIdBytesMax } = limits
    const long = (bytes: number) =>
      Array.from({ length: bytes / 3 }, () =>
        String.fromCodePoint(0x4e00 + Math.floor(Math.random() * 0x5000)),
      ).join('')
    const openvex = (id: string, name: string, alias: string) => ({
      name: 'vex.json',
      content: base64(
        JSON.stringify({
          '@context': 'https://openvex.dev/ns/v0.2.0',
          '@id': id,
          timestamp: '2024-01-01T00:00:00Z',
          statements: [
            {
              vulnerability: { name: `A${alias}` },
              products: [{ '@id': name, subcomponents: [{ '@id': name }] }],
              status: 'fixed',
            },
          ],
        }),
      ),
    })
    const answers = await send([
      openvex('1', long(advisoryIndexedNameBytesMax + 300), ''),
      openvex(
        long(advisoryDocumentIdBytesMax),
        long(advisoryIndexedNameBytesMax),
        long(advisoryAliasBytesMax - 1),
      ),
      { name: 'a.yaml', content: base64(wolfi('a', first)) },
    ])
    assert.deepEqual(
      answers.map(({ accepted, line, created, reason }) => [accepted, line, created, reason]),
      [
        [false, 1, 0, 'statements[0].products[0].@id has a name of more than 512 bytes'],
        [true, 0, 1, ''],
        [true, 0, 1, ''],
      ],
    )
    assert.equal((await list()).totalCount, '2')
  })

  test('a value that the database cannot store is a rejection like any other', async () => {
    const { uid } = await newGroup()
    const { document } = readDocument('a', '', Buffer.from(wolfi('a', first))) as {
      document: ParsedDocument
    }
    const twice = { ...document, advisories: [...document.advisories, ...document.advisories] }
    const imported = await importDocument(
      { name: 'a', format: '', content: Buffer.from('{}') },
      {
        store: cast().berth.berth.installation.store,
        reader: { read: async () => ({ document: twice }), close: async () => {} },
        parent: uid as Uid,
        dryRun: false,
        event: { actor: 'a', method: 'b', requestId: 'c', address: 'd' },
      },
    )
    assert.deepEqual(imported, {
      rejection: { line: 0, reason: 'has a value that the database cannot store' },
    })
  })

  test('a newer Wolfi document may have fewer events or more aliases; an older one of other formats is reported', async () => {
    const { send, list } = await newGroup()
    const sent = async (text: string) => (await send([{ name: 'git.yaml', content: base64(text) }]))[0]
    const document = wolfi('git', first, second)
    await sent(document)
    const wrong = document.replace(
      '  - id: CGA-5',
      `      - timestamp: 2030-01-01T00:00:00Z
        type: fix-not-planned
        data:
          note: wrong
  - id: CGA-5`,
    )
    assert.equal((await sent(wrong)).updated, 1)
    assert.equal((await sent(document)).updated, 1)
    assert.equal(
      (await sent(document.replace('- CVE-2024-1000', '- CVE-2024-1000\n      - CVE-2024-9999'))).updated,
      1,
    )
    assert.equal((await list({ aliases: 'CVE-2024-9999' })).totalCount, '1')

    const osv = (year: number) => ({
      name: 'a.json',
      content: base64(
        JSON.stringify({
          id: 'OSV-1',
          modified: `${year}-01-02T03:04:05Z`,
          affected: [{ package: { ecosystem: 'npm', name: `${year}` } }],
        }),
      ),
    })
    const answers = await send([osv(2024), osv(2023), osv(2024)])
    assert.deepEqual(
      answers.map(({ created, unchanged, older }) => [created, unchanged, older]),
      [
        [1, 0, 0],
        [0, 0, 1],
        [0, 1, 0],
      ],
    )
  })

  test('documents of a request are written in its order, however long each takes to read', async () => {
    const { send, list } = await newGroup()
    const version = (name: string, note: string) => ({
      name: 'git.yaml',
      content: base64(wolfi('git', first, second).replace('CVE-2024-1000', name) + note),
    })
    // Comments that do not compress take longest.
    const long = Array.from({ length: 60_000 }, (_, at) => `# ${(at * 2654435761) % 4294967296}\n`).join('')
    for (const [early, late] of [
      ['CVE-2024-2001', 'CVE-2024-2002'],
      ['CVE-2024-2003', 'CVE-2024-2004'],
    ] as const) {
      await send([version(early, long), version(late, '')])
      const found = await Promise.all([early, late].map((aliases) => list({ aliases })))
      assert.deepEqual(
        found.map(({ totalCount }) => totalCount),
        ['0', '1'],
      )
    }
  })

  test('documents about one product are parsed again, and superseded entries of a database are restored', async () => {
    const { send, list, api, path } = await newGroup()
    const vex = (id: string, more: object) => ({
      name: `${id}.json`,
      content: base64(
        JSON.stringify({
          '@context': 'https://openvex.dev/ns/v0.2.0',
          '@id': id,
          timestamp: '2024-01-01T00:00:00Z',
          statements: [
            {
              vulnerability: { name: 'CVE-2024-7777', ...more },
              products: ['pkg:apk/wolfi/git'],
              status: 'fixed',
            },
          ],
        }),
      ),
    })
    const secdb = {
      name: 'security.json',
      content: base64(
        JSON.stringify({
          urlprefix: 'https://packages.wolfi.dev',
          reponame: 'os',
          packages: [
            {
              pkg: {
                name: 'git',
                secfixes: { '1.0-r0': ['CVE-2024-7777', 'CVE-2024-1000', 'CVE-1999-1000'] },
              },
            },
          ],
        }),
      ),
    }
    await send([vex('1', { aliases: ['A-1'] }), vex('2', { aliases: ['A-2'] })])
    assert.equal((await list({ aliases: 'A-1' })).advisories[0].aliases.length, 3)
    await send([{ name: 'git.yaml', content: base64(wolfi('git', first)) }])
    assert.deepEqual([(await send([secdb]))[0].created, (await send([secdb]))[0].covered], [1, 2])
    for (const [format, id] of [
      ['wolfi', 'git'],
      ['openvex', '1'],
      ['openvex', '2'],
    ])
      await api.post(`${path}:deleteDocuments`, { format, ids: [id] })
    const { advisories } = await list()
    assert.deepEqual(advisories.flatMap(({ aliases }: Json) => aliases).sort(), [
      'CVE-1999-1000',
      'CVE-2024-1000',
      'CVE-2024-7777',
    ])
  })

  test('a second tree of Wolfi documents in one group is rejected; one tree may move', async () => {
    const { send, list } = await newGroup()
    const sent = async (name: string, text: string) => (await send([{ name, content: base64(text) }]))[0]
    const there = 'https://a.example/wolfi.zip:git.advisories.yaml'
    assert.equal((await sent(there, wolfi('git', first))).created, 1)
    const other = await sent('https://b.example/other.zip:git.advisories.yaml', wolfi('git', second))
    assert.deepEqual(
      [other.accepted, other.reason],
      [
        false,
        `has the same id git as the stored document ${there}, but no advisory in common: import it into another group, or delete the stored document first`,
      ],
    )
    assert.equal((await sent('moved/git.advisories.yaml', wolfi('git', first, second))).created, 1)
    assert.equal((await sent('moved/git.advisories.yaml', wolfi('git', second))).withdrawn, 1)
    assert.equal((await sent('moved/git.advisories.yaml', wolfi('git', first))).updated, 1)
    assert.equal((await list()).totalCount, '1')
  })

  test('a tree of Wolfi documents may move and change from CVE IDs to IDs of its own, which name the former as aliases', async () => {
    const { send, list } = await newGroup()
    const sent = async (name: string, text: string) => (await send([{ name, content: base64(text) }]))[0]
    assert.equal(
      (await sent('v1/git.advisories.yaml', wolfi('git', 'CVE-2024-1000', 'CVE-2024-9999'))).created,
      2,
    )
    const moved = await sent('v2/advisories/git.advisories.yaml', wolfi('git', first))
    assert.deepEqual([moved.accepted, moved.reason, moved.created, moved.withdrawn], [true, '', 1, 2])
    const { advisories } = await list()
    assert.deepEqual([advisories[0].advisoryId, advisories[0].aliases], [first, ['CVE-2024-1000']])
    const other = await sent('v3/git.advisories.yaml', wolfi('git', 'CVE-2023-1111'))
    assert.equal(other.accepted, false)
  })

  test('unmapped fields are stored with the document and reported', async () => {
    const { send, list, api } = await newGroup()
    const record = {
      id: 'OSV-1',
      modified: '2024-01-02T03:04:05Z',
      references: [{ type: 'WEB', url: 'https://example.com/1' }],
      affected: [{ package: { ecosystem: 'npm', name: 'left-pad' } }],
    }
    const [made] = await send([{ name: 'OSV-1.json', content: base64(JSON.stringify(record)) }])
    assert.ok(
      made.unmapped.some(({ path }: Json) => path.startsWith('references')),
      JSON.stringify(made),
    )
    const [advisory] = (await list()).advisories
    const sources = `vulnerabilities/advisories/${advisory.uid}/sources`
    const { body } = await api.get(sources)
    const [{ content: none, importTime, ...source }] = body.sources
    assert.deepEqual([none, body.nextPageToken], ['', ''])
    assert.deepEqual(source, {
      format: 'osv',
      id: 'OSV-1',
      name: 'OSV-1.json',
      revisionTime: '2024-01-02T03:04:05.000Z',
      unmapped: made.unmapped,
    })
    assert.ok(Date.parse(importTime) > 0)
    assertError(await api.get(sources, { content: 'true' }), invalidFieldError('content'))
    assertError(await api.get(sources, { content: 'true', format: 'osv' }), invalidFieldError('content'))
    const whole = (await api.get(sources, { content: 'true', format: 'osv', id: 'OSV-1' })).body
    const [{ content }] = whole.sources
    assert.deepEqual(JSON.parse(Buffer.from(content, 'base64').toString()), record)
    assert.deepEqual((await api.get(sources, { format: 'csaf' })).body.sources, [])
  })

  test('the documents of a group are listed page by page, and the sources of an advisory too', async () => {
    const { send, list, path, api, member } = await newGroup()
    const osv = (id: string) => {
      const record = { id, modified: '2024-01-02T03:04:05Z', affected: [] }
      return { name: `${id}.json`, content: base64(JSON.stringify(record)) }
    }
    const statement = (at: string) => {
      const vulnerability = { name: 'CVE-2024-1000' }
      const one = { vulnerability, products: [{ '@id': 'pkg:apk/wolfi/git' }], status: 'fixed' }
      const document = { '@context': 'https://openvex.dev/ns/v0.2.0', '@id': at, author: 'A', version: 1 }
      const text = JSON.stringify({ ...document, timestamp: '2024-01-01T00:00:00Z', statements: [one] })
      return { name: `${at}.json`, content: base64(text) }
    }
    const vex = ['urn:1', 'urn:2', 'urn:3']
    const made = await send([
      { name: 'git.yaml', content: base64(wolfi('git', first)) },
      ...['OSV-2', 'OSV-1', 'OSV-3'].map(osv),
      ...vex.map(statement),
    ])
    assert.ok(
      made.every(({ accepted }: Json) => accepted),
      JSON.stringify(made),
    )
    const pagesOf = async (of: string, field: string, query: Record<string, string> = {}) => {
      const pages: string[][] = []
      for (let pageToken = ''; ; ) {
        const { body } = await api.get(of, { ...query, ...(pageToken !== '' && { pageToken }) })
        pages.push(body[field].map(({ format, id }: Json) => `${format} ${id}`))
        pageToken = body.nextPageToken
        if (pageToken === '') return pages
      }
    }
    const documents = `${path}/documents`
    const all = [
      'openvex urn:1',
      'openvex urn:2',
      'openvex urn:3',
      'osv OSV-1',
      'osv OSV-2',
      'osv OSV-3',
      'wolfi git',
    ]
    assert.deepEqual(await pagesOf(documents, 'documents'), [all])
    const pages = await pagesOf(documents, 'documents', { pageSize: '3' })
    assert.deepEqual(pages, [all.slice(0, 3), all.slice(3, 6), all.slice(6)])
    assert.deepEqual(await pagesOf(documents, 'documents', { format: 'osv' }), [all.slice(3, 6)])
    assert.deepEqual(await pagesOf(documents, 'documents', { id: 'git' }), [all.slice(6)])
    assert.deepEqual(await pagesOf(documents, 'documents', { format: 'wolfi', id: 'x' }), [[]])

    const listed = (await list()).advisories
    const sourcesOf = await Promise.all(
      listed.map(({ uid: one }: Json) =>
        pagesOf(`vulnerabilities/advisories/${one}/sources`, 'sources', { pageSize: '2' }),
      ),
    )
    assert.ok(
      sourcesOf.some((found) => JSON.stringify(found) === JSON.stringify([all.slice(0, 2), all.slice(2, 3)])),
      JSON.stringify(sourcesOf),
    )

    const { nextPageToken } = (await api.get(documents, { pageSize: '1' })).body
    assertError(
      await api.get(documents, { format: 'osv', pageToken: nextPageToken }),
      invalidFieldError('page_token'),
    )
    const viewer = await member('viewer')
    assertError(
      await viewer.api.get(documents, { pageToken: nextPageToken }),
      invalidFieldError('page_token'),
    )
    assert.equal((await viewer.api.get(documents)).body.documents.length, all.length)
    assertError(await api.get(documents, { pageSize: '-1' }), invalidFieldError('page_size'))
    assertError(await api.get(documents, { format: 'xml' }), invalidFieldError('format'))
    assert.equal((await (await cast().organization()).owner.api.get(documents)).status, 403)
  })

  test('documents are deleted with the advisories that only they have; then the group can be deleted', async () => {
    const { send, list, path, api, admin, uid } = { ...(await newGroup()), admin: cast().admin }
    await send([
      { name: 'git.yaml', content: base64(wolfi('git', first)) },
      { name: 'vim.yaml', content: base64(wolfi('vim', second)) },
    ])
    const { advisories } = await list()
    assertError(await admin.delete(`iam/groups/${uid}`), {
      status: 400,
      code: 9,
      violation: 'RESOURCE_NOT_EMPTY',
    })
    assert.match(
      (await admin.delete(`iam/groups/${uid}`)).body.message,
      /advisories; they are deleted with their documents: berth advisories documents delete --all --parent [0-9a-f/]+$/,
    )
    const away = (body: Json) => api.post(`${path}:deleteDocuments`, body)
    assertError(await away({ format: 'x' }), invalidFieldError('format'))
    assert.deepEqual((await away({ format: 'wolfi', ids: ['git', 'nothing'] })).body, {
      documents: 1,
      withdrawn: 1,
      more: false,
    })
    assert.equal((await list()).totalCount, '1')
    assert.deepEqual((await away({ format: 'wolfi' })).body, { documents: 1, withdrawn: 1, more: false })
    for (const { uid: one } of advisories)
      assert.ok((await api.get(`vulnerabilities/advisories/${one}`)).body.deleteTime)
  })

  test('unauthorized callers are denied before anything is read; invalid requests are reported by field', async () => {
    const { path, member, owner, api, uid } = await newGroup()
    const document = { name: 'a.yaml', content: base64(wolfi('a', first)) }
    for (const other of [owner, await member('viewer'), await member('advisories.viewer')]) {
      const refused = await cast().writesNothing(() =>
        other.api.post(`${path}:importDocuments`, { documents: [document] }),
      )
      assertError(refused, permissionDeniedError)
      assertError(await other.api.post(`${path}:deleteDocuments`, { format: 'wolfi' }), permissionDeniedError)
    }
    const bad: [Json, string][] = [
      [{ documents: [] }, 'documents'],
      [{ documents: Array.from({ length: limits.advisoryDocumentsMax + 1 }, () => document) }, 'documents'],
      [{ documents: [{ ...document, format: 'xml' }] }, 'documents[0].format'],
      [{ documents: [{ ...document, content: '' }] }, 'documents[0].content'],
      [{ documents: [{ ...document, name: 'n'.repeat(1025) }] }, 'documents[0].name'],
    ]
    for (const [body, field] of bad)
      assertError(await api.post(`${path}:importDocuments`, body), invalidFieldError(field))
    const gone = `${uid}/0000000000000000`
    assertError(
      await cast().admin.post(`vulnerabilities/advisories/${gone}:importDocuments`, {
        documents: [document],
      }),
      notFoundError('iam.chainguard.dev/Group', gone),
    )
    const absent = `vulnerabilities/advisories/${gone}/sources`
    assertError(await api.get(absent), notFoundError('vulnerabilities.chainguard.dev/Advisory', gone))
  })

  test('a request beyond documentsRequestBytesMax is rejected', async () => {
    const { path, api } = await newGroup()
    const content = 'A'.repeat(limits.documentsRequestBytesMax)
    const { status, body } = await api.post(`${path}:importDocuments`, {
      documents: [{ name: 'a', content }],
    })
    assert.deepEqual([status, body.code], [413, 3])
  })

  test('a large document comes in one request, over REST and gRPC', async () => {
    const { uid, send, list } = await newGroup()
    const affected = Array.from({ length: 50 }, (_, at) => ({
      package: { ecosystem: 'npm', name: `package-${at}` },
    }))
    const large = JSON.stringify({
      id: 'OSV-2',
      modified: '2024-01-02T03:04:05Z',
      details: 'x'.repeat(2e6),
      affected,
    })
    const [made] = await send([{ name: 'OSV-2.json', content: base64(large) }])
    assert.equal(made.created, 50)
    const { documents } = await cast().grpc.call(
      AdvisoryDocumentsService.method.importAdvisoryDocuments,
      {
        parent: uid,
        documents: [{ name: 'OSV-2.json', format: '', content: Buffer.from(large) }],
        dryRun: false,
      },
      { token: cast().berth.token },
    )
    assert.equal(documents[0]?.unchanged, 50)
    assert.equal((await list()).totalCount, '50')
  })
})
