import assert from 'node:assert/strict'
import { test } from 'node:test'
import { waitUntil } from '../support/browser/chromium.ts'
import { consoleSuite } from '../support/console/console-suite.ts'
import { bearerOf, hostOf, ociClient, pushImage, testImage } from '../support/registry/registry.ts'

/** What users do in the console, by the roles and labels that assistive technology reads. */

consoleSuite('the console', (cast) => {
  test('an owner creates, renames and deletes folders and repositories, and sees what blocks a deletion', async () => {
    const organization = await cast().organization()
    const { page, problems, open } = await cast().signIn('owner', organization.uid)
    await open('', 'Home')
    await page
      .getByRole('grid', { name: 'Organizations' })
      .getByRole('link', { name: organization.name })
      .click()
    await page.getByRole('heading', { level: 1, name: organization.name }).waitFor()
    assert.equal(await page.title(), `${organization.name} – Berth`)

    await page.getByRole('button', { name: 'Create a folder' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('Not A Name!')
    await page.getByRole('button', { name: 'Create the folder' }).click()
    await page
      .getByRole('dialog')
      .getByText(/must match/)
      .waitFor()
    await page.getByRole('textbox', { name: 'Name' }).fill('team')
    await page.getByRole('button', { name: 'Create the folder' }).click()
    await page.getByRole('heading', { level: 1, name: 'team' }).waitFor()
    await page
      .getByRole('navigation', { name: 'Breadcrumbs' })
      .getByRole('link', { name: organization.name })
      .waitFor()

    await page.getByRole('tab', { name: 'Settings' }).click()
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('crew')
    await page.getByRole('textbox', { name: 'Description' }).fill('Builds the images')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { level: 1, name: 'crew' }).waitFor()
    await page.getByRole('tree').getByRole('treeitem', { name: 'crew' }).waitFor()
    await page.getByText(`berth iam folders describe ${organization.name}/crew`).waitFor()

    await page.getByRole('tab', { name: 'Repositories' }).click()
    await page.getByText('There are no repositories yet').waitFor()
    await page.getByRole('button', { name: 'Create a repository' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('nginx')
    await page.getByRole('button', { name: 'Create the repository' }).click()
    await page.getByRole('heading', { level: 1, name: 'nginx' }).waitFor()
    const repoAddress = page.url()
    await page
      .getByText(`docker push ${hostOf(cast().berth)}/${organization.name}/crew/nginx:latest`)
      .waitFor()

    await page.getByRole('link', { name: 'crew' }).click()
    // The page of the repository, which is shown until then, has a tab of the same name.
    await page.getByRole('heading', { level: 1, name: 'crew' }).waitFor()
    await page.getByRole('tab', { name: 'Settings' }).click()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    const confirm = page.getByRole('button', { name: 'Delete the folder' })
    assert.equal(await confirm.isDisabled(), true)
    await page.getByRole('textbox', { name: 'Type crew to confirm' }).fill('crew')
    await confirm.click()
    await page
      .getByRole('alert')
      .getByText(/nginx|repo/)
      .first()
      .waitFor()
    await page.keyboard.press('Escape')

    await page.goto(repoAddress)
    await page.getByRole('tab', { name: 'Settings' }).click()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByRole('textbox', { name: 'Type nginx to confirm' }).fill('nginx')
    await page.getByRole('button', { name: 'Delete the repository' }).click()
    await page.getByText('There are no repositories yet').waitFor()
    await page.getByRole('tab', { name: 'Settings' }).click()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByRole('textbox', { name: 'Type crew to confirm' }).fill('crew')
    await page.getByRole('button', { name: 'Delete the folder' }).click()
    await page.getByRole('heading', { level: 1, name: organization.name }).waitFor()
    await page.getByText('There are no folders yet').waitFor()
    assert.deepEqual(problems, [])
  })

  test('a repository shows its tags page by page, its digests and its README', async () => {
    const organization = await cast().organization()
    const { berth, admin } = cast()
    const repo = await admin.create(`registry/repos/${organization.uid}`, { name: 'nginx' })
    const registry = ociClient(berth, await bearerOf(berth, berth.owner))
    const image = testImage()
    for (let n = 0; n < 60; n++) await pushImage(registry, `${organization.name}/nginx`, image, `v${n}`)
    const content =
      '# The server\n\nText with `code`, a [guide](https://docs.example/) and:\n\n- one\n- two\n'
    assert.equal((await admin.patch(`registry/repos/${repo.uid}/readme`, { content })).status, 200)
    const { page, problems, open } = await cast().signIn('viewer', organization.uid)
    await open(`/repos/${repo.uid}`, 'nginx')
    const tags = page.getByRole('grid', { name: 'Tags' })
    await page.getByText('50 of 60').waitFor()
    assert.equal(await tags.getByRole('row').count(), 51)
    await page.getByRole('button', { name: 'Load more' }).click()
    await page.getByText('60 of 60').waitFor()
    await tags.getByTitle(image.digest).first().waitFor()
    await page.getByRole('tab', { name: 'README' }).click()
    await page.getByRole('heading', { level: 3, name: 'The server' }).waitFor()
    assert.equal(
      await page.getByRole('link', { name: 'guide' }).getAttribute('href'),
      'https://docs.example/',
    )
    assert.equal(await page.locator('.readme li').count(), 2)
    assert.deepEqual(problems, [])
  })

  test('repositories are found by the start of their names, also in folders below', async () => {
    const { admin } = cast()
    const organization = await cast().organization()
    const team = await admin.create(`iam/groups/${organization.uid}`, { name: 'team' })
    await admin.create(`registry/repos/${organization.uid}`, { name: 'nginx' })
    await admin.create(`registry/repos/${organization.uid}`, { name: 'redis' })
    await admin.create(`registry/repos/${team.uid}`, { name: 'nginx-dev' })
    await admin.create(`iam/roleBindings/${team.uid}`, {
      identityUid: (await admin.get('iam/identities', { name: 'anonymous' })).body.identities[0].uid,
      roleUid: (await admin.get('iam/roles', { name: 'registry.pull' })).body.roles[0].uid,
    })
    const { page, problems, open } = await cast().signIn('owner', organization.uid)
    await open(`/folders/${organization.uid}?tab=repositories`, organization.name)
    const rows = page.getByRole('grid', { name: 'Repositories' }).getByRole('row')
    await rows.filter({ hasText: 'redis' }).waitFor()
    await page.getByRole('searchbox', { name: 'Name' }).fill('ngi')
    await rows.filter({ hasText: 'redis' }).waitFor({ state: 'detached' })
    // The list is empty while it is read again.
    await rows.filter({ hasText: 'nginx' }).waitFor()
    assert.equal(await rows.filter({ hasText: 'nginx' }).count(), 1)
    await open(`/folders/${organization.uid}?tab=repositories&where=below&name=ngi`, organization.name)
    const below = rows.filter({ hasText: `${organization.name}/team/nginx-dev` })
    await below.getByTitle(`a role in ${organization.name}/team is granted`).waitFor()
    await page
      .getByText(`berth images repos summary --parent ${organization.name} --name-prefix ngi`, {
        exact: true,
      })
      .waitFor()
    assert.deepEqual(problems, [])
  })

  test('a user creates a folder with the keyboard only, and the focus follows', async () => {
    const organization = await cast().organization()
    const { page, problems, open } = await cast().signIn('owner', organization.uid)
    await open(`/folders/${organization.uid}`, organization.name)
    await page.keyboard.press('Tab')
    const focused = (): Promise<string> => page.evaluate('document.activeElement.textContent')
    assert.equal(await focused(), 'Skip to the content')
    await page.keyboard.press('Enter')
    for (let tabs = 0; (await focused()) !== 'Create a folder' && tabs < 20; tabs++)
      await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.type('web')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'web' }).waitFor()
    await waitUntil(page, 'document.activeElement.tagName === "H1"')
    assert.equal(await focused(), 'web')
    // The tree: the folder of the page is in view, and the arrow keys walk.
    const tree = page.getByRole('tree', { name: `Folders of ${organization.name}` })
    const folders = tree.getByRole('treeitem')
    const root = tree.getByRole('treeitem', { name: organization.name, exact: true })
    assert.equal(await tree.getByRole('treeitem', { name: 'web' }).getAttribute('aria-current'), 'page')
    await root.focus()
    await page.keyboard.press('ArrowDown')
    assert.equal(await focused(), 'web')
    await page.keyboard.press('ArrowLeft')
    assert.equal(await focused(), organization.name)
    await page.keyboard.press('ArrowLeft')
    await tree.getByRole('treeitem', { name: 'web' }).waitFor({ state: 'detached' })
    assert.equal(await root.getAttribute('aria-expanded'), 'false')
    await page.keyboard.press('ArrowRight')
    await tree.getByRole('treeitem', { name: 'web' }).waitFor()
    await page.keyboard.press('ArrowRight')
    assert.equal(await focused(), 'web')
    await page.keyboard.press('Home')
    await page.keyboard.press('w')
    assert.equal(await focused(), 'web')
    // One tab stop: the folder that had the focus last.
    await page.keyboard.press('Shift+Tab')
    await page.keyboard.press('Tab')
    assert.equal(await focused(), 'web')
    assert.equal(await folders.and(page.locator('[tabindex="0"]')).count(), 1)
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: organization.name }).waitFor()
    assert.deepEqual(problems, [])
  })

  test('the color scheme is remembered, and sign-out ends the session', async () => {
    const organization = await cast().organization()
    const { page, problems, open } = await cast().signIn('viewer', organization.uid)
    await open('', 'Home')
    const background = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
    await page.emulateMedia({ colorScheme: 'light' })
    const light = await background()
    await page.getByRole('button', { name: 'User menu' }).click()
    await page.getByRole('menuitemradio', { name: 'Dark' }).click()
    const dark = await background()
    assert.notEqual(dark, light)
    await open('', 'Home')
    assert.equal(await background(), dark)
    await page.getByRole('button', { name: 'User menu' }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.waitForURL(/\/sign-in\?done=signed-out/)
    await page.goto(`${cast().berth.url}/console/folders/${organization.uid}`)
    assert.match(page.url(), /\/sign-in\?request=%2Fconsole%2Ffolders/)
    assert.deepEqual(problems, [])
  })
})
