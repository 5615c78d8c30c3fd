import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { limits } from '@berth/server/config/limits.ts'
import { type ApiFixture, managedRole, newName, onEveryDatabase } from './support/api/api-fixture.ts'
import { confirm, webBrowser } from './support/browser/web-browser.ts'
import { type HangingServer, startHangingServer } from './support/http/hanging-server.ts'
import { cleanups } from './support/server/process.ts'
import { exchange, statusOf } from './support/tokens/exchange.ts'
import { newSigner, SUBJECT, signJws, startIssuer } from './support/tokens/issuer.ts'

/** Issuers and providers of one organization that hang take its share of outbound requests, and nothing of others. */

const SHARE = limits.outboundConcurrencyPerOrganizationMax
const suite = cleanups()
let hanging: HangingServer
before(async () => {
  hanging = await startHangingServer(suite)
})
after(() => suite.run())

/** Waits until the hanging server holds as many requests as one share may have. */
async function untilShareIsFull(): Promise<void> {
  while ((await hanging.open()).open < SHARE) await wait(10)
}

onEveryDatabase(
  'outbound requests',
  (cast) => {
    const identityOf = async (
      issuer: string,
      { uid, owner }: Awaited<ReturnType<ApiFixture['organization']>>,
    ) =>
      (
        await owner.api.create(`iam/identities/${uid}`, {
          name: newName('robot'),
          claimMatch: { issuer, subject: SUBJECT },
        })
      ).uid as string
    const tokenOf = (issuer: string) => {
      const { url } = cast().berth
      const now = Math.floor(Date.now() / 1000)
      return signJws(
        { iss: issuer, sub: SUBJECT, aud: url, iat: now, exp: now + 300 },
        newSigner('k1').privateKey,
        {
          kid: 'k1',
        },
      )
    }
    /** Exchanges for identities of one organization whose issuers do not answer, more than all turns there are. */
    const hang = async (organization: Awaited<ReturnType<ApiFixture['organization']>>) => {
      const { url } = cast().berth
      const names = Array.from(
        { length: limits.outboundConcurrencyMax + 8 },
        () => `${hanging.url}/${newName('issuer')}`,
      )
      const identities = await Promise.all(names.map((name) => identityOf(name, organization)))
      return names.map(async (name, at) =>
        exchange(url, await tokenOf(name), { aud: url, identity: identities[at] ?? '' }),
      )
    }

    test('R3: hanging issuers of one organization fill its share, and exchanges of another succeed meanwhile', async (t) => {
      const { url } = cast().berth
      const [attacker, other] = [await cast().organization(), await cast().organization()]
      const issuer = await startIssuer(t)
      const shared = await startIssuer(t)
      const identity = await identityOf(issuer.name, other)
      const sharedIdentity = await identityOf(shared.name, other)
      const ofAttacker = await identityOf(shared.name, attacker)

      const stuck = await hang(attacker)
      await untilShareIsFull()
      // Waits in the attacker's share for an issuer that the other organization trusts as well.
      const waiting = exchange(url, await shared.sign({ aud: url }), { aud: url, identity: ofAttacker })
      const [own, common] = await Promise.all([
        exchange(url, await issuer.sign({ aud: url }), { aud: url, identity }),
        exchange(url, await shared.sign({ aud: url }), { aud: url, identity: sharedIdentity }),
      ])
      assert.equal(statusOf(own), 'ok', own.text)
      assert.equal(statusOf(common), 'ok', common.text)
      const replies = await Promise.all(stuck)
      assert.deepEqual(new Set(replies.map(statusOf)), new Set(['503/14']))
      assert.ok(['ok', '503/14'].includes(statusOf(await waiting)))
      assert.equal((await hanging.open()).most, SHARE)
      assert.equal(
        statusOf(await exchange(url, await shared.sign({ aud: url }), { aud: url, identity: ofAttacker })),
        'ok',
      )
    })

    test('R3: hanging sign-in providers of one organization fill its share, and sign-in of another goes on', async (t) => {
      const { url } = cast().berth
      const [attacker, other] = [await cast().organization(), await cast().organization()]
      const providerOf = async (issuer: string, { uid, owner }: typeof other) =>
        (
          await owner.api.create(`iam/identityProviders/${uid}`, {
            name: newName('login'),
            defaultRole: managedRole('viewer'),
            oidc: { issuer, clientId: 'berth', clientSecret: 's' },
          })
        ).uid as string
      const leave = async (provider: string) => {
        const browser = webBrowser(url)
        const asked = await browser.open(`/sign-in/provider?with=${encodeURIComponent(provider)}`)
        return confirm(browser, asked)
      }
      const issuer = await startIssuer(t)
      issuer.answer = (_request, response) =>
        response.setHeader('content-type', 'application/json').end(
          JSON.stringify({
            issuer: issuer.name,
            authorization_endpoint: `${issuer.name}/authorize`,
            token_endpoint: `${issuer.name}/token`,
            jwks_uri: `${issuer.name}/keys`,
            response_types_supported: ['code'],
            subject_types_supported: ['public'],
            id_token_signing_alg_values_supported: ['ES256'],
            authorization_response_iss_parameter_supported: true,
          }),
        )
      const good = await providerOf(issuer.name, other)
      const providers = await Promise.all(
        Array.from({ length: SHARE + 8 }, () =>
          providerOf(`${hanging.url}/${newName('provider')}`, attacker),
        ),
      )
      const stuck = providers.map(leave)
      await untilShareIsFull()
      const left = await leave(good)
      assert.ok(left.redirectedTo?.href.startsWith(`${issuer.name}/authorize?`), left.text)
      for (const reply of await Promise.all(stuck)) assert.equal(reply.status, 503)
      assert.equal((await hanging.open()).most, SHARE)
    })
  },
  { only: 'first' },
)
