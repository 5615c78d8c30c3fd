import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page, Request } from 'playwright-core'
import { managedRole, newName } from '../support/api/api-fixture.ts'
import { fileOf, wolfiDocument } from '../support/console/advisory-files.ts'
import { chooseInCombobox } from '../support/console/combobox.ts'
import { DRAWN_MS, openConsole } from '../support/console/console-page.ts'
import { consoleSuite } from '../support/console/console-suite.ts'
import { hold } from '../support/console/held-requests.ts'
import { bearerOf, ociClient, pushImage, testImage } from '../support/registry/registry.ts'
import { createPerson } from '../support/signin/accounts.ts'

/** Answers that arrive after the user has asked for something else are not shown, and until one arrives, nothing is stated in its place. */

const SEARCH = /\/resources:search/

/** The requests of a page to an address, as they are sent. */
function sentTo(page: Page, address: RegExp): readonly Request[] {
  const sent: Request[] = []
  page.on('request', (request) => {
    if (request.method() === 'POST' && address.test(request.url())) sent.push(request)
  })
  return sent
}

const IDENTITIES = /\/iam\/v2beta1\/identities\//
const BINDINGS = /\/iam\/v2beta1\/roleBindings\//

/** Lets the server handle a request to an address and keeps its response from the page. Returns a promise for the response. */
async function loseAnswer(page: Page, address: RegExp): Promise<{ readonly lost: Promise<void> }> {
  const { promise, resolve } = Promise.withResolvers<void>()
  await page.route(address, async (route) => {
    if (route.request().method() !== 'POST') return route.continue()
    await route.fetch()
    resolve()
  })
  return { lost: promise }
}

/** Drops a folder whose files are read with `readEntries`, the text of a function. */
const dropFolder = (page: Page, readEntries: string) =>
  page.evaluate(`{
    const data = new DataTransfer()
    data.items.add(new File([], 'folder'))
    const folder = { isFile: false, isDirectory: true, name: 'folder', createReader: () => ({ readEntries: ${readEntries} }) }
    DataTransferItem.prototype.webkitGetAsEntry = () => folder
    const zone = document.querySelector('.drop-zone')
    const { x, y } = zone.getBoundingClientRect()
    for (const type of ['dragenter', 'dragover', 'drop'])
      zone.dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true, clientX: x + 9, clientY: y + 9 }))
  }`)

const late = `(resolve) => {
  if (globalThis.finish !== undefined) return resolve([])
  globalThis.finish = () => resolve([{ isFile: true, file: (found) => found(new File(['{}'], 'late.json')) }])
}`

const unreadable = `(_, reject) => reject(new Error('It was deleted.'))`

consoleSuite('answers that are late', (cast) => {
  test('search: Enter opens the first result of what was typed, and nothing once more is typed', async () => {
    const organization = await cast().organization()
    const mark = newName('m').replace('-', '')
    for (const name of [mark, `${mark}hook`])
      await cast().admin.create(`iam/groups/${organization.uid}`, { name })
    const { page, problems, open } = await cast().signIn('owner', organization.uid)
    await open('', 'Home')
    await page.keyboard.press('Control+k')
    const field = page.getByRole('dialog').getByRole('searchbox')
    await field.waitFor()
    await page.keyboard.type(mark)
    await page.getByText('2 found').waitFor()

    const more = await hold(page, SEARCH, { isFirstOnly: true })
    await field.fill(`${mark}hook`)
    await page.keyboard.press('Enter')
    await more.asked
    await page.keyboard.type('s')
    more.release()
    await page.getByText('Nothing found that you can see.').waitFor()
    await page.unrouteAll({ behavior: 'wait' })

    await field.fill(mark)
    await page.getByText('2 found').waitFor()
    const next = await hold(page, SEARCH, { isFirstOnly: true })
    await field.fill(`${mark}ho`)
    await page.keyboard.press('Enter')
    await next.asked
    assert.equal(await field.inputValue(), `${mark}ho`)
    next.release()
    await page.getByRole('heading', { level: 1, name: `${mark}hook` }).waitFor()
    assert.deepEqual(problems, [])
  })

  test('audit: nothing is exported while the resource is looked up, and a failure is no unknown resource', async () => {
    const organization = await cast().organization()
    await cast().admin.create(`iam/groups/${organization.uid}`, { name: 'team' })
    const { page, problems, open } = await cast().signIn('owner', organization.uid)
    const path = `${organization.name}/team`
    const answer = Promise.withResolvers<void>()
    let isOffline = true
    await page.route(SEARCH, async (route) => {
      await answer.promise
      return isOffline ? route.abort() : route.continue()
    })
    const exporting = page.getByRole('button', { name: 'Export' })
    const command = page.getByText(/^berth audit list/)
    await open(`/audit?resource=${encodeURIComponent(path)}`, 'Audit log')
    await page.getByText('Loading the resource…').waitFor()
    assert.equal(await exporting.isDisabled(), true)
    assert.equal(await command.count(), 0)
    answer.resolve()
    await page.getByText(/The server does not respond/).waitFor()
    assert.equal(await page.getByText('No resource that you can see').count(), 0)
    assert.equal(await exporting.isDisabled(), true)
    isOffline = false
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('grid', { name: 'Events' }).getByText('created the folder').waitFor()
    assert.equal(await exporting.isDisabled(), false)
    assert.match(await command.innerText(), /--parent/)
    await open('/audit?resource=x', 'Audit log')
    await page.getByText('No resource that you can see').waitFor()
    assert.equal(await exporting.isDisabled(), true)
    assert.deepEqual(problems, [])
  })

  test('what was created after its dialog is closed is shown, and is not opened over the next dialog', async () => {
    const { uid, name } = await cast().organization()
    const { page, problems, open } = await cast().signIn('owner', uid)
    await open(`/folders/${uid}`, name)
    const dialog = page.getByRole('dialog')
    const field = dialog.getByRole('textbox', { name: 'Name' })
    for (const [tab, kind] of [
      ['Folders', 'folder'],
      ['Repositories', 'repository'],
    ] as const) {
      await page.getByRole('tab', { name: tab }).click()
      const openDialog = () =>
        page
          .getByRole('button', { name: `Create a ${kind}` })
          .first()
          .click()
      await openDialog()
      await field.fill('late')
      const creation = await hold(page, /\/(iam\/v2beta1\/groups|registry\/v2beta1\/repos)\//, {
        isFirstOnly: true,
      })
      await dialog.getByRole('button', { name: `Create the ${kind}` }).click()
      await creation.asked
      await dialog.getByRole('button', { name: 'Close' }).click()
      await openDialog()
      await field.fill('next')
      creation.release()
      await page.unrouteAll({ behavior: 'wait' })
      await page.getByRole('main', { includeHidden: true }).getByText('late', { exact: true }).waitFor()
      await page.waitForTimeout(DRAWN_MS)
      assert.equal(await field.inputValue(), 'next', kind)
      await dialog.getByRole('button', { name: `Create the ${kind}` }).click()
      await page.getByRole('heading', { level: 1, name: 'next' }).waitFor()
      await open(`/folders/${uid}`, name)
    }
    assert.deepEqual(problems, [])
  })

  test('a password that arrives late does not replace another one, which is shown only once', async () => {
    const { uid, name } = await cast().organization()
    const { page, problems, open } = await cast().signIn('owner', uid)
    await open(`/folders/${uid}?tab=pull-tokens`, name)
    const dialog = page.getByRole('dialog')
    const send = async (token: string) => {
      await page.getByRole('button', { name: 'Create a pull token' }).first().click()
      await dialog.getByRole('textbox', { name: 'Name' }).fill(token)
      await dialog.getByRole('button', { name: 'Create the pull token' }).click()
    }
    const shown = (token: string) => page.getByRole('region', { name: `The new pull token ${token}` })
    const creation = await hold(page, IDENTITIES, { method: 'POST', isFirstOnly: true })
    await send('late')
    await creation.asked
    await dialog.getByRole('button', { name: 'Close' }).click()
    await send('next')
    await shown('next').waitFor()
    creation.release()
    await shown('late').waitFor()
    await shown('next').getByRole('button', { name: 'Copy the password' }).waitFor()
    await shown('late').getByRole('button', { name: 'I have stored the password' }).click()
    await shown('late').waitFor({ state: 'detached' })
    await shown('next').waitFor()
    assert.deepEqual(problems, [])
  })

  test('the wizard does not send again what is being created after "back" and "forward", and opens it', async () => {
    const { uid } = await cast().organization()
    const { page, problems, open } = await cast().signIn('owner', uid)
    const wizard = `/create-identity/${uid}?platform=github&f-repo=acme/app&f-ref=refs/heads/main`
    await open(`${wizard}&step=details`, 'Create an identity')
    const sent = sentTo(page, IDENTITIES)
    const field = page.getByRole('textbox', { name: 'Name' })
    const create = page.getByRole('button', { name: 'Create the identity' })
    const working = page.getByRole('button', { name: 'Working…' })
    await page.getByRole('button', { name: 'Continue' }).click()
    const creation = await hold(page, IDENTITIES, { method: 'POST' })
    await create.click()
    await creation.asked
    await page.goBack()
    await page.getByRole('textbox', { name: 'Repository' }).waitFor()
    await page.goForward()
    await working.waitFor()
    await field.press('Enter')
    await page.waitForTimeout(DRAWN_MS)
    assert.equal(await working.isDisabled(), true)
    assert.equal(sent.length, 1)
    creation.release()
    await page.getByRole('heading', { level: 1, name: 'app' }).waitFor()
    await page.unrouteAll({ behavior: 'wait' })
    assert.equal(sent.length, 1)

    // The form that has created it says so, and can still create another one.
    await page.goBack()
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('has created an identity').waitFor()
    assert.equal(await create.count(), 0)
    await field.fill('other')
    await create.waitFor()
    await field.fill('app')
    await page.getByRole('link', { name: 'Open the identity' }).click()
    await page.getByRole('heading', { level: 1, name: 'app' }).waitFor()
    await page.goBack()
    await page.getByRole('button', { name: 'Create another identity' }).click()
    await page.getByRole('heading', { level: 1, name: 'app' }).waitFor()
    assert.equal(sent.length, 2)
    assert.deepEqual(problems, [])
  })

  test('a wizard that is reloaded, or loses its connection, before the server responds creates nothing twice', async () => {
    const { uid } = await cast().organization()
    const { page, problems, open } = await cast().signIn('owner', uid)
    const form = `/create-identity/${uid}?platform=github&f-repo=acme/app&f-ref=refs/heads/main&name=app&step=role`
    await open(form, 'Create an identity')
    const create = page.getByRole('button', { name: 'Create the identity' })
    for (const address of [IDENTITIES, BINDINGS]) {
      const { lost } = await loseAnswer(page, address)
      await create.click()
      await lost
      await page.reload()
      await create.waitFor()
      await page.unrouteAll({ behavior: 'ignoreErrors' })
    }
    // The connection is lost between the identity and its role.
    await page.route(BINDINGS, (route) =>
      route.request().method() === 'POST' ? route.abort() : route.continue(),
    )
    await create.click()
    await page.getByText('The server does not respond').waitFor()
    await page.unrouteAll({ behavior: 'wait' })
    await create.click()
    await page.getByRole('heading', { level: 1, name: 'app' }).waitFor()
    const { admin } = cast()
    const below = { 'uidp.children_of': uid }
    const identities = async () => (await admin.get('iam/identities', below)).body.identities
    const [identity] = await identities()
    assert.deepEqual(
      (await identities()).map(({ name }: { readonly name: string }) => name),
      ['app'],
    )
    const granted = (await admin.get('iam/roleBindings', { ...below, identity: identity.uid })).body
    assert.equal(granted.totalCount, '1')

    // The user has seen what was created: the same input creates another one.
    await open(form, 'Create an identity')
    await create.click()
    await page.getByRole('heading', { level: 1, name: 'app' }).waitFor()
    assert.equal((await identities()).length, 2)
    assert.deepEqual(problems, [])
  })

  test('the wizard reports what was created, or failed, after the user has left it', async () => {
    const { uid, name } = await cast().organization()
    const { page, problems, open } = await cast().signIn('owner', uid)
    await open(`/folders/${uid}?tab=identities`, name)
    await page.getByRole('button', { name: 'Create an identity' }).click()
    await page.getByRole('radio', { name: /GitHub Actions/ }).check({ force: true })
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('textbox', { name: 'Repository' }).fill('acme/app')
    await page.getByRole('button', { name: 'Continue' }).click()
    const sent = sentTo(page, IDENTITIES)
    const create = page.getByRole('button', { name: 'Create the identity' })
    const leaveWhile = async () => {
      const creation = await hold(page, IDENTITIES, { method: 'POST' })
      await create.click()
      await creation.asked
      for (const heading of ['Workload', 'Platform']) {
        await page.goBack()
        await page.getByRole('heading', { level: 2, name: heading }).waitFor()
      }
      await page.goBack()
      await page.getByRole('heading', { level: 1, name }).waitFor()
      return creation
    }
    const comeBack = async () => {
      for (const heading of ['Platform', 'Workload', 'Name and role']) {
        await page.goForward()
        await page.getByRole('heading', { level: 2, name: heading }).waitFor()
      }
    }
    const lost = await leaveWhile()
    await page.context().setOffline(true)
    lost.release()
    await page.getByText('“Create the identity” failed').waitFor()
    await page.context().setOffline(false)
    await page.unrouteAll({ behavior: 'wait' })
    await comeBack()
    const before = sent.length
    const creation = await leaveWhile()
    creation.release()
    await page.unrouteAll({ behavior: 'wait' })
    await page.getByRole('main').getByRole('link', { name: 'app' }).waitFor()
    // The wizard must not be what the user returns to before the creation has ended.
    await page.waitForTimeout(DRAWN_MS)
    await comeBack()
    await page.getByText('has created an identity').waitFor()
    assert.equal(sent.length, before + 1)
    assert.deepEqual(problems, [])
  })

  test('an invite is accepted once, also if the user leaves the page and returns meanwhile', async () => {
    const organization = await cast().organization()
    const email = `${newName('grace')}@example.com`
    await cast().admin.create(`iam/groupInvites/${organization.uid}`, {
      roleUid: managedRole('viewer'),
      email,
      ttl: '86400s',
      singleUse: true,
    })
    const newcomer = await createPerson(cast().berth, { email })
    const { page, problems, open } = await openConsole(cast().chromium, cast().berth, newcomer)
    await open('', 'Home')
    await page.getByRole('link', { name: 'Advisories' }).first().click()
    await page.getByRole('heading', { level: 1, name: 'Advisories' }).waitFor()
    await page.goBack()
    const sent = sentTo(page, /:acceptReceived/)
    const accept = page.getByRole('button', { name: /^Accept the invite/ })
    const acceptance = await hold(page, /:accept/, { method: 'POST' })
    await accept.click()
    await acceptance.asked
    await page.goForward()
    await page.getByRole('heading', { level: 1, name: 'Advisories' }).waitFor()
    await page.goBack()
    await accept.press('Enter')
    await page.waitForTimeout(DRAWN_MS)
    assert.equal(sent.length, 1)
    acceptance.release()
    await page.getByRole('heading', { level: 1, name: organization.name }).waitFor()
    assert.equal(sent.length, 1)
    assert.deepEqual(problems, [])
  })

  test('a run of a feed is started once by two presses', async () => {
    const { uid } = await cast().organization()
    const feed = await cast().admin.create(`vulnerabilities/advisoryFeeds/${uid}`, {
      url: 'https://feed.example/all.json',
    })
    const { page, problems, open, identity } = await cast().signIn('owner', uid)
    await cast().admin.create(`iam/roleBindings/${uid}`, {
      identityUid: identity,
      roleUid: managedRole('advisories.admin'),
    })
    for (const [path, heading] of [
      [`/advisory-feeds/${feed.uid}`, feed.url],
      [`/folders/${uid}?tab=advisories&section=feeds`, undefined],
    ] as const) {
      await (heading === undefined ? page.goto(`${cast().berth.url}/console${path}`) : open(path, heading))
      const sent = sentTo(page, /:sync/)
      const run = await hold(page, /:sync/, { method: 'POST' })
      await page.getByRole('button', { name: /^Sync now/ }).dblclick()
      await run.asked
      await page.waitForTimeout(DRAWN_MS)
      assert.equal(sent.length, 1, path)
      run.release()
      await page.unrouteAll({ behavior: 'wait' })
      page.removeAllListeners('request')
    }
    assert.deepEqual(problems, [])
  })

  test('an identity provider that is added after its dialog is closed is not opened over the next dialog', async () => {
    const { uid, name } = await cast().organization()
    const { page, problems, open } = await cast().signIn('owner', uid)
    await open(`/settings/${uid}?tab=sign-in`, `Settings of ${name}`)
    const dialog = page.getByRole('dialog')
    const openDialog = () => page.getByRole('button', { name: 'Add an identity provider' }).first().click()
    const fill = (field: string, text: string) =>
      dialog.getByRole('textbox', { name: field, exact: true }).fill(text)
    await openDialog()
    await chooseInCombobox(page, 'Role of new users', 'viewer', 'viewer')
    await fill('Name', 'late')
    await fill('Issuer', 'https://accounts.google.com')
    await fill('Client ID', 'berth')
    const creation = await hold(page, /\/identityProviders\//, { method: 'POST', isFirstOnly: true })
    await dialog.getByRole('button', { name: 'Add the identity provider' }).click()
    await creation.asked
    await dialog.getByRole('button', { name: 'Close' }).click()
    await openDialog()
    await fill('Client ID', 'typed')
    creation.release()
    await page.unrouteAll({ behavior: 'wait' })
    await page.getByRole('main', { includeHidden: true }).getByText('late', { exact: true }).waitFor()
    await page.waitForTimeout(DRAWN_MS)
    assert.equal(await dialog.getByRole('textbox', { name: 'Client ID', exact: true }).inputValue(), 'typed')
    assert.deepEqual(problems, [])
  })

  test('comparison: an earlier tag does not replace a later one, nor what is typed', async () => {
    const organization = await cast().organization()
    const repo = await cast().admin.create(`registry/repos/${organization.uid}`, { name: 'web' })
    const registry = ociClient(cast().berth, await bearerOf(cast().berth, cast().berth.owner))
    const [one, two] = [testImage(), testImage()]
    await pushImage(registry, `${organization.name}/web`, one, 'v1')
    await pushImage(registry, `${organization.name}/web`, two, 'v2')
    const { page, problems, open } = await cast().signIn('owner', organization.uid)
    await open(`/compare/${repo.uid}`, 'Compare images')
    const field = page.getByRole('textbox', { name: 'First image' })
    const chosen = (digest: string) => page.waitForURL((url) => url.searchParams.get('from') === digest)
    const first = await hold(page, /\/registry\/.*tags/, { isFirstOnly: true })
    await field.fill('v1')
    await field.press('Enter')
    await first.asked
    await field.fill('v2')
    await field.press('Enter')
    await chosen(two.digest)
    first.release()
    await page.unrouteAll({ behavior: 'wait' })
    await page.waitForTimeout(DRAWN_MS)
    await chosen(two.digest)
    assert.equal(await field.inputValue(), two.digest)

    const second = await hold(page, /\/registry\/.*tags/, { isFirstOnly: true })
    await field.fill('v1')
    await field.press('Enter')
    await second.asked
    await field.fill('v')
    second.release()
    await page.unrouteAll({ behavior: 'wait' })
    await page.waitForTimeout(DRAWN_MS)
    assert.equal(await field.inputValue(), 'v')
    await chosen(two.digest)
    assert.deepEqual(problems, [])
  })

  test('token test: a result is shown only for the token in the field, and a file that cannot be read is reported', async () => {
    const { uid } = await cast().organization()
    const identity = await cast().admin.create(`iam/identities/${uid}`, {
      name: 'ci',
      claimMatch: { issuer: 'https://issuer.example', subject: 'ci' },
    })
    const { page, problems, open } = await cast().signIn('owner', uid)
    await open(`/identities/${identity.uid}?tab=explain`, 'ci')
    const field = page.getByRole('textbox', { name: 'Token' })
    const result = page.getByRole('region', { name: 'Result' })
    const submit = page.getByRole('button', { name: 'Test the token' })
    for (const change of [
      () => page.getByRole('button', { name: 'Clear' }).click(),
      () => field.pressSequentially('.x'),
    ]) {
      const first = await hold(page, /:explainExchange/, { isFirstOnly: true })
      await field.fill('eyJ.eyJ.sig')
      await submit.click()
      await first.asked
      await change()
      first.release()
      await page.unrouteAll({ behavior: 'wait' })
      await page.waitForTimeout(DRAWN_MS)
      assert.equal(await result.count(), 0)
    }
    await submit.click()
    await result.waitFor()
    await field.pressSequentially('.y')
    await result.waitFor({ state: 'detached' })

    await page.evaluate(
      `File.prototype.text = () => new Promise((resolve, reject) => { globalThis.read = { resolve, reject } })`,
    )
    const choose = () => page.locator('input[type=file]').setInputFiles([fileOf('token.jwt', 'a token')])
    await choose()
    await page.getByRole('button', { name: 'Reading the file…' }).waitFor()
    await field.fill('typed')
    await page.evaluate(`globalThis.read.resolve('of the file')`)
    await submit.waitFor()
    assert.equal(await field.inputValue(), 'typed')
    await choose()
    await page.getByRole('button', { name: 'Reading the file…' }).waitFor()
    await page.evaluate(`globalThis.read.reject(new Error('It was deleted.'))`)
    await page.getByText('It was deleted.').waitFor()
    await choose()
    await page.getByRole('button', { name: 'Reading the file…' }).waitFor()
    await page.evaluate(`globalThis.read.resolve('of the file')`)
    await submit.waitFor()
    assert.equal(await field.inputValue(), 'of the file')
    assert.equal(await page.getByText('It was deleted.').count(), 0)
    assert.deepEqual(problems, [])
  })

  test('import: a folder that cannot be read is reported, and one that is read late does not replace a running import', async () => {
    const { uid, name } = await cast().organization()
    const { page, problems, open, identity } = await cast().signIn('owner', uid)
    await cast().admin.create(`iam/roleBindings/${uid}`, {
      identityUid: identity,
      roleUid: managedRole('advisories.admin'),
    })
    await open(`/folders/${uid}?tab=advisories&section=import`, name)
    await page.locator('.drop-zone').waitFor()
    await dropFolder(page, unreadable)
    await page.getByText('What was dropped could not be read. It was deleted.').waitFor()
    await dropFolder(page, late)
    await page.getByText('Reading what was dropped…').waitFor()
    assert.equal(await page.getByText('It was deleted.').count(), 0)
    const runs: string[] = []
    page.on('request', (request) => {
      if (request.url().includes(':importDocuments')) runs.push(request.url())
    })
    await page.locator('input[type=file]').setInputFiles([fileOf('nginx.yaml', wolfiDocument('nginx'))])
    await page.getByRole('heading', { name: 'What the import would change' }).waitFor()
    await page.evaluate('globalThis.finish()')
    await page.waitForTimeout(DRAWN_MS)
    assert.equal(runs.length, 1)
    await page.getByText(/^1 file/).waitFor()
    assert.deepEqual(problems, [])
  })
})
