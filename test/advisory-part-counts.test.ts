import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { importParsed, parsedDocument, record } from './support/advisories/random-documents.ts'
import { type ApiFixture, onEveryDatabase } from './support/api/api-fixture.ts'

// How many advisories a free-text query finds, once it was asked and imports go on.

const PARTS = ['open', 'go', 'cve-2024', '-1', 'x', 'e', 'ß', 'nothing']

async function newGroups(cast: ApiFixture) {
  const organization = await cast.organization()
  const { api } = await organization.member('advisories.admin')
  const folders: string[] = []
  for (const name of ['a', 'b'])
    folders.push((await organization.owner.api.create(`iam/groups/${organization.uid}`, { name })).uid)
  const totalOf = async (query: string, within = organization.uid) =>
    Number(
      (await api.get('vulnerabilities/advisories', { query, 'uidp.descendants_of': within, page_size: '1' }))
        .body.totalCount,
    )
  return { ...organization, api, folders, totalOf }
}

onEveryDatabase(
  'totals of free-text queries',
  (cast) => {
    test('are exact after any imports', async () => {
      const { db } = cast().berth.berth.installation.store
      const { store } = cast().berth.berth.installation
      const { uid, folders, totalOf } = await newGroups(cast())
      const places = [uid, ...folders]
      const [random, sizes] = [
        fc.sample(record, { numRuns: 400, seed: 5 }),
        fc.sample(fc.nat(12), { numRuns: 30, seed: 6 }),
      ]
      let used = 0
      for (const [round, size] of sizes.entries()) {
        const some = random.slice(used, used + size)
        used += size
        const place = places[round % places.length] as string
        await importParsed(store, place, parsedDocument(`d${round % 7}`, some))
        const texts = await db.kysely
          .selectFrom('advisories')
          .select(['uid', 'search'])
          .where('root', '=', uid)
          .execute()
        const part = PARTS[round % PARTS.length] as string
        // Of all groups, of one, and of a query that is asked in every round.
        for (const [query, within] of [
          [part, uid],
          [part, place],
          ['e', uid],
        ] as const) {
          const expected = texts.filter(
            (row) => row.search.includes(query) && row.uid.startsWith(`${within}/`),
          )
          assert.equal(await totalOf(query, within), expected.length, `${query} below ${within}`)
        }
      }
      const { n } = await db.kysely
        .selectFrom('advisory_part_counts')
        .select(({ fn }) => fn.countAll().as('n'))
        .where('root', '=', uid)
        .executeTakeFirstOrThrow()
      assert.ok(Number(n) >= 2 * places.length)
    })

    test('are exact with concurrent imports and first queries', async () => {
      const { store } = cast().berth.berth.installation
      const { uid, totalOf } = await newGroups(cast())
      const [one] = fc.sample(record, { numRuns: 1, seed: 3 })
      const advisory = { ...one, artifactName: 'abcdefgh', withdrawnMs: undefined } as NonNullable<typeof one>
      const all = () => Promise.all(Array.from('abcdefgh', (part) => totalOf(part)))
      for (let round = 0; round < 10; round++) {
        const document = parsedDocument(`d${round}`, Array<typeof advisory>(5).fill(advisory))
        await Promise.all([
          importParsed(store, uid, document),
          totalOf('abcdefgh'.slice(0, 8 - (round % 8))),
          all(),
        ])
      }
      assert.deepEqual(await all(), Array(8).fill(50))
      assert.deepEqual(await all(), Array(8).fill(50))
    })

    test('the stored texts of an organization are limited', async () => {
      const { store } = cast().berth.berth.installation
      const { uid, totalOf } = await newGroups(cast())
      const [one] = fc.sample(record, { numRuns: 1, seed: 3 })
      const name = Array.from({ length: 30 }, (_, at) => String.fromCharCode(0x4e00 + at)).join('')
      const advisory = { ...one, artifactName: name, withdrawnMs: undefined } as NonNullable<typeof one>
      await importParsed(store, uid, parsedDocument('d', Array<typeof advisory>(5).fill(advisory)))
      // Of two characters or more, each of them once.
      const parts = Array.from({ length: 8 }, (_, more) =>
        Array.from({ length: 29 - more }, (_, at) => name.slice(at, at + 2 + more)),
      ).flat()
      assert.ok(parts.length > 200)
      for (const part of parts) assert.equal(await totalOf(part), 5)
      const rows = await store.db.kysely
        .selectFrom('advisory_part_counts')
        .select('part')
        .where('root', '=', uid)
        .execute()
      assert.equal(rows.length, 200)
      assert.ok(!rows.some(({ part }) => part === parts[0]))
      assert.equal(await totalOf(parts[0] as string), 5)
    })
  },
  { sizes: { bucketRowsMax: 4, rowsInlineMax: 3, branchesMax: 2 } },
)
