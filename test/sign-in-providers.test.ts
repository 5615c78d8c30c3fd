import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { IdentityProviderSchema } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/identity_providers_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import { managedRoleByName } from '@berth/server/iam/managed-roles.ts'
import { fromBinary, toBinary } from '@bufbuild/protobuf'
import { call } from './support/api/rest.ts'
import { createOrganization, createResource, verifyOrganization } from './support/api/tenant.ts'
import {
  confirm,
  createSignedInBrowser,
  linkOf,
  type WebBrowser,
  type WebPage,
  webBrowser,
} from './support/browser/web-browser.ts'
import { databases } from './support/database/databases.ts'
import { cleanups } from './support/server/process.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'
import { createPerson } from './support/signin/accounts.ts'
import {
  authorizationCodeOf,
  codeFlow,
  postForm,
  submitConsent,
  tokenRequest,
  withQuery,
} from './support/signin/oauth.ts'
import {
  startUpstreamProvider,
  UPSTREAM_CLIENT,
  type UpstreamProvider,
} from './support/signin/upstream-provider.ts'
import { exchange } from './support/tokens/exchange.ts'

const role = (name: string) => managedRoleByName.get(name)?.uid ?? ''

/** Goes to the provider and comes back with what it answered; `left` is the address of the callback. */
async function away(upstream: UpstreamProvider, page: WebPage): Promise<URL> {
  assert.ok(page.redirectedTo, `the browser is not redirected: ${page.status} ${page.text}`)
  assert.equal(page.redirectedTo.origin, upstream.issuer)
  const { redirectedTo: left, status, text } = await webBrowser(upstream.issuer).open(page.redirectedTo.href)
  assert.ok(left, `the provider keeps them: ${status} ${text}`)
  return left
}

for (const database of databases) {
  describe(`signing in with an OpenID provider (${database.name})`, () => {
    const clean = cleanups()
    let berth: TestBerth
    /** Offered to everyone. */
    let shared: UpstreamProvider
    /** The organization's own. */
    let own: UpstreamProvider
    let people = 0

    const newPerson = (more: object = {}) => {
      people++
      return { sub: `person ${people}`, email: `p${people}@example.com`, email_verified: true, ...more }
    }
    const makeProvider = (changed: object = {}, oidc: object = {}) =>
      createResource(berth, `/iam/v2beta1/identityProviders/${berth.organization}`, {
        name: 'own',
        defaultRole: role('viewer'),
        oidc: {
          issuer: own.issuer,
          clientId: UPSTREAM_CLIENT.id,
          clientSecret: UPSTREAM_CLIENT.secret,
          additionalScopes: ['email', 'groups'],
          groupsClaim: 'groups',
          ...oidc,
        },
        ...changed,
      })
    const enter = async (
      browser: WebBrowser,
      upstream: UpstreamProvider,
      provider: string,
      request?: string,
    ) => browser.open((await away(upstream, await leave(browser, provider, request))).href)
    const leave = async (browser: WebBrowser, provider: string, request?: string) =>
      confirm(browser, await browser.open(withQuery('/sign-in/provider', { with: provider, request })))
    const cookieSession = async (browser: WebBrowser) =>
      (await browser.open('/account')).status === 200 && (await browser.open('/account')).path === '/account'

    before(async () => {
      const directory = mkdtempSync(join(tmpdir(), 'berth-providers-'))
      clean.after(() => rmSync(directory, { recursive: true }))
      const file = join(directory, 'providers.json')
      shared = await startUpstreamProvider(clean, () => berth.url)
      own = await startUpstreamProvider(clean, () => berth.url)
      writeFileSync(
        file,
        JSON.stringify([
          {
            name: 'shared',
            label: 'The shared one',
            issuer: shared.issuer,
            clientId: UPSTREAM_CLIENT.id,
            clientSecret: UPSTREAM_CLIENT.secret,
          },
        ]),
      )
      berth = await startTestBerth(database, {
        env: { BERTH_SIGN_IN_PROVIDERS_FILE: file },
      })
      clean.after(() => berth.stop())
    })
    after(() => clean.run())

    test('a provider of the operator registers any of its users, once', async () => {
      shared.person = newPerson()
      const browser = webBrowser(berth.url)
      const page = await enter(browser, shared, 'shared')
      assert.equal(page.path, '/', page.text)
      const { body } = await call(
        'GET',
        `${berth.url}/iam/v2beta1/identities:lookupIdentity?issuer=${shared.issuer}&subject=${encodeURIComponent(shared.person.sub)}`,
        { token: berth.token },
      )
      const { uid } = body as { uid: string }
      const again = await enter(webBrowser(berth.url), shared, 'shared')
      assert.equal(again.path, '/')
      assert.equal((await identityOf(uid)).email, shared.person.email)
    })

    test('only a user who may change a provider tests it, and after a confirmation in the same browser', async () => {
      const { uid } = await makeProvider({ name: 'tested' })
      const path = withQuery('/sign-in/test-provider', { with: uid })
      const stranger = await createSignedInBrowser(berth, await createPerson(berth))
      const refused = await stranger.open(path)
      assert.deepEqual([refused.status, refused.redirectedTo], [403, undefined])
      assert.match(refused.text, /identity_providers\.update/)

      const owner = await createSignedInBrowser(berth, berth.owner)
      const asked = await owner.open(path)
      assert.deepEqual([asked.status, asked.redirectedTo], [200, undefined])
      const href = linkOf(asked, /<a class="button" href="([^"]*)">Continue</) ?? ''
      const elsewhere = await createSignedInBrowser(berth, berth.owner)
      assert.equal((await elsewhere.open(href)).redirectedTo, undefined)
      assert.equal((await stranger.open(href)).status, 403)
      own.person = newPerson()
      const left = await away(own, await owner.open(href))
      owner.cookies.clear()
      for (const [name, value] of (await createSignedInBrowser(berth, berth.owner)).cookies)
        owner.cookies.set(name, value)
      assert.notEqual((await owner.open(left.href)).status, 200, 'the response is for the browser that left')
      const other = await createSignedInBrowser(berth, berth.owner)
      const back = await away(own, await confirm(other, await other.open(path)))
      assert.match((await other.open(back.href)).text, /Sign-in with .* works/)
    })

    async function identityOf(uid: string) {
      const { store } = berth.berth.installation
      const row = await store.db.kysely
        .selectFrom('identities')
        .selectAll()
        .where('uid', '=', uid)
        .executeTakeFirst()
      assert.ok(row, `there is no identity ${uid}`)
      return row
    }

    test('state, nonce and a code challenge are sent, and the secret is not', async () => {
      const { redirectedTo: left } = await leave(webBrowser(berth.url), 'shared')
      assert.deepEqual(
        [...(left?.searchParams.keys() ?? [])].sort(),
        [
          'client_id',
          'code_challenge',
          'code_challenge_method',
          'nonce',
          'redirect_uri',
          'response_type',
          'scope',
          'state',
        ].sort(),
      )
      assert.equal(left?.searchParams.get('redirect_uri'), `${berth.url}/oauth/callback/shared`)
    })

    test('an organization has its own provider: default role, tokens, and all of it ends with the provider (R12)', async () => {
      const provider = await makeProvider({ name: 'ends' })
      own.person = newPerson()
      const browser = webBrowser(berth.url)
      await enter(browser, own, provider.uid)
      const flow = codeFlow()
      const code = await authorizationCodeOf(browser, flow)
      const { body } = await postForm(berth.url, '/oauth/token', tokenRequest(flow, code))
      const token = body.access_token ?? assert.fail(JSON.stringify(body))
      const groups = `${berth.url}/iam/v2beta1/groups/${berth.organization}`
      assert.equal((await call('GET', groups, { token })).status, 200)
      const deleted = await call('DELETE', `${berth.url}/iam/v2beta1/identityProviders/${provider.uid}`, {
        token: berth.token,
      })
      assert.equal(deleted.status, 200, deleted.text)
      assert.equal((await call('GET', groups, { token })).status, 401)
      assert.equal(await cookieSession(browser), false)
      const refreshed = await postForm(berth.url, '/oauth/token', {
        grant_type: 'refresh_token',
        client_id: 'berth-cli',
        refresh_token: body.refresh_token,
      })
      assert.equal(refreshed.status, 400)
      assert.equal((await leave(webBrowser(berth.url), provider.uid)).status, 404)
    })

    test('a known user keeps their roles, without the default role (contract 5.2)', async () => {
      const provider = await makeProvider({ name: 'second time' })
      own.person = newPerson()
      await enter(webBrowser(berth.url), own, provider.uid)
      const bound = () =>
        berth.berth.installation.store.db.kysely
          .selectFrom('role_bindings')
          .select(['role_uid', 'uid'])
          .where('identity_uid', 'in', (row) =>
            row
              .selectFrom('identities')
              .select('uid')
              .where('subject', '=', own.person?.sub ?? ''),
          )
          .execute()
      const [binding, ...more] = await bound()
      assert.ok(binding)
      assert.deepEqual(more, [])
      await call('DELETE', `${berth.url}/iam/v2beta1/roleBindings/${binding.uid}`, { token: berth.token })
      await enter(webBrowser(berth.url), own, provider.uid)
      assert.deepEqual(await bound(), [])
    })

    test('groups give their mapped roles while the provider names them at the sign-in (R22)', async () => {
      const provider = await makeProvider({ name: 'groups' })
      await createResource(berth, `/iam/v2beta1/externalGroupRoleMappings/${provider.uid}`, {
        externalGroupId: 'admins',
        roleUid: role('owner'),
        scope: berth.organization,
      })
      const person = newPerson()
      const tokenFor = async (groups: readonly string[]) => {
        own.person = { ...person, groups }
        const browser = webBrowser(berth.url)
        await enter(browser, own, provider.uid)
        const flow = codeFlow()
        const { body } = await postForm(
          berth.url,
          '/oauth/token',
          tokenRequest(flow, await authorizationCodeOf(browser, flow)),
        )
        return body
      }
      const tryCreate = (token = '') =>
        call('POST', `${berth.url}/iam/v2beta1/groups/${berth.organization}`, {
          token,
          body: { name: `g${Math.random()}` },
        })
      const admin = await tokenFor(['staff', 'admins'])
      assert.equal(admin.refresh_token, undefined, 'contract section 3: none where groups give roles')
      assert.equal((await tryCreate(admin.access_token)).status, 200)
      const plain = await tokenFor(['staff'])
      assert.equal((await tryCreate(plain.access_token)).status, 403)
    })

    test('an invite is accepted in the flow', async () => {
      const provider = await makeProvider({ name: 'invited' })
      const invite = await createResource(berth, `/iam/v2beta1/groupInvites/${berth.organization}`, {
        roleUid: role('editor'),
        ttl: '3600s',
        singleUse: true,
      })
      own.person = newPerson()
      const browser = webBrowser(berth.url)
      const started = await browser.open(
        withQuery('/oauth', {
          exit: 'redirect',
          redirect: 'http://localhost:49152/callback?token=true&error=true',
          idp_id: provider.uid,
          invite: (invite as unknown as { code: string }).code,
        }),
      )
      const came = await browser.open((await away(own, await confirm(browser, started))).href)
      const { redirectedTo: left } = await submitConsent(browser, came)
      assert.ok(left?.searchParams.get('token'), String(left))
      const rows = await berth.berth.installation.store.db.kysely
        .selectFrom('role_bindings')
        .select('role_uid')
        .where('identity_uid', 'in', (row) =>
          row
            .selectFrom('identities')
            .select('uid')
            .where('subject', '=', own.person?.sub ?? ''),
        )
        .execute()
      assert.deepEqual(rows.map((row) => row.role_uid).sort(), [role('viewer'), role('editor')].sort())
    })

    test('a client can choose where to sign in: by provider, by connection', async () => {
      const provider = await makeProvider({ name: 'named' })
      const to = async (parameters: Record<string, string>) => {
        const browser = webBrowser(berth.url)
        const path = withQuery('/oauth/authorize', { ...codeFlow().parameters, ...parameters })
        return confirm(browser, await browser.open(path))
      }
      assert.equal((await to({ idp_id: provider.uid })).redirectedTo?.origin, own.issuer)
      assert.equal((await to({ connection: 'shared' })).redirectedTo?.origin, shared.issuer)
      const unknown = await to({ idp_id: `${berth.organization}/0123456789abcdef` })
      assert.equal(unknown.redirectedTo?.searchParams.get('error'), 'invalid_request')
    })

    test('an unknown user who must not be registered gets an error, and nothing is stored', async () => {
      shared.person = newPerson()
      const browser = webBrowser(berth.url)
      const started = await browser.open(
        withQuery('/oauth', {
          exit: 'redirect',
          redirect: 'http://localhost:49152/callback?token=true&error=true',
          connection: 'shared',
          skip_registration: 'true',
        }),
      )
      const { redirectedTo: left } = await browser.open((await away(shared, started)).href)
      assert.equal(left?.searchParams.get('status_code'), '404')
      assert.equal(left?.searchParams.get('token'), null)
      assert.equal(await cookieSession(browser), false)
    })

    type Attempt = (browser: WebBrowser) => Promise<WebPage>
    const refused: Readonly<Record<string, Attempt>> = {
      'without a state': async (browser) => browser.open('/oauth/callback?code=x'),
      'with two states': async (browser) => {
        const left = await away(shared, await leave(browser, 'shared'))
        left.searchParams.append('state', 'other')
        return browser.open(left.href)
      },
      'with an unknown state': async (browser) => {
        const left = await away(shared, await leave(browser, 'shared'))
        left.searchParams.set('state', 'A'.repeat(43))
        return browser.open(left.href)
      },
      'in another browser (R40)': async (browser) => {
        const left = await away(shared, await leave(webBrowser(berth.url), 'shared'))
        return browser.open(left.href)
      },
      'a second time (R40)': async (browser) => {
        const left = await away(shared, await leave(browser, 'shared'))
        await webBrowser(berth.url).open(left.href)
        return browser.open(left.href)
      },
      'too late (R16)': async (browser) => {
        const left = await away(shared, await leave(browser, 'shared'))
        berth.advance(10 * 60 * 1000)
        return browser.open(left.href)
      },
      'with the code of another sign-in (R40)': async (browser) => {
        const other = await away(shared, await leave(webBrowser(berth.url), 'shared'))
        const left = await away(shared, await leave(browser, 'shared'))
        left.searchParams.set('code', other.searchParams.get('code') ?? '')
        return browser.open(left.href)
      },
      'with a code that was made up': async (browser) => {
        const left = await away(shared, await leave(browser, 'shared'))
        left.searchParams.set('code', 'made-up')
        return browser.open(left.href)
      },
      'from another issuer than they went to (RFC 9207)': async (browser) => {
        const left = await away(shared, await leave(browser, 'shared'))
        left.searchParams.set('iss', own.issuer)
        return browser.open(left.href)
      },
      'when they declined': async (browser) => {
        shared.person = undefined
        return browser.open((await away(shared, await leave(browser, 'shared'))).href)
      },
      'with an error instead of a code': async (browser) => {
        const left = await away(shared, await leave(browser, 'shared'))
        const state = left.searchParams.get('state') ?? ''
        return browser.open(
          withQuery('/oauth/callback/shared', { state, error: '<script>alert(1)</script>' }),
        )
      },
      'when the provider was turned to another client meanwhile': async (browser) => {
        const provider = await makeProvider({ name: 'turned' })
        own.person = newPerson()
        const left = await away(own, await leave(browser, provider.uid))
        const changed = await call(
          'PATCH',
          `${berth.url}/iam/v2beta1/identityProviders/${provider.uid}?updateMask=oidc.clientId`,
          { token: berth.token, body: { oidc: { clientId: 'other' } } },
        )
        assert.equal(changed.status, 200, changed.text)
        return browser.open(left.href)
      },
      'when the provider was deleted meanwhile (R12)': async (browser) => {
        const provider = await makeProvider({ name: 'deleted' })
        own.person = newPerson()
        const left = await away(own, await leave(browser, provider.uid))
        await call('DELETE', `${berth.url}/iam/v2beta1/identityProviders/${provider.uid}`, {
          token: berth.token,
        })
        return browser.open(left.href)
      },
    }
    describe(`${Object.keys(refused).length} invalid responses are rejected`, () => {
      for (const [how, attempt] of Object.entries(refused)) {
        test(how, async () => {
          shared.person = newPerson()
          const browser = webBrowser(berth.url)
          const page = await attempt(browser)
          assert.ok([400, 403, 404].includes(page.status), `${page.status} ${page.text}`)
          assert.ok(!page.html.includes('<script>alert') && !page.html.includes('<b>declined'), page.html)
          assert.equal(await cookieSession(browser), false)
        })
      }
    })

    test("an organization's provider does not get the code of a user whom it redirects to the operator's (RFC 9700 section 4.4)", async () => {
      // Its metadata does not announce `iss`, and it redirects users as it likes.
      const asked: string[] = []
      const evil = await startUpstreamProvider(clean, () => berth.url)
      evil.answer = (request, response) => {
        asked.push(request.url ?? '')
        const { issuer } = evil
        response.setHeader('content-type', 'application/json').end(
          JSON.stringify({
            issuer,
            authorization_endpoint: `${issuer}/auth`,
            token_endpoint: `${issuer}/token`,
            jwks_uri: `${issuer}/jwks`,
            response_types_supported: ['code'],
            subject_types_supported: ['public'],
            id_token_signing_alg_values_supported: ['ES256'],
          }),
        )
      }
      const provider = await makeProvider({ name: 'evil' }, { issuer: evil.issuer })
      // The attacker leaves for the operator's provider, and keeps proof key and nonce of that.
      const theirs = (await leave(webBrowser(berth.url), 'shared')).redirectedTo ?? assert.fail()
      // The victim leaves for the organization's, which sends them on with these and their own state.
      const victim = webBrowser(berth.url)
      const departed = (await leave(victim, provider.uid)).redirectedTo ?? assert.fail()
      assert.equal(departed.origin, evil.issuer)
      shared.person = newPerson()
      theirs.searchParams.set('state', departed.searchParams.get('state') ?? '')
      const back = (await webBrowser(shared.issuer).open(theirs.href)).redirectedTo ?? assert.fail()
      assert.ok(back.searchParams.has('code'))
      // A provider that does not send `iss`.
      back.searchParams.delete('iss')
      const page = await victim.open(back.href)
      assert.deepEqual(
        asked.filter((path) => path.startsWith('/token')),
        [],
        'the code went to the organization',
      )
      assert.equal(page.status, 404, page.text)
      assert.equal(await cookieSession(victim), false)
    })

    test('R40: only a link of the sign-in page leads to a provider where someone is signed in, or no client waits', async () => {
      const sites = [{ 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'same-site' }, {}] as const
      for (const headers of sites) {
        const stranger = webBrowser(berth.url, { headers })
        const page = await stranger.open('/sign-in/provider?with=shared')
        assert.equal(page.redirectedTo, undefined, JSON.stringify(headers))
        assert.match(page.text, /Sign in with The shared one\? /)
        const link = linkOf(page, /class="button" href="([^"]+)"/) ?? assert.fail(page.html)
        assert.equal((await webBrowser(berth.url).open(link)).redirectedTo, undefined, 'another browser')
        assert.equal((await stranger.open(link)).redirectedTo?.origin, shared.issuer)

        const own = await createSignedInBrowser(berth, berth.owner)
        const asking = webBrowser(berth.url, { headers })
        asking.cookies.set('berth', own.cookies.get('berth') ?? '')
        const asked = await asking.open(
          withQuery('/oauth/authorize', { ...codeFlow().parameters, connection: 'shared' }),
        )
        // The user is signed in, so there is no redirect before the consent.
        assert.match(asked.path, /^\/oauth\/continue/)
        const request = new URL(asked.path, berth.url).searchParams.get('request') ?? ''
        for (const query of [{ with: 'shared', request }, { with: 'shared' }]) {
          const again = await asking.open(withQuery('/sign-in/provider', query))
          assert.equal(again.redirectedTo, undefined)
          assert.match(again.text, /It ends your current session in this browser/)
        }

        // A client that sends someone from its own site to sign in gets them there.
        const fromClient = await webBrowser(berth.url, { headers }).open(
          withQuery('/oauth/authorize', { ...codeFlow().parameters, connection: 'shared' }),
        )
        assert.equal(fromClient.redirectedTo?.origin, shared.issuer)
      }
      const browser = webBrowser(berth.url)
      const offered = linkOf(await browser.open('/sign-in'), /href="([^"]*with=shared[^"]*)"/)
      assert.equal((await browser.open(offered ?? assert.fail())).redirectedTo?.origin, shared.issuer)
    })

    const faults: Readonly<Record<string, NonNullable<UpstreamProvider['answer']>>> = {
      'answers 429': (_request, response) => response.writeHead(429).end(),
      'answers 500': (_request, response) => response.writeHead(500).end(),
      'answers something else than JSON': (_request, response) => response.end('<html>'),
      'answers without end': (_request, response) => {
        response.setHeader('content-type', 'application/json')
        const more = () =>
          response.write('x'.repeat(64 * 1024), () => response.destroyed || setImmediate(more))
        more()
      },
      'redirects elsewhere': (_request, response) =>
        response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
      'names itself otherwise': (_request, response) =>
        response
          .setHeader('content-type', 'application/json')
          .end(JSON.stringify({ issuer: 'https://other.example', jwks_uri: 'https://other.example/keys' })),
    }
    describe(`${Object.keys(faults).length} faults of a provider reject the sign-in (R15)`, () => {
      for (const [what, answer] of Object.entries(faults)) {
        test(what, async (t) => {
          const faulty = await startUpstreamProvider(clean, () => berth.url)
          const provider = await makeProvider({ name: `faulty ${people++}` }, { issuer: faulty.issuer })
          faulty.answer = answer
          t.after(() => {
            faulty.answer = undefined
          })
          const page = await leave(webBrowser(berth.url), provider.uid)
          assert.ok([403, 503].includes(page.status), `${page.status} ${page.text}`)
          assert.ok(!page.html.includes('169.254') && !page.html.includes('other.example'), 'R3')
          // It is asked again, not remembered as broken.
          faulty.answer = undefined
          assert.ok((await leave(webBrowser(berth.url), provider.uid)).redirectedTo)
        })
      }
    })

    test('faults of the token endpoint reject the sign-in (R15)', async () => {
      shared.person = newPerson()
      const browser = webBrowser(berth.url)
      const left = await away(shared, await leave(browser, 'shared'))
      shared.answer = (_request, response) => response.writeHead(503).end()
      const page = await browser.open(left.href)
      shared.answer = undefined
      assert.ok([403, 503].includes(page.status), `${page.status} ${page.text}`)
      assert.equal(await cookieSession(browser), false)
    })

    test('the log describes the fault of the provider, and contains no secret', async () => {
      const faulty = await startUpstreamProvider(clean, () => berth.url)
      const provider = await makeProvider(
        { name: 'wrong secret' },
        { issuer: faulty.issuer, clientSecret: 'not the secret' },
      )
      faulty.person = newPerson()
      const left = await away(faulty, await leave(webBrowser(berth.url), provider.uid))
      const browser = webBrowser(berth.url)
      const started = await away(faulty, await leave(browser, provider.uid))
      const page = await browser.open(started.href)
      assert.match(page.text, /operator of this server can find details in the log/)
      const warning = berth.warnings.findLast((one) => JSON.stringify(one).includes(provider.uid))
      const logged = JSON.stringify(warning ?? assert.fail('nothing is logged'))
      assert.match(logged, /invalid_client/)
      for (const secret of [
        'not the secret',
        started.searchParams.get('code') ?? '-',
        started.searchParams.get('state') ?? '-',
        left.searchParams.get('code') ?? '-',
      ])
        assert.ok(!logged.includes(secret), secret)
    })

    test('a user in more groups than limits.sessionGroupsMax is rejected, instead of signed in with some of them', async () => {
      const provider = await makeProvider({ name: 'many groups' })
      const groups = Array.from({ length: limits.sessionGroupsMax + 1 }, (_, n) => `group ${n}`)
      own.person = newPerson({ groups })
      assert.equal((await enter(webBrowser(berth.url), own, provider.uid)).status, 403)
      own.person = newPerson({ groups: [{ name: 'staff' }] })
      assert.equal((await enter(webBrowser(berth.url), own, provider.uid)).status, 403)
    })

    test('the name of an organization reveals nothing about unverified ones: the response is the same for unknown, unverified and without a provider', async () => {
      const named = async (name: string) => {
        const {
          status,
          text,
          redirectedTo: left,
        } = await webBrowser(berth.url).open(withQuery('/sign-in/provider', { organization: name }))
        return { status, text, left }
      }
      const add = async (name: string) => {
        const organization = await createOrganization(berth, name)
        await createResource(berth, `/iam/v2beta1/identityProviders/${organization}`, {
          name: 'own',
          defaultRole: role('viewer'),
          oidc: { issuer: own.issuer, clientId: 'x', clientSecret: 'x' },
        })
        return organization
      }
      await add('unverified')
      const verified = await add('verified')
      await verifyOrganization(berth, await createOrganization(berth, 'without'))
      await verifyOrganization(berth, verified)
      const unknown = await named('unknown')
      assert.equal(unknown.status, 404)
      assert.match(unknown.text, /No verified organization with this name has an identity provider/)
      for (const name of ['unverified', 'without', ' unverified ', 'Not A Name!', ''])
        assert.deepEqual(await named(name), unknown, name)
      assert.match((await named('verified')).text, /^Sign in to verified with own\? /)
      for (const name of ['unverified', 'without', 'unknown'])
        assert.equal(await (await fetch(`${berth.url}/orgcheck?name=${name}`)).json(), false)
    })

    test('R40: an identity provider whose issuer is Berth is rejected', async () => {
      for (const issuer of [berth.url, `${berth.url}/`])
        await assert.rejects(makeProvider({ name: 'ourselves' }, { issuer }), /must not be this server/)
      const { uid } = await makeProvider({ name: 'others' })
      const path = `${berth.url}/iam/v2beta1/identityProviders/${uid}`
      for (const query of ['', '?updateMask=oidc.issuer']) {
        const body = { name: 'others', oidc: { issuer: berth.url, clientId: 'c', clientSecret: 's' } }
        const reply = await call('PATCH', path + query, { token: berth.token, body })
        assert.equal(reply.status, 400, reply.text)
        assert.match(reply.text, /must not be this server/)
      }
    })

    test('R40: an identity provider whose issuer is Berth, from an earlier version, vouches for no user', async () => {
      const { uid: provider } = await makeProvider({ name: 'ourselves' }, { clientId: berth.url })
      const { kysely } = berth.berth.installation.store.db
      const found = kysely.selectFrom('identity_providers').selectAll().where('uid', '=', provider)
      const stored = fromBinary(IdentityProviderSchema, (await found.executeTakeFirstOrThrow()).configuration)
      assert.ok(stored.configuration.case === 'oidc')
      stored.configuration.value.issuer = berth.url
      const configuration = toBinary(IdentityProviderSchema, stored)
      const changed = kysely.updateTable('identity_providers').set({ issuer: berth.url, configuration })
      await changed.where('uid', '=', provider).execute()

      assert.equal((await leave(webBrowser(berth.url), provider)).status, 404)
      const someone = await createPerson(berth)
      const other = await createPerson(berth, { issuer: berth.url, subject: someone })
      const token = await berth.tokenOf(someone)
      for (const identity of [undefined, other]) {
        const asked = { aud: berth.url, identity_provider: provider, ...(identity && { identity }) }
        const reply = await exchange(berth.url, token, asked)
        assert.equal(reply.status, 403, reply.text)
      }
    })
  })
}
