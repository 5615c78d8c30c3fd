import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { readConfig } from '@berth/server/installation/config.ts'
import { openInstallation } from '@berth/server/installation/installation.ts'
import { keyRotation } from '@berth/server/tokens/keys/signing-keys.ts'
import { call } from './support/api/rest.ts'
import { runBerth, serveBerth, temporaryDirectory } from './support/server/process.ts'
import type { TestBerth } from './support/server/test-berth.ts'
import { createClientTokens, createPerson, voucherOf } from './support/signin/accounts.ts'

test('admin keys and admin sessions work beside the running server, which notices', async (t) => {
  const dataDir = temporaryDirectory(t)
  const env = { BERTH_DATA_DIR: dataDir }
  const server = await serveBerth(t, env)
  const run = async (...args: string[]) => {
    const finished = await runBerth(t, ['admin', ...args], env)
    return {
      ...finished,
      json:
        finished.stdout.startsWith('[') || finished.stdout.startsWith('{')
          ? JSON.parse(finished.stdout)
          : undefined,
    }
  }
  const { json: first } = await run('bootstrap', '--json')
  const accepts = async (token: string) =>
    (await call('GET', `${server.url}/iam/v2beta1/groups`, { token })).status === 200
  assert.ok(await accepts(first.token))

  const listed = await run('keys', 'list', '--json')
  assert.deepEqual(Object.keys(listed.json.items[0]), [
    'kid',
    'algorithm',
    'state',
    'createTime',
    'signsFromTime',
    'expireTime',
  ])
  const table = await run('keys', 'list')
  assert.match(
    table.stdout,
    /^KEY +ALGORITHM +STATE +SIGNS FROM +PUBLISHED UNTIL\n\S{22} {2}ES256 +signing( {2}\d{4}-\d\d-\d\d \d\d:\d\dZ){2}\n$/,
  )
  assert.match(
    (await run('keys', 'list', '--sort', 'state desc', '--filter', 'state=signing', '--limit', '1')).stdout,
    /^KEY .*\n\S{22} {2}ES256 +signing .*\n$/,
  )
  const unknown = await run('keys', 'list', '--sort', 'size')
  assert.equal(unknown.code, 2)
  assert.match(unknown.stderr, /--sort: unknown field size; use one of key, algorithm, state/)
  const overlap = await run('keys', 'rotate', '--json')
  assert.deepEqual(
    overlap.json.items.map(({ state }: { state: string }) => state),
    ['signing', 'next'],
  )
  assert.ok(await accepts(first.token))
  await run('keys', 'rotate', '--now')
  // It looks every so often.
  const endMs = Date.now() + 2 * keyRotation.reloadIntervalMs
  while (await accepts(first.token)) {
    assert.ok(Date.now() < endMs, 'a token of the withdrawn key is still good')
    await setTimeout(50)
  }
  const { stdout: token } = await run('token')
  assert.ok(await accepts(token))

  const read = readConfig(env)
  if ('problems' in read) throw new Error(read.problems.join())
  const log = { error() {}, warn() {}, info() {}, debug() {} }
  const installation = await openInstallation(read.config, log)
  t.after(() => installation.close())
  const addresses = { baseUrl: server.url, authUrl: server.url }
  const beside = { berth: { installation, addresses } } as unknown as Pick<TestBerth, 'berth'>
  const identity = await createPerson(beside, { email: 'ada@example.com' })
  const sign = () => createClientTokens(beside, { identity })
  const [one, two] = [await sign(), await sign()]
  const sessions = await run('sessions', 'list', '--identity', identity, '--json')
  assert.deepEqual(
    sessions.json.items
      .map(({ id, person, kind, client }: Record<string, string>) => [id, person, kind, client])
      .sort(),
    [one, two].map(({ session }) => [session, 'ada@example.com', 'client', 'berth-cli']).sort(),
  )
  const byUser = await run('sessions', 'list', '--user', 'Ada@Example.com', '--json')
  assert.deepEqual(byUser.json, sessions.json)
  const stranger = await run('sessions', 'list', '--user', 'heidi')
  assert.deepEqual([stranger.code, stranger.stderr], [1, 'berth: user heidi not found\n'])
  // A name that two users have.
  await installation.store.db.kysely
    .updateTable('identities')
    .set({ name: 'grace' })
    .where('uid', 'in', [identity, await createPerson(beside, { email: 'grace@example.com' })])
    .execute()
  const ambiguous = await run('sessions', 'revoke', '--user', 'grace')
  assert.equal(ambiguous.code, 2)
  assert.match(ambiguous.stderr, /several users have the name grace: use --identity with one of /)
  assert.ok(ambiguous.stderr.includes(`${identity} ada@example.com`), ambiguous.stderr)
  const provider = `${first.organization.uid}/0123456789abcdef`
  for (const voucher of [{ kind: 'account' } as const, voucherOf(provider)]) {
    const { session } = await createClientTokens(beside, { identity: await createPerson(beside), voucher })
    const { json } = await run('sessions', 'list', '--json')
    const { vouchedBy, identityProvider } = json.items.find(({ id }: { id: string }) => id === session)
    assert.deepEqual([vouchedBy, identityProvider], [voucher.kind, 'provider' in voucher ? provider : ''])
  }
  const shown = (await run('sessions', 'list')).stdout
  assert.match(shown, /^SESSION +USER +KIND +PROVIDER +CLIENT/)
  assert.match(shown, / client +account +berth-cli /)
  assert.ok(shown.includes(` ${provider} `), shown)
  assert.ok(await accepts(one.accessToken))
  assert.equal((await run('sessions', 'revoke', one.session)).stdout, 'revoked 1 session\n')
  assert.deepEqual([await accepts(one.accessToken), await accepts(two.accessToken)], [false, true])
  assert.deepEqual((await run('sessions', 'revoke', '--user', 'ada@example.com', '--json')).json, {
    revoked: 1,
  })
  assert.deepEqual((await run('sessions', 'revoke', '--identity', identity, '--json')).json, { revoked: 0 })
  assert.ok(!(await accepts(two.accessToken)))
  const gone = await run('sessions', 'revoke', one.session)
  assert.deepEqual([gone.code, gone.stderr], [1, `berth: there is no session ${one.session}\n`])
  for (const args of [
    [],
    [one.session, '--identity', identity],
    [one.session, '--user', 'ada@example.com'],
    ['--user', 'ada@example.com', '--identity', identity],
    ['--identity', 'me'],
    ['--user', ''],
  ])
    assert.equal((await run('sessions', 'revoke', ...args)).code, 2, args.join(' '))
  const { kysely } = installation.store.db
  const events = await kysely
    .selectFrom('audit_events')
    .select(['method', 'actor'])
    .where('parent', '=', identity)
    .execute()
  assert.deepEqual(
    events.map(({ method, actor }) => [method, actor]),
    Array.from({ length: 2 }, () => ['berth admin sessions revoke', 'system']),
  )
})
