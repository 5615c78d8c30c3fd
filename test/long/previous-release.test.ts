import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { openPostgresDb } from '@berth/server/storage/db.ts'
import {
  findOrphanedRows,
  type OrphanedRows,
  tableOwnership,
} from '@berth/server/storage/schema/table-ownership.ts'
import pg from 'pg'
import { freePort } from '../../scripts/free-port.ts'
import { type WebBrowser, webBrowser } from '../support/browser/web-browser.ts'
import { startPostgres, withoutPostgres } from '../support/database/postgres.ts'
import { eventually } from '../support/eventually.ts'
import { createCrossNodeWork, type NodeTokens, nodeClient } from '../support/server/cross-node-work.ts'
import {
  checkOutPreviousRelease,
  previousRelease,
  withoutPreviousRelease,
} from '../support/server/previous-release.ts'
import {
  type Cleanup,
  type Environment,
  runBerth,
  serveBerth,
  temporaryDirectory,
} from '../support/server/process.ts'
import { isSignedIn, PASSWORD, setPassword } from '../support/signin/local-accounts.ts'

/** The promise of docs/operating.md: nodes of this version and of the release before it run side by side. */

const ROUNDS = 8
const CONCURRENCY = 4

test(`a node of ${previousRelease.version} and one of this version serve one installation, and leave nothing behind`, {
  skip: withoutPostgres || withoutPreviousRelease,
}, async (t) => {
  const url = (await startPostgres(t)).url
  const env = {
    BERTH_DATA_DIR: temporaryDirectory(t),
    BERTH_DATABASE_URL: url,
    BERTH_MASTER_KEY: randomBytes(32).toString('base64'),
    BERTH_BASE_URL: 'http://berth.test',
    BERTH_LOG_LEVEL: 'warn',
  }
  const previous = checkOutPreviousRelease(t)
  const old = await startVersion(t, previous.settingsOf(env), previous.program)
  const { organization } = JSON.parse(await old.admin('bootstrap', '--json'))
  const work = createCrossNodeWork(organization.uid)
  const oldTokens = await old.tokens()
  const alone = nodeClient(old.url, oldTokens, { isOlderVersion: true })
  await work.run(alone, alone)
  const migrated = await runBerth(t, ['migrate', '--json'], env)
  assert.ok(JSON.parse(migrated.stdout).migrations.length > 0, migrated.stderr)
  await work.run(alone, alone)
  const current = await startVersion(t, env)
  const clientsWith = (tokens: NodeTokens) =>
    [nodeClient(old.url, tokens, { isOlderVersion: true }), nodeClient(current.url, tokens)] as const

  await t.test('both serve what the other starts', async () => {
    const pairs = [oldTokens, await current.tokens()].flatMap((tokens) => {
      const [atOld, atCurrent] = clientsWith(tokens)
      return [[atOld, atCurrent] as const, [atCurrent, atOld] as const]
    })
    let next = 0
    const client = async () => {
      for (let round = next++; round < ROUNDS; round = next++) {
        const [one, other] = pairs[round % pairs.length] as (typeof pairs)[number]
        await work.run(one, other)
      }
    }
    const operator = async () => {
      for (let times = 0; times < 2; times++) {
        await current.admin('keys', 'rotate')
        // What running pushes stored is younger than the grace.
        await current.admin('collect', '--grace', '1h')
      }
    }
    await Promise.all([...Array.from({ length: CONCURRENCY }, client), operator()])
  })

  await t.test('a repo is deleted at one node while the other pushes to it', async () =>
    work.race(...clientsWith(await current.tokens())),
  )

  await t.test('what was acknowledged is there at both, what was deleted is not', async () => {
    for (const node of clientsWith(await current.tokens())) await work.verify(node)
  })

  await t.test('people sign in at either; sessions of the old node end at the new one', async () => {
    const email = 'ada@example.com'
    const link = new URL(
      /https?:\S+/.exec(await current.admin('accounts', 'create', email, '--name', 'Ada'))?.[0] ?? '',
    )
    const browser = webBrowser(current.url)
    const page = await browser.open(link.pathname + link.search)
    assert.match((await browser.submit(page, { password: PASSWORD })).path, /^\/account/)
    assert.ok(await isSignedIn(withCookiesOf(browser, old.url)), 'a session of this version')
    const atOld = webBrowser(old.url)
    assert.equal((await setPassword(atOld, email)).path, '/account')
    // Nodes before 0.7 do not record who vouched.
    assert.equal(await isSignedIn(withCookiesOf(atOld, current.url)), false)
    assert.equal((await setPassword(atOld, email)).path, '/account')
  })

  await t.test('withdrawn keys are withdrawn at both', async () => {
    await current.admin('keys', 'rotate', '--now')
    for (const { api } of clientsWith(await current.tokens()))
      assert.equal((await api.get('iam/groups')).status, 200)
    for (const { api } of clientsWith(oldTokens)) assert.equal((await api.get('iam/groups')).status, 401)
  })

  await t.test('neither logged an error', () => {
    for (const { output } of [old, current]) {
      const lines = output().stderr.split('\n')
      assert.deepEqual(
        lines.filter((line) => /^\{"level":[56]0/.test(line)),
        [],
      )
    }
  })

  await t.test('the old version is rejected after the migration', async () => {
    const { code, stderr } = await runBerth(t, ['serve'], previous.settingsOf(env), { as: previous.program })
    assert.notEqual(code, 0)
    assert.match(stderr, /migrat/)
  })

  await t.test('garbage collection leaves no rows and no bytes of what was deleted', async () => {
    old.child.kill('SIGTERM')
    assert.equal((await old.finished).code, 0)
    await current.admin('collect', '--grace', '0s')
    const again = JSON.parse(await current.admin('collect', '--grace', '0s', '--dry-run', '--json'))
    for (const kind of ['orphans', 'links', 'blobs', 'uploads', 'strays'])
      assert.deepEqual(again[kind], { count: 0, bytes: 0 }, kind)
    assert.match(await current.admin('scrub'), /, 0 damaged/)
    const db = await openPostgresDb(url, { onError: () => undefined })
    const left: OrphanedRows[] = []
    for await (const found of findOrphanedRows(db)) left.push(found)
    await db.close()
    assert.deepEqual(left, [])
    // The queue of the history of findings names what was deleted for some seconds.
    await eventually(
      () => tablesThatName(url, work.deleted),
      (found) => found.length === 0,
    )
    await work.verify(nodeClient(current.url, await current.tokens()))
  })
})

async function startVersion(t: Cleanup, env: Environment, program?: string) {
  const as = program === undefined ? {} : { as: program }
  const listen = `127.0.0.1:${await freePort()}`
  const server = await serveBerth(t, { ...env, BERTH_LISTEN: listen }, [], as)
  const admin = async (...args: string[]) => {
    const { code, stdout, stderr } = await runBerth(t, ['admin', ...args], env, as)
    assert.equal(code, 0, `${args}: ${stderr}`)
    return stdout
  }
  const tokens = async (): Promise<NodeTokens> => {
    const [api, registry] = await Promise.all([admin('token'), admin('token', '--audience', 'berth.test')])
    return { api: api.trim(), registry: registry.trim() }
  }
  return { ...server, url: `http://${listen}`, admin, tokens }
}

function withCookiesOf(browser: WebBrowser, origin: string): WebBrowser {
  const copy = webBrowser(origin)
  for (const [name, value] of browser.cookies) copy.cookies.set(name, value)
  return copy
}

/** Tables and columns that have one of these uids, or one below it. Records outlive what they are about. */
async function tablesThatName(url: string, uids: readonly string[]): Promise<string[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<{ name: string; column: string }>(
      `select table_name as name, column_name as column from information_schema.columns
       where table_schema = 'public' and data_type = 'text'`,
    )
    const found: string[] = []
    for (const { name, column } of rows) {
      if (tableOwnership[name as keyof typeof tableOwnership] === 'record') continue
      const { rowCount } = await client.query(
        `select 1 from "${name}" where exists (select 1 from unnest($1::text[]) as gone
          where "${column}" = gone or starts_with("${column}", gone || '/')) limit 1`,
        [uids],
      )
      if (rowCount !== 0) found.push(`${name}.${column}`)
    }
    return found
  } finally {
    await client.end()
  }
}
