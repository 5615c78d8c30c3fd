import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { managedRoleByName } from '@berth/server/iam/managed-roles.ts'
import type { Browser, Page } from 'playwright-core'
import { apiOf, newName } from './support/api/api-fixture.ts'
import { type MailServer, mailEnvironment, startMailServer } from './support/mail/mail-server.ts'
import { cleanups } from './support/server/process.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'
import { signedInPage, startBrowser, withoutBrowser } from './support/signin/chromium.ts'
import { localAccount, PASSWORD } from './support/signin/local-accounts.ts'

/** Links of emails in a real browser. `BERTH_TEST_SCREENSHOTS` names a directory for pictures. */

const axe = readFileSync(new URL('../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8')
const viewer = managedRoleByName.get('viewer')?.uid

describe('links of emails in Chromium', { skip: withoutBrowser }, () => {
  const clean = cleanups()
  let mail: MailServer
  let berth: TestBerth
  let chromium: Browser
  before(async () => {
    mail = await startMailServer(clean, { tls: 'none' })
    const database = { name: 'sqlite', open: undefined } as const
    berth = await startTestBerth(database, { env: mailEnvironment(mail), mail: { pollMs: 50 } })
    chromium = await startBrowser()
  })
  after(async () => {
    await chromium?.close()
    await berth?.stop()
    await clean.run()
  })

  const newEmail = () => `${newName('grace')}@example.com`
  const invite = (email: string) =>
    apiOf(berth, berth.token).create(`iam/groupInvites/${berth.organization}`, {
      roleUid: viewer,
      ttl: '3600s',
      ...(email === '' ? {} : { email }),
    })
  const newPage = async () =>
    (await chromium.newContext({ viewport: { width: 1280, height: 800 } })).newPage()
  /** Every address and referrer that the browser sends. */
  const recordAddresses = (page: Page): string[] => {
    const sent: string[] = []
    page.on('request', (request) => sent.push(request.url(), request.headers()['referer'] ?? ''))
    return sent
  }
  /** Looks at a page in every width and color. */
  const inspect = async (page: Page, name: string) => {
    for (const colorScheme of ['light', 'dark'] as const)
      for (const width of [375, 1280]) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
        await page.setViewportSize({ width, height: 800 })
        await page.evaluate(axe)
        const { violations } = await page.evaluate<{
          violations: { id: string; nodes: { html: string }[] }[]
        }>('axe.run({ resultTypes: ["violations"] })')
        const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join()}`)
        assert.deepEqual(found, [], `${name}, ${colorScheme}, ${width}`)
        const overflow = await page.evaluate<number>(
          'document.documentElement.scrollWidth - document.documentElement.clientWidth',
        )
        assert.ok(overflow <= 0, `${name} is ${overflow} pixels too wide at ${width}`)
        const directory = process.env['BERTH_TEST_SCREENSHOTS']
        if (directory !== undefined)
          await page.screenshot({ path: `${directory}/${name}-${colorScheme}-${width}.png`, fullPage: true })
      }
  }

  test('a user without an account opens the link of an invite, creates one and joins; no address contains the code', async () => {
    const email = newEmail()
    await invite(email)
    const { link } = await mail.next(email)
    const code = new URL(link).hash.slice(1)
    const page = await newPage()
    const sent = recordAddresses(page)
    await page.goto(link)
    await page.getByRole('heading', { name: 'Join default' }).waitFor()
    await inspect(page, 'invite-offer')
    await page.getByRole('button', { name: 'Create an account' }).click()
    assert.equal(await page.getByLabel('Email').inputValue(), email)
    await inspect(page, 'invite-register')
    await page.getByLabel('Your name').fill('Grace Hopper')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Create account' }).click()
    await page.getByRole('heading', { name: 'Join default?' }).waitFor()
    await inspect(page, 'invite-consent')
    await page.getByRole('button', { name: 'Accept' }).click()
    await page.getByRole('heading', { name: 'Welcome to default' }).waitFor()
    assert.ok(sent.length > 4)
    assert.deepEqual(
      sent.filter((address) => address.includes(code) || address.includes(encodeURIComponent(code))),
      [],
    )
    assert.equal(page.url().includes(code), false)
  })

  test('a signed-in user accepts the link with one click, also when it is opened on the page itself', async () => {
    const { code, link } = (await invite('')) as unknown as { code: string; link: string }
    const { page, problems } = await signedInPage(chromium, berth)
    await page.goto(`${berth.url}/invite`)
    await inspect(page, 'invite-code')
    // The address differs in its fragment only, so the browser loads no page.
    await page.goto(link)
    await page.getByRole('heading', { name: 'Join default?' }).waitFor()
    const text = (await page.textContent('main')) ?? ''
    for (const word of ['viewer', 'Invited by', 'Expires']) assert.ok(text.includes(word), text)
    await page.getByRole('button', { name: 'Accept' }).click()
    await page.getByRole('heading', { name: 'Welcome to default' }).waitFor()
    assert.equal(page.url().includes(code), false)
    assert.deepEqual(problems, [])
  })

  test('without scripts the code is pasted', async () => {
    const { link } = (await invite(newEmail())) as unknown as { link: string }
    const page = await (await chromium.newContext({ javaScriptEnabled: false })).newPage()
    await page.goto(link)
    await page.getByLabel('Invite code or link').fill(link)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('heading', { name: 'Join default' }).waitFor()
  })

  test('the pages of an invite for another person are accessible, and lead on', async () => {
    const email = newEmail()
    const { link } = (await invite(email)) as unknown as { link: string }
    const visitor = await newPage()
    await visitor.goto(link)
    await visitor.getByRole('heading', { name: 'No account yet?' }).waitFor()
    await inspect(visitor, 'invite-no-proof')
    const { page } = await signedInPage(chromium, berth)
    await page.goto(link)
    await page.getByRole('heading', { name: 'This invite is for another account' }).waitFor()
    await inspect(page, 'invite-mismatch')
    await page.getByRole('button', { name: 'Use another account' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await visitor.getByRole('button', { name: 'Send email' }).click()
    await visitor.getByRole('heading', { name: 'Check your email' }).waitFor()
    await inspect(visitor, 'invite-sent')
  })

  test('a used or wrong code says what to do next', async () => {
    const page = await newPage()
    await page.goto(`${berth.url}/invite#wrong`)
    await page.getByText('Ask the person who invited you for a new invite.').waitFor()
    await inspect(page, 'invite-invalid')
  })

  test('a user resets a forgotten password with the link of an email; no address contains the code', async () => {
    const email = newEmail()
    await localAccount(berth, email)
    const page = await newPage()
    const sent = recordAddresses(page)
    await page.goto(`${berth.url}/sign-in`)
    await inspect(page, 'sign-in')
    await page.getByRole('link', { name: 'Forgot your password?' }).click()
    await inspect(page, 'forgot-password')
    await page.getByLabel('Email').fill(email)
    await page.getByRole('button', { name: 'Send email' }).click()
    await page.getByRole('heading', { name: 'Check your email' }).waitFor()
    await inspect(page, 'forgot-password-sent')
    const { link } = await mail.next(email)
    await page.goto(link)
    await page.getByRole('heading', { name: 'Choose a password' }).waitFor()
    await inspect(page, 'reset-password')
    await page.getByLabel('Password').fill('quiet river under seven bridges')
    await page.getByRole('button', { name: 'Save password' }).click()
    await page.waitForURL(/\/account\?done=password/)
    const code = new URL(link).hash.slice(1)
    assert.deepEqual(
      sent.filter((address) => address.includes(code)),
      [],
    )
    await page.goto(link)
    await page.getByText('This link has expired or was already used.').waitFor()
    await inspect(page, 'reset-password-invalid')
  })

  test('the page of a server without a mail server is accessible', async () => {
    const silent = await startTestBerth({ name: 'sqlite', open: undefined })
    try {
      const page = await newPage()
      await page.goto(`${silent.url}/sign-in/forgot-password`)
      await inspect(page, 'ask-operator')
      await page.goto(`${silent.url}/sign-in`)
      await inspect(page, 'sign-in-no-mail')
    } finally {
      await silent.stop()
    }
  })
})
