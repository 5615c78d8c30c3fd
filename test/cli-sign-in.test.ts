import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { decodeJwt } from 'jose'
import { signedInPage, startBrowser, withoutBrowser } from './support/browser/chromium.ts'
import { createSignedInBrowser, type WebBrowser } from './support/browser/web-browser.ts'
import { type CommandLine, commandLine, signIn, waitForOutput } from './support/cli/command-line.ts'
import { anyDatabase } from './support/database/databases.ts'
import { cleanups } from './support/server/process.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'
import { createPerson } from './support/signin/accounts.ts'
import { assertAccessible } from './support/signin/axe.ts'
import { submitConsent } from './support/signin/oauth.ts'

/** People sign in from a terminal, and what stays on their disk. */

const cacheOf = ({ home }: CommandLine) => join(home, '.cache', 'berth')
const nameOf = (audience: string) => audience.replaceAll('/', '-')

/** Every file of the cache with its mode, as `mode path`. */
function layout(cli: CommandLine): string[] {
  const base = cacheOf(cli)
  const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8)
  return readdirSync(base, { recursive: true, encoding: 'utf8' })
    .map((name) => `${modeOf(join(base, name))} ${name}`)
    .sort()
}

for (const database of anyDatabase)
  describe(`signing in from a terminal on ${database.name}`, () => {
    const cleanup = cleanups()
    let berth: TestBerth
    let browser: WebBrowser
    before(async () => {
      berth = await startTestBerth(database)
      browser = await createSignedInBrowser(berth, berth.owner)
    })
    after(async () => {
      await cleanup.run()
      await berth.stop()
    })
    const newcomer = () => commandLine(cleanup, berth.url)
    const registry = () => new URL(berth.url).host

    test('R37: a browser brings a code and no token; tokens are kept for their owner alone, in the shared layout', async () => {
      const cli = newcomer()
      const { stdout, stderr } = await signIn(cli, browser)
      assert.equal(stdout, '')
      assert.match(stderr, /Signed in as owner\.\n$/)
      assert.doesNotMatch(stderr, /eyJ/)
      const directory = nameOf(berth.url)
      assert.deepEqual(layout(cli), [
        `600 ${directory}/oidc-token`,
        `600 ${directory}/refresh-token`,
        `700 ${directory}`,
      ])
      assert.equal(statSync(cacheOf(cli)).mode & 0o777, 0o700)
      const token = await cli.ok(['auth', 'token'])
      assert.equal(token, readFileSync(join(cacheOf(cli), directory, 'oidc-token'), 'utf8'))
      assert.doesNotMatch(token, /\s/, 'no line end, which would end up in a header')
      assert.equal(decodeJwt(token).sub, berth.owner)
      const groups = await fetch(`${berth.url}/iam/v2beta1/groups`, {
        headers: { authorization: `Bearer ${token}` },
      })
      assert.equal(groups.status, 200)
    })

    test('one sign-in gives tokens for the registry too', async () => {
      const cli = newcomer()
      await signIn(cli, browser)
      const token = await cli.ok(['auth', 'token', '--audience', registry()])
      assert.deepEqual([decodeJwt(token).aud].flat(), [registry()])
      assert.deepEqual([decodeJwt(await cli.ok(['auth', 'token'])).aud].flat(), [berth.url])
    })

    test('an organization that no one can sign in with is an error before a browser opens, with and without one here', async () => {
      for (const args of [
        ['--org-name', 'no-such-organization'],
        ['--org-name', 'no-such-organization', '--headless'],
        ['--identity-provider', `${berth.organization}/0123456789abcdef`],
      ]) {
        const { code, stdout, stderr } = await newcomer().run(['auth', 'login', ...args])
        assert.deepEqual([code, stdout], [1, ''], stderr)
        assert.match(stderr, /^berth: there is no identity provider for "[^"]+": .*berth auth login\n$/)
      }
    })

    test('a server that does not answer is an error before a URL is printed', async () => {
      const { code, stdout, stderr } = await newcomer().run(['auth', 'login'], {
        env: { BERTH_ISSUER: 'http://127.0.0.1:9' },
      })
      assert.deepEqual([code, stdout], [3, ''], stderr)
      assert.match(stderr, /^berth: http:\/\/127\.0\.0\.1:9 cannot be reached \(/)
      assert.doesNotMatch(stderr, /oauth\/authorize/)
    })

    test('a registry that the server does not know does not stand in the way', async () => {
      const cli = commandLine(cleanup, berth.url, { BERTH_REGISTRY: 'registry.example.com' })
      await signIn(cli, browser)
      assert.equal(decodeJwt(await cli.ok(['auth', 'token'])).sub, berth.owner)
      const other = await cli.run(['auth', 'token', '--audience', 'registry.example.com'])
      assert.equal(other.code, 4, other.stderr)
      assert.match(
        other.stderr,
        /^berth: no token for registry\.example\.com can be obtained: aud: must be among .*; run berth auth login\n$/,
      )
    })

    test('several audiences get a token each', async () => {
      const cli = newcomer()
      await signIn(cli, browser, ['--audience', berth.url, '--audience', registry()])
      assert.deepEqual(
        layout(cli).filter((line) => line.endsWith('oidc-token')),
        [`600 ${registry()}/oidc-token`, `600 ${nameOf(berth.url)}/oidc-token`],
      )
    })

    test('the next user to sign in gets nothing of the previous one', async () => {
      const cli = newcomer()
      await signIn(cli, browser)
      await cli.ok(['auth', 'token', '--audience', registry()])
      const other = await createPerson(berth)
      await signIn(cli, await createSignedInBrowser(berth, other))
      for (const args of [[], ['--audience', registry()]])
        assert.equal(decodeJwt(await cli.ok(['auth', 'token', ...args])).sub, other)
    })

    test('status shows the user and their roles; --quick does so without a request', async () => {
      const cli = newcomer()
      const signedOut = await cli.run(['auth', 'status'])
      assert.deepEqual(
        [signedOut.code, signedOut.stderr],
        [4, `berth: you are not signed in to ${berth.url}: run berth auth login\n`],
      )
      await signIn(cli, browser)
      const status = JSON.parse(await cli.ok(['auth', 'status', '-o', 'json']))
      assert.equal(status.valid, true)
      assert.equal(status.identity, berth.owner)
      assert.equal(status.audience, berth.url)
      assert.ok(
        status.capabilities.some(({ role }: { role: string }) => role === 'owner'),
        JSON.stringify(status),
      )
      // Nothing listens at this address, and nothing has to.
      const quick = await cli.ok(['auth', 'status', '--quick', '-o', 'id'], {
        env: { BERTH_ISSUER: 'http://127.0.0.1:9' },
      })
      assert.equal(quick, `${berth.owner}\n`)
    })

    test('a token is renewed silently, and by --refresh whenever that is wanted', async () => {
      const cli = newcomer()
      await signIn(cli, browser)
      const file = (kind: string) => join(cacheOf(cli), nameOf(berth.url), kind)
      const read = (kind: string) => readFileSync(file(kind), 'utf8')
      const [access, refresh] = [read('oidc-token'), read('refresh-token')]
      await cli.ok(['auth', 'login', '--refresh-only'])
      assert.notEqual(read('refresh-token'), refresh)
      assert.notEqual(read('oidc-token'), access)
      assert.equal(await cli.ok(['auth', 'token']), read('oidc-token'))
      await cli.ok(['auth', 'login', '--refresh'])
      const signedOut = await newcomer().run(['auth', 'login', '--refresh-only'])
      assert.deepEqual(
        [signedOut.code, signedOut.stderr],
        [1, 'berth: the refresh token is missing or expired: run berth auth login\n'],
      )
    })

    test('logout ends the session there, forgets it here, and can be repeated', async () => {
      const cli = newcomer()
      await signIn(cli, browser)
      const token = await cli.ok(['auth', 'token'])
      const logout = await cli.run(['auth', 'logout'])
      assert.deepEqual([logout.code, logout.stderr], [0, 'signed out\n'])
      assert.ok(!existsSync(join(cacheOf(cli), nameOf(berth.url))))
      const groups = await fetch(`${berth.url}/iam/v2beta1/groups`, {
        headers: { authorization: `Bearer ${token}` },
      })
      assert.equal(groups.status, 401)
      assert.equal((await cli.run(['auth', 'logout'])).stderr, 'you were not signed in\n')
      assert.equal((await cli.run(['iam', 'roles', 'list'])).code, 4)
    })

    test('logout for an audience forgets that token alone', async () => {
      const cli = newcomer()
      await signIn(cli, browser, ['--audience', berth.url, '--audience', registry()])
      const forget = async () => (await cli.run(['auth', 'logout', '--audience', registry()])).stderr
      assert.equal(await forget(), `deleted the token for ${registry()}\n`)
      assert.ok(!existsSync(join(cacheOf(cli), registry())))
      assert.equal(await forget(), `no token for ${registry()}\n`)
      assert.equal(decodeJwt(await cli.ok(['auth', 'token'])).sub, berth.owner)
    })

    test('narrowed tokens are for the groups and capabilities that were named', async () => {
      const cli = newcomer()
      await signIn(cli, browser)
      const args = ['auth', 'token', '--scope', berth.organization, '--capabilities', 'groups.list']
      const narrowed = await cli.ok(args)
      const list = (path: string) =>
        fetch(`${berth.url}/iam/v2beta1/${path}`, { headers: { authorization: `Bearer ${narrowed}` } })
      assert.equal((await list('groups')).status, 200)
      const byName = decodeJwt(await cli.ok(['auth', 'token', '--scope', 'default']))
      assert.equal(JSON.stringify(byName).includes(berth.organization), true)
      const refused = await cli.run(['iam', 'identities', 'create', 'ci', '--parent', berth.organization], {
        env: { BERTH_TOKEN: narrowed },
      })
      assert.notEqual(refused.code, 0)
      assert.notEqual(narrowed, await cli.ok(['auth', 'token']), 'the one that is kept is as it was')
      assert.match(await cli.ok(['auth', 'token', 'capabilities', '-o', 'id']), /^groups\.list$/m)
      const unknown = await cli.run(['auth', 'token', '--capabilities', 'groups.fly'])
      assert.equal(unknown.code, 1)
      assert.match(unknown.stderr, /groups\.fly/)
    })

    test('the command ends with the reason when the person says no', async () => {
      const cli = newcomer()
      const running = cli.start(['auth', 'login'])
      const page = await browser.open(await waitForOutput(running, /http\S+\/oauth\/authorize\?\S+/))
      const { redirectedTo: left } = await submitConsent(browser, page, 'deny')
      assert.ok(left)
      // A foreign page sends the browser here too: that does not affect this sign-in.
      const foreign = new URL(left)
      foreign.searchParams.set('state', 'x')
      foreign.searchParams.set('code', 'stolen')
      assert.equal((await fetch(foreign)).status, 404)
      const answer = await fetch(left)
      assert.equal(answer.status, 400)
      const { code, stderr } = await running.finished
      assert.equal(code, 1, stderr)
      assert.match(stderr, /\nberth: the sign-in failed: /)
      assert.ok(!existsSync(cacheOf(cli)))
    })

    test('an answer that names another issuer is rejected', async () => {
      const cli = newcomer()
      const running = cli.start(['auth', 'login'])
      const { redirectedTo: left } = await submitConsent(
        browser,
        await browser.open(await waitForOutput(running, /http\S+\/oauth\/authorize\?\S+/)),
      )
      assert.equal(left?.searchParams.get('iss'), berth.url)
      left.searchParams.set('iss', 'https://evil.example')
      assert.equal((await fetch(left)).status, 400)
      const { code, stderr } = await running.finished
      assert.deepEqual([code, /the response is from https:\/\/evil\.example/.test(stderr)], [1, true], stderr)
    })

    test('without a browser here, a code is confirmed on another device, or rejected there', async () => {
      const begin = async (cli: CommandLine, decision: string) => {
        const running = cli.start(['auth', 'login', '--headless'])
        const code = await waitForOutput(running, /\b[B-Z]{4}-[B-Z]{4}\b/)
        const page = await browser.submit(await browser.open('/device'), { user_code: code }, -1)
        await submitConsent(browser, page, decision)
        return running
      }
      const cli = newcomer()
      const other = commandLine(cleanup, berth.url, { BERTH_REGISTRY: 'unknown.example.com' })
      const allowed = await begin(cli, 'allow')
      const refused = await (await begin(other, 'deny')).finished
      assert.equal(refused.code, 1, refused.stderr)
      assert.match(refused.stderr, /berth: the sign-in failed: /)
      const { code, stderr } = await allowed.finished
      assert.equal(code, 0, stderr)
      assert.equal(decodeJwt(await cli.ok(['auth', 'token'])).sub, berth.owner)
      const forRegistry = await cli.ok(['auth', 'token', '--audience', registry()])
      assert.deepEqual([decodeJwt(forRegistry).aud].flat(), [registry()])
    })

    test('R36: the platform’s own headless way is configured; its answer is for the key that began', async () => {
      const cli = commandLine(cleanup, berth.url, {
        BERTH_AUTH_DEVICE_FLOW: 'platform',
        BERTH_AUTH_MODE: 'headless',
      })
      const running = cli.start(['auth', 'login', '--audience', berth.url, '--audience', registry()])
      const address = await waitForOutput(running, /http\S+\/oauth\?headless_code=\S+/)
      const shown = /shows the code (\S{8})\./.exec(
        (await waitForOutput(running, /shows the code .*/)) ?? '',
      )?.[1]
      const consent = await browser.open(address)
      assert.ok(shown && consent.text.includes(shown), consent.text)
      await submitConsent(browser, consent)
      const { code, stderr } = await running.finished
      assert.equal(code, 0, stderr)
      assert.equal(decodeJwt(await cli.ok(['auth', 'token'])).sub, berth.owner)
      assert.equal(decodeJwt(await cli.ok(['auth', 'token', '--audience', registry()])).sub, berth.owner)
    })

    test('an account is deleted by its owner alone, who is asked first', async () => {
      const cli = newcomer()
      const person = await createPerson(berth)
      await signIn(cli, await createSignedInBrowser(berth, person))
      const elsewhere = join(cacheOf(cli), 'elsewhere', 'refresh-token')
      mkdirSync(join(elsewhere, '..'))
      writeFileSync(elsewhere, 'of another server')
      const asked = await cli.run(['auth', 'delete-account'])
      assert.equal(asked.code, 2)
      assert.match(asked.stderr, /Confirm with --yes/)
      const done = await cli.run(['auth', 'delete-account', '--yes'])
      assert.deepEqual([done.code, done.stderr], [0, `deleted ${person}\n`])
      assert.ok(existsSync(elsewhere))
      assert.equal((await cli.run(['auth', 'status'])).code, 4)
    })

    test('a session that was ended elsewhere is reported once, and then counts as signed out', async () => {
      const cli = newcomer()
      const person = await createPerson(berth)
      await signIn(cli, await createSignedInBrowser(berth, person))
      await berth.berth.installation.store.db.kysely
        .deleteFrom('sessions')
        .where('identity_uid', '=', person)
        .execute()
      const { code, stderr } = await cli.run(['auth', 'status'])
      assert.equal(code, 4)
      assert.match(stderr, /session .* has ended[\s\S]*sign in again: berth auth login/)
    })

    test('in Chromium the last page says that the window can be closed', {
      skip: withoutBrowser,
    }, async () => {
      const chromium = await startBrowser()
      try {
        const { page, problems } = await signedInPage(chromium, berth, {
          viewport: { width: 375, height: 740 },
        })
        const cli = commandLine(cleanup, berth.url, { BERTH_REGISTRY: 'unknown.example.com' })
        const running = cli.start(['auth', 'login'])
        await page.goto(await waitForOutput(running, /http\S+\/oauth\/authorize\?\S+/))
        await page.getByRole('button', { name: 'Allow' }).click()
        await page.getByRole('heading', { name: 'You are signed in' }).waitFor()
        assert.match(page.url(), /^http:\/\/127\.0\.0\.1:\d+\/callback\?/)
        assert.doesNotMatch(page.url(), /eyJ/, 'no token in an address')
        assert.equal((await running.finished).code, 0)
        await assertAccessible(page, 'signed in from a terminal')
        const refused = cli.start(['auth', 'login'])
        const asked = new URL(await waitForOutput(refused, /http\S+\/oauth\/authorize\?\S+/)).searchParams
        const answer = new URL(asked.get('redirect_uri') ?? '')
        const other = await page.context().newPage()
        await other.goto(new URL('/elsewhere', answer).href)
        await assertAccessible(other, 'not found in a terminal')
        answer.search = String(
          new URLSearchParams({ state: asked.get('state') ?? '', error: 'access_denied' }),
        )
        await other.goto(answer.href)
        assert.equal((await refused.finished).code, 1)
        await assertAccessible(other, 'failed in a terminal')
        assert.deepEqual(
          problems.filter((text) => !text.includes('favicon')),
          [],
        )
      } finally {
        await chromium.close()
      }
    })
  })
