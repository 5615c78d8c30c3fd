import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { inflateSync } from 'node:zlib'
import { countedIndexKeysOf, indexKeysOf } from '@berth/server/advisories/search/facets.ts'
import { toAdvisory } from '@berth/server/advisories/storage/stored-advisory.ts'
import { pathBelowRoot } from '@berth/server/api/uid.ts'
import type { Tables } from '@berth/server/storage/schema/tables.ts'
import { type Kysely, sql } from 'kysely'
import { freePort } from '../../../scripts/free-port.ts'
import { openDatabase, openDatabaseAfterKill } from '../database/open-database.ts'
import { type Cleanup, runBerth, serveBerth } from '../server/process.ts'

const DOCUMENTS = 40
const ADVISORIES = 8

/** A number in the letters of an id. */
const letters = (n: number) =>
  n
    .toString(8)
    .padStart(4, '0')
    .replaceAll(/[0-7]/g, (digit) => `${Number(digit) + 2}`)

/** Documents of one version: with every version each says something else, and has other advisories. */
function documentsOf(version: number) {
  return Array.from({ length: DOCUMENTS }, (_, at) => {
    const advisories = Array.from({ length: ADVISORIES }, (_, index) => {
      const digits = [at, index + (version % 3), 0].map(letters)
      return `  - id: CGA-${digits.join('-')}
    aliases:
      - CVE-2024-${1000 + index + version}
    events:
      - timestamp: 2024-05-01T10:00:0${index}Z
        type: fixed
        data:
          fixed-version: ${version}.${index}-r0
      - timestamp: 2025-01-01T00:00:00Z
        type: pending-upstream-fix
        data:
          note: version ${version}
`
    })
    const text = `schema-version: 2.0.2\npackage:\n  name: package-${at}\nadvisories:\n${advisories.join('')}`
    return { name: `package-${at}.advisories.yaml`, content: Buffer.from(text).toString('base64') }
  })
}

/**
 * Kills the server in the middle of imports, again and again, and looks whether every document is there whole or not at all. Returns
 * how many documents the interrupted imports had written.
 */
export async function advisoryCrashRounds(
  t: Cleanup,
  env: Readonly<Record<string, string>>,
  rounds: number,
): Promise<number> {
  const settings = { ...env, BERTH_LISTEN: `127.0.0.1:${await freePort()}`, BERTH_LOG_LEVEL: 'error' }
  let [token, group, interrupted, wholeMs] = ['', '', 0, 0]
  const send = async (url: string, documents: readonly object[]) => {
    const response = await fetch(`${url}/vulnerabilities/v2beta1/advisories/${group}:importDocuments`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ documents }),
    })
    assert.equal(response.status, 200, await response.clone().text())
    return ((await response.json()) as { documents: { accepted: boolean; reason: string }[] }).documents
  }
  for (let version = 1; version <= rounds; version++) {
    const server = await serveBerth(t, settings)
    if (version === 1) {
      token = (await runBerth(t, ['admin', 'token'], settings)).stdout
      const bootstrap = await runBerth(t, ['admin', 'bootstrap', '--json'], settings)
      group = JSON.parse(bootstrap.stdout).organization.uid
      const startMs = performance.now()
      await send(server.url, documentsOf(0))
      wholeMs = performance.now() - startMs
    }
    const documents = documentsOf(version)
    const [one = {}, ...others] = documents
    // Once one is read, all that reads is there.
    await send(server.url, [one])
    const sending = send(server.url, others).catch(() => undefined)
    // At any moment of an import, however long this machine takes for one.
    await sleep(Math.random() * wholeMs)
    server.child.kill('SIGKILL')
    await server.finished
    await sending
    const db = await openDatabaseAfterKill(settings)
    try {
      await assertCompleteDocuments(db.kysely)
      interrupted += await countContaining(db.kysely, `version ${version}`)
    } finally {
      await db.close()
    }
  }
  // The next run completes what was cut off.
  const server = await serveBerth(t, settings)
  for (const { accepted, reason } of await send(server.url, documentsOf(rounds + 1)))
    assert.ok(accepted, reason)
  server.child.kill('SIGTERM')
  await server.finished
  const db = await openDatabase(settings)
  try {
    await assertCompleteDocuments(db.kysely)
    assert.equal(await countContaining(db.kysely, `version ${rounds + 1}`), DOCUMENTS)
    const { n } = await db.kysely
      .selectFrom('advisories')
      .select(sql<number>`count(*)`.as('n'))
      .executeTakeFirstOrThrow()
    assert.equal(Number(n), DOCUMENTS * ADVISORIES)
  } finally {
    await db.close()
  }
  return interrupted
}

async function countContaining(db: Kysely<Tables>, word: string): Promise<number> {
  const rows = await db.selectFrom('advisory_documents').select('content').execute()
  return rows.filter(({ content }) => inflateSync(content).toString().includes(word)).length
}

/** Documents, advisories, what finds them and what counts them tell the same. */
async function assertCompleteDocuments(db: Kysely<Tables>): Promise<void> {
  const documents = await db.selectFrom('advisory_documents').selectAll().execute()
  const sources = await db.selectFrom('advisory_sources').select(['key', 'format', 'id']).execute()
  const live = await db.selectFrom('advisories').selectAll().execute()
  const withdrawn = await db.selectFrom('withdrawn_advisories').select('key').execute()
  const documentKeys = documents.flatMap(({ format, id, keys }) =>
    (JSON.parse(inflateSync(keys).toString()) as string[]).map((key) => `${format} ${id} ${key}`),
  )
  assert.deepEqual(sources.map(({ format, id, key }) => `${format} ${id} ${key}`).sort(), documentKeys.sort())
  const keys = new Set(sources.map(({ key }) => key))
  assert.deepEqual(live.map(({ key }) => key).sort(), [...keys].sort())
  assert.deepEqual(
    withdrawn.filter(({ key }) => keys.has(key)),
    [],
  )
  for (const { id, content } of documents) {
    const [, version] = /note: (version \d+)/.exec(inflateSync(content).toString()) ?? []
    const its = new Set(sources.filter((source) => source.id === id).map(({ key }) => key))
    for (const row of live.filter(({ key }) => its.has(key)))
      assert.ok(Buffer.from(row.content).includes(`${version}`), `${row.key} is not of ${id}, ${version}`)
  }
  const postings = await db.selectFrom('advisory_postings').selectAll().execute()
  const textOf = (value: Uint8Array, path: string) => `${Buffer.from(value).toString('hex')} ${path}`
  assert.deepEqual(
    postings.map(({ value, path }) => textOf(value, path)).sort(),
    live
      .flatMap((row) =>
        indexKeysOf(toAdvisory(row), row.origin).map((value) => textOf(value, pathBelowRoot(row.uid))),
      )
      .sort(),
  )
  const numbers = await db.selectFrom('advisory_posting_counts').selectAll().where('n', '!=', 0).execute()
  const counted = Map.groupBy(
    live.flatMap((row) =>
      countedIndexKeysOf(toAdvisory(row), row.origin).map((value) =>
        textOf(value, pathBelowRoot(row.parent)),
      ),
    ),
    (text) => text,
  )
  assert.deepEqual(
    numbers.map(({ value, parent, n }) => `${textOf(value, parent)} ${n}`).sort(),
    [...counted].map(([text, all]) => `${text} ${all.length}`).sort(),
  )
  // Of every part of a search.
  for (const { parent, part, n } of await db.selectFrom('advisory_part_counts').selectAll().execute())
    assert.equal(Number(n), live.filter((row) => row.parent === parent && row.search.includes(part)).length)
  const { n } = await db
    .selectFrom('counts')
    .where('collection', '=', 'advisories')
    .select(sql<number>`coalesce(sum(n), 0)`.as('n'))
    .executeTakeFirstOrThrow()
  assert.equal(Number(n), live.length)
}
