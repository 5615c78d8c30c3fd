import assert from 'node:assert/strict'
import { test } from 'node:test'
import { apiOf, claimMatch, managedRole, newName } from '../support/api/api-fixture.ts'
import { chooseInCombobox } from '../support/console/combobox.ts'
import { DRAWN_MS, descriptionOf, openConsole } from '../support/console/console-page.ts'
import { consoleSuite } from '../support/console/console-suite.ts'
import { LONG, MARKUP, OVERRIDE } from '../support/console/hostile.ts'
import { eventually } from '../support/eventually.ts'
import { createPerson } from '../support/signin/accounts.ts'
import { assertAccessible } from '../support/signin/axe.ts'

/** Members, roles, invites and explanations of access in the console. */

consoleSuite('access in the console', (cast) => {
  /** An organization with a folder, and an owner in a browser. */
  async function folderOf(role = 'owner') {
    const organization = await cast().organization()
    const folder = await cast().admin.create(`iam/groups/${organization.uid}`, { name: 'team' })
    const user = await cast().signIn(role, organization.uid)
    return { organization, folder, ...user }
  }

  const bind = (group: string, identityUid: string, role: string) =>
    cast().admin.create(`iam/roleBindings/${group}`, { identityUid, roleUid: managedRole(role) })

  test('members have their roles with their sources; a role is added by name, changed and removed', async () => {
    const { organization, folder, page, problems, open } = await folderOf()
    const grace = await createPerson(cast().berth, { email: 'grace@example.com' })
    await bind(organization.uid, grace, 'viewer')
    await cast().admin.create(`iam/identities/${folder.uid}`, { name: 'deploy', claimMatch })
    await open(`/folders/${folder.uid}?tab=people`, 'team')
    const members = page.getByRole('grid', { name: 'Members' })
    const rowOf = (...texts: string[]) =>
      texts.reduce((rows, hasText) => rows.filter({ hasText }), members.getByRole('row'))
    await rowOf('grace@example.com', 'viewer').getByRole('link', { name: organization.name }).waitFor()
    await rowOf('grace@example.com').getByText('not granted here').waitFor()

    await page.getByRole('button', { name: 'Grant a role', exact: true }).click()
    await chooseInCombobox(page, 'Person or workload', 'GRACE@', /grace@example\.com/)
    await chooseInCombobox(page, 'Role', 'editor', /^editor/)
    await page.getByRole('dialog').getByRole('button', { name: 'Grant the role', exact: true }).click()
    await rowOf('grace@example.com', 'editor').getByText('here').waitFor()

    await page.getByRole('button', { name: 'Grant a role', exact: true }).click()
    await chooseInCombobox(page, 'Person or workload', 'depl', /deploy/)
    await chooseInCombobox(page, 'Role', 'registry.push', /^registry\.push/)
    // Enter submits only a closed list's form, and only a complete one.
    const grant = page.getByRole('dialog').getByRole('button', { name: 'Grant the role', exact: true })
    await eventually(() => grant.isEnabled())
    await page.getByRole('listbox').waitFor({ state: 'detached' })
    await page.keyboard.press('Enter')
    await rowOf('deploy', 'Workload').waitFor()

    await rowOf('grace@example.com', 'editor')
      .getByRole('button', { name: /^Change/ })
      .click()
    await chooseInCombobox(page, 'Role', 'limited', /^limited_owner/)
    await page.getByRole('button', { name: 'Change the role', exact: true }).click()
    await rowOf('grace@example.com', 'limited_owner').waitFor()

    await rowOf('grace@example.com', 'limited_owner')
      .getByRole('button', { name: /^Revoke/ })
      .click()
    await page.getByRole('button', { name: 'Revoke the role', exact: true }).click()
    await rowOf('limited_owner').waitFor({ state: 'detached' })

    await page.getByRole('searchbox', { name: 'Search' }).fill('depl')
    await page.waitForURL(/query=depl/)
    await rowOf('grace').first().waitFor({ state: 'detached' })
    await page.getByText(`berth iam access list ${organization.name}/team --query depl`).waitFor()
    assert.deepEqual(problems, [])
  })

  test('a role that someone else changed meanwhile is a conflict: nothing is overwritten', async () => {
    const { folder, page, problems, open } = await folderOf()
    const grace = await createPerson(cast().berth, { email: 'hopper@example.com' })
    const { uid } = await bind(folder.uid, grace, 'viewer')
    await open(`/folders/${folder.uid}?tab=people`, 'team')
    const row = page.getByRole('grid', { name: 'Members' }).getByRole('row', { name: /hopper@example\.com/ })
    await row.getByRole('button', { name: /^Change/ }).click()
    await page.getByText('Now: viewer.').waitFor()
    await chooseInCombobox(page, 'Role', 'limited', /^limited_owner/)
    await cast().admin.patch(`iam/roleBindings/${uid}`, { roleUid: managedRole('editor') })
    await page.getByRole('button', { name: 'Change the role', exact: true }).click()
    await page.getByText('Someone else changed this in the meantime').waitFor()
    const { body } = await cast().admin.get(`iam/roleBindings/${uid}`)
    assert.equal(body.roleUid, managedRole('editor'))
    await page.getByRole('button', { name: 'Load the current version' }).click()
    await page.getByText('Now: editor.').waitFor()
    await chooseInCombobox(page, 'Role', 'limited', /^limited_owner/)
    await page.getByRole('button', { name: 'Change the role', exact: true }).click()
    await row.getByText('limited_owner').waitFor()
    assert.deepEqual(problems, [])
  })

  test('pickers find folders and roles that are not among the first, by searching on the server', async () => {
    const { organization, page, problems, open } = await folderOf()
    const { admin } = cast()
    const many = Array.from({ length: 60 }, (_, at) => String(at).padStart(2, '0'))
    for (const at of many) {
      await admin.create(`iam/groups/${organization.uid}`, { name: `area-${at}` })
      await admin.create(`iam/roles/${organization.uid}`, {
        name: `duty-${at}`,
        capabilities: ['CAP_REPO_LIST'],
      })
    }
    const identity = await admin.create(`iam/identities/${organization.uid}`, { name: 'deploy', claimMatch })
    // Folders are listed in the order of their random uids.
    const { groups } = (
      await admin.get('iam/groups', {
        'uidp.descendants_of': organization.uid,
        order_by: 'uid desc',
        page_size: '1',
      })
    ).body
    const [last] = groups
    await open(`/identities/${identity.uid}?tab=roles`, 'deploy')
    await page.getByRole('button', { name: 'Grant a role' }).click()
    const dialog = page
      .getByRole('dialog')
      .filter({ has: page.getByRole('heading', { name: 'Grant a role' }) })
    const role = page.getByRole('combobox', { name: 'Role' })
    await role.click()
    await page.getByRole('option', { name: /^duty-49/ }).waitFor()
    assert.equal(await page.getByRole('option', { name: /^duty-59/ }).count(), 0)
    await page.getByText('There are more: type more of the name.').waitFor()
    await role.fill('no-such-role')
    await page.getByText('Nothing found').waitFor()
    await chooseInCombobox(page, 'Role', 'duty-59', /^duty-59/)
    const folder = page.getByRole('combobox', { name: 'In' })
    await eventually(async () => (await folder.inputValue()) === organization.name)
    await chooseInCombobox(page, 'In', last.name, new RegExp(`/${last.name}$`))
    assert.equal(await folder.inputValue(), `${organization.name}/${last.name}`)
    await folder.press('Tab')
    assert.equal(await folder.inputValue(), `${organization.name}/${last.name}`)
    assert.equal(await role.inputValue(), 'duty-59')
    await dialog.getByRole('button', { name: 'Grant the role' }).click()
    await page.getByRole('row').filter({ hasText: 'duty-59' }).filter({ hasText: last.name }).waitFor()

    // The choice of an address is shown by its name; another one is found in all organizations.
    await open(`/advisories?group=${last.uid}`, 'Advisories')
    const filter = page.getByRole('combobox', { name: 'Folder' })
    await eventually(async () => (await filter.inputValue()).endsWith(`/${last.name}`))
    await filter.fill(`${organization.name}/area-0`)
    await page.getByRole('option', { name: `${organization.name}/area-07` }).click()
    const { uid } = (await admin.get('iam/groups', { 'uidp.children_of': organization.uid, name: 'area-07' }))
      .body.groups[0]
    await page.waitForURL((url) => url.searchParams.get('group') === uid)
    assert.equal(await filter.inputValue(), `${organization.name}/area-07`)
    assert.deepEqual(problems, [])
  })

  test('a choice is the option that was pressed, although the list changes before the button is released', async () => {
    const { organization, page, problems, open } = await folderOf()
    for (const at of Array.from({ length: 12 }).keys())
      await cast().admin.create(`iam/groups/${organization.uid}`, { name: `shelf-${at}` })
    await open('/advisories', 'Advisories')
    const filter = page.getByRole('combobox', { name: 'Folder' })
    const options = page.getByRole('option')
    const shelves = options.filter({ hasText: '/shelf-' })
    // The first folders: a search that starts before they are read cancels that, and leaves no list.
    await filter.focus()
    await shelves.nth(11).waitFor()
    // Until the server responds, the list shows what matches of the first folders, which have another order.
    const pressed = Promise.withResolvers<void>()
    await page.route('**/resources:search*', async (route) => {
      await pressed.promise
      await route.continue()
    })
    await filter.fill(`${organization.name}/shelf-`)
    const before = await eventually(
      () => options.allInnerTexts(),
      (names) => names.length === 12 && names.every((name) => name.includes('/shelf-')),
    )
    const middle = options.nth(Math.floor(before.length / 2))
    const name = await middle.innerText()
    await middle.hover()
    await page.mouse.down()
    const found = page.waitForResponse(/resources:search/)
    pressed.resolve()
    await (await found).finished()
    await page.waitForTimeout(DRAWN_MS)
    await page.mouse.up()
    await page.waitForURL(/group=/)
    assert.equal(await filter.inputValue(), name)
    await filter.fill(`${organization.name}/shelf-`)
    await eventually(async () => String(await options.allInnerTexts()) !== String(before))
    assert.deepEqual(problems, [])
  })

  test('a table says once why the actions of its rows are disabled, and each of them is described by it', async () => {
    const { organization, folder, page, problems, open } = await folderOf('viewer')
    for (const role of ['viewer', 'editor'])
      await bind(
        folder.uid,
        await createPerson(cast().berth, { email: `${newName('grace')}@example.com` }),
        role,
      )
    const invite = { roleUid: managedRole('viewer'), ttl: '3600s' }
    for (const email of ['a@example.com', 'b@example.com'])
      await cast().admin.create(`iam/groupInvites/${organization.uid}`, { ...invite, email })
    for (const [tab, title, place, list, expected] of [
      [
        'people',
        'team',
        folder,
        'Members',
        { Change: 'role_bindings.update', Revoke: 'role_bindings.delete' },
      ],
      ['invites', organization.name, organization, 'Invites', { Revoke: 'group_invites.delete' }],
    ] as const) {
      await open(`/folders/${place.uid}?tab=${tab}`, title)
      const table = page.getByRole('grid', { name: list, exact: true })
      for (const [label, capability] of Object.entries(expected)) {
        await page.getByText(`${label}: Requires the capability ${capability}`).waitFor()
        const buttons = await table.getByRole('button', { name: new RegExp(`^${label} `) }).all()
        assert.equal(buttons.length, 2, `${list}, ${label}`)
        for (const button of buttons) {
          assert.equal(await button.isDisabled(), true)
          assert.equal(await descriptionOf(button), `${label}: Requires the capability ${capability}`)
        }
      }
      await assertAccessible(page, `${tab} of a viewer`)
    }
    assert.deepEqual(problems, [])
  })

  test('a member of a folder sees how many others have roles above it', async () => {
    const { organization, folder } = await folderOf()
    const { page, problems, open, identity } = await cast().signIn('viewer', folder.uid)
    await open(`/folders/${folder.uid}?tab=people`, 'team')
    const hidden = page.getByRole('region', { name: 'Members that are not shown' })
    await hidden.getByText(`${organization.name}: `).waitFor()
    assert.match((await hidden.textContent()) ?? '', /2 people with the role owner/)
    assert.equal(await page.getByRole('row').filter({ hasText: 'owner' }).count(), 0)
    await page.getByText('Requires the capability role_bindings.create').waitFor()
    const token = await cast().berth.tokenOf(identity)
    const reply = await apiOf(cast().berth, token).post(`iam/roleBindings/${folder.uid}`, {
      identityUid: identity,
      roleUid: managedRole('viewer'),
    })
    assert.equal(reply.status, 403)
    assert.deepEqual(problems, [])
  })

  test('an owner invites a colleague by a link, who accepts it; invites are revoked', async () => {
    const { organization, page, problems, open } = await folderOf()
    await open(`/folders/${organization.uid}?tab=invites`, organization.name)
    await page.getByText('There are no open invites').waitFor()
    await page.getByRole('button', { name: 'Create an invite' }).click()
    await chooseInCombobox(page, 'Role', 'viewer', /^viewer/)
    await page.getByText(/berth iam invites create .* --ttl 7d --single-use/).waitFor()
    await page.getByRole('button', { name: 'Create the invite' }).click()
    const link = (await page.getByText(/\/invite#/).textContent()) ?? ''
    const invites = page.getByRole('grid', { name: 'Invites' })
    await invites.getByRole('row').filter({ hasText: 'anyone with the link' }).getByText('open').waitFor()

    const colleague = await createPerson(cast().berth)
    const guest = await openConsole(cast().chromium, cast().berth, colleague)
    await guest.page.goto(link)
    await guest.page.getByRole('main').getByText(organization.name).first().waitFor()
    assert.deepEqual(guest.problems, [])
    const token = await cast().berth.tokenOf(colleague)
    const code = new URL(link).hash.slice(1)
    assert.equal((await apiOf(cast().berth, token).post('iam/groupInvites:accept', { code })).status, 200)

    const invite = { roleUid: managedRole('viewer'), email: 'ada@example.com', ttl: '3600s' }
    await cast().admin.create(`iam/groupInvites/${organization.uid}`, invite)
    await cast().admin.create(`iam/groupInvites/${organization.uid}`, { ...invite, email: '', ttl: '0.001s' })
    await page.reload()
    await invites.getByText('expired').waitFor()
    assert.equal(await page.getByText(/\/invite#/).count(), 0, 'the link is shown once')
    await page.getByRole('button', { name: 'Revoke the invite for ada@example.com' }).click()
    await page.getByRole('button', { name: 'Revoke the invite', exact: true }).click()
    await invites.getByText('ada@example.com').waitFor({ state: 'detached' })
    assert.deepEqual(problems, [])
  })

  test('a custom role is created, compared, given, edited in spite of a conflict, and deleted when nothing uses it', async () => {
    const { organization, folder, page, problems, open } = await folderOf()
    const { admin } = cast()
    await open(`/folders/${folder.uid}?tab=roles`, 'team')
    await page.getByText('There are no custom roles in this folder').waitFor()
    const owners = page
      .getByRole('grid', { name: 'Managed roles' })
      .getByRole('row')
      .filter({ hasText: 'viewer' })
    await owners.first().waitFor()
    await page.getByRole('button', { name: 'Create a role' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('tag keeper')
    await page.getByRole('textbox', { name: 'Search capabilities' }).fill('tags')
    await page.getByText('tag.create', { exact: true }).click()
    await page.getByText('tag.list', { exact: true }).click()
    await page.getByText('2 chosen').waitFor()
    await page.getByRole('button', { name: 'Create the role' }).click()
    await page.getByRole('link', { name: 'tag keeper' }).click()
    await page.getByRole('heading', { level: 1, name: 'tag keeper' }).waitFor()
    await page.getByRole('heading', { name: /Images and tags/ }).waitFor()

    await page.getByRole('tab', { name: 'Compare' }).click()
    await page
      .getByRole('heading', { name: /^Adds 1 capability to viewer, and lacks \d+ capabilities$/ })
      .waitFor()
    // Many differences are folded by group, and what both have is after them.
    assert.equal(await page.getByText('repo.blobs.get').count(), 0)
    await page.getByText(/^Repositories/).click()
    await page.getByText('repo.blobs.get').waitFor()
    await page.getByText('Both have 1 capability').click()
    await page.getByText('tag.list', { exact: true }).waitFor()
    await page.getByRole('button', { name: /Compare with/ }).click()
    await page.getByRole('option', { name: /^registry\.pull\b/ }).click()
    await page.getByRole('heading', { name: /registry\.pull/ }).waitFor()
    await page.waitForURL(/than=/)
    const uid = decodeURIComponent(new URL(page.url()).pathname.split('/roles/')[1] ?? '')
    const identity = await createPerson(cast().berth, { email: `${newName('heidi')}@example.com` })
    const binding = await admin.create(`iam/roleBindings/${folder.uid}`, {
      identityUid: identity,
      roleUid: uid,
    })
    await page.reload()
    await page.getByText('1 role binding', { exact: true }).waitFor()
    await page.getByRole('tab', { name: 'Who has it' }).click()
    await page.getByRole('grid', { name: 'Holders' }).getByRole('link', { name: 'team' }).waitFor()

    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByText('the server does not delete it before these are removed').waitFor()
    await page.getByRole('textbox', { name: 'Type tag keeper to confirm' }).fill('tag keeper')
    await page.getByRole('button', { name: 'Delete the role' }).click()
    await page
      .getByRole('alert')
      .getByText(/is used by role bindings/)
      .first()
      .waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()

    await page.getByRole('button', { name: 'Edit' }).click()
    await admin.patch(`iam/roles/${uid}`, { description: 'by someone else' })
    await page.getByRole('textbox', { name: 'Name' }).fill('tagger')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('button', { name: 'Load the current version' }).click()
    await page.getByRole('textbox', { name: 'Name' }).and(page.locator('[value="tag keeper"]')).waitFor()
    await page.getByRole('textbox', { name: 'Name' }).fill('tagger')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { level: 1, name: 'tagger' }).waitFor()

    await admin.delete(`iam/roleBindings/${binding.uid}`)
    await page.reload()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No one has it.').waitFor()
    await page.getByRole('textbox', { name: 'Type tagger to confirm' }).fill('tagger')
    await page.getByRole('button', { name: 'Delete the role' }).click()
    await page.getByText('There are no custom roles in this folder').waitFor()
    assert.equal((await admin.get(`iam/roles/${uid}`)).status, 404)
    await open(`/roles/${managedRole('viewer')}`, 'viewer')
    await page.getByText('Managed roles come with Berth and do not change').first().waitFor()
    assert.ok(organization.uid)
    assert.deepEqual(problems, [])
  })

  test('explains why someone can do something, and who can, with the question in the address', async () => {
    const { organization, folder, page, problems, open } = await folderOf()
    const repo = await cast().admin.create(`registry/repos/${folder.uid}`, { name: 'web' })
    const email = `${newName('grace')}@example.com`
    const grace = await createPerson(cast().berth, { email })
    await bind(organization.uid, grace, 'viewer')
    await bind(folder.uid, grace, 'registry.push')
    await open(`/access/${folder.uid}`, 'Access to team')
    await page.getByText('Choose a person or workload and a capability.').waitFor()
    await chooseInCombobox(page, 'Person or workload', email, new RegExp(email))
    await chooseInCombobox(page, 'Capability', 'manifest.create', /^manifest\.create/)
    await page.getByText(/can push image manifests in team\.$/).waitFor()
    const chain = page.getByRole('list', { name: 'Roles that apply here' })
    await chain.getByText(/permits it Role registry\.push, granted here/).waitFor()
    await chain.getByText(/does not permit it Role viewer, granted in/).waitFor()
    await page.reload()
    await page.getByText(/can push image manifests in team\.$/).waitFor()

    await open(
      `/access/${repo.uid}?identity=${encodeURIComponent(grace)}&capability=repo_policies.update`,
      'Access to web',
    )
    await page.getByText(/cannot .* in web\.$/).waitFor()
    await page.getByText('The managed role owner would permit it.').waitFor()
    await open(`/access/${folder.uid}?tab=who-can&capability=manifest.create`, 'Access to team')
    await page
      .getByRole('grid', { name: 'Members' })
      .getByRole('row')
      .filter({ hasText: email })
      .getByText('registry.push')
      .waitFor()

    const viewer = await cast().signIn('viewer', folder.uid)
    await viewer.open(
      `/access/${folder.uid}?identity=${encodeURIComponent(grace)}&capability=groups.delete`,
      'Access to team',
    )
    await viewer.page.getByText(/may be able to delete groups in team\.$/).waitFor()
    await viewer.page.getByText('You cannot read the roles in all folders above').waitFor()
    await viewer.open(`/access/${organization.uid}`, 'Not found')
    assert.deepEqual([...problems, ...viewer.problems], [])
  })

  test('names of strangers are text', async () => {
    const { organization, page, problems, open } = await folderOf()
    const { admin } = cast()
    const provider = await admin.create(`iam/identityProviders/${organization.uid}`, {
      name: newName('idp'),
      defaultRole: managedRole('viewer'),
      oidc: { issuer: 'https://login.example.com', clientId: 'berth', clientSecret: 'x' },
    })
    for (const externalGroupId of [MARKUP, OVERRIDE, 'x'.repeat(512)])
      await admin.create(`iam/externalGroupRoleMappings/${provider.uid}`, {
        externalGroupId,
        roleUid: managedRole('viewer'),
        scope: organization.uid,
      })
    const role = await admin.create(`iam/roles/${organization.uid}`, {
      name: LONG,
      description: `${MARKUP} ${OVERRIDE}`,
      capabilities: ['CAP_REPO_LIST'],
    })
    await open(`/folders/${organization.uid}?tab=people`, organization.name)
    await page.getByRole('grid', { name: 'Members' }).getByText(MARKUP).first().waitFor()
    await page.getByText(OVERRIDE).first().waitFor()
    await open(`/roles/${role.uid}`, LONG)
    await page.getByText(MARKUP).waitFor()
    await open(
      `/access/${organization.uid}?identity=${encodeURIComponent(MARKUP)}&capability=repo.list`,
      `Access to ${organization.name}`,
    )
    await page.getByRole('heading', { name: 'Explanation not available' }).waitFor()
    assert.deepEqual(problems, [])
  })

  test('a role without a capability names it in the place of each list', async () => {
    const organization = await cast().organization()
    const role = await cast().admin.create(`iam/roles/${organization.uid}`, {
      name: newName('reader'),
      capabilities: ['CAP_IAM_GROUPS_LIST'],
    })
    const { page, problems, open } = await cast().signIn(role.uid, organization.uid)
    for (const [tab, capability] of [
      ['people', 'role_bindings.list'],
      ['roles', 'roles.list'],
      ['invites', 'group_invites.list'],
    ]) {
      await open(`/folders/${organization.uid}?tab=${tab}`, organization.name)
      await page.getByText(`Requires the capability ${capability}`).first().waitFor()
    }
    await open(`/access/${organization.uid}`, `Access to ${organization.name}`)
    await page.getByText('Requires the capability role_bindings.list').waitFor()
    assert.deepEqual(problems, [])
  })

  test('every page and dialog of access passes axe', async () => {
    const { organization, folder, page, problems, visit } = await folderOf()
    const { admin } = cast()
    const grace = await createPerson(cast().berth, { email: 'grace.hopper@example.com' })
    await bind(organization.uid, grace, 'viewer')
    await bind(folder.uid, grace, 'editor')
    const deploy = await admin.create(`iam/identities/${folder.uid}`, { name: 'deploy', claimMatch })
    await bind(folder.uid, deploy.uid, 'registry.push')
    const role = await admin.create(`iam/roles/${folder.uid}`, {
      name: LONG,
      description: 'Creates and lists tags of the release',
      capabilities: ['CAP_TAG_CREATE', 'CAP_TAG_LIST', 'CAP_REPO_LIST'],
    })
    await admin.create(`iam/groupInvites/${folder.uid}`, {
      roleUid: managedRole('viewer'),
      email: 'ada@example.com',
      ttl: '86400s',
    })
    const asked = `identity=${encodeURIComponent(grace)}&capability=manifest.create`
    const pages: readonly (readonly [
      name: string,
      path: string,
      heading: string,
      button?: string | RegExp,
    ])[] = [
      ['members', `/folders/${folder.uid}?tab=people`, 'team'],
      ['grant a role', `/folders/${folder.uid}?tab=people`, 'team', 'Grant a role'],
      ['revoke a role', `/folders/${folder.uid}?tab=people`, 'team', /^Revoke the role editor/],
      ['change a role', `/folders/${folder.uid}?tab=people`, 'team', /^Change the role editor/],
      ['roles', `/folders/${folder.uid}?tab=roles`, 'team'],
      ['create a role', `/folders/${folder.uid}?tab=roles`, 'team', 'Create a role'],
      ['role', `/roles/${role.uid}`, LONG],
      ['role compared', `/roles/${role.uid}?tab=compare`, LONG],
      ['role holders', `/roles/${role.uid}?tab=holders`, LONG],
      ['delete a role', `/roles/${role.uid}`, LONG, 'Delete'],
      ['invites', `/folders/${folder.uid}?tab=invites`, 'team'],
      ['create an invite', `/folders/${folder.uid}?tab=invites`, 'team', 'Create an invite'],
      ['access', `/access/${folder.uid}?${asked}`, 'Access to team'],
      ['who can', `/access/${folder.uid}?tab=who-can&capability=repo.create`, 'Access to team'],
    ]
    for (const [name, path, heading, button] of pages) {
      await visit(path, heading)
      if (button !== undefined) {
        const action = page.getByRole('button', { name: button, exact: typeof button === 'string' })
        await action.click()
        await page.getByRole('dialog').waitFor()
      }
      await assertAccessible(page, name)
      await page.setViewportSize({ width: 1280, height: 800 })
      if (button !== undefined) {
        await page.keyboard.press('Escape')
        await page.getByRole('dialog').waitFor({ state: 'detached' })
      }
    }
    const viewer = await cast().signIn('viewer', folder.uid)
    await viewer.visit(`/folders/${folder.uid}?tab=people`, 'team')
    await viewer.page.getByRole('region', { name: 'Members that are not shown' }).waitFor()
    await assertAccessible(viewer.page, 'members with hidden ones')
    assert.deepEqual([...problems, ...viewer.problems], [])
  })
})
