import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import { managedRoleByName } from '@berth/server/iam/managed-roles.ts'
import { call } from '../api/rest.ts'
import { createOrganization, createResource, verifyOrganization } from '../api/tenant.ts'
import { confirm, type WebBrowser, type WebPage, webBrowser } from '../browser/web-browser.ts'
import type { TestDatabase } from '../database/databases.ts'
import { cleanups, temporaryDirectory } from '../server/process.ts'
import { startTestBerth, type TestBerth } from '../server/test-berth.ts'
import { fetchHeadlessToken, newClient } from './headless.ts'
import { isSignedIn, providerLinks, runMixUpAttack } from './mix-up-attack.ts'
import { CLIENT, claimsOf, codeFlow, postForm, submitConsent, tokenRequest, withQuery } from './oauth.ts'
import {
  type MaliciousProvider,
  type ProviderKind,
  type ProviderProcess,
  type ProviderUser,
  providerSecret,
  signInAt,
  startMaliciousProvider,
} from './real-providers.ts'

/** Every flow that ends at an identity provider, against one that runs in a process of its own. */
export function providerFlows(kind: ProviderKind, database: Pick<TestDatabase, 'name' | 'open'>): void {
  describe(`sign-in with ${kind.name} (${database.name})`, () => {
    const clean = cleanups()
    let berth: TestBerth
    let process: ProviderProcess
    let evil: MaliciousProvider
    let unavailable: string | undefined
    /** uid of each provider of the organization, by the name of its client. */
    const uids = new Map<string, string>()
    const uid = (name: string) => uids.get(name) ?? assert.fail(name)

    before(async () => {
      unavailable = await kind.prepare()
      if (unavailable !== undefined) return
      process = await kind.reserve(clean)
      evil = await startMaliciousProvider(clean, { promisesIss: false })
      const { issuer } = process
      const file = join(temporaryDirectory(clean), 'providers.json')
      const operator = { name: 'operator', issuer, clientId: 'operator', clientSecret: providerSecret }
      writeFileSync(file, JSON.stringify([{ ...operator, scopes: ['email'] }]))
      berth = await startTestBerth(database, { env: { BERTH_SIGN_IN_PROVIDERS_FILE: file } })
      clean.after(() => berth.stop())

      const redirects = new Map([['operator', `${berth.url}/oauth/callback/operator`]])
      const add = async (organization: string, name: string, of: string, groupsClaim = '') => {
        const made = await createResource(berth, `/iam/v2beta1/identityProviders/${organization}`, {
          name,
          defaultRole: managedRoleByName.get('viewer')?.uid,
          oidc: {
            issuer: of,
            clientId: name,
            clientSecret: providerSecret,
            additionalScopes: ['email', kind.groupsScope],
            groupsClaim,
          },
        })
        uids.set(name, made.uid)
        redirects.set(name, String((made as { redirectUri?: unknown }).redirectUri))
      }
      for (const name of ['plain', 'old', 'doomed']) await add(berth.organization, name, issuer)
      await add(berth.organization, 'groups', issuer, 'groups')
      await add(await createOrganization(berth, 'attackers'), 'evil', evil.issuer)
      await createResource(berth, `/iam/v2beta1/externalGroupRoleMappings/${uid('groups')}`, {
        externalGroupId: process.users[0].groups[0],
        roleUid: managedRoleByName.get('owner')?.uid,
        scope: berth.organization,
      })
      await berth.berth.installation.store.db.kysely
        .updateTable('identity_providers')
        .set({ shared_callback: 1 })
        .where('uid', '=', uid('old'))
        .execute()
      await process.start(
        [...redirects]
          .filter(([name]) => name !== 'evil')
          .map(([id, own]) => ({
            id,
            secret: providerSecret,
            redirectUris: id === 'old' ? [own, `${berth.url}/oauth/callback`] : [own],
          })),
      )
    })
    after(() => clean.run())

    /** A flow; skipped with the reason where the provider cannot be had. */
    const flow = (name: string, run: () => Promise<void>) =>
      test(name, async (t) => (unavailable === undefined ? run() : t.skip(unavailable)))
    const person = (): ProviderUser => process.users[1]
    const leave = async (browser: WebBrowser, page: WebPage) => {
      const { redirectedTo: left, status, text } = await confirm(browser, page)
      return left ?? assert.fail(`nothing leads to the provider: ${status} ${text}`)
    }
    const start = async (browser: WebBrowser, id: string) =>
      leave(browser, await browser.open(withQuery('/sign-in/provider', { with: id })))
    /** Signs in where a page leads, up to the page on which the browser ends. */
    const signIn = async (browser: WebBrowser, page: WebPage, user = person()) =>
      browser.open((await signInAt(await leave(browser, page), user)).href)
    const tokens = async (provider: string, user = person()) => {
      const browser = webBrowser(berth.url)
      const request = codeFlow()
      const path = withQuery('/oauth/authorize', { ...request.parameters, idp_id: provider })
      const { redirectedTo: left, text } = await submitConsent(
        browser,
        await signIn(browser, await browser.open(path), user),
      )
      const code = left?.searchParams.get('code') ?? assert.fail(text)
      const { body } = await postForm(berth.url, '/oauth/token', tokenRequest(request, code))
      return { browser, body, token: body.access_token ?? assert.fail(JSON.stringify(body)) }
    }
    const mayRead = async (token: string) =>
      (await call('GET', `${berth.url}/iam/v2beta1/groups/${berth.organization}`, { token })).status

    flow(
      'a user types the name of the organization, signs in and sees the email address of the provider',
      async () => {
        const { name } = (
          await call('GET', `${berth.url}/iam/v2beta1/groups/${berth.organization}`, { token: berth.token })
        ).body as { name: string }
        await verifyOrganization(berth, berth.organization)
        const browser = webBrowser(berth.url)
        const page = await browser.open(withQuery('/sign-in/provider', { organization: name }))
        const account = await signIn(browser, page)
        assert.equal(account.path, '/', account.text)
        const { text } = await browser.open('/account')
        assert.ok(text.includes(person().email), text)
      },
    )

    flow('a client gets tokens by code and proof key with idp_id, and refreshes them', async () => {
      const { body, token } = await tokens(uid('plain'))
      assert.equal(await mayRead(token), 200)
      const refreshed = await postForm(berth.url, '/oauth/token', {
        grant_type: 'refresh_token',
        client_id: CLIENT,
        refresh_token: body.refresh_token,
      })
      assert.equal(refreshed.status, 200, JSON.stringify(refreshed.body))
      assert.equal(await mayRead(refreshed.body.access_token ?? ''), 200)
    })

    flow('the browser flow of the public SDK', async () => {
      const browser = webBrowser(berth.url)
      const path = withQuery('/oauth', {
        redirect: 'http://localhost:49152/callback?token=true',
        idp_id: uid('plain'),
      })
      const { redirectedTo: left, text } = await submitConsent(
        browser,
        await signIn(browser, await browser.open(path)),
      )
      assert.ok(left?.searchParams.get('token'), text)
    })

    flow('the headless flow of the public SDK', async () => {
      const browser = webBrowser(berth.url)
      const client = newClient()
      const path = withQuery('/oauth', { headless_code: client.code, idp_id: uid('plain') })
      await submitConsent(browser, await signIn(browser, await browser.open(path)))
      const result = (await fetchHeadlessToken(berth.url, client.code)) ?? assert.fail('there is no result')
      assert.equal(claimsOf(client.open(result))['iss'], berth.url)
    })

    flow('a device', async () => {
      const { body: device } = await postForm(berth.url, '/oauth/device_authorization', {
        client_id: CLIENT,
      })
      const browser = webBrowser(berth.url)
      const typed = { user_code: String(device['user_code']) }
      const page = await browser.submit(await browser.open('/device'), typed, -1)
      const request = new URL(page.path, berth.url).searchParams.get('request') ?? ''
      const asked = await browser.open(withQuery('/sign-in/provider', { with: uid('plain'), request }))
      await submitConsent(browser, await signIn(browser, asked))
      berth.advance(limits.deviceIntervalMs)
      const { body } = await postForm(berth.url, '/oauth/token', {
        grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
        client_id: CLIENT,
        device_code: String(device['device_code']),
      })
      assert.equal(await mayRead(body.access_token ?? assert.fail(JSON.stringify(body))), 200)
    })

    flow('groups of the provider give their roles', async () => {
      const create = async (user: ProviderUser) => {
        const { token } = await tokens(uid('groups'), user)
        const path = `${berth.url}/iam/v2beta1/groups/${berth.organization}`
        return (await call('POST', path, { token, body: { name: `of ${kind.name.toLowerCase()}` } })).status
      }
      assert.equal(await create(process.users[1]), 403)
      assert.equal(await create(process.users[0]), 200)
    })

    flow('signing out ends the session, deleting the provider ends its sessions and tokens', async () => {
      const first = webBrowser(berth.url)
      await signIn(first, await first.open(withQuery('/sign-in/provider', { with: uid('plain') })))
      const account = await first.open('/account')
      await first.post('/sign-out', { form_token: account.forms[0]?.fields['form_token'] })
      assert.equal(await isSignedIn(first), false)

      const { browser, body, token } = await tokens(uid('doomed'))
      assert.equal(await isSignedIn(browser), true)
      const gone = `${berth.url}/iam/v2beta1/identityProviders/${uid('doomed')}`
      assert.equal((await call('DELETE', gone, { token: berth.token })).status, 200)
      assert.equal(await isSignedIn(browser), false)
      assert.equal(await mayRead(token), 401)
      const { status } = await postForm(berth.url, '/oauth/token', {
        grant_type: 'refresh_token',
        client_id: CLIENT,
        refresh_token: body.refresh_token,
      })
      assert.equal(status, 400)
    })

    flow(
      'R40: a response of another issuer is rejected, and one without its issuer where that is promised',
      async () => {
        for (const [changed, iss] of [
          ['another', ['https://other.example']],
          ['two', [process.issuer, process.issuer]],
          ['none', []],
        ] as const) {
          const browser = webBrowser(berth.url)
          const back = await signInAt(await start(browser, uid('plain')), person())
          assert.equal(back.searchParams.get('iss'), kind.namesIssuer ? process.issuer : null)
          back.searchParams.delete('iss')
          for (const one of iss) back.searchParams.append('iss', one)
          const page = await browser.open(back.href)
          const isRefused = kind.namesIssuer || iss.length > 0
          assert.equal(await isSignedIn(browser), !isRefused, `${changed}: ${page.text}`)
          if (isRefused) assert.equal(page.status, 403, page.text)
        }
      },
    )

    flow(
      'R40: a response for one provider counts at no other, though both have the same issuer',
      async () => {
        const signedIn = async (from: string, to: string, state: 'same' | 'own') => {
          const browser = webBrowser(berth.url)
          const back = await signInAt(await start(browser, from), person())
          const other = await start(browser, to)
          const moved = new URL(other.searchParams.get('redirect_uri') ?? '')
          moved.search = back.search
          if (state === 'own') moved.searchParams.set('state', other.searchParams.get('state') ?? '')
          const { status, text } = await browser.open(moved.href)
          // Dex answers 500 to a code of another client.
          assert.ok([403, 404, 503].includes(status), `${status} ${text}`)
          return isSignedIn(browser)
        }
        for (const [from, to] of [
          ['operator', uid('plain')],
          [uid('plain'), 'operator'],
          [uid('groups'), uid('plain')],
        ] as const)
          for (const state of ['same', 'own'] as const)
            assert.equal(await signedIn(from, to, state), false, `${from} ${to} ${state}`)
        for (const id of ['operator', uid('plain')]) {
          const browser = webBrowser(berth.url)
          await browser.open((await signInAt(await start(browser, id), person())).href)
          assert.equal(await isSignedIn(browser), true, id)
        }
      },
    )

    flow('R40: mix-up: no code of it reaches the provider of an attacker', async () => {
      for (const honest of ['operator', uid('plain')])
        for (const [how, link] of Object.entries(providerLinks(uid('evil')))) {
          const attack = { honest, provider: evil, victim: person() }
          const { stolen, victim, attacker } = await runMixUpAttack(berth, attack, link)
          assert.deepEqual(stolen, [], how)
          assert.deepEqual([await isSignedIn(victim), await isSignedIn(attacker)], [false, false], how)
        }
    })

    flow(
      'R40: the shared redirect URI is for old providers that promise iss; others show how to move',
      async () => {
        const path = `${berth.url}/iam/v2beta1/identityProviders/${uid('old')}`
        const described = async () => {
          const { body } = await call('GET', path, { token: berth.token })
          return body as unknown as { callback: string; redirectUri: string; signInProblem: string }
        }
        const enter = async () => {
          const browser = webBrowser(berth.url)
          const asked = await browser.open(withQuery('/sign-in/provider', { with: uid('old') }))
          const page = await confirm(browser, asked)
          if (page.redirectedTo === undefined) return { page, uri: '' }
          await browser.open((await signInAt(page.redirectedTo, person())).href)
          assert.equal(await isSignedIn(browser), true)
          return { page, uri: page.redirectedTo.searchParams.get('redirect_uri') }
        }
        const { callback, redirectUri, signInProblem } = await described()
        assert.equal(callback, 'CALLBACK_SHARED')
        const { page, uri } = await enter()
        if (kind.namesIssuer) {
          assert.equal(signInProblem, '')
          assert.equal(uri, `${berth.url}/oauth/callback`)
        } else {
          for (const text of [signInProblem, page.text]) {
            assert.match(text, /authorization_response_iss_parameter_supported/)
            assert.ok(text.includes(`Register the redirect URI ${redirectUri} at the provider`), text)
            assert.ok(text.includes(`identity-providers update ${uid('old')} --callback own`), text)
          }
          assert.equal(page.status, 400)
        }
        const moved = await call('PATCH', path, { token: berth.token, body: { callback: 'CALLBACK_OWN' } })
        assert.equal(moved.status, 200, moved.text)
        assert.equal((await enter()).uri, redirectUri)
        assert.deepEqual(await described(), {
          ...(await described()),
          callback: 'CALLBACK_OWN',
          signInProblem: '',
        })
      },
    )
  })
}
