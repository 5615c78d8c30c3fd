import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { call } from './support/api/rest.ts'
import { runBerth, serveBerth, temporaryDirectory } from './support/server/process.ts'
import { isSignedIn, PASSWORD, setPassword } from './support/signin/local-accounts.ts'
import { webBrowser } from './support/signin/web-browser.ts'

/** A server that runs, and the operator's commands beside it. */
async function running(t: TestContext) {
  const env = { BERTH_DATA_DIR: temporaryDirectory(t) }
  const server = await serveBerth(t, env)
  const admin = (...args: string[]) => runBerth(t, ['admin', ...args], env)
  const json = async (...args: string[]) => {
    const { code, stdout, stderr } = await admin(...args, '--json')
    assert.equal(code, 0, stderr)
    return JSON.parse(stdout)
  }
  const choose = async (link: string, password = PASSWORD) => {
    const browser = webBrowser(server.url)
    const page = await browser.submit(await browser.open(link), { password })
    assert.match(page.path, /^\/account/, page.text)
    return browser
  }
  return { env, server, admin, json, choose }
}

test('R41: each start prints a link while there is no account, as setup-link does, and only the newest is good', async (t) => {
  const { env, server, admin, json } = await running(t)
  const codeIn = (text: string) => /http:\/\/\S+\/setup(\?code=\S+)/.exec(text)?.[1] ?? ''
  const codes = [codeIn(server.output().stdout)]
  let last = server
  const restart = async () => {
    last.child.kill('SIGKILL')
    await last.finished
    last = await serveBerth(t, env)
    return codeIn(last.output().stdout)
  }
  codes.push(await restart(), await restart())
  const { link } = await json('setup-link')
  assert.ok(link.startsWith(`${last.url}/setup?code=`))
  codes.push(new URL(link).search, await restart())
  assert.equal(new Set(codes).size, 5)
  const newest = codes.pop()
  const browser = webBrowser(last.url)
  for (const code of codes) assert.equal((await browser.open(`/setup${code}`)).status, 404, code)
  const page = await browser.open(`/setup${newest}`)
  const made = await browser.submit(page, { name: 'Ada', email: 'ada@example.com', password: PASSWORD })
  assert.equal(made.path, '/?done=setup')
  assert.equal((await browser.open(`/setup${newest}`)).status, 404)
  assert.equal(await restart(), '', 'there is an account')
  const refused = await admin('setup-link')
  assert.deepEqual([refused.code, refused.stdout], [1, ''])
  assert.match(refused.stderr, /^berth: an account exists already/)
})

test('accounts are made, listed, closed, opened, reset and deleted while the server runs', async (t) => {
  const { server, admin, json, choose } = await running(t)
  const email = 'ada@example.com'
  const created = await json('accounts', 'create', 'Ada@example.com', '--name', 'Ada Lovelace')
  assert.deepEqual([created.email, created.name, created.state], [email, 'Ada Lovelace', 'without password'])
  const again = await admin('accounts', 'create', email)
  assert.deepEqual([again.code, again.stdout], [1, ''])
  assert.match(again.stderr, /already has an account/)

  const browser = await choose(created.link)
  assert.ok(await isSignedIn(browser))
  const { accounts } = await json('accounts', 'list')
  assert.equal(accounts.length, 1)
  assert.equal(accounts[0].state, 'enabled')
  assert.match(
    (await admin('accounts', 'list')).stdout,
    /^EMAIL +STATE +IDENTITY +NAME\nada@example\.com {2}enabled {2}[0-9a-f]{40} {2}Ada Lovelace\n$/,
  )

  assert.equal((await admin('accounts', 'disable', email)).stdout, `disabled ${email}\n`)
  assert.equal(await isSignedIn(browser), false)
  assert.equal((await setPassword(browser, email)).status, 403)
  assert.equal((await json('accounts', 'enable', email)).state, 'enabled')
  assert.equal((await setPassword(browser, email)).path, '/')

  const reset = await admin('accounts', 'reset-password', email)
  assert.equal(await isSignedIn(browser), false)
  assert.equal((await setPassword(browser, email)).status, 401)
  const link = /http:\S+/.exec(reset.stdout)?.[0] ?? ''
  const owner = await choose(link, 'another purple wagon')
  assert.ok(await isSignedIn(owner))

  assert.equal((await admin('accounts', 'delete', email)).stdout, `deleted ${email}\n`)
  assert.equal(await isSignedIn(owner), false)
  const token = (await admin('token')).stdout
  const identity = await call('GET', `${server.url}/iam/v2beta1/identities/${created.identity}`, { token })
  assert.equal(identity.status, 404)
})

test('an account can be made for an identity that is there', async (t) => {
  const { admin, json, choose } = await running(t)
  const { identity } = await json('bootstrap')
  const { link, identity: adopted } = await json(
    'accounts',
    'create',
    'owner@example.com',
    '--identity',
    identity.uid,
  )
  assert.equal(adopted, identity.uid)
  const page = await (await choose(link)).open('/account')
  assert.ok(page.text.includes(identity.uid))
  const taken = await admin('accounts', 'create', 'other@example.com', '--identity', identity.uid)
  assert.equal(taken.code, 1)
  assert.equal((await admin('accounts', 'delete', 'owner@example.com')).code, 0)
  assert.equal((await admin('token')).code, 0, 'the first owner stays')
})

test('invalid arguments are rejected in one line', async (t) => {
  const { admin } = await running(t)
  const wrong: readonly (readonly [expected: number, ...args: string[]])[] = [
    [2, 'accounts', 'create', 'ada'],
    [2, 'accounts', 'create', 'ada@example.com', '--name', ''],
    [2, 'accounts', 'create', 'ada@example.com', '--identity', 'x'],
    [1, 'accounts', 'create', 'ada@example.com', '--identity', '0'.repeat(40)],
    [1, 'accounts', 'disable', 'nobody@example.com'],
    [1, 'accounts', 'reset-password', 'nobody@example.com'],
    [1, 'accounts', 'delete', 'nobody@example.com'],
  ]
  for (const [expected, ...args] of wrong) {
    const { code, stdout, stderr } = await admin(...args)
    assert.deepEqual([code, stdout], [expected, ''], args.join(' '))
    assert.match(stderr, /^berth: .+\n$/)
  }
})
