import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AdvisoryRecord } from '@berth/advisory-formats/advisory-record.ts'
import { Severity_Type as Scoring } from '@berth/contract/gen/chainguard/platform/vulnerabilities/v2beta1/advisories_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import fc from 'fast-check'
import { importParsed, parsedDocument, record } from '../support/advisories/random-documents.ts'
import {
  assertError,
  invalidFieldError,
  notFoundError,
  onEveryDatabase,
  permissionDeniedError,
} from '../support/api/api-fixture.ts'

const TYPE = 'vulnerabilities.chainguard.dev/Advisory'
const PATH = 'vulnerabilities/advisories'

/** biome-ignore lint/suspicious/noExplicitAny: JSON of the API. */
type Json = any

const eventTypes: Readonly<Record<string, string>> = {
  detection: 'DETECTION',
  truePositiveDetermination: 'TRUE_POSITIVE_DETERMINATION',
  fixed: 'FIXED',
  falsePositiveDetermination: 'FALSE_POSITIVE_DETERMINATION',
  fixNotPlanned: 'FIX_NOT_PLANNED',
  pendingUpstreamFix: 'PENDING_UPSTREAM_FIX',
}
const typeOf = (event: Json) => {
  const [found] = Object.keys(eventTypes).filter((name) => name in event)
  return `EVENT_TYPE_FILTER_${eventTypes[String(found)]}`
}
const latest = (advisory: Json) =>
  advisory.events.reduce(
    (last: Json, event: Json) => (last === undefined || event.createTime >= last.createTime ? event : last),
    undefined,
  )

/** Each filter the simple way: on an advisory as the API shows it. */
const passes: Readonly<Record<string, (advisory: Json, values: string[], origin: string) => boolean>> = {
  advisory_ids: (a, values) => values.includes(a.advisoryId),
  legacy_advisory_ids: (a, values) => values.includes(a.legacyAdvisoryId),
  artifact_names: (a, values) => values.includes(a.artifactName),
  artifact_types: (a, values) => values.includes(a.artifactType),
  artifact_architectures: (a, values) => values.includes(a.artifactArchitecture),
  component_names: (a, values) => values.includes(a.componentName),
  component_types: (a, values) => values.includes(a.componentType),
  component_locations: (a, values) => values.includes(a.componentLocation),
  aliases: (a, values) => values.some((value) => a.aliases.includes(value)),
  origin: (a, [value], origin) => (origin || a.artifactName) === value,
  event_review_states: (a, values) => a.events.some((e: Json) => values.includes(e.reviewState)),
  event_authors: (a, values) => a.events.some((e: Json) => values.includes(e.author)),
  exclude_event_authors: (a, values) => !a.events.some((e: Json) => values.includes(e.author)),
  event_reviewers: (a, values) => a.events.some((e: Json) => values.includes(e.reviewer)),
  event_types: (a, values) => a.events.some((e: Json) => values.includes(typeOf(e))),
  latest_event_type: (a, [value]) => latest(a) !== undefined && typeOf(latest(a)) === value,
  query: (a, [value = '']) =>
    [a.artifactName, a.componentName, ...a.aliases].some((text) =>
      text.toLowerCase().includes(value.toLowerCase()),
    ),
}

const several = (...values: string[]) =>
  fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: 2 })
const one = (...values: string[]) => fc.constantFrom(...values).map((value) => [value])
const names = ['openssl', 'OpenSSH', 'go', 'golang.org/x/net', 'straße', 'x'.repeat(600), 'nothing']
const filters: Readonly<Record<string, fc.Arbitrary<string[]>>> = {
  advisory_ids: several('CGA-2222-3333-4444', 'CGA-xxxx-wwww-vvvv', 'CGA-2222-2222-2222'),
  legacy_advisory_ids: several('CGA-2222-3333-4444', 'CVE-2024-1'),
  artifact_names: several(...names),
  artifact_types: several('apk', 'image'),
  artifact_architectures: several('x86_64', 'aarch64'),
  component_names: several(...names),
  component_types: several('go-module', 'python'),
  component_locations: several('/usr/bin/go', `/${'long/'.repeat(500)}`),
  aliases: several('CVE-2024-1', 'CVE-2024-11', 'GHSA-2222-3333-4444', 'GO-2024-1', 'cve-2024-1'),
  origin: one('openssl', 'go', 'OpenSSH'),
  event_review_states: several('REVIEW_STATE_APPROVED', 'REVIEW_STATE_PENDING'),
  event_authors: several('Ada', 'Grace'),
  exclude_event_authors: several('Ada', 'Grace'),
  event_reviewers: several('Ada'),
  event_types: several(...Object.values(eventTypes).map((type) => `EVENT_TYPE_FILTER_${type}`)),
  latest_event_type: one(...Object.values(eventTypes).map((type) => `EVENT_TYPE_FILTER_${type}`)),
  query: one('open', 'OPENSS', 'go', '.org/X', 'cve-2024-1', '-1', 'ß', 'xxxx', 'q', 'x'.repeat(128)),
}

const orders = [
  'uid',
  'uid desc',
  'artifact_name',
  'component_name desc, uid desc',
  'advisory_id',
  'updated_at desc',
]
/** The column that an order compares, of an advisory. */
const keyOf: Readonly<Record<string, (advisory: Json) => string>> = {
  uid: (a) => a.uid,
  artifact_name: (a) => a.artifactName,
  component_name: (a) => a.componentName,
  advisory_id: (a) => a.advisoryId,
  updated_at: (a) => a.updateTime,
}

function inOrder(advisories: Json[], order: string): Json[] {
  const keys = [...order.split(', '), 'uid'].map((key) => key.split(' '))
  return advisories.toSorted((a, b) => {
    for (const [field = '', direction] of keys) {
      const of = keyOf[field] as (advisory: Json) => string
      const compared = Buffer.compare(Buffer.from(of(a)), Buffer.from(of(b)))
      if (compared !== 0) return direction === 'desc' ? -compared : compared
    }
    return 0
  })
}

for (const sizes of [undefined, { bucketRowsMax: 4, rowsInlineMax: 3, branchesMax: 2 }])
  onEveryDatabase(
    `advisories${sizes === undefined ? '' : ', with the ways of many rows'}`,
    (cast, { isFirst }) => {
      test('every filter and random combinations match a scan of all advisories', async () => {
        const { berth } = cast()
        const { store } = berth.berth.installation
        const organization = await cast().organization()
        const { api } = await organization.member('advisories.admin')
        const { api: owner } = organization.owner
        const folders: string[] = []
        for (const name of ['a', 'b', 'c'])
          folders.push((await owner.create(`iam/groups/${organization.uid}`, { name })).uid as string)
        const random = fc.sample(record, { numRuns: 120, seed: 5 })
        for (const [at, folder] of folders.entries())
          await importParsed(store, folder, parsedDocument(`doc${at}`, random.slice(at * 40, at * 40 + 40)))
        const rows = await store.db.kysely
          .selectFrom('advisories')
          .select(['uid', 'origin'])
          .where('root', '=', organization.uid)
          .execute()
        const origins = new Map(rows.map(({ uid, origin }) => [uid, origin]))
        const all = (await api.get(PATH, { page_size: '200' })).body.advisories as Json[]
        assert.equal(all.length, random.filter(({ withdrawnMs }) => withdrawnMs === undefined).length)
        const stranger = await cast().organization()
        assert.equal((await stranger.owner.api.get(PATH)).body.totalCount, '0')

        const question = fc.record({
          chosen: fc.uniqueArray(fc.constantFrom(...Object.keys(filters)), { minLength: 1, maxLength: 3 }),
          values: fc.record(filters),
          order: fc.constantFrom(...orders),
          within: fc.option(fc.nat(2), { nil: undefined }),
          pageSize: fc.integer({ min: 1, max: 20 }),
          skip: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat(5)),
        })
        const ask = async ({ chosen, values, order, within, pageSize, skip }: Json) => {
          const query: Record<string, string | string[]> = {
            order_by: order,
            page_size: `${pageSize}`,
            skip: `${skip}`,
          }
          for (const name of chosen) query[name] = values[name]
          if (within !== undefined) query['uidp.descendants_of'] = folders[within] as string
          const expected = inOrder(
            all.filter(
              (advisory) =>
                (within === undefined || advisory.uid.startsWith(`${folders[within]}/`)) &&
                chosen.every(
                  (name: string) =>
                    (name === 'artifact_names' && chosen.includes('origin')) ||
                    passes[name]?.(advisory, values[name], origins.get(advisory.uid) ?? ''),
                ),
            ),
            order,
          )
          const seen: Json[] = []
          let token = ''
          do {
            const { status, body, text } = await api.get(PATH, { ...query, page_token: token })
            assert.equal(status, 200, text)
            assert.equal(body.totalCount, `${expected.length}`)
            seen.push(...body.advisories)
            token = body.nextPageToken
          } while (token !== '')
          assert.deepEqual(
            seen.map(({ uid }) => uid),
            expected.slice(skip).map(({ uid }) => uid),
          )
        }
        // Each filter by itself, with each of its values, and then whatever comes.
        for (const [name, arbitrary] of Object.entries(filters))
          for (const values of fc.sample(arbitrary, { numRuns: isFirst ? 6 : 2, seed: 7 }))
            await ask({ chosen: [name], values: { [name]: values }, order: 'uid', pageSize: 30, skip: 0 })
        await fc.assert(fc.asyncProperty(question, ask), { numRuns: isFirst ? 60 : 20, seed: 11 })
      })
    },
    sizes && { sizes },
  )

onEveryDatabase('advisories', (cast) => {
  const newGroup = async () => {
    const organization = await cast().organization()
    return { ...organization, admin: (await organization.member('advisories.admin')).api }
  }
  const store = () => cast().berth.berth.installation.store
  const sample = () => {
    const [one] = fc.sample(record, { numRuns: 1, seed: 3 })
    return { ...one, artifactName: 'git', withdrawnMs: undefined } as NonNullable<typeof one>
  }

  test('a caller who may not read advisories is denied, and finds none', async () => {
    const { uid, member, admin } = await newGroup()
    await importParsed(store(), uid, parsedDocument('d', [sample()]))
    const [{ uid: advisory }] = (await admin.get(PATH)).body.advisories
    const { api } = await member('registry.pull')
    assertError(await api.get(`${PATH}/${advisory}`), permissionDeniedError)
    assert.equal((await api.get(PATH)).body.totalCount, '0')
    for (const query of ['x', 'xy', 'openssl', '\u{c93db}\u{b1e6a}'])
      assert.equal((await api.get(PATH, { query })).body.totalCount, '0', query)
    const absent = `${uid}/0000000000000000`
    assertError(await admin.get(`${PATH}/${absent}`), notFoundError(TYPE, absent))
  })

  test('invalid filters are reported by field', async () => {
    const { admin } = await newGroup()
    const long = 'x'.repeat(limits.advisoryFilterCharsMax + 1)
    const many = Array.from({ length: limits.advisoryFilterValuesMax + 1 }, (_, at) => `CVE-2024-${at}`)
    for (const [field, value, named = field] of [
      ['latest_event_type', 'EVENT_TYPE_FILTER_UNSPECIFIED'],
      ['event_types', 'EVENT_TYPE_FILTER_UNSPECIFIED', 'event_types[0]'],
      ['event_review_states', '0', 'event_review_states[0]'],
      ['event_review_states', '77'],
      ['aliases', long, 'aliases[0]'],
      ['aliases', many],
      ['query', 'x'.repeat(limits.advisorySuffixCharsMax + 1)],
      ['order_by', 'aliases'],
    ] as const)
      assertError(await admin.get(PATH, { [field]: value as string }), invalidFieldError(named))
    assert.equal((await admin.get(PATH, { origin: '', query: '' })).status, 200)
  })

  test('the same content changes nothing; changed content is a later version', async () => {
    const { uid, admin } = await newGroup()
    const first = { ...sample(), updatedMs: undefined }
    assert.deepEqual(await importParsed(store(), uid, parsedDocument('d', [first])), {
      created: 1,
      updated: 0,
      unchanged: 0,
      withdrawn: 0,
      covered: 0,
      scored: 0,
      older: 0,
    })
    const [before] = (await admin.get(PATH)).body.advisories
    assert.equal((await importParsed(store(), uid, parsedDocument('d', [first]))).unchanged, 1)
    // Another version of the document that says the same of the advisory.
    const again = parsedDocument('d', [first], { unmapped: [{ path: 'x', count: 1 }] })
    assert.equal((await importParsed(store(), uid, again)).unchanged, 1)
    assert.deepEqual((await admin.get(PATH)).body.advisories, [before])
    const changed = parsedDocument('d', [{ ...first, componentName: 'other' }])
    assert.equal((await importParsed(store(), uid, changed)).updated, 1)
    const [after] = (await admin.get(PATH, { component_names: 'other' })).body.advisories
    assert.deepEqual([after.uid, after.events], [before.uid, before.events])
    assert.ok(after.updateTime > before.updateTime)
    assert.equal(
      (await admin.get(PATH, { component_names: first.componentName || '-' })).body.totalCount,
      '0',
    )
  })

  test('an older version of a document is ignored', async () => {
    const { uid, admin } = await newGroup()
    await importParsed(store(), uid, parsedDocument('d', [sample()], { revisionMs: 20 }))
    const old = parsedDocument('d', [{ ...sample(), artifactName: 'old' }], { revisionMs: 10 })
    const { unchanged, older } = await importParsed(store(), uid, old)
    assert.deepEqual([unchanged, older], [0, 1])
    assert.equal((await admin.get(PATH, { artifact_names: 'git' })).body.totalCount, '1')
  })

  test('a withdrawn advisory leaves the lists but can be read; it can be restored unchanged', async () => {
    const { uid, admin } = await newGroup()
    await importParsed(store(), uid, parsedDocument('d', [sample(), { ...sample(), artifactName: 'vim' }]))
    const [advisory] = (await admin.get(PATH, { artifact_names: 'vim' })).body.advisories
    assert.equal((await importParsed(store(), uid, parsedDocument('d', [sample()]))).withdrawn, 1)
    const list = await admin.get(PATH)
    assert.deepEqual([list.body.totalCount, list.body.advisories.length], ['1', 1])
    const { body } = await admin.get(`${PATH}/${advisory.uid}`)
    assert.ok(body.deleteTime !== undefined)
    assert.equal((await admin.get(PATH, { query: 'vim' })).body.totalCount, '0')
    await importParsed(store(), uid, parsedDocument('d', [sample(), { ...sample(), artifactName: 'vim' }]))
    const [back] = (await admin.get(PATH, { query: 'VIM' })).body.advisories
    assert.deepEqual([back.uid, back.events, 'deleteTime' in back], [advisory.uid, advisory.events, false])
  })

  test('documents about one advisory are merged, and deleting one removes its part', async () => {
    const { uid, admin } = await newGroup()
    const part = (id: string, alias: string, revisionMs: number) =>
      parsedDocument(id, [], {
        revisionMs,
        advisories: [{ ...sample(), key: 'openvex:p||v', aliases: [alias], events: [] }],
      })
    await importParsed(store(), uid, part('a', 'CVE-1', 1))
    assert.equal((await admin.get(PATH, { aliases: 'CVE-1' })).body.totalCount, '1')
  })

  test('severities come from scores of the aliases in the group and its ancestors', async () => {
    const { uid, owner, admin } = await newGroup()
    const below = (await owner.api.create(`iam/groups/${uid}`, { name: 'below' })).uid
    const beside = (await owner.api.create(`iam/groups/${uid}`, { name: 'beside' })).uid
    const advisory = {
      ...sample(),
      aliases: ['CVE-2024-1', 'GHSA-2222-3333-4444'],
      severities: [],
      componentName: 'c',
    }
    await importParsed(store(), below, parsedDocument('d', [advisory]))
    const score = (vector: string) => [{ type: Scoring.CVSS_V3, score: vector }]
    const scores = (id: string, alias: string, vector: string, component = '') =>
      parsedDocument(id, [], {
        format: 'osv',
        scores: [{ alias, component, severities: score(vector), cwes: [] }],
      })
    const seen = async () =>
      ((await admin.get(PATH)).body.advisories[0].severities as Json[]).map((severity) => severity.score)
    assert.deepEqual(await seen(), [])
    assert.equal((await importParsed(store(), uid, scores('1', 'CVE-2024-1', 'above'))).scored, 1)
    await importParsed(store(), below, scores('2', 'GHSA-2222-3333-4444', 'here'))
    await importParsed(store(), below, scores('3', 'GHSA-2222-3333-4444', 'above'))
    await importParsed(store(), beside, scores('4', 'CVE-2024-1', 'beside'))
    await importParsed(store(), below, scores('5', 'CVE-2024-1', 'of the component', 'c'))
    await importParsed(store(), below, scores('6', 'CVE-2024-1', 'of another', 'd'))
    assert.deepEqual((await seen()).toSorted(), ['above', 'here', 'of the component'])
    assert.equal((await importParsed(store(), uid, parsedDocument('1', [], { format: 'osv' }))).scored, 1)
    await importParsed(store(), below, parsedDocument('3', [], { format: 'osv' }))
    assert.deepEqual((await seen()).toSorted(), ['here', 'of the component'])
  })

  test('a security database adds only entries that no other document covers, in any order', async () => {
    const secdb = (...aliases: string[]) =>
      parsedDocument('db', [], {
        format: 'secdb',
        advisories: aliases.map((alias) => ({
          ...sample(),
          key: `secdb:x:git:${alias}`,
          aliases: [alias],
          origin: '',
        })),
      })
    const wolfi = parsedDocument('git', [
      { ...sample(), aliases: ['CVE-1', 'GHSA-1'], origin: 'git', artifactName: 'git-sub' },
    ])
    const seen = []
    for (const documents of [
      [wolfi, secdb('CVE-1', 'CVE-2', 'GHSA-1')],
      [secdb('CVE-1', 'CVE-2', 'GHSA-1'), wolfi],
    ]) {
      const { uid, admin } = await newGroup()
      for (const document of documents) await importParsed(store(), uid, document)
      const { advisories } = (await admin.get(PATH, { order_by: 'artifact_name' })).body
      seen.push(advisories.map((advisory: Json) => [advisory.artifactName, advisory.aliases]))
    }
    assert.deepEqual(seen[0], [
      ['git', ['CVE-2']],
      ['git-sub', ['CVE-1', 'GHSA-1']],
    ])
    assert.deepEqual(seen[1], seen[0])
  })

  const secdbOf = (id: string, ...aliases: string[]) =>
    parsedDocument(id, [], {
      format: 'secdb',
      advisories: aliases.map((alias) => ({
        ...sample(),
        artifactType: 'apk',
        key: `secdb:${id}:git:${alias}`,
        aliases: [alias],
        origin: 'git',
        product: '',
      })),
    })
  const gitOf = (alias: string, more: Partial<AdvisoryRecord> = {}) => ({
    ...sample(),
    artifactType: 'apk',
    product: '',
    aliases: [alias],
    origin: 'git',
    ...more,
  })

  test('an entry of a security database is restored when the advisory that superseded it is withdrawn, changed or deleted', async () => {
    const alone = gitOf('CVE-9')
    const goings: readonly (readonly AdvisoryRecord[] | undefined)[] = [
      parsedDocument('git', [{ ...gitOf('CVE-1'), withdrawnMs: 1 }, alone]).advisories,
      parsedDocument('git', [gitOf('CVE-3'), alone]).advisories,
      parsedDocument('git', [gitOf('CVE-1', { artifactName: 'vim', origin: 'vim' }), alone]).advisories,
      [],
    ]
    for (const advisories of goings) {
      const { uid, admin } = await newGroup()
      const of = async (alias: string) =>
        (await admin.get(PATH, { aliases: alias, origin: 'git' })).body.advisories.map(
          ({ uid: one }: Json) => one,
        )
      const database = secdbOf('db', 'CVE-1', 'CVE-2')
      assert.equal((await importParsed(store(), uid, database)).created, 2)
      const { covered, withdrawn, created } = await importParsed(
        store(),
        uid,
        parsedDocument('git', [gitOf('CVE-1'), alone]),
      )
      assert.deepEqual([covered, withdrawn, created], [1, 0, 2])
      const again = await importParsed(store(), uid, database)
      assert.deepEqual([again.unchanged, again.covered], [1, 1])
      const [covering] = await of('CVE-1')
      await importParsed(store(), uid, parsedDocument('git', [], { advisories: advisories ?? [] }))
      const [back, ...more] = await of('CVE-1')
      assert.ok(back !== undefined && back !== covering && more.length === 0, JSON.stringify(advisories))
      assert.equal((await of('CVE-2')).length, 1)
      const after = await importParsed(store(), uid, database)
      assert.deepEqual([after.unchanged, after.covered], [2, 0])
    }
  })

  test('packages with the same name are the same only if they have the same distributor', async () => {
    const alpine = 'https://dl-cdn.alpinelinux.org/alpine/v3.19/main'
    const wolfi = 'https://packages.wolfi.dev/os'
    const covers: readonly (readonly [string, Partial<AdvisoryRecord>, number])[] = [
      [wolfi, {}, 1],
      [wolfi, { product: 'pkg:apk/wolfi/git' }, 1],
      [wolfi, { product: 'pkg:apk/alpine/git' }, 0],
      [wolfi, { artifactType: 'deb' }, 0],
      [alpine, {}, 0],
      [alpine, { product: 'pkg:apk/alpine/git@1?distro=3.19' }, 1],
    ]
    for (const [database, more, expected] of covers) {
      const { uid } = await newGroup()
      await importParsed(store(), uid, parsedDocument('d', [gitOf('CVE-1', more)]))
      const { covered } = await importParsed(store(), uid, secdbOf(database, 'CVE-1'))
      assert.equal(covered, expected, JSON.stringify([database, more]))
    }
  })
})
