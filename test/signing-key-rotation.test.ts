import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import { readConfig } from '@berth/server/installation/config.ts'
import { openInstallation } from '@berth/server/installation/installation.ts'
import type { BerthOverrides } from '@berth/server/main.ts'
import { listSigningKeys, rotateSigningKeys } from '@berth/server/operator/signing-keys.ts'
import { keyRotation, type SigningKeys } from '@berth/server/tokens/keys/signing-keys.ts'
import { createLocalJWKSet, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose'
import { call } from './support/api/rest.ts'
import { databases, type TestDatabase } from './support/database/databases.ts'
import { eventually } from './support/eventually.ts'
import { startNodes } from './support/server/nodes.ts'
import { temporaryDirectory } from './support/server/process.ts'
import type { TestBerth } from './support/server/test-berth.ts'
import { exchange } from './support/tokens/exchange.ts'

/** Keys that sign tokens, replaced by schedule and by command, on several nodes. */

const MINUTE_MS = 60 * 1000
const HOUR_MS = 60 * 60 * 1000
const DAY_MS = 24 * HOUR_MS

interface Node {
  readonly berth: TestBerth
  readonly origin: string
  accepts(token: string): Promise<boolean>
  published(): Promise<string[]>
  token(): Promise<string>
}

type NodeParts = BerthOverrides & Pick<NonNullable<Parameters<typeof startNodes>[3]>, 'envOfNode'>

const kidOf = (token: string) => decodeProtectedHeader(token).kid ?? ''

async function nodes(
  t: TestContext,
  database: TestDatabase,
  count: number,
  env: Readonly<Record<string, string>> = {},
  parts: NodeParts = { keysIntervalMs: 20 },
): Promise<{ readonly all: readonly Node[]; advance(ms: number): void }> {
  const { all, advance } = await startNodes(t, database, count, { env, ...parts })
  return {
    advance,
    all: all.map(({ berth, origin }) => {
      const get = (path: string, token?: string) =>
        call('GET', origin + path, token === undefined ? {} : { token })
      return {
        berth,
        origin,
        accepts: async (token) => (await get('/iam/v2beta1/groups', token)).status === 200,
        published: async () =>
          (await get('/.well-known/jwks.json')).body.keys.map(({ kid }: { kid: string }) => kid).sort(),
        token: () => berth.tokenOf(berth.owner),
      }
    }),
  }
}

for (const database of databases) {
  test(`a rotated key takes over after an hour on every node, and tokens of the old one stay good (${database.name})`, async (t) => {
    const { all, advance } = await nodes(t, database, 2)
    const [one, other] = all as [Node, Node]
    const early = await one.token()
    assert.ok(await other.accepts(early))
    const before = kidOf(early)
    assert.deepEqual(await other.published(), [before])

    const [signing, next, ...more] = await rotateSigningKeys(one.berth.berth.installation, { now: false })
    assert.deepEqual([signing?.kid, signing?.state, next?.state, more], [before, 'signing', 'next', []])
    const after = next?.kid ?? ''
    const both = [before, after].sort()
    assert.deepEqual(await one.published(), both)
    await eventually(async () => (await other.published()).length === 2)
    assert.deepEqual(await other.published(), both)
    // One successor is enough, however many nodes request one.
    await rotateSigningKeys(other.berth.berth.installation, { now: false })
    assert.deepEqual(await other.published(), both)
    assert.equal(kidOf(await other.token()), before)

    advance(keyRotation.publishedAheadMs - MINUTE_MS)
    const late = await other.token()
    assert.equal(kidOf(late), before)
    advance(2 * MINUTE_MS)
    for (const node of all) {
      assert.equal(kidOf(await node.token()), after)
      assert.ok(await node.accepts(late), 'a token of the old key')
      assert.ok(await node.accepts(await one.token()))
      assert.deepEqual(await node.published(), both)
    }
    advance(keyRotation.publishedAfterMs)
    for (const node of all) {
      assert.deepEqual(await node.published(), [after])
      assert.ok(!(await node.accepts(late)))
    }
  })

  test(`a key that is withdrawn ends all that it signed, on every node (${database.name})`, async (t) => {
    const { all } = await nodes(t, database, 2)
    const [one, other] = all as [Node, Node]
    await rotateSigningKeys(one.berth.berth.installation, { now: false })
    const stolen = await one.token()
    // Both remember it as verified.
    for (const node of all) assert.ok(await node.accepts(stolen))
    const [only, ...more] = await rotateSigningKeys(one.berth.berth.installation, { now: true })
    assert.deepEqual([only?.state, more], ['signing', []])
    assert.notEqual(only?.kid, kidOf(stolen))
    assert.ok(!(await one.accepts(stolen)))
    await eventually(async () => !(await other.accepts(stolen)), Boolean, {
      patienceMs: 3 * keyRotation.reloadIntervalMs,
    })
    for (const node of all) {
      assert.deepEqual(await node.published(), [only?.kid])
      const fresh = await node.token()
      assert.equal(kidOf(fresh), only?.kid)
      for (const each of all) assert.ok(await each.accepts(fresh))
    }
    const { kysely } = one.berth.berth.installation.store.db
    const rows = await kysely.selectFrom('signing_keys').select('kid').execute()
    assert.deepEqual(
      rows.map(({ kid }) => kid),
      [only?.kid],
      'the private half of the old ones is gone',
    )
    const events = await kysely
      .selectFrom('audit_events')
      .select('method')
      .where('parent', '=', one.berth.organization)
      .where('method', 'like', 'berth admin keys%')
      .orderBy('id')
      .execute()
    assert.deepEqual(
      events.map(({ method }) => method),
      ['berth admin keys rotate', 'berth admin keys rotate --now'],
    )
  })

  test(`another algorithm signs an hour after its first node starts, on every node, and tokens of both are accepted meanwhile (${database.name})`, async (t) => {
    const { all, advance } = await nodes(
      t,
      database,
      2,
      {},
      {
        keysIntervalMs: 20,
        // As in the middle of a restart one by one.
        envOfNode: (n) => (n === 1 ? { BERTH_SIGNING_ALGORITHM: 'RS256' } : {}),
      },
    )
    const algorithms = async () => {
      const lists = await Promise.all(
        all.map(async ({ berth, origin }) => {
          const { body } = await call('GET', `${origin}/.well-known/openid-configuration`)
          const { keys } = await berth.berth.installation.keys.published()
          assert.deepEqual(body.id_token_signing_alg_values_supported, [
            ...new Set(keys.map(({ alg }) => alg)),
          ])
          return body.id_token_signing_alg_values_supported.sort()
        }),
      )
      assert.deepEqual(lists[0], lists[1])
      return lists[0]
    }
    const sign = async () => {
      const tokens = await Promise.all(all.map((node) => node.token()))
      for (const token of tokens) for (const node of all) assert.ok(await node.accepts(token))
      return [tokens, [...new Set(tokens.map((token) => decodeProtectedHeader(token).alg))]] as const
    }
    await eventually(async () => (await (all[0] as Node).published()).length === 2)
    assert.deepEqual(await algorithms(), ['ES256', 'RS256'])
    const [early, before] = await sign()
    assert.deepEqual(before, ['ES256'])

    advance(keyRotation.publishedAheadMs - MINUTE_MS)
    const [late] = await sign()
    advance(2 * MINUTE_MS)
    const [tokens, after] = await sign()
    assert.deepEqual(after, ['RS256'])
    assert.deepEqual(await algorithms(), ['ES256', 'RS256'])
    for (const node of all)
      for (const token of late) assert.ok(await node.accepts(token), 'of the old algorithm')
    for (const { berth, origin } of all) {
      const keySet = createLocalJWKSet((await berth.berth.installation.keys.published()) as JSONWebKeySet)
      const { payload } = await jwtVerify(tokens[0] ?? '', keySet, {
        algorithms: ['RS256'],
        currentDate: new Date(berth.berth.installation.store.clock()),
      })
      assert.equal(payload.sub, berth.owner)
      const exchanged = await exchange(origin, tokens[0] ?? '', { aud: 'http://berth.test' })
      assert.equal(exchanged.status, 200, exchanged.text)
      assert.equal(decodeProtectedHeader(exchanged.body.token).alg, 'RS256')
    }

    advance(keyRotation.publishedAfterMs)
    assert.deepEqual(await algorithms(), ['RS256'])
    for (const node of all) for (const token of [...early, ...late]) assert.ok(!(await node.accepts(token)))
    // The next key is of the same algorithm, whichever node creates it.
    for (const node of all) await rotateSigningKeys(node.berth.berth.installation, { now: false })
    assert.deepEqual(await algorithms(), ['RS256'])
    const [only] = await rotateSigningKeys((all[0] as Node).berth.berth.installation, { now: true })
    assert.equal(only?.algorithm, 'RS256')
  })

  test(`keys take turns in the interval of BERTH_SIGNING_KEY_ROTATION (${database.name})`, async (t) => {
    const { all, advance } = await nodes(t, database, 1, { BERTH_SIGNING_KEY_ROTATION: '2d' })
    const [node] = all as [Node]
    const signers: string[] = []
    for (let hours = 0; hours < 8 * 24; hours += 6) {
      const kid = kidOf(await node.token())
      if (signers.at(-1) !== kid) signers.push(kid)
      const keys = await listSigningKeys(node.berth.berth.installation)
      assert.ok(keys.length <= 3)
      assert.equal(keys.find(({ state }) => state === 'signing')?.kid, kid)
      advance(6 * HOUR_MS)
    }
    assert.equal(new Set(signers).size, signers.length)
    assert.ok(signers.length >= 4 && signers.length <= 5, `${signers.length} keys in eight days`)
    const [first] = await listSigningKeys(node.berth.berth.installation)
    const lifeMs = Date.parse(first?.expireTime ?? '') - Date.parse(first?.signsFromTime ?? '')
    assert.ok(lifeMs <= 2 * DAY_MS + keyRotation.publishedAfterMs)
  })

  test(`by schedule a key signs only once every node publishes it, and its tokens stay good until they end (${database.name})`, async (t) => {
    // No node notifies another in time: each has to detect it.
    const { all, advance } = await nodes(
      t,
      database,
      2,
      { BERTH_SIGNING_KEY_ROTATION: '1d' },
      { keysIntervalMs: HOUR_MS },
    )
    const stepMs = 20 * MINUTE_MS
    const publishedAt = all.map(() => new Map<string, number>())
    const signedAt = new Map<string, number>()
    const tokens: { readonly token: string; readonly endsMs: number }[] = []
    for (let now = 0; now < 3 * DAY_MS; now += stepMs) {
      const sets = await Promise.all(all.map((node) => node.published()))
      for (const [n, set] of sets.entries())
        for (const kid of set) if (!publishedAt[n]?.has(kid)) publishedAt[n]?.set(kid, now)
      const token = await (all[(now / stepMs) % all.length] as Node).token()
      if (!signedAt.has(kidOf(token))) signedAt.set(kidOf(token), now)
      tokens.push({ token, endsMs: now + limits.accessTokenLifetimeMs })
      while (tokens[0] !== undefined && tokens[0].endsMs <= now) tokens.shift()
      for (const { token: valid } of tokens) {
        for (const [n, node] of all.entries()) {
          assert.ok(sets[n]?.includes(kidOf(valid)), 'its key is published')
          assert.ok(await node.accepts(valid), `a token of the last hour, at node ${n}`)
        }
      }
      advance(stepMs)
    }
    assert.ok(signedAt.size >= 3, `${signedAt.size} keys in three days`)
    for (const [kid, firstMs] of [...signedAt].slice(1))
      for (const known of publishedAt)
        assert.ok(firstMs - (known.get(kid) ?? Infinity) >= keyRotation.publishedAheadMs - stepMs, kid)
  })
}

/** Opens the same installation with different settings, as a command of the operator or a restart does. */
function installationOpener(t: TestContext) {
  const dataDir = temporaryDirectory(t)
  return (env: Readonly<Record<string, string>>, clock: () => number) => {
    const read = readConfig({ BERTH_DATA_DIR: dataDir, ...env })
    if ('problems' in read) throw new Error(read.problems.join())
    const log = { error() {}, warn() {}, info() {}, debug() {} }
    return openInstallation(read.config, log, { clock })
  }
}

test('a process without the setting keeps the algorithm, one with another changes it once, and a rotation keeps it', async (t) => {
  const open = installationOpener(t)
  let now = Date.now()
  const use = async (algorithm: string | undefined, work: (keys: SigningKeys) => Promise<unknown>) => {
    const env: Record<string, string> = algorithm === undefined ? {} : { BERTH_SIGNING_ALGORITHM: algorithm }
    const installation = await open(env, () => now)
    try {
      return await work(installation.keys)
    } finally {
      await installation.close()
    }
  }
  const signs = async (keys: SigningKeys) => (await keys.current()).algorithm
  const states = async (keys: SigningKeys) =>
    (await keys.list()).map(({ algorithm, state }) => `${algorithm} ${state}`)

  assert.equal(await use('RS256', signs), 'RS256', 'a new installation waits for nothing')
  assert.deepEqual(await use(undefined, states), ['RS256 signing'])
  now += 40 * DAY_MS
  assert.equal(await use(undefined, signs), 'ES256', 'every key has expired')
  assert.deepEqual(await use('RS256', states), ['ES256 signing', 'RS256 next'])
  assert.deepEqual(await use('RS256', states), ['ES256 signing', 'RS256 next'], 'one key is enough')
  now += HOUR_MS + 1000
  await use(undefined, async (follower) => {
    assert.equal(await signs(follower), 'RS256')
    now += 29.5 * DAY_MS
    assert.deepEqual(await states(follower), ['RS256 signing', 'RS256 next'])
  })
  // A successor that has not signed yet gives way.
  await use('ES256', async (other) => {
    assert.deepEqual(await states(other), ['RS256 signing', 'ES256 next', 'RS256 published'])
    await use('RS256', async (one) => {
      assert.equal((await states(one)).filter((state) => state.endsWith('next')).length, 1)
      for (let hours = 0; hours < 24; hours++) {
        now += HOUR_MS
        assert.equal(await signs(one), await signs(other))
      }
      assert.equal(await signs(one), 'RS256', 'the last that started decided, once')
    })
  })
})

test('a shorter interval holds for the key that signs already, a longer one not beyond what verifiers may have cached', async (t) => {
  const open = installationOpener(t)
  const now = Date.now()
  const signerAt = async (days: number, ms: number) => {
    const installation = await open({ BERTH_SIGNING_KEY_ROTATION: `${days}d` }, () => ms)
    try {
      return (await installation.keys.current()).kid
    } finally {
      await installation.close()
    }
  }
  const first = await signerAt(10, now)
  assert.equal(await signerAt(10, now + 5 * DAY_MS), first)
  assert.equal(await signerAt(400, now + 9 * DAY_MS), first)
  const second = await signerAt(400, now + 10 * DAY_MS)
  assert.notEqual(second, first)
  assert.notEqual(await signerAt(1, now + 12 * DAY_MS), second)
})
