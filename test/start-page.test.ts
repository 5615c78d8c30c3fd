import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import { managedRoleByName } from '@berth/server/iam/managed-roles.ts'
import { apiOf, newName } from './support/api/api-fixture.ts'
import { createSignedInBrowser, type WebPage, webBrowser } from './support/browser/web-browser.ts'
import { commandLine } from './support/cli/command-line.ts'
import { databases } from './support/database/databases.ts'
import { cleanups } from './support/server/process.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'
import { createPerson } from './support/signin/accounts.ts'
import { newLocalAccount, setupPath } from './support/signin/local-accounts.ts'
import { codeFlow, withQuery } from './support/signin/oauth.ts'

/** The start page, and what browsers and clients get for errors. */

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

for (const database of databases)
  describe(`the start page on ${database.name}`, () => {
    const cleanup = cleanups()
    let berth: TestBerth
    before(async () => {
      berth = await startTestBerth(database)
    })
    after(async () => {
      await cleanup.run()
      await berth.stop()
    })
    const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
      fetch(berth.url + path, { method, headers, redirect: 'manual' })
    const host = () => new URL(berth.url).host
    /** A user with this role in a group, and the start page in their browser. */
    const startPageOf = async (role: string, group = berth.organization) => {
      const identity = await createPerson(berth, { email: `${newName('user')}@example.com` })
      const roleUid = managedRoleByName.get(role)?.uid
      await apiOf(berth, berth.token).create(`iam/roleBindings/${group}`, { identityUid: identity, roleUid })
      return (await createSignedInBrowser(berth, identity)).open('/start')
    }

    test('without an account, describes how to get the link; with one, leads to the sign-in', async () => {
      const page = await webBrowser(berth.url).open('/')
      assert.deepEqual([page.status, page.path], [200, '/setup'])
      assert.match(page.text, /berth admin setup-link/)
      await setupPath(berth)
      await newLocalAccount(berth, 'first@example.com')
      assert.equal((await webBrowser(berth.url).open('/')).path, '/sign-in')
      assert.equal((await webBrowser(berth.url).open('/setup')).status, 404)
    })

    test('shows an owner commands with the address and the organization, which work', async () => {
      const page = await (await createSignedInBrowser(berth, berth.owner)).open('/start')
      const commands = commandsOf(page)
      for (const command of [
        `berth config set api ${berth.url}`,
        'berth auth login',
        `docker push ${host()}/default/hello:1.0`,
        `  docker login ${host()} --username _token --password-stdin`,
      ])
        assert.ok(commands.includes(command), `${command} is not in ${commands.join('\n')}`)
      const cli = commandLine(cleanup, berth.url, { BERTH_TOKEN: berth.token })
      const run = commands.join('\n').replaceAll('\\\n', '').replace('OWNER/REPO', 'acme/app').split('\n')
      const iam = run.filter((command) => command.startsWith('berth iam '))
      assert.equal(iam.length, 3)
      for (const command of iam) await cli.ok(command.split(/ +/).slice(1))
      const { body } = await apiOf(berth, berth.token).get('iam/groups', { name: 'team' })
      assert.equal((body.groups as object[]).length, 1)
    })

    test('shows members only what their role allows, with the path of their folder', async () => {
      const api = apiOf(berth, berth.token)
      const folder = await api.create(`iam/groups/${berth.organization}`, { name: 'tools' })
      const pusher = await startPageOf('registry.push', folder['uid'] as string)
      assert.match(pusher.text, new RegExp(`docker push ${host()}/default/tools/hello:1.0`))
      assert.doesNotMatch(pusher.text, /Invite a colleague|Connect CI/)
      const viewer = await startPageOf('viewer')
      assert.match(viewer.text, new RegExp(`docker pull ${host()}/default/NAME:TAG`))
      assert.doesNotMatch(viewer.text, /docker push|Create a folder|Invite a colleague|Connect CI/)
      const stranger = await createPerson(berth)
      const page = await (await createSignedInBrowser(berth, stranger)).open('/start')
      assert.match(page.text, /You have no role in an organization yet/)
      assert.doesNotMatch(page.text, /default/)
    })

    test('names images by the uid of an organization whose name cannot be part of them', async () => {
      const { uid } = await apiOf(berth, berth.token).create('iam/groups', { name: 'two words' })
      const page = await startPageOf('owner', uid as string)
      assert.match(page.text, new RegExp(`docker push ${host()}/${uid}/hello:1.0`))
      assert.ok(commandsOf(page).includes('berth iam folders create team --parent "two words"'))
    })

    test('offers userGroupsMax groups to the API reference, those of the signed-in user', async () => {
      const api = apiOf(berth, berth.token)
      const identity = await createPerson(berth)
      const roleUid = managedRoleByName.get('viewer')?.uid
      for (let at = 0; at <= limits.userGroupsMax; at++) {
        const { uid } = await api.create(`iam/groups/${berth.organization}`, { name: `group-${at}` })
        await api.create(`iam/roleBindings/${uid}`, { identityUid: identity, roleUid })
      }
      const browser = await createSignedInBrowser(berth, identity)
      const { groups } = JSON.parse((await browser.open('/account/groups')).html)
      assert.equal(groups.length, limits.userGroupsMax)
      assert.match(groups[0].path, /^default\/group-\d+$/)
      assert.deepEqual(JSON.parse((await webBrowser(berth.url).open('/account/groups')).html), { groups: [] })
    })

    test('errors are pages for browsers, with their status and headers, and JSON for clients', async () => {
      const cases: readonly [path: string, status: number][] = [
        ['/nowhere', 404],
        ['/docs/nowhere', 404],
        ['/iam/v2beta1/groups', 401],
        ['/advisories/published/none', 404],
      ]
      for (const [path, status] of cases) {
        const client = await get(path)
        assert.equal(client.status, status, path)
        assert.match(client.headers.get('content-type') ?? '', /^application\/json/, path)
        JSON.parse(await client.text())
        const page = await get(path, { accept: BROWSER })
        assert.equal(page.status, status, path)
        assert.equal(page.headers.get('content-type'), 'text/html; charset=UTF-8', path)
        for (const name of ['allow', 'www-authenticate'])
          assert.equal(page.headers.get(name), client.headers.get(name), `${path}: ${name}`)
        assert.match(page.headers.get('vary') ?? '', /accept/)
        assert.match(page.headers.get('content-security-policy') ?? '', /^default-src 'none'/)
        assert.match(await page.text(), /<h1>.*<a href="\/">Go to the start page<\/a>/s, path)
      }
    })

    test('clients whose library accepts HTML by default get JSON from OAuth, the token service and the registry', async () => {
      const java = { accept: 'text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2' }
      for (const [method, path] of [
        ['POST', '/oauth/token'],
        ['POST', '/oauth/revoke'],
        ['POST', '/oauth/device_authorization'],
        ['POST', '/sts/exchange'],
        ['GET', '/sts/exchange'],
        ['GET', '/token?scope=x'],
        ['GET', '/v2/'],
        ['GET', '/v2/acme/app/manifests/latest'],
        ['POST', '/iam/v2beta1/groups'],
        ['PUT', '/iam/v2beta1/groups'],
        ['POST', '/healthz'],
      ] as const) {
        const [reply, plain] = [await get(path, java, method), await get(path, {}, method)]
        assert.equal(reply.headers.get('content-type'), plain.headers.get('content-type'), path)
        assert.doesNotMatch(reply.headers.get('content-type') ?? '', /html/, path)
        assert.equal(reply.status, plain.status, path)
      }
      const script = { accept: BROWSER, 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' }
      assert.match((await get('/iam/v2beta1/groups', script)).headers.get('content-type') ?? '', /json/)
    })

    test('every address without a page has the same heading', async () => {
      for (const path of [
        '/nowhere',
        '/sign-in/nowhere',
        '/oauth/nowhere',
        '/account/nowhere',
        '/docs/nowhere',
      ]) {
        const page = await get(path, { accept: BROWSER })
        assert.equal(page.status, 404, path)
        assert.match(await page.text(), /<h1>Page not found<\/h1>/, path)
      }
    })

    test('clients get unchanged responses: JSON for /, and JSON with a token whatever they accept', async () => {
      for (const accept of ['*/*', 'application/json']) {
        const reply = await get('/', { accept })
        assert.equal(reply.status, 404)
        assert.equal(((await reply.json()) as { code: number }).code, 5)
      }
      const reply = await get('/nowhere', { accept: BROWSER, authorization: `Bearer ${berth.token}` })
      assert.equal(reply.headers.get('content-type'), 'application/json')
      assert.equal(await (await get('/nowhere', { accept: BROWSER }, 'HEAD')).text(), '')
    })

    test('an error page escapes what the request contains', async () => {
      const page = await get('/iam/v2beta1/groups/%3Cimg%20src=x%3E', { accept: BROWSER })
      assert.doesNotMatch(await page.text(), /<img src=x>/)
    })

    test('calls users by the name of their account: on pages, in lists and for clients', async () => {
      const { identity_uid } = await newLocalAccount(berth, `${newName('ada')}@example.com`)
      const browser = await createSignedInBrowser(berth, identity_uid)
      const nameOf = async () =>
        (await apiOf(berth, berth.token).get(`iam/identities/${identity_uid}`)).body['name']
      assert.equal(await nameOf(), 'ada lovelace')
      const account = await browser.open('/account')
      const which = account.forms.findIndex(({ action }) => action === '/account/name')
      await browser.submit(account, { name: "Ada O'Brien" }, which)
      assert.equal(await nameOf(), 'ada obrien')
      await browser.submit(account, { name: '李明' }, which)
      assert.match(String(await nameOf()), /^ada-/, 'a name in another script')
      for (const path of ['/start', '/account', withQuery('/oauth/authorize', codeFlow().parameters)])
        assert.match((await browser.open(path)).text, /李明/, path)
    })
  })

/** The lines of the commands of a page. */
function commandsOf({ html }: WebPage): string[] {
  return [...html.matchAll(/<pre><code>(.*?)<\/code><\/pre>/gs)].flatMap(([, text = '']) =>
    text.replaceAll('&quot;', '"').split('\n'),
  )
}
