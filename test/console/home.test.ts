import assert from 'node:assert/strict'
import { test } from 'node:test'
import { managedRole, newName } from '../support/api/api-fixture.ts'
import { openConsole } from '../support/console/console-page.ts'
import { consoleSuite } from '../support/console/console-suite.ts'
import { bearerOf, ociClient, pushImage, testImage } from '../support/registry/registry.ts'
import { createPerson } from '../support/signin/accounts.ts'
import { assertAccessible } from '../support/signin/axe.ts'

/** The start page: organizations, what happened in them, and the first steps. */

const DAY_MS = 86_400_000

consoleSuite('the start page', (cast) => {
  const step = (title: string) => ({ level: 3, name: title }) as const

  test('a user with nothing sees one next step', async () => {
    const identity = await createPerson(cast().berth, { email: `${newName('new')}@example.com` })
    const { page, problems, open } = await openConsole(cast().chromium, cast().berth, identity)
    await open('', 'Home')
    await page.getByRole('heading', { name: 'Create your organization' }).waitFor()
    assert.equal(
      await page.getByRole('main').getByRole('button', { name: 'Create an organization' }).count(),
      1,
    )
    assert.equal(await page.getByRole('heading', { level: 2 }).count(), 1)
    assert.deepEqual(problems, [])
  })

  test('the first steps tick themselves, and can be hidden and shown again', async () => {
    const organization = await cast().organization()
    const { berth, admin } = cast()
    const { page, problems, open, identity } = await cast().signIn('owner', organization.uid)
    await open('', 'Home')
    await page.getByRole('heading', step('Push an image (to do)')).waitFor()
    await page.getByRole('button', { name: 'Mark as done' }).click()
    await page.getByRole('heading', step('Install the command line (done)')).waitFor()
    await page.getByRole('heading', step('Connect CI (to do)')).waitFor()
    await page.getByRole('button', { name: 'Hide' }).click()
    await page.reload()
    await page.getByRole('button', { name: 'Show the first steps' }).click()
    await page.getByRole('heading', step('Install the command line (done)')).waitFor()
    const client = ociClient(berth, await bearerOf(berth, identity))
    await pushImage(client, `${organization.name}/app`, testImage(), '1.0')
    await page.reload()
    await page.getByRole('heading', step('Push an image (done)')).waitFor()
    await page.getByRole('link', { name: `${organization.name}/app:1.0` }).waitFor()
    const claimMatch = { issuer: 'https://a.example', subject: 'ci' }
    await admin.create(`iam/identities/${organization.uid}`, { name: 'ci', claimMatch })
    const colleague = await createPerson(berth)
    await admin.create(`iam/roleBindings/${organization.uid}`, {
      identityUid: colleague,
      roleUid: managedRole('viewer'),
    })
    await page.reload()
    await page.getByRole('link', { name: `${organization.name}/app:1.0` }).waitFor()
    assert.equal(await page.getByText('First steps in').count(), 0)
    assert.deepEqual(problems, [])
  })

  test('open invites and expiring keys are shown with their paths, in a handful of requests', async () => {
    const organization = await cast().organization()
    const { admin } = cast()
    const folder = (await admin.create(`iam/groups/${organization.uid}`, { name: 'team' })).uid
    await admin.create(`iam/groupInvites/${folder}`, {
      roleUid: managedRole('viewer'),
      email: 'bob@example.com',
      ttl: '86400s',
    })
    const keys = (days: number) => ({
      name: `key-${days}`,
      staticKeys: {
        issuer: 'https://pulltoken.issuer.berth',
        subject: 's',
        issuerKeys:
          '{"keys":[{"kty":"RSA","kid":"a","alg":"RS256","use":"sig","n":"' +
          'u'.repeat(342) +
          '","e":"AQAB"}]}',
        expirationTime: new Date(Date.now() + days * DAY_MS).toISOString(),
      },
    })
    for (const days of [3, 200]) await admin.create(`iam/identities/${folder}`, keys(days))
    const { page, problems, open } = await cast().signIn('owner', organization.uid)
    const requests: string[] = []
    page.on('request', (request) => {
      const { pathname, search } = new URL(request.url())
      if (/^\/(iam|registry|search|auth|audit)\//.test(pathname)) requests.push(pathname + search)
    })
    await open('', 'Home')
    await page.getByRole('link', { name: 'bob@example.com' }).waitFor()
    await page.getByText(`viewer in ${organization.name}/team, expires`).waitFor()
    await page.getByRole('link', { name: `${organization.name}/team/key-3` }).waitFor()
    assert.equal(await page.getByText('key-200').count(), 0)
    assert.equal(new Set(requests).size, requests.length, requests.join('\n'))
    // One of them is for the folders of the only organization.
    assert.ok(requests.length <= 10, requests.join('\n'))
    assert.deepEqual(problems, [])
  })

  test('an invite for the address of the user is accepted on the start page', async () => {
    const organization = await cast().organization()
    const { admin, berth, chromium } = cast()
    const folder = (await admin.create(`iam/groups/${organization.uid}`, { name: 'team' })).uid
    const email = `${newName('grace')}@example.com`
    const invite = { roleUid: managedRole('editor'), email, ttl: '86400s', singleUse: true }
    const { uid } = await admin.create(`iam/groupInvites/${folder}`, invite)
    const newcomer = await createPerson(berth, { email })
    const { page, problems, open } = await openConsole(chromium, berth, newcomer)
    await open('', 'Home')
    const path = `${organization.name}/team`
    await page.getByText('Role editor, from owner, expires in 24 hours').waitFor()
    await assertAccessible(page, 'home with an invite')
    const accept = page.getByRole('button', { name: `Accept the invite to ${path}` })
    // Revoked meanwhile: the message is at the invite.
    await admin.delete(`iam/groupInvites/${uid}`)
    await accept.click()
    await page.getByRole('alert').waitFor()
    await admin.create(`iam/groupInvites/${folder}`, invite)
    await page.reload()
    await accept.click()
    await page.getByRole('heading', { level: 1, name: 'team' }).waitFor()
    await open('', 'Home')
    await page.getByRole('main').getByText('team').first().waitFor()
    assert.equal(await accept.count(), 0)
    assert.equal(await page.getByRole('heading', { name: 'Create your organization' }).count(), 0)
    const owner = await cast().signIn('owner', organization.uid)
    await owner.open(`/folders/${folder}?tab=invites`, 'team')
    const accepted = owner.page.getByRole('grid', { name: 'Accepted invites' })
    await accepted.getByRole('row').filter({ hasText: path }).waitFor()
    assert.equal(await accepted.getByRole('row').count(), 1 + 1)
    await assertAccessible(owner.page, 'accepted invites')
    assert.deepEqual([...problems.filter((one) => !one.includes('404')), ...owner.problems], [])
  })

  test('a member of a folder only starts from it', async () => {
    const organization = await cast().organization()
    const folder = await cast().admin.create(`iam/groups/${organization.uid}`, { name: 'team' })
    const { page, problems, open } = await cast().signIn('viewer', folder.uid)
    await open('', 'Home')
    await page.getByRole('link', { name: `${organization.name}/team` }).click()
    await page.getByRole('heading', { level: 1, name: 'team' }).waitFor()
    assert.deepEqual(problems, [])
  })

  test('pages that belong to no organization show the only one of the user, and none of several', async () => {
    const organization = await cast().organization()
    await cast().admin.create(`iam/groups/${organization.uid}`, { name: 'team' })
    const { page, problems, open, identity } = await cast().signIn('viewer', organization.uid)
    const pages = [
      ['', 'Home'],
      ['/advisories', 'Advisories'],
      ['/audit', 'Audit log'],
    ] as const
    for (const [path, title] of pages) {
      await open(path, title)
      await page.getByRole('button', { name: `Organization: ${organization.name}` }).waitFor()
      await page.getByRole('tree').getByRole('treeitem', { name: 'team' }).waitFor()
    }
    await page.getByRole('treeitem', { name: 'team' }).click()
    await page.getByRole('heading', { level: 1, name: 'team' }).waitFor()
    const other = await cast().organization()
    await cast().admin.create(`iam/roleBindings/${other.uid}`, {
      identityUid: identity,
      roleUid: managedRole('viewer'),
    })
    for (const [path, title] of pages) {
      await open(path, title)
      await page.getByRole('button', { name: 'Organization: Choose an organization' }).waitFor()
      assert.equal(await page.getByRole('tree').count(), 0)
    }
    assert.deepEqual(problems, [])
  })

  test('the start page passes axe', async () => {
    const organization = await cast().organization()
    const { berth } = cast()
    const { page, problems, open, identity } = await cast().signIn('owner', organization.uid)
    const client = ociClient(berth, await bearerOf(berth, identity))
    await pushImage(client, `${organization.name}/app`, testImage(), '1.0')
    await cast().admin.create(`iam/groupInvites/${organization.uid}`, {
      roleUid: managedRole('viewer'),
      ttl: '86400s',
    })
    await open('', 'Home')
    await page.getByRole('heading', { name: 'Recent pushes' }).waitFor()
    await page.getByRole('link', { name: 'Anyone with the link' }).waitFor()
    await assertAccessible(page, 'home')
    const newcomer = await createPerson(berth, { email: `${newName('new')}@example.com` })
    const other = await openConsole(cast().chromium, berth, newcomer)
    await other.open('', 'Home')
    await other.page.getByRole('heading', { name: 'Create your organization' }).waitFor()
    await assertAccessible(other.page, 'home of a new user')
    assert.deepEqual([...problems, ...other.problems], [])
  })
})
