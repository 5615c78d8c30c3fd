import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import type { CheckResult } from '@berth/server/operator/check.ts'
import { startMailServer } from './support/mail/mail-server.ts'
import { type Cleanup, runBerth, serveBerth, temporaryDirectory } from './support/server/process.ts'

/** The commands of the operator about email, with a real mail server. */

const login = { user: 'berth', password: 'tall-grass-secret' }
const settingsOf = (port: number, { user, password } = login) => ({
  BERTH_SMTP_URL: `smtp://${user}:${password}@127.0.0.1:${port}`,
  BERTH_SMTP_FROM: 'berth@example.com',
})

async function checkMailServer(t: Cleanup, env: Readonly<Record<string, string>>): Promise<CheckResult> {
  const { stdout } = await runBerth(t, ['admin', 'check', '--json'], env)
  assert.doesNotMatch(stdout, /secret/)
  const { checks } = JSON.parse(stdout) as { checks: readonly CheckResult[] }
  return checks.find(({ name }) => name === 'mail server') ?? assert.fail(stdout)
}

test('admin check signs in to the mail server, and says what is wrong without the password', async (t) => {
  const server = await startMailServer(t, { tls: 'none', login })
  const directory = { BERTH_DATA_DIR: temporaryDirectory(t) }
  const right = await checkMailServer(t, { ...directory, ...settingsOf(server.port) })
  assert.deepEqual(
    [right.result, right.message],
    ['ok', `127.0.0.1:${server.port} accepts connections and the password`],
  )
  const wrong = settingsOf(server.port, { user: 'berth', password: 'wrong-secret' })
  const rejected = await checkMailServer(t, { ...directory, ...wrong })
  assert.equal(rejected.result, 'fail')
  assert.match(rejected.message, /rejected user and password \(535\)/)
  await server.stop()
  const dead = await checkMailServer(t, { ...directory, ...settingsOf(server.port) })
  assert.match(dead.message, /ECONNREFUSED/)
  assert.match(dead.action, /berth admin mail test/)
})

test('admin mail test sends an email, also as JSON, and fails with a reason', async (t) => {
  const server = await startMailServer(t, { tls: 'none', login })
  const env = { BERTH_DATA_DIR: temporaryDirectory(t), ...settingsOf(server.port) }
  const sent = await runBerth(t, ['admin', 'mail', 'test', '--to', 'ada@example.com'], env)
  assert.equal(sent.stdout, `127.0.0.1:${server.port} accepted a test email to ada@example.com\n`)
  assert.equal((await server.next('ada@example.com')).subject, 'Test email from Berth')
  const json = await runBerth(t, ['admin', 'mail', 'test', '--to', 'ada@example.com', '--json'], env)
  assert.deepEqual(JSON.parse(json.stdout), { to: 'ada@example.com', server: `127.0.0.1:${server.port}` })
  server.answer({ code: 550, text: 'no such user' })
  const refused = await runBerth(t, ['admin', 'mail', 'test', '--to', 'ada@example.com'], env)
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /^berth: the mail server responded: 550 no such user\n$/)
  const invalid = await runBerth(t, ['admin', 'mail', 'test'], env)
  assert.deepEqual(
    [invalid.code, /^berth: --to must be a bare email address/.test(invalid.stderr)],
    [2, true],
  )
  const without = await runBerth(t, ['admin', 'mail', 'test', '--to', 'ada@example.com'], {
    BERTH_DATA_DIR: env.BERTH_DATA_DIR,
  })
  assert.match(without.stderr, /set BERTH_SMTP_URL and BERTH_SMTP_FROM/)
})

test('invites create prints the link and what happens to the email, which admin mail list shows', async (t) => {
  const server = await startMailServer(t, { tls: 'none', login })
  const data = { BERTH_DATA_DIR: temporaryDirectory(t) }
  const { url } = await serveBerth(t, { ...data, ...settingsOf(server.port) })
  const boot = await runBerth(t, ['admin', 'bootstrap', '--name', 'acme', '--json'], data)
  const { token } = JSON.parse(boot.stdout) as { token: string }
  const env = { BERTH_API: url, BERTH_TOKEN: token, BERTH_CONFIG: join(temporaryDirectory(t), 'config.yaml') }
  const create = ['iam', 'invites', 'create', 'acme', '--role', 'viewer']
  const mailed = await runBerth(t, [...create, '--email', 'ada@example.com'], env)
  assert.equal(mailed.code, 0, mailed.stderr)
  assert.match(mailed.stderr, new RegExp(`Invite link \\(not shown again\\):\\s+${url}/invite#\\S+\\s`))
  assert.match(mailed.stderr, /Berth sends an email with its own link to ada@example\.com/)
  await server.next('ada@example.com')
  const open = await runBerth(t, create, env)
  assert.match(open.stderr, /Anyone who has it can accept the invite/)
  const json = await runBerth(t, [...create, '-o', 'json'], env)
  const { link, code } = JSON.parse(json.stdout) as { link: string; code: string }
  assert.equal(link, `${url}/invite#${code}`)
  assert.equal(json.stderr, '')

  server.answer({ code: 550, text: 'no such user' })
  await runBerth(t, [...create, '--email', 'eve@example.com'], env)
  await server.refusals(1)
  const failed = async () => {
    const { stdout } = await runBerth(t, ['admin', 'mail', 'list', '--state', 'failed', '--json'], data)
    return (JSON.parse(stdout) as { mails: { kind: string; problem: string }[] }).mails
  }
  let found = await failed()
  for (let n = 0; found.length === 0 && n < 50; n++) found = await failed()
  assert.equal(found[0]?.kind, 'invite')
  assert.match(found[0]?.problem ?? '', /550 no such user/)
  const list = await runBerth(t, ['iam', 'invites', 'list', '-o', 'wide'], env)
  assert.match(list.stdout, /sent/)
  assert.match(list.stdout, /failed: the mail server responded: 550/)
})

test('invites create without a mail server names the command of the operator', async (t) => {
  const data = { BERTH_DATA_DIR: temporaryDirectory(t) }
  const { url } = await serveBerth(t, data)
  const boot = await runBerth(t, ['admin', 'bootstrap', '--name', 'acme', '--json'], data)
  const { token } = JSON.parse(boot.stdout) as { token: string }
  const env = { BERTH_API: url, BERTH_TOKEN: token, BERTH_CONFIG: join(temporaryDirectory(t), 'config.yaml') }
  const { stderr } = await runBerth(
    t,
    ['iam', 'invites', 'create', 'acme', '--role', 'viewer', '--email', 'ada@example.com'],
    env,
  )
  assert.match(stderr, /berth admin accounts create ada@example\.com/)
})
