import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { managedRoleByName } from '@berth/server/iam/managed-roles.ts'
import { createOrganization, createResource } from './support/api/tenant.ts'
import { linkOf, webBrowser } from './support/browser/web-browser.ts'
import { anyDatabase } from './support/database/databases.ts'
import { cleanups, temporaryDirectory } from './support/server/process.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'
import {
  crossSite,
  isSignedIn,
  type MixUpAttack,
  providerLinks,
  runMixUpAttack,
} from './support/signin/mix-up-attack.ts'
import {
  type MaliciousProvider,
  nodeProvider,
  type ProviderProcess,
  providerSecret,
  startMaliciousProvider,
} from './support/signin/real-providers.ts'

/** Codes of one identity provider never reach another one: confidential clients, proof keys, providers in processes of their own. */

for (const database of anyDatabase) {
  describe(`mix-up of identity providers (${database.name})`, () => {
    const clean = cleanups()
    const honest: Record<string, ProviderProcess> = {}
    const uids: Record<string, string> = {}
    let berth: TestBerth
    let evil: MaliciousProvider
    let evilUid = ''
    /** From before each had its own redirect URI; it promises `iss` to stay usable. */
    let oldEvil: MaliciousProvider
    let oldEvilUid = ''

    before(async () => {
      for (const [name, kind] of [
        ['names itself', nodeProvider()],
        ['does not name itself', nodeProvider(false)],
      ] as const)
        honest[name] = await kind.reserve(clean)
      evil = await startMaliciousProvider(clean, { promisesIss: false })
      oldEvil = await startMaliciousProvider(clean, { promisesIss: true })
      const file = join(temporaryDirectory(clean), 'providers.json')
      const operators = Object.values(honest).map(({ issuer }, at) => ({
        name: `operator-${at}`,
        issuer,
        clientId: `operator-${at}`,
        clientSecret: providerSecret,
      }))
      writeFileSync(file, JSON.stringify(operators))
      berth = await startTestBerth(database, { env: { BERTH_SIGN_IN_PROVIDERS_FILE: file } })
      clean.after(() => berth.stop())

      const add = async (organization: string, name: string, issuer: string, old = false) => {
        const { uid } = await createResource(berth, `/iam/v2beta1/identityProviders/${organization}`, {
          name,
          defaultRole: managedRoleByName.get('viewer')?.uid,
          oidc: { issuer, clientId: 'acme', clientSecret: providerSecret, pkceEnabled: true },
        })
        if (old)
          await berth.berth.installation.store.db.kysely
            .updateTable('identity_providers')
            .set({ shared_callback: 1 })
            .where('uid', '=', uid)
            .execute()
        return uid
      }
      const attackers = await createOrganization(berth, 'attackers')
      evilUid = await add(attackers, 'evil', evil.issuer)
      oldEvilUid = await add(attackers, 'old evil', oldEvil.issuer, true)
      for (const [at, [name, provider]] of Object.entries(honest).entries()) {
        const uid = await add(berth.organization, name, provider.issuer)
        uids[name] = uid
        const redirects = (id: string) => [callback(id), callback()]
        await provider.start([
          { id: `operator-${at}`, secret: providerSecret, redirectUris: redirects(`operator-${at}`) },
          // As after the upgrade: the shared redirect URI is still registered.
          { id: 'acme', secret: providerSecret, redirectUris: redirects(uid) },
        ])
      }
    })
    after(() => clean.run())

    const callback = (id?: string) => `${berth.url}/oauth/callback${id === undefined ? '' : `/${id}`}`
    const habits = ['names itself', 'does not name itself']

    for (const [at, habit] of habits.entries()) {
      for (const whose of ['the operator', 'an organization']) {
        test(`R40: no code of a provider of ${whose} that ${habit} reaches the provider of an attacker, by any link and redirect URI`, async () => {
          const id = whose === 'the operator' ? `operator-${at}` : (uids[habit] ?? '')
          const provider = honest[habit] ?? assert.fail()
          for (const [attackers, uid] of [
            [evil, evilUid],
            [oldEvil, oldEvilUid],
          ] as const)
            for (const redirectUri of [undefined, callback()])
              for (const [how, link] of Object.entries(providerLinks(uid))) {
                const attack: MixUpAttack = {
                  honest: id,
                  provider: attackers,
                  victim: provider.users[0],
                  redirectUri,
                }
                const { stolen, status, victim, attacker } = await runMixUpAttack(berth, attack, link)
                assert.deepEqual(stolen, [], how)
                assert.ok([403, 404].includes(status), `${how}: ${status}`)
                assert.equal(await isSignedIn(victim), false, how)
                assert.equal(await isSignedIn(attacker), false, how)
              }
        })
      }
    }

    test('R40: a link of another site leads to the provider of an organization only after a confirmation', async () => {
      for (const headers of [
        crossSite.headers,
        { 'sec-fetch-site': 'same-site' },
        { 'sec-fetch-site': 'none' },
        { 'sec-fetch-site': 'same-origin', origin: 'https://elsewhere.example' },
        { referer: 'https://elsewhere.example/' },
        {},
      ])
        for (const [how, link] of Object.entries(providerLinks(evilUid))) {
          const page = await webBrowser(berth.url, { headers }).open(link)
          assert.equal(page.redirectedTo, undefined, `${how} ${JSON.stringify(headers)}`)
          assert.equal(page.status, 200)
          assert.match(page.text, /^Sign in to attackers with evil\?/)
          assert.match(page.text, /has not verified the organization attackers/)
          assert.ok(page.text.includes(new URL(evil.issuer).host))
        }
    })

    test('R40: the link of that page is valid only in its browser, for its provider and its request', async () => {
      const browser = webBrowser(berth.url, crossSite)
      const page = await browser.open(`/sign-in/provider?with=${evilUid}`)
      const href = linkOf(page, /<a class="button" href="([^"]*confirmed[^"]*)"/)
      const link = new URL(href ?? assert.fail(page.html), berth.url)
      const changed = (name: string, value: string) => {
        const url = new URL(link)
        url.searchParams.set(name, value)
        return url.href
      }
      for (const other of [
        changed('with', oldEvilUid),
        changed('request', 'A'.repeat(43)),
        changed('confirmed', 'A'.repeat(43)),
        changed('confirmed', ''),
      ])
        assert.equal((await browser.open(other)).redirectedTo, undefined, other)
      assert.equal((await webBrowser(berth.url).open(link.href)).redirectedTo, undefined, 'another browser')
      assert.equal((await browser.open(link.href)).redirectedTo?.origin, evil.issuer)
    })
  })
}
