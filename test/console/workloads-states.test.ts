import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { managedRole, newName } from '../support/api/api-fixture.ts'
import { descriptionOf, waitUntilLoaded } from '../support/console/console-page.ts'
import { consoleSuite } from '../support/console/console-suite.ts'
import { HACKED, LONG, MARKUP, OVERRIDE } from '../support/console/hostile.ts'
import { assertAccessible } from '../support/signin/axe.ts'

/** What the pages of identities and pull tokens show when something is missing, forbidden or hostile, and how they look. */

const PULL_TOKEN_ISSUER = 'https://pulltoken.issuer.berth'
const DAY_MS = 24 * 60 * 60 * 1000
const inDays = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString()

const publicKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' })
const keySet = (kid: string) => JSON.stringify({ keys: [{ ...publicKey, kid, alg: 'ES256', use: 'sig' }] })

const DISPLAYS_IN_COMMANDS = `[...new Set(['inline', ...[...document.querySelectorAll('.command code *')].map((part) => getComputedStyle(part).display)])]`

consoleSuite('states of identities and pull tokens', (cast) => {
  test('a viewer sees what they lack, and the API refuses it too', async () => {
    const organization = await cast().organization()
    const { uid } = await cast().admin.create(`iam/identities/${organization.uid}`, {
      name: 'ci',
      claimMatch: { issuer: 'https://issuer.example', subject: 'robot' },
    })
    const { page, problems, open, identity } = await cast().signIn('viewer', organization.uid)
    await open(`/folders/${organization.uid}?tab=identities`, organization.name)
    await page.getByText('Requires the capability identity.create').waitFor()
    await open(`/folders/${organization.uid}?tab=pull-tokens`, organization.name)
    await page.getByText('Requires the capability identity.create').waitFor()
    await open(`/identities/${uid}`, 'ci')
    for (const [name, capability] of [
      ['Edit', 'identity.update'],
      ['Delete', 'identity.delete'],
      ['Change the rule', 'identity.update'],
    ] as const) {
      // Which permissions the user has may be read after the page.
      const button = page.getByRole('button', { name, exact: true, disabled: true })
      await button.waitFor()
      const description = await button.getAttribute('aria-describedby')
      assert.match((await page.locator(`[id="${description}"]`).textContent()) ?? '', new RegExp(capability))
    }
    await page.getByRole('tab', { name: 'Roles' }).click()
    await page.getByText('Requires the capability role_bindings.create').waitFor()
    await open(`/create-identity/${organization.uid}`, 'Create an identity')
    await page.getByText('Requires the capability identity.create').waitFor()
    assert.equal(await page.getByRole('radio').count(), 0)
    const token = await cast().berth.tokenOf(identity)
    for (const [method, path] of [
      ['POST', organization.uid],
      ['PATCH', uid],
      ['DELETE', uid],
    ]) {
      const refused = await fetch(`${cast().berth.url}/iam/v2beta1/identities/${path}`, {
        method: method as string,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(method === 'DELETE' ? {} : { body: '{"name":"x"}' }),
      })
      assert.equal(refused.status, 403, method)
    }
    assert.deepEqual(problems, [])
  })

  test('roles that the user cannot read name the capability, and identities are shown without them', async () => {
    const organization = await cast().organization()
    const role = await cast().admin.create(`iam/roles/${organization.uid}`, {
      name: newName('reader'),
      capabilities: ['CAP_IAM_GROUPS_LIST', 'CAP_IAM_IDENTITY_LIST'],
    })
    const { uid } = await cast().admin.create(`iam/identities/${organization.uid}`, {
      name: 'ci',
      claimMatch: { issuer: 'https://issuer.example', subject: 'robot' },
    })
    const { page, problems, open } = await cast().signIn(role.uid, organization.uid)
    await open(`/folders/${organization.uid}?tab=identities`, organization.name)
    const roles = page.getByRole('row', { name: /^ci/ }).getByText('no permission')
    await page.getByText('Roles: Requires the capability role_bindings.list').waitFor()
    assert.match(await descriptionOf(roles), /role_bindings\.list/)
    await open(`/identities/${uid}?tab=roles`, 'ci')
    await page.getByText('Requires the capability role_bindings.list').waitFor()
    for (const path of [`/identities/${organization.uid}/${'0'.repeat(16)}`, '/identities/x'])
      await open(path, 'Not found')
    await open(`/create-identity/${'0'.repeat(40)}`, 'Not found')
    assert.deepEqual(problems, [])
  })

  test('without a connection, the wizard and the test of a token say so and keep what was typed', async () => {
    const organization = await cast().organization()
    const { uid } = await cast().admin.create(`iam/identities/${organization.uid}`, {
      name: 'ci',
      claimMatch: { issuer: 'https://issuer.example', subject: 'robot' },
    })
    const { page, problems, open } = await cast().signIn('owner', organization.uid)
    await open(
      `/create-identity/${organization.uid}?step=role&platform=github&f-repo=acme%2Fapp`,
      'Create an identity',
    )
    const create = page.getByRole('button', { name: 'Create the identity' })
    await page.getByRole('combobox', { name: /Role/ }).and(page.locator('[value="registry.push"]')).waitFor()
    await page.context().setOffline(true)
    await create.click()
    await page.getByText('The server does not respond').first().waitFor()
    await page.context().setOffline(false)
    await create.click()
    await page.getByRole('heading', { level: 1, name: 'app' }).waitFor()
    await open(`/identities/${uid}?tab=explain`, 'ci')
    await page.getByRole('textbox', { name: 'Token' }).fill('eyJ.x.y')
    await page.context().setOffline(true)
    await page.getByRole('button', { name: 'Test the token' }).click()
    await page.getByText('The server does not respond').first().waitFor()
    assert.equal(await page.getByRole('textbox', { name: 'Token' }).inputValue(), 'eyJ.x.y')
    await page.context().setOffline(false)
    assert.deepEqual(problems, [])
  })

  test('XSS: markup, direction overrides and long texts in rules and descriptions are text', async () => {
    const organization = await cast().organization()
    const { uid } = await cast().admin.create(`iam/identities/${organization.uid}`, {
      name: 'ci',
      description: `${MARKUP}${OVERRIDE}`,
      claimMatch: {
        issuer: 'https://issuer.example',
        subject: `${MARKUP}${OVERRIDE}`,
        audience: 'x'.repeat(1000),
        claims: { [MARKUP]: MARKUP },
      },
    })
    const { page, problems, open } = await cast().signIn('owner', organization.uid)
    const requests: string[] = []
    page.on('request', (request) => requests.push(request.url()))
    await open(`/folders/${organization.uid}?tab=identities`, organization.name)
    await page.getByText(MARKUP).first().waitFor()
    for (const tab of ['trust', 'roles', 'workflow', 'explain']) {
      await open(`/identities/${uid}?tab=${tab}`, 'ci')
      await page.getByText(MARKUP).first().waitFor()
      await page.waitForLoadState('networkidle')
    }
    await open(`/identities/${uid}?tab=workflow&platform=github`, 'ci')
    await page.getByText('.github/workflows/publish.yaml').first().waitFor()
    assert.equal(await page.evaluate(HACKED), undefined)
    assert.deepEqual(
      requests.filter((url) => !url.startsWith(cast().berth.url)),
      [],
    )
    assert.deepEqual(problems, [])
  })

  test('every page and dialog of identities and pull tokens passes axe', async () => {
    const { admin } = cast()
    const organization = await admin.create('iam/groups', { name: `${newName('org')}-${LONG}`.slice(0, 60) })
    const folder = await admin.create(`iam/groups/${organization.uid}`, { name: 'team' })
    const empty = await admin.create(`iam/groups/${organization.uid}`, { name: 'empty' })
    const add = (body: object) => admin.create(`iam/identities/${folder.uid}`, body)
    const github = await add({
      name: 'app-ci',
      description: 'Pushes the images of the shop',
      claimMatch: {
        issuer: 'https://token.actions.githubusercontent.com',
        subject: 'repo:acme/app:ref:refs/heads/main',
      },
    })
    await admin.create(`iam/roleBindings/${folder.uid}`, {
      identityUid: github.uid,
      roleUid: managedRole('registry.push'),
    })
    await admin.create(`iam/roleBindings/${organization.uid}`, {
      identityUid: github.uid,
      roleUid: managedRole('registry.pull'),
    })
    await add({
      name: LONG,
      claimMatch: {
        issuerPattern: 'https://[a-z0-9-]+\\.example\\.com',
        subjectPattern: `${LONG}.+`,
        audience: `https://${LONG}.example.com`,
        claims: { repository: LONG },
        claimPatterns: { environment: '(staging|production)' },
      },
    })
    await add({
      name: 'pods',
      claimMatch: { issuer: 'https://oidc.example.com/cluster', subject: 'system:serviceaccount:prod:web' },
    })
    await add({
      name: 'build role',
      awsIdentity: {
        awsAccount: '123456789012',
        arnPattern: 'arn:aws:sts::123456789012:assumed-role/build/(.+)',
        userIdPattern: 'AROAEXAMPLEID:(.+)',
      },
    })
    const robot = await add({
      name: 'robot',
      staticKeys: {
        issuer: 'https://robots.example.com',
        subject: 'r1',
        issuerKeys: keySet('k1'),
        expirationTime: inDays(3),
      },
    })
    const pull = await add({
      name: 'edge cluster',
      staticKeys: {
        issuer: PULL_TOKEN_ISSUER,
        subject: 'pull-token-1',
        issuerKeys: keySet('k1'),
        expirationTime: inDays(200),
      },
    })
    await admin.create(`iam/roleBindings/${folder.uid}`, {
      identityUid: pull.uid,
      roleUid: managedRole('registry.pull'),
    })
    const { page, problems, visit } = await cast().signIn('owner', organization.uid)
    const wizard = `/create-identity/${folder.uid}`
    const pages: readonly (readonly [path: string, heading: string, name: string])[] = [
      [`/folders/${folder.uid}?tab=identities`, 'team', 'identities'],
      [`/folders/${empty.uid}?tab=identities`, 'empty', 'identities empty'],
      [`/folders/${folder.uid}?tab=pull-tokens`, 'team', 'pull tokens'],
      [`/folders/${empty.uid}?tab=pull-tokens`, 'empty', 'pull tokens empty'],
      [`/identities/${github.uid}`, 'app-ci', 'identity trust'],
      [`/identities/${github.uid}?tab=roles`, 'app-ci', 'identity roles'],
      [`/identities/${github.uid}?tab=workflow&created=yes`, 'app-ci', 'identity workflow'],
      [`/identities/${robot.uid}`, 'robot', 'identity static keys'],
      [`/identities/${robot.uid}?tab=workflow`, 'robot', 'identity commands'],
      [wizard, 'Create an identity', 'wizard platform'],
      [`${wizard}?step=details&platform=github`, 'Create an identity', 'wizard github'],
      [`${wizard}?step=details&platform=aws-role`, 'Create an identity', 'wizard aws'],
      [`${wizard}?step=details&platform=oidc`, 'Create an identity', 'wizard oidc'],
      [`${wizard}?step=details&platform=static`, 'Create an identity', 'wizard static'],
      [`${wizard}?step=role&platform=github&f-repo=acme%2Fapp`, 'Create an identity', 'wizard role'],
    ]
    for (const [path, heading, name] of pages) {
      await page.setViewportSize({ width: 1280, height: 800 })
      await visit(path, heading)
      // Styles of a page do not reach into the parts of commands.
      assert.deepEqual(await page.evaluate(DISPLAYS_IN_COMMANDS), ['inline'], name)
      await assertAccessible(page, name)
    }
    const at1280 = async (path: string, heading: string) => {
      await page.setViewportSize({ width: 1280, height: 800 })
      await visit(path, heading)
    }
    for (const [path, heading, button] of [
      [`/folders/${folder.uid}?tab=pull-tokens`, 'team', 'Create a pull token'],
      [`/folders/${folder.uid}?tab=pull-tokens`, 'team', 'Revoke the pull token edge cluster'],
      [`/identities/${github.uid}`, 'app-ci', 'Edit'],
      [`/identities/${github.uid}`, 'app-ci', 'Delete'],
      [`/identities/${github.uid}`, 'app-ci', 'Change the rule'],
      [`/identities/${github.uid}?tab=roles`, 'app-ci', 'Grant a role'],
      [`/identities/${robot.uid}`, 'robot', 'Add or replace keys'],
    ] as const) {
      await at1280(path, heading)
      await page.getByRole('button', { name: button, exact: true }).click()
      await page.getByRole('dialog').waitFor()
      await waitUntilLoaded(page)
      await assertAccessible(page, `dialog ${button}`)
    }
    await at1280(`${wizard}?step=details&platform=github&f-repo=acme&f-ref=main`, 'Create an identity')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('must be OWNER/REPO').waitFor()
    await assertAccessible(page, 'wizard problems')
    await at1280(`/identities/${github.uid}?tab=explain`, 'app-ci')
    await page.getByRole('textbox', { name: 'Token' }).fill('eyJ.x.y')
    await page.getByRole('button', { name: 'Test the token' }).click()
    await page.getByRole('grid', { name: 'Conditions' }).waitFor()
    await assertAccessible(page, 'explain')
    await at1280(`/folders/${folder.uid}?tab=pull-tokens`, 'team')
    await page.getByRole('button', { name: 'Create a pull token' }).click()
    await page.getByRole('button', { name: 'Create the pull token' }).click()
    await page.getByText('imagePullSecrets').waitFor()
    await waitUntilLoaded(page)
    await assertAccessible(page, 'new pull token')
    assert.deepEqual(problems, [])
  })
})
