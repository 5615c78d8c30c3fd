import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { GroupsService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { userUid } from '@berth/server/iam/identities/user-uid.ts'
import { managedRoleByName } from '@berth/server/iam/managed-roles.ts'
import {
  type Api,
  apiOf,
  assertError,
  managedRole,
  newName,
  permissionDeniedError,
} from './support/api/api-fixture.ts'
import { type GrpcClient, grpcClient } from './support/api/grpc.ts'
import { databases } from './support/database/databases.ts'
import { cleanups, temporaryDirectory } from './support/server/process.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'
import { createPerson } from './support/signin/accounts.ts'
import { fetchHeadlessToken, newClient } from './support/signin/headless.ts'
import { localAccount } from './support/signin/local-accounts.ts'
import {
  authorizationCodeOf,
  claimsOf,
  codeFlow,
  postForm,
  submitConsent,
  tokenRequest,
  withQuery,
} from './support/signin/oauth.ts'
import { type PersonProvider, secretOf, startPersonProvider } from './support/signin/person-provider.ts'
import { confirm, type WebBrowser, webBrowser } from './support/signin/web-browser.ts'
import { exchange } from './support/tokens/exchange.ts'

/**
 * Authority is bounded by who vouched (docs/adr/0013), through the front door: one OpenID provider in a process of its own serves the
 * operator and several organizations, each with a client of its own, so that one person comes through all of them.
 */

const OPERATOR = 'shared'
const SUB = 'ada'
const APPLICATION = 'https://application.example/callback'

for (const database of databases) {
  describe(`authority is bounded by who vouched (${database.name})`, () => {
    const clean = cleanups()
    let upstream: PersonProvider
    let berth: TestBerth
    let admin: Api
    let grpc: GrpcClient
    const clients: Record<string, readonly string[]> = {}
    /** The person of the table: (issuer, SUB). */
    let ada: string

    before(async () => {
      upstream = await startPersonProvider(clean)
      const file = join(temporaryDirectory(clean), 'providers.json')
      const operator = { name: OPERATOR, issuer: upstream.issuer, clientId: OPERATOR }
      writeFileSync(file, JSON.stringify([{ ...operator, clientSecret: secretOf(OPERATOR) }]))
      berth = await startTestBerth(database, {
        env: { BERTH_SIGN_IN_PROVIDERS_FILE: file, BERTH_OPEN_ORGANIZATIONS: 'true' },
      })
      clean.after(() => berth.stop())
      admin = apiOf(berth, berth.token)
      grpc = grpcClient(berth.url)
      clean.after(() => grpc.close())
      clients[OPERATOR] = [`${berth.url}/oauth/callback/${OPERATOR}`]
      ada = userUid(upstream.issuer, SUB, 0)
      await person(SUB)
      await signIn(OPERATOR)
    })
    after(() => clean.run())

    /** Whom the provider signs in from here on. */
    const person = (sub: string, more: object = {}) => upstream.set({ clients, person: { sub, ...more } })

    /** An organization with an identity provider of the same issuer, and a client of its own. */
    async function organization(name: string, more: object = {}) {
      const { uid } = await admin.create('iam/groups', { name: newName(name) })
      return { uid, provider: await provider(uid, newName(name), more) }
    }

    async function provider(parent: string, client: string, more: object = {}, api = admin): Promise<string> {
      const { uid } = await api.create(`iam/identityProviders/${parent}`, {
        name: client,
        defaultRole: managedRole('viewer'),
        oidc: {
          issuer: upstream.issuer,
          clientId: client,
          clientSecret: secretOf(client),
          additionalScopes: ['email', 'groups'],
          ...more,
        },
      })
      const redirects = [APPLICATION, `${berth.url}/oauth/callback`, `${berth.url}/oauth/callback/${uid}`]
      clients[client] = [...(clients[client] ?? []), ...redirects]
      await upstream.set({ clients })
      return uid
    }

    /** Signs in the user of the provider; `through` is the uid or the name of a provider. */
    async function signIn(through: string): Promise<WebBrowser> {
      const browser = webBrowser(berth.url)
      const asked = await browser.open(withQuery('/sign-in/provider', { with: through }))
      const left = await confirm(browser, asked)
      const back = await upstream.pass(left.redirectedTo)
      const page = await browser.open(back.href)
      assert.equal(page.path, '/', page.text)
      return browser
    }

    async function tokensIn(browser: WebBrowser) {
      const flow = codeFlow({ scope: 'openid email' })
      const { body } = await postForm(
        berth.url,
        '/oauth/token',
        tokenRequest(flow, await authorizationCodeOf(browser, flow)),
      )
      const { access_token: access, refresh_token: refresh, id_token: id } = body
      assert.ok(access && refresh && id, JSON.stringify(body))
      return { access, refresh, id }
    }

    const through = async (name: string) => apiOf(berth, (await tokensIn(await signIn(name))).access)
    /** How the registry names groups that are below their organization. */
    const folders = new Map<string, string>()
    async function group(parent: string): Promise<string> {
      const name = newName('g')
      const { uid } = await admin.create(`iam/groups/${parent}`, { name })
      folders.set(uid, `${parent}/${name}`)
      return uid
    }
    const bind = (at: string, identityUid = ada, role = 'owner') =>
      admin.create(`iam/roleBindings/${at}`, { identityUid, roleUid: managedRole(role) })
    const inviteTo = async (at: string, more: object = {}) =>
      (await admin.create(`iam/groupInvites/${at}`, { roleUid: managedRole('owner'), ttl: '600s', ...more }))
        .code
    async function accepted(at: string, api: Api) {
      return (await api.create('iam/groupInvites:accept', { code: await inviteTo(at) })).roleBinding
    }

    /** What a token opens a group for, by every protocol; they must agree. */
    async function opens(token: string, uid: string): Promise<boolean> {
      const rest = (await apiOf(berth, token).get(`iam/groups/${uid}`)).status === 200
      const byGrpc = await grpc.call(GroupsService.method.getGroup, { uid }, { token }).then(
        () => true,
        () => false,
      )
      const name = `${folders.get(uid) ?? uid}/image`
      const service = new URL(berth.url).host
      const reply = await fetch(
        `${berth.url}${withQuery('/token', { service, scope: `repository:${name}:pull` })}`,
        { headers: { authorization: `Basic ${Buffer.from(`_token:${token}`).toString('base64')}` } },
      )
      assert.equal(reply.status, 200)
      const { token: registry } = (await reply.json()) as { token: string }
      const { access = [] } = claimsOf(registry) as { access?: unknown[] }
      const tags = await fetch(`${berth.url}/v2/${name}/tags/list`, {
        headers: { authorization: `Bearer ${registry}` },
      })
      assert.deepEqual([byGrpc, access.length > 0, tags.status === 404], [rest, rest, rest], uid)
      return rest
    }

    test('ADR 13: bindings count by voucher and by how they were created, over REST, gRPC and the registry, and for exchanged tokens', async () => {
      const [a, b] = [await organization('a'), await organization('b')]
      await person(SUB)
      const { account, browser } = await localAccount(berth, `${newName('local')}@example.com`)
      const sessions = {
        account: await tokensIn(browser),
        operator: await tokensIn(await signIn(OPERATOR)),
        a: await tokensIn(await signIn(a.provider)),
        b: await tokensIn(await signIn(b.provider)),
      }
      type Name = keyof typeof sessions
      const names = Object.keys(sessions) as Name[]
      const api = (name: Name) => apiOf(berth, sessions[name].access)
      const rows: [what: string, group: string, ...open: Name[]][] = []
      for (const [place, root] of [
        ['a', a.uid],
        ['b', b.uid],
      ] as const) {
        const bound = await group(root)
        await bind(bound)
        await bind(bound, account.identity_uid)
        rows.push([`in ${place}, by an administrator`, bound, 'account', 'operator', place])
        const by = async (name: Name) => {
          const at = await group(root)
          return [at, await accepted(at, api(name))] as const
        }
        const [local, binding] = await by('account')
        assert.equal(binding.acceptedThrough, undefined)
        rows.push([`in ${place}, accepted with a local account`, local, 'account'])
        const [operator, plain] = await by('operator')
        assert.equal(plain.acceptedThrough, undefined)
        rows.push([`in ${place}, accepted through the operator’s provider`, operator, 'operator', place])
        for (const name of ['a', 'b'] as const) {
          const [at, { acceptedThrough }] = await by(name)
          const { uid, name: client } = (await admin.get(`iam/identityProviders/${{ a, b }[name].provider}`))
            .body
          assert.deepEqual(acceptedThrough, { uid, name: client, issuer: upstream.issuer })
          const open = new Set<Name>(['operator', place, name])
          rows.push([`in ${place}, accepted through ${name}`, at, ...open])
        }
      }
      for (const [what, uid, ...open] of rows)
        for (const name of names)
          assert.equal(await opens(sessions[name].access, uid), open.includes(name), `${name}: ${what}`)

      // What a session gives is bounded like it: one row per method, which distinguishes the vouchers.
      const [, foreign] = rows.find(([what]) => what === 'in b, by an administrator') ?? ['', '']
      const [, own] = rows.find(([what]) => what === 'in b, accepted through a') ?? ['', '']
      for (const name of ['operator', 'a', 'b'] as const) {
        const { access, refresh } = sessions[name]
        const form = { grant_type: 'refresh_token', client_id: 'berth-cli', refresh_token: refresh }
        const oauth = (await postForm(berth.url, '/oauth/token', form)).body
        const sts = await fetch(
          `${berth.url}${withQuery('/sts/exchange_refresh_token', { aud: berth.url })}`,
          { method: 'POST', headers: { authorization: `Bearer ${oauth.refresh_token}` } },
        )
        const { token } = (await sts.json()) as { token: { token: string } }
        const exchanged = await exchange(berth.url, access, { aud: berth.url })
        const scoped = await exchange(berth.url, access, { aud: berth.url, scopes: [foreign, own] })
        for (const [way, derived] of Object.entries({
          'a refresh token at /oauth/token': oauth.access_token ?? '',
          'a refresh token at /sts/exchange_refresh_token': token.token,
          'an exchange': exchanged.body.token,
          'an exchange with scopes': scoped.body.token,
        })) {
          assert.equal(await opens(derived, foreign), name !== 'a', `${name}: ${way}`)
          assert.equal(await opens(derived, own), true, `${name}: ${way}`)
        }
      }
    })

    test('ADR 13: the browser and headless flows of the public SDK, the device flow, and the exchange of an ID token limit their tokens', async () => {
      const [a, b] = [await organization('a'), await organization('b')]
      await person(SUB)
      await bind(b.uid)
      const flows = async (browser: WebBrowser): Promise<Record<string, string>> => {
        const redirect = 'http://localhost:49152/callback?token=true&error=true'
        const asked = withQuery('/oauth', { exit: 'redirect', redirect, create_refresh_token: 'true' })
        const sdk = (await submitConsent(browser, await browser.open(asked))).redirectedTo?.searchParams
        const form = { client_id: 'berth-cli' }
        const device = (await postForm(berth.url, '/oauth/device_authorization', form)).body
        const page = await browser.open(`/device?user_code=${device['user_code']}`)
        const which = page.forms.findIndex(({ action }) => action === '/device')
        await submitConsent(browser, await browser.submit(page, {}, which))
        const { body } = await postForm(berth.url, '/oauth/token', {
          ...form,
          grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
          device_code: device['device_code'] as string,
        })
        const exchanged = await exchange(berth.url, body.id_token ?? '', { aud: berth.url })
        const client = newClient()
        await submitConsent(browser, await browser.open(withQuery('/oauth', { headless_code: client.code })))
        const result = (await fetchHeadlessToken(berth.url, client.code)) ?? assert.fail('no headless result')
        const headless = await exchange(berth.url, client.open(result), { aud: berth.url })
        return {
          headless: headless.body.token,
          'browser flow': sdk?.get('token') ?? '',
          device: body.access_token ?? '',
          'ID token of a device': exchanged.body.token,
        }
      }
      const operator = await flows(await signIn(OPERATOR))
      for (const [flow, token] of Object.entries(operator))
        assert.equal(await opens(token, b.uid), true, flow)
      const bounded: Record<string, string> = await flows(await signIn(a.provider))
      const idToken = await upstream.idToken(await clientOf(a.provider), APPLICATION)
      const options = { aud: berth.url, identity_provider: a.provider }
      bounded['ID token of the provider'] = (await exchange(berth.url, idToken, options)).body.token
      for (const [flow, token] of Object.entries(bounded)) {
        assert.equal(await opens(token, b.uid), false, flow)
        const { body } = await apiOf(berth, token).get('iam/groups', { 'uidp.descendants_of': b.uid })
        assert.deepEqual(body.groups ?? [], [], flow)
      }
    })

    const clientOf = async (uid: string) =>
      (await admin.get(`iam/identityProviders/${uid}`)).body.oidc.clientId

    test('ADR 13: a workload identity that a user assumes is limited as the user is', async () => {
      const [a, b] = [await organization('a'), await organization('b')]
      await person(SUB)
      const robot = await admin.create(`iam/identities/${b.uid}`, {
        name: newName('robot'),
        claimMatch: { issuer: berth.url, subject: ada },
      })
      await bind(b.uid, robot.uid)
      for (const [name, expected] of [
        [OPERATOR, true],
        [b.provider, true],
        [a.provider, false],
      ] as const) {
        const { token } = await through(name)
        const reply = await exchange(berth.url, token, { aud: berth.url, identity: robot.uid })
        assert.equal(reply.status, 200, reply.text)
        assert.equal(await opens(reply.body.token, b.uid), expected, name)
      }
      assert.equal(await opens(await berth.tokenOf(robot.uid), b.uid), true, 'the workload itself')
    })

    test('ADR 13: roles of mapped groups count in the organization of the provider, and for its sessions only', async () => {
      const [a, b] = [await organization('a', { groupsClaim: 'groups' }), await organization('b')]
      const mapping = { externalGroupId: 'devs', roleUid: managedRole('owner'), scope: a.uid }
      await admin.create(`iam/externalGroupRoleMappings/${a.provider}`, mapping)
      await person(SUB, { groups: ['devs'] })
      const token = async (name: string) => {
        const flow = codeFlow()
        const browser = await signIn(name)
        const { body } = await postForm(
          berth.url,
          '/oauth/token',
          tokenRequest(flow, await authorizationCodeOf(browser, flow)),
        )
        return body.access_token ?? ''
      }
      assert.equal(await opens(await token(a.provider), a.uid), true)
      assert.equal(await opens(await token(a.provider), b.uid), false)
      assert.equal(await opens(await token(b.provider), a.uid), false)
      assert.equal(await opens(await token(OPERATOR), a.uid), false)
    })

    test('ADR 13: platform roles count for no provider of an organization', async () => {
      const a = await organization('a')
      const db = berth.berth.installation.store.db.kysely
      const owner = managedRoleByName.get('owner')?.uid ?? ''
      await person(SUB)
      await db.insertInto('platform_bindings').values({ identity_uid: ada, role_uid: owner }).execute()
      try {
        assert.equal(await opens((await through(OPERATOR)).token, berth.organization), true)
        const bounded = await through(a.provider)
        assert.equal(await opens(bounded.token, berth.organization), false)
        assert.equal(await opens(bounded.token, a.uid), false)
      } finally {
        await db.deleteFrom('platform_bindings').where('identity_uid', '=', ada).execute()
      }
    })

    test('ADR 13: an organization that is created through its provider counts for that provider', async () => {
      const [a, b] = [await organization('a'), await organization('b')]
      await person(newName('founder'))
      const founder = await through(a.provider)
      const made = await founder.create('iam/groups', { name: newName('made') })
      assert.equal(await opens(founder.token, made.uid), true)
      assert.equal(await opens((await through(b.provider)).token, made.uid), false)
      assert.equal(await opens((await through(OPERATOR)).token, made.uid), true)
      const { body } = await (await through(OPERATOR)).get('iam/roleBindings', { group: made.uid })
      assert.equal(body.roleBindings[0].acceptedThrough.uid, a.provider)
    })

    test('ADR 13: accepting again with a provider makes a binding count for it; another identity starts without a record', async () => {
      const [a, b] = [await organization('a'), await organization('b')]
      await person(SUB)
      const binding = await bind(b.uid)
      const { token, ...api } = await through(a.provider)
      assert.equal(await opens(token, b.uid), false)
      const code = await inviteTo(b.uid, { singleUse: true })
      const { roleBinding } = await api.create('iam/groupInvites:accept', { code })
      assert.deepEqual([roleBinding.uid, roleBinding.acceptedThrough.uid], [binding.uid, a.provider])
      assert.equal(await opens(token, b.uid), true)
      const again = await api.post('iam/groupInvites:accept', { code: await inviteTo(b.uid) })
      assert.equal(again.status, 409)
      assert.equal((await api.post('iam/groupInvites:accept', { code })).status, 404, 'it was for one use')
      const path = `iam/roleBindings/${binding.uid}`
      const role = await admin.patch(path, { roleUid: managedRole('editor') }, 'roleUid')
      assert.equal(role.body.acceptedThrough.uid, a.provider)
      const other = await createPerson(berth)
      const moved = await admin.patch(path, { identityUid: other }, 'identityUid')
      assert.equal(moved.body.acceptedThrough, undefined)
      const back = await admin.patch(path, { identityUid: ada }, 'identityUid')
      assert.equal(back.body.acceptedThrough, undefined)
      assert.equal(await opens(token, b.uid), false)
    })

    test('R18: a caller cannot set the voucher of a binding', async () => {
      const [a, b] = [await organization('a'), await organization('b')]
      await person(SUB)
      const acceptedThrough = { uid: a.provider, name: 'x', issuer: upstream.issuer }
      const body = { identityUid: ada, roleUid: managedRole('viewer'), acceptedThrough }
      const made = await admin.create(`iam/roleBindings/${b.uid}`, body)
      assert.equal(made.acceptedThrough, undefined)
      await admin.patch(`iam/roleBindings/${made.uid}`, body, '*')
      assert.equal((await admin.get(`iam/roleBindings/${made.uid}`)).body.acceptedThrough, undefined)
      assert.equal(await opens((await through(a.provider)).token, b.uid), false)
    })

    test('R12: deleting the provider, or changing its issuer or client, ends its sessions and tokens', async () => {
      for (const change of ['delete', 'client'] as const) {
        const [a, b] = [await organization('a'), await organization('b')]
        await person(SUB)
        const api = await through(a.provider)
        await accepted(b.uid, api)
        assert.equal(await opens(api.token, b.uid), true)
        const path = `iam/identityProviders/${a.provider}`
        const reply =
          change === 'delete'
            ? await admin.delete(path)
            : await admin.patch(path, { oidc: { clientId: newName('c') } })
        assert.equal(reply.status, 200, reply.text)
        assert.equal((await api.get(`iam/groups/${b.uid}`)).status, 401, change)
        const shown = (await admin.get('iam/roleBindings', { group: b.uid })).body.roleBindings
        const { acceptedThrough } = shown.find((one: { identityUid: string }) => one.identityUid === ada)
        assert.equal(acceptedThrough.uid, a.provider)
        if (change === 'delete') assert.deepEqual([acceptedThrough.name, acceptedThrough.issuer], ['', ''])
      }
    })

    describe('authority over the whole user', () => {
      /** What a caller may do with the account and the profile, by status; deleting comes last. */
      const attempts = async (api: Api, uid: string) => ({
        create: (await api.post('iam/groups', { name: newName('made') })).status,
        profile: (
          await api.patch('iam/identities:updateIdentityMetadata', {
            identityMetadata: { company: newName('Acme') },
          })
        ).status,
        delete: (
          await fetch(`${berth.url}/auth/v1/delete/${uid}`, {
            method: 'DELETE',
            headers: { authorization: `Bearer ${api.token}` },
          })
        ).status,
      })

      test('ADR 13: needs the operator’s provider, or the one that registered the user', async () => {
        const [a, b] = [await organization('a'), await organization('b')]
        for (const [registered, came, expected] of [
          [OPERATOR, OPERATOR, 200],
          [OPERATOR, a.provider, 403],
          [a.provider, a.provider, 200],
          [a.provider, b.provider, 403],
          [a.provider, OPERATOR, 200],
        ] as const) {
          const sub = newName('somebody')
          await person(sub)
          await signIn(registered)
          const api = await through(came)
          const statuses = Object.values(await attempts(api, userUid(upstream.issuer, sub, 0)))
          assert.deepEqual(new Set(statuses), new Set([expected]), `${registered}, ${came}: ${statuses}`)
        }
      })

      test('ADR 13: after a sign-in with the operator’s provider, no provider of an organization has authority over the whole user', async () => {
        const a = await organization('a')
        await person(newName('first'))
        const api = await through(a.provider)
        assert.equal((await api.post('iam/groups', { name: newName('made') })).status, 200)
        await signIn(OPERATOR)
        assertError(await api.post('iam/groups', { name: newName('made') }), permissionDeniedError)
      })

      test('ADR 13: the account page of another provider’s session shows and ends that session only', async () => {
        const a = await organization('a')
        await person(SUB)
        const [own, foreign] = [await signIn(OPERATOR), await signIn(a.provider)]
        const ends = (page: { forms: readonly { action: string }[] }) =>
          page.forms.filter(({ action }) => action === '/account/sessions/end').length
        const page = await own.open('/account')
        assert.ok(ends(page) > 1)
        const seen = await foreign.open('/account')
        assert.equal(ends(seen), 1, seen.text)
        assert.match(seen.text, /Only this session/)
        const token = seen.forms.find(({ action }) => action === '/account/sessions/end')?.fields ?? {}
        const others = page.forms.flatMap(({ fields }) => fields['id'] ?? [])
        const id = others.find((one) => one !== token['id'])
        for (const path of ['/account/sessions/end', '/account/sessions/end-others']) {
          const reply = await foreign.post(path, { ...token, id })
          assert.equal(reply.status, 403, reply.text)
        }
        assert.equal((await own.open('/account')).path, '/account', 'still signed in')
        const done = await foreign.post('/account/sessions/end', token)
        assert.equal(done.path, '/sign-in?done=signed-out', done.text)
      })

      test('ADR 13: neither the address nor other organizations of the user are visible', async () => {
        const [a, b] = [await organization('a'), await organization('b')]
        const email = `${newName('ada')}@example.com`
        await person(SUB, { email, email_verified: true })
        await bind(b.uid)
        const whoAmI = async (token: string) =>
          (await (
            await fetch(`${berth.url}/auth/v1/ok`, { headers: { authorization: `Bearer ${token}` } })
          ).json()) as { email: string; capabilities: { group: { id: string } }[] }
        const known = await tokensIn(await signIn(OPERATOR))
        assert.equal((await whoAmI(known.access)).email, email)
        assert.equal(claimsOf(known.id)['email'], email)
        const bounded = await tokensIn(await signIn(a.provider))
        const seen = await whoAmI(bounded.access)
        assert.equal(seen.email, '')
        assert.deepEqual(
          seen.capabilities.filter(({ group }) => group.id === b.uid),
          [],
        )
        assert.equal(claimsOf(bounded.id)['email'], undefined)
      })
    })

    describe('email addresses', () => {
      test('ADR 13: an invite for an address is accepted where the voucher of the address counts', async () => {
        const [a, b] = [await organization('a'), await organization('b')]
        const verified = { email: `${newName('ada')}@example.com`, email_verified: true }
        const unverified = { ...verified, email_verified: false }
        for (const [what, came, claims, at, expected] of [
          ['the operator’s provider', OPERATOR, verified, b.uid, 200],
          ['the operator’s provider, unverified', OPERATOR, unverified, b.uid, 404],
          ['the provider of the organization', b.provider, verified, b.uid, 200],
          ['the provider of the organization, unverified', b.provider, unverified, b.uid, 404],
          [
            'the provider of the organization, without a word',
            b.provider,
            { email: verified.email },
            b.uid,
            404,
          ],
          ['a provider of another organization', a.provider, verified, b.uid, 404],
        ] as const) {
          await person(newName('invited'), claims)
          const code = await inviteTo(at, { email: verified.email })
          const reply = await (await through(came)).post('iam/groupInvites:accept', { code })
          assert.equal(reply.status, expected, `${what}: ${reply.text}`)
        }
      })

      test('ADR 13: a provider of another organization neither uses nor changes the address that the operator’s verified', async () => {
        const [a, b] = [await organization('a'), await organization('b')]
        const sub = newName('known')
        const email = `${sub}@example.com`
        await person(sub, { email, email_verified: true })
        await signIn(OPERATOR)
        await person(sub, { email: 'another@example.com', email_verified: true })
        const api = await through(a.provider)
        const code = await inviteTo(b.uid, { email })
        assert.equal((await api.post('iam/groupInvites:accept', { code })).status, 404)
        const { body } = await admin.get(`iam/identities/${userUid(upstream.issuer, sub, 0)}`)
        assert.deepEqual([body.email, body.emailUnverified], [email, ''])
      })

      test('ADR 13: group look-up and access requests use an address where it counts', async () => {
        const name = `${newName('acme')}.example`
        const [a, b] = [await organization('a'), await organization('b')]
        const changed = { name, verified: true, kind: 'ORG_KIND_CUSTOMER' }
        const kinds = await admin.patch(`iam/groups/${b.uid}`, changed)
        assert.equal(kinds.status, 200, kinds.text)
        const claims = { email: `ada@${name}`, email_verified: true }
        for (const [came, expected] of [
          [OPERATOR, 200],
          [a.provider, 404],
          [b.provider, 200],
        ] as const) {
          await person(newName('employee'), claims)
          const api = await through(came)
          assert.equal((await api.get('iam/groups:lookupGroup')).status, expected, came)
          const asked = await api.post(`iam/groups/${b.uid}:requestGroupAccess`)
          assert.equal(asked.status, expected, asked.text)
        }
      })
    })

    describe('attacks', () => {
      /** An organization with an owner of its own. */
      async function attacker() {
        await person(newName('mallory'))
        const api = await through(OPERATOR)
        const { uid } = await api.create('iam/groups', { name: newName('mallory') })
        return { api, uid }
      }

      test('ADR 13: an organization that adds the operator’s issuer with a client of its own takes over no user', async () => {
        const victim = await organization('victim')
        await bind(victim.uid)
        const { api, uid } = await attacker()
        const client = newName('mallory')
        const own = await provider(uid, client, {}, api)
        await person(SUB, { email: 'ada@example.com', email_verified: true })
        const idToken = await upstream.idToken(client, APPLICATION)
        const stolen = await exchange(berth.url, idToken, { aud: berth.url, identity_provider: own })
        assert.equal(stolen.status, 200, stolen.text)
        const { access } = await tokensIn(await signIn(own))
        for (const token of [stolen.body.token, access]) {
          const as = apiOf(berth, token)
          assert.equal(await opens(token, victim.uid), false)
          assertError(await as.post('iam/groups', { name: newName('g') }), permissionDeniedError)
          const gone = await fetch(`${berth.url}/auth/v1/delete/${ada}`, {
            method: 'DELETE',
            headers: { authorization: `Bearer ${token}` },
          })
          assert.equal(gone.status, 403)
          const code = await inviteTo(victim.uid, { email: 'ada@example.com' })
          assert.equal((await as.post('iam/groupInvites:accept', { code })).status, 404)
        }
        const names = { issuer: upstream.issuer, subject: SUB }
        assert.equal((await admin.get('iam/identities:lookupIdentity', names)).body.uid, ada)
      })

      test('ADR 13: two providers of one issuer and client in one organization verify no email address', async () => {
        const victim = await organization('victim')
        const email = `${newName('ceo')}@example.com`
        const { api, uid } = await attacker()
        const client = newName('twice')
        for (const _ of [1, 2]) await provider(uid, client, {}, api)
        const code = await inviteTo(victim.uid, { email })
        const sub = newName('ceo')
        await person(sub, { email, email_verified: true })
        const token = await upstream.idToken(client, APPLICATION)
        for (const body of [{}, { code }]) {
          const reply = await fetch(`${berth.url}/auth/v1/register`, {
            method: 'POST',
            headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
            body: JSON.stringify(body),
          })
          assert.equal(reply.status, 401)
        }
        const identity = await admin.get(`iam/identities/${userUid(upstream.issuer, sub, 0)}`)
        assert.equal(identity.status, 404, 'no user was registered')
      })
    })

    describe('R19 through providers', () => {
      test('R19: access of identities that trust tokens of Berth, which users of any issuer get, counts as access of these users', async () => {
        const { uid } = await admin.create('iam/groups', { name: newName('r19') })
        const identity = (subject: string, issuer: string) =>
          admin.create(`iam/identities/${uid}`, { name: newName('robot'), claimMatch: { issuer, subject } })
        const role = await admin.create(`iam/roles/${uid}`, {
          name: newName('idp-admin'),
          capabilities: [
            'CAP_IAM_IDENTITY_PROVIDERS_CREATE',
            'CAP_IAM_IDENTITY_PROVIDERS_UPDATE',
            'CAP_IAM_IDENTITY_PROVIDERS_LIST',
            'CAP_IAM_GROUPS_LIST',
            'CAP_IAM_ROLE_BINDINGS_CREATE',
          ],
        })
        const harmless = await admin.create(`iam/roles/${uid}`, {
          name: newName('reader'),
          capabilities: ['CAP_IAM_GROUPS_LIST'],
        })
        const limited = await identity(newName('s'), 'https://issuer.example')
        await admin.create(`iam/roleBindings/${uid}`, { identityUid: limited.uid, roleUid: role.uid })
        const api = apiOf(berth, await berth.tokenOf(limited.uid))
        const asked = {
          name: newName('idp'),
          defaultRole: harmless.uid,
          oidc: { issuer: upstream.issuer, clientId: newName('client'), clientSecret: 'x' },
        }
        const before = await api.create(`iam/identityProviders/${uid}`, asked)
        const robot = await identity(ada, berth.url)
        await bind(await group(uid), robot.uid, 'owner')
        assertError(await api.post(`iam/identityProviders/${uid}`, asked), permissionDeniedError)
        const path = `iam/identityProviders/${before.uid}`
        assertError(await api.patch(path, { oidc: { clientId: 'another' } }), permissionDeniedError)
        assertError(
          await api.patch(path, { ...asked, oidc: { ...asked.oidc, clientSecret: 'y' } }, '*'),
          permissionDeniedError,
        )
        const mapping = { externalGroupId: 'devs', roleUid: harmless.uid, scope: uid }
        assertError(
          await api.post(`iam/externalGroupRoleMappings/${before.uid}`, mapping),
          permissionDeniedError,
        )
      })

      test('R19: a provider is created or changed by a caller who holds what users of the issuer hold', async () => {
        const { uid } = await admin.create('iam/groups', { name: newName('r19') })
        const team = await group(uid)
        const role = await admin.create(`iam/roles/${uid}`, {
          name: newName('idp-admin'),
          capabilities: [
            'CAP_IAM_IDENTITY_PROVIDERS_CREATE',
            'CAP_IAM_IDENTITY_PROVIDERS_UPDATE',
            'CAP_IAM_IDENTITY_PROVIDERS_LIST',
            'CAP_IAM_GROUPS_LIST',
            'CAP_IAM_ROLE_BINDINGS_CREATE',
          ],
        })
        const harmless = await admin.create(`iam/roles/${uid}`, {
          name: newName('reader'),
          capabilities: ['CAP_IAM_GROUPS_LIST'],
        })
        const robot = await admin.create(`iam/identities/${uid}`, {
          name: newName('idp-admin'),
          claimMatch: { issuer: 'https://issuer.example', subject: newName('s') },
        })
        await admin.create(`iam/roleBindings/${uid}`, { identityUid: robot.uid, roleUid: role.uid })
        const limited = apiOf(berth, await berth.tokenOf(robot.uid))
        const oidc = (issuer: string, client: string) => ({
          issuer,
          clientId: client,
          clientSecret: 'x',
        })
        const asked = (issuer: string) => ({
          name: newName('idp'),
          defaultRole: harmless.uid,
          oidc: oidc(issuer, newName('client')),
        })
        const path = `iam/identityProviders/${uid}`
        const before = await limited.create(path, asked(upstream.issuer))
        // A person of the issuer holds more, in a group below.
        await bind(team, ada, 'editor')
        assertError(await limited.post(path, asked(upstream.issuer)), permissionDeniedError)
        const other = await limited.create(path, asked('https://other.example'))
        for (const [what, at, body] of [
          ['issuer', other.uid, { oidc: { issuer: upstream.issuer } }],
          ['client', before.uid, { oidc: { clientId: 'another' } }],
          ['secret', before.uid, { oidc: { clientSecret: 'another' } }],
          ['group claim', before.uid, { oidc: { groupsClaim: 'roles' } }],
        ] as const) {
          const reply = await limited.patch(`iam/identityProviders/${at}`, body)
          assert.equal(reply.status, 403, `${what}: ${reply.text}`)
        }
        const mapping = { externalGroupId: 'devs', roleUid: harmless.uid, scope: uid }
        const mapped = (to: string) => limited.post(`iam/externalGroupRoleMappings/${to}`, mapping)
        assert.equal((await mapped(before.uid)).status, 403)
        assert.equal((await mapped(other.uid)).status, 200)
        assert.equal(
          (await limited.patch(`iam/identityProviders/${before.uid}`, { name: 'renamed' })).status,
          200,
        )
        assert.equal(
          (await admin.patch(`iam/identityProviders/${before.uid}`, { oidc: { clientId: 'c' } })).status,
          200,
        )
      })
    })
  })
}
