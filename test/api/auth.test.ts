import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Auth } from '@berth/contract/gen/chainguard/platform/auth/auth_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import { userUid } from '@berth/server/iam/identities/user-uid.ts'
import { managedRoleByName } from '@berth/server/iam/managed-roles.ts'
import { headlessResults } from '@berth/server/signin/oauth/sdk-flows/headless.ts'
import {
  type Api,
  apiOf,
  assertError,
  failedPreconditionError,
  invalidFieldError,
  managedRole,
  newName,
  onEveryDatabase,
  permissionDeniedError,
} from '../support/api/api-fixture.ts'
import { call, type RestReply } from '../support/api/rest.ts'
import { cleanups, temporaryDirectory } from '../support/server/process.ts'
import { createAccount, createClientTokens, createPerson } from '../support/signin/accounts.ts'
import { newSigner, signJws, startIssuer } from '../support/tokens/issuer.ts'

const suite = cleanups()
after(() => suite.run())
/** The operator's provider, and one that only organizations have. */
const everybodys = await startIssuer(suite)
const companys = await startIssuer(suite)
const file = join(temporaryDirectory(suite), 'providers.json')
writeFileSync(
  file,
  JSON.stringify([{ name: 'everyone', issuer: everybodys.name, clientId: 'berth', clientSecret: 'x' }]),
)
const unauthenticated = { status: 401, code: 16 } as const
const REGISTER = 'chainguard.platform.auth.Auth/Register'

onEveryDatabase(
  'people and their tokens',
  (cast) => {
    const validate = (token: string) => call('GET', `${cast().berth.url}/auth/v1/ok`, { token })
    const register = (token: string | undefined, body: object = {}) =>
      call('POST', `${cast().berth.url}/auth/v1/register`, {
        ...(token === undefined ? {} : { token }),
        body,
      })
    const leave = (token: string, id: string) =>
      call('DELETE', `${cast().berth.url}/auth/v1/delete/${id}`, { token })
    const idToken = (claims: object = {}) => everybodys.sign({ aud: 'berth', sub: newName('sub'), ...claims })
    const eventsAt = (uid: string) => cast().auditEventsOf(uid)
    const bindTo = (identityUid: string, group: string, role: string) =>
      cast().admin.create(`iam/roleBindings/${group}`, { identityUid, roleUid: managedRole(role) })
    const db = () => cast().berth.berth.installation.store.db.kysely

    test('validate returns the identity, audience and expiry of a token, and what it allows by group', async () => {
      const { berth } = cast()
      const { uid: root, owner, name } = await cast().organization()
      const team = await owner.api.create(`iam/groups/${root}`, { name: 'team', description: 'ours' })
      const identity = await createPerson(berth, { email: `${newName('ada')}@example.com` })
      await createAccount(berth, identity)
      await bindTo(identity, root, 'viewer')
      await bindTo(identity, team.uid, 'registry.pull')
      await bindTo(identity, team.uid, 'apk.pull')
      const { accessToken, expiresAtMs } = await createClientTokens(berth, { identity })
      const { body, status, text } = await validate(accessToken)
      assert.equal(status, 200, text)
      const { capabilities, issuedAt, ...rest } = body
      const { email } = (await cast().admin.get(`iam/identities/${identity}`)).body
      assert.deepEqual(rest, {
        issuer: berth.url,
        subject: identity,
        audience: [berth.url],
        expiry: new Date(expiresAtMs).toISOString(),
        email,
        profile: { name: 'Ada', picture: '', givenName: '', familyName: '' },
      })
      assert.equal(Date.parse(body.expiry) - Date.parse(issuedAt), limits.accessTokenLifetimeMs)
      const [atRoot, atTeam, ...more] = capabilities
      assert.deepEqual(more, [])
      const viewer = managedRoleByName.get('viewer')
      assert.deepEqual(atRoot.group, {
        id: root,
        name,
        description: '',
        resourceLimits: {},
        verified: false,
        kind: 'ORG_KIND_UNSPECIFIED',
        status: 'ORG_STATUS_READY',
      })
      assert.deepEqual([atRoot.role.id, atRoot.role.name, atRoot.capabilities], [viewer?.uid, 'viewer', []])
      assert.ok(atRoot.role.capabilities.includes('groups.list'))
      assert.deepEqual(
        [atTeam.group.id, atTeam.group.description, atTeam.role],
        [team.uid, 'ours', undefined],
      )
      for (const one of ['repo.blobs.get', 'apk.blobs.get']) assert.ok(atTeam.capabilities.includes(one))

      const byGrpc = await cast().grpc.call(Auth.method.validate, {}, { token: accessToken })
      assert.equal(byGrpc.subject, identity)
      assert.deepEqual(
        byGrpc.capabilities.map(({ group }) => group?.id),
        [root, team.uid],
      )
    })

    test('validate shows what a narrowed token allows, and nothing of other organizations', async () => {
      const { berth } = cast()
      const { uid: root, owner } = await cast().organization()
      await cast().organization()
      const token = await berth.tokenOf(owner.uid, { scopes: [root], capabilities: 0n })
      assert.deepEqual((await validate(token)).body.capabilities, [])
      const { body } = await validate(owner.api.token)
      assert.deepEqual(
        body.capabilities.map(({ group, role }: { group: { id: string }; role: { name: string } }) => [
          group.id,
          role.name,
        ]),
        [[root, 'owner']],
      )
      const admin = (await validate(berth.token)).body.capabilities
      assert.equal(admin[0].group, undefined)
      assert.ok(admin[0].capabilities.length > 200)
    })

    test('validate names a custom role only to callers who may read roles there', async () => {
      const { berth } = cast()
      const { uid: root, owner } = await cast().organization()
      const seen = async (capabilities: readonly string[]) => {
        const role = await owner.api.create(`iam/roles/${root}`, { name: newName('role'), capabilities })
        const identity = await createPerson(berth)
        await owner.api.create(`iam/roleBindings/${root}`, { identityUid: identity, roleUid: role.uid })
        const [held] = (await validate(await berth.tokenOf(identity))).body.capabilities
        return [held.role?.id === role.uid, held.capabilities]
      }
      assert.deepEqual(await seen(['CAP_IAM_ROLES_LIST', 'CAP_IAM_GROUPS_LIST']), [true, []])
      assert.deepEqual(await seen(['CAP_IAM_GROUPS_LIST', 'CAP_IAM_IDENTITY_LIST']), [
        false,
        ['groups.list', 'identity.list'],
      ])
    })

    test('validate returns whoAmIGroupsMax groups of a user with bindings in more', async () => {
      const { berth } = cast()
      const { uid: root } = await cast().organization()
      const identity = await createPerson(berth)
      const below = (n: number) => `${root}/${n.toString(16).padStart(16, '0')}`
      const rows = Array.from({ length: limits.whoAmIGroupsMax + 1 }, (_, n) => ({
        root,
        uid: `${below(n)}/${'0'.repeat(16)}`,
        parent: below(n),
        identity_uid: identity,
        role_uid: managedRole('viewer'),
        automatic: 0,
        accepted_through: '',
        created_ms: 0,
        updated_ms: 0,
      }))
      await db().insertInto('role_bindings').values(rows).execute()
      const organization = { root: identity, identity_uid: identity, organization: root }
      await db().insertInto('identity_organizations').values(organization).execute()
      const { body } = await validate(await berth.tokenOf(identity))
      assert.equal(body.capabilities.length, limits.whoAmIGroupsMax)
      await db().deleteFrom('role_bindings').where('identity_uid', '=', identity).execute()
    })

    test('validate rejects a missing or foreign token, one for another audience and one of an ended session', async () => {
      const { berth } = cast()
      const { accessToken, session } = await createClientTokens(berth, {
        identity: await createPerson(berth),
      })
      await db().deleteFrom('sessions').where('id', '=', session).execute()
      const bad = [
        accessToken,
        await idToken(),
        await berth.tokenOf(berth.owner, { audiences: [berth.berth.addresses.registryHost] }),
        'x',
      ]
      for (const token of bad) assertError(await validate(token), unauthenticated)
      assertError(await call('GET', `${berth.url}/auth/v1/ok`), unauthenticated)
    })

    test('register creates the identity that lookupIdentity returned, once, with the verified address', async () => {
      const sub = newName('sub')
      const email = `${newName('ada')}@example.com`
      const token = await idToken({ sub, email, email_verified: true })
      const { body: promised } = await cast().admin.get('iam/identities:lookupIdentity', {
        issuer: everybodys.name,
        subject: sub,
      })
      const made = await register(token)
      assert.equal(made.status, 200, made.text)
      assert.deepEqual(made.body, { identity: promised.uid, group: '' })
      const { body } = await cast().admin.get(`iam/identities/${promised.uid}`)
      assert.equal(body.email, email)
      assert.deepEqual((await register(token, { identityId: promised.uid })).body, made.body)
      assert.deepEqual(await eventsAt(promised.uid), [{ method: REGISTER, actor: promised.uid }])
      const byGrpc = await cast().grpc.call(Auth.method.register, {}, { token: await idToken({ sub }) })
      assert.equal(byGrpc.identity, promised.uid)
      const unproven = await register(await idToken({ email, email_verified: false }))
      const unknown = (await cast().admin.get(`iam/identities/${unproven.body.identity}`)).body
      assert.deepEqual([unknown.email, unknown.emailUnverified], ['', email])
    })

    test('register accepts the invite in the request; a wrong one creates nothing', async () => {
      const { uid: root, owner } = await cast().organization()
      const email = `${newName('ada')}@example.com`
      const invite = (more: object = {}) =>
        owner.api.create(`iam/groupInvites/${root}`, { roleUid: managedRole('viewer'), ttl: '600s', ...more })
      const sub = newName('sub')
      const token = await idToken({ sub, email, email_verified: true })
      const theirs = await invite({ email: 'someone@else.example' })
      for (const code of ['x', theirs.code]) {
        const reply = await register(token, { code })
        assertError(reply, { status: 404, code: 5, resource: ['iam.chainguard.dev/GroupInvite', '*'] })
      }
      const uid = userUid(everybodys.name, sub, 0)
      assert.equal((await cast().admin.get(`iam/identities/${uid}`)).status, 404)
      const { code } = await invite({ email, singleUse: true })
      const made = await register(token, { code })
      assert.deepEqual(made.body, { identity: uid, group: root }, made.text)
      const api = apiOf(cast().berth, await cast().berth.tokenOf(uid))
      assert.equal((await api.get(`iam/groups/${root}`)).status, 200)
      const again = await invite()
      assert.deepEqual((await register(token, { code: again.code })).body, { identity: uid, group: root })
      assert.equal((await register(token, { code })).status, 404, 'R25: it was for one use')
    })

    test('register of an organization’s provider gives its default role; of several with that issuer and client, none vouches', async () => {
      const provider = (root: string, api: Api, role = 'viewer') =>
        api.create(`iam/identityProviders/${root}`, {
          name: 'login',
          defaultRole: managedRole(role),
          oidc: { issuer: companys.name, clientId: `client-${root}`, clientSecret: 'x' },
        })
      const one = await cast().organization()
      const login = await provider(one.uid, one.owner.api)
      const person = (aud: string, more: object = {}) => companys.sign({ aud, sub: newName('sub'), ...more })
      const first = await register(await person(`client-${one.uid}`))
      assert.equal(first.status, 200, first.text)
      const api = apiOf(cast().berth, await cast().berth.tokenOf(first.body.identity))
      assert.equal((await api.get(`iam/groups/${one.uid}`)).status, 200)
      const mine = await api.get('iam/roleBindings', { identity: first.body.identity })
      assert.equal(mine.body.totalCount, '1')

      const two = await cast().organization()
      const shared = await two.owner.api.create(`iam/identityProviders/${two.uid}`, {
        name: 'login',
        defaultRole: managedRole('owner'),
        oidc: { issuer: companys.name, clientId: `client-${one.uid}`, clientSecret: 'x' },
      })
      assertError(await register(await person(`client-${one.uid}`)), unauthenticated)
      const { code } = await one.owner.api.create(`iam/groupInvites/${one.uid}`, {
        roleUid: managedRole('viewer'),
        ttl: '600s',
      })
      const invited = await register(await person(`client-${one.uid}`), { code })
      assert.deepEqual([invited.status, invited.body.group], [200, one.uid], invited.text)
      await two.owner.api.delete(`iam/identityProviders/${shared.uid}`)

      await one.owner.api.patch(`iam/identityProviders/${login.uid}`, { oidc: { clientId: 'changed' } })
      assertError(await register(await person(`client-${one.uid}`)), unauthenticated)
      assert.equal((await register(await person('changed'))).status, 200)
      await one.owner.api.delete(`iam/identityProviders/${login.uid}`)
      assertError(await register(await person('changed')), unauthenticated)
    })

    test('register with a token of this server registers no user, but accepts an invite', async () => {
      const { berth } = cast()
      const { uid: root, owner } = await cast().organization()
      const { code } = await owner.api.create(`iam/groupInvites/${root}`, {
        roleUid: managedRole('viewer'),
        ttl: '600s',
      })
      const identity = await createPerson(berth)
      const { accessToken, session } = await createClientTokens(berth, { identity })
      assert.deepEqual((await register(accessToken)).body, { identity, group: '' })
      assert.deepEqual((await register(accessToken, { code })).body, { identity, group: root })
      const narrowed = await berth.tokenOf(identity, { scopes: [root] })
      assertError(await register(narrowed, { code }), permissionDeniedError)
      const { registryHost } = berth.berth.addresses
      const forRegistry = await berth.tokenOf(identity, { audiences: [registryHost] })
      assertError(await register(forRegistry, { code }), unauthenticated)
      await db().deleteFrom('sessions').where('id', '=', session).execute()
      assertError(await register(accessToken, { code }), unauthenticated)
    })

    test('register rejects tokens that no provider vouches for, and contacts no issuer without a provider (R1)', async () => {
      const stranger = await startIssuer(suite)
      const now = Math.floor(Date.now() / 1000)
      const forged = newSigner('k1')
      const table: Readonly<Record<string, string | undefined>> = {
        'no token': undefined,
        'no JWT': 'x',
        'an unknown issuer': await stranger.sign({ aud: 'berth' }),
        'another audience': await idToken({ aud: 'another' }),
        'no audience': await idToken({ aud: undefined }),
        'made for another of its audiences': await idToken({ aud: ['berth', 'another'], azp: 'another' }),
        'for several without saying for whom it was made': await idToken({ aud: ['berth', 'another'] }),
        'made for another than its audience': await idToken({ azp: 'another' }),
        expired: await idToken({ exp: now - 1 }),
        'too old': await idToken({ iat: now - limits.subjectTokenAgeMsMax / 1000 - 60 }),
        'another key': await signJws(
          { iss: everybodys.name, sub: 'x', aud: 'berth', iat: now, exp: now + 300 },
          forged.privateKey,
          { kid: 'k1' },
        ),
      }
      for (const [what, token] of Object.entries(table)) {
        const reply = await register(token)
        assert.deepEqual([reply.status, reply.body.code], [401, 16], `${what}: ${reply.text}`)
      }
      assert.deepEqual(stranger.requests, [])
      const mine = await idToken()
      assertError(await register(mine, { identityId: 'f'.repeat(40) }), invalidFieldError('identityId'))
      assert.equal((await register(await idToken({ aud: ['berth', 'x'], azp: 'berth' }))).status, 200)
    })

    test('R15: register is unavailable while a provider cannot be reached', async () => {
      const { owner, uid } = await cast().organization()
      const down = await startIssuer(suite)
      down.answer = (_request, response) => response.writeHead(503).end()
      await owner.api.create(`iam/identityProviders/${uid}`, {
        name: 'login',
        defaultRole: managedRole('viewer'),
        oidc: { issuer: down.name, clientId: 'berth', clientSecret: 'x' },
      })
      const reply = await register(await down.sign({ aud: 'berth' }))
      assert.deepEqual([reply.status, reply.body.code], [503, 14], reply.text)
    })

    test('R12: delete removes the identity with its bindings, sessions, account and passkeys, and records it', async () => {
      const { berth } = cast()
      const { uid: root } = await cast().organization()
      const sub = newName('sub')
      const { identity } = (await register(await idToken({ sub }))).body
      const account = await createAccount(berth, identity)
      const binding = await bindTo(identity, root, 'viewer')
      const tokens = await createClientTokens(berth, { identity })
      const reply = await leave(tokens.accessToken, identity)
      assert.deepEqual([reply.status, reply.text], [200, ''])
      for (const token of [tokens.accessToken, await berth.tokenOf(identity)])
        assertError(await validate(token), unauthenticated)
      assert.equal((await cast().admin.get(`iam/roleBindings/${binding.uid}`)).status, 404)
      assert.equal((await cast().admin.get(`iam/identities/${identity}`)).status, 404)
      const left = await db().selectFrom('passkeys').select('id').where('account_id', '=', account).execute()
      assert.deepEqual(left, [])
      for (const uid of [identity, binding.uid])
        assert.deepEqual((await eventsAt(uid)).at(-1), {
          method: 'chainguard.platform.auth.Auth/Delete',
          actor: identity,
        })
      // R23: a user who returns gets another identity.
      const back = await register(await idToken({ sub }))
      assert.notEqual(back.body.identity, identity)
      assert.equal(back.status, 200)
    })

    test('delete is for the caller’s own identity alone, with a token that is not narrowed', async () => {
      const { berth } = cast()
      const { uid: root, owner } = await cast().organization()
      const [one, other] = [await createPerson(berth), await createPerson(berth)]
      const token = await berth.tokenOf(one)
      for (const id of [other, root, 'x', owner.uid.slice(0, 40)])
        assertError(await leave(token, id), permissionDeniedError)
      assertError(await leave(await berth.tokenOf(one, { scopes: [root] }), one), permissionDeniedError)
      assertError(await leave(await berth.tokenOf(one, { capabilities: 0n }), one), permissionDeniedError)
      const byGrpc = (id: string, of: string) => cast().grpc.call(Auth.method.delete, { id }, { token: of })
      await assert.rejects(byGrpc(owner.uid, owner.api.token), { code: 7 })
      assertError(await leave(berth.token, berth.owner), failedPreconditionError('RESOURCE_IN_USE'))
      await byGrpc(one, token)
      await assert.rejects(byGrpc(one, token), { code: 16 })
    })

    test('a headless session exists once a sign-in has stored it, and can be fetched once', async () => {
      const { store } = cast().berth.berth.installation
      const code = randomBytes(32).toString('base64url')
      const ask = (asked: string): Promise<RestReply> =>
        call('GET', `${cast().berth.url}/sts/headless_sessions?code=${asked}`)
      const missing = { status: 404, code: 5 } as const
      assertError(await ask(code), missing)
      assertError(await ask(''), invalidFieldError('code'))
      const sealed = randomBytes(40)
      const publicKey = randomBytes(32).toString('base64url')
      const result = { ecdhPublicKey: publicKey, encryptedIdToken: sealed.toString('base64') }
      await headlessResults(store).add(result, code)
      assertError(await ask(randomBytes(32).toString('base64url')), missing)
      const replies = await Promise.all(Array.from({ length: 10 }, () => ask(code)))
      const got = replies.filter(({ status }) => status === 200)
      assert.equal(got.length, 1)
      assert.deepEqual(got[0]?.body, {
        ecdhPublicKey: Buffer.from(publicKey).toString('base64'),
        encryptedIdtoken: sealed.toString('base64'),
      })
      await headlessResults(store).add(result, code)
      const byGrpc = await cast().grpc.call(Auth.method.getHeadlessSession, { code })
      assert.equal(Buffer.from(byGrpc.ecdhPublicKey).toString(), publicKey)
      assert.deepEqual(Buffer.from(byGrpc.encryptedIdtoken), sealed)
      await assert.rejects(cast().grpc.call(Auth.method.getHeadlessSession, { code }), { code: 5 })
    })
  },
  { env: { BERTH_SIGN_IN_PROVIDERS_FILE: file } },
)
