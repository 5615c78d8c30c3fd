import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  IdentityProvider_SCIM_CredentialState as CredentialState,
  IdentityProvidersService,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/identity_providers_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import { unseal } from '@berth/server/runtime/encryption.ts'
import fc from 'fast-check'
import {
  type ApiFixture,
  assertError,
  failedPreconditionError,
  invalidFieldError,
  managedRole,
  newName,
  notFoundError,
  type Organization,
  onEveryDatabase,
  permissionDeniedError,
} from '../support/api/api-fixture.ts'
import { call, type RestReply } from '../support/api/rest.ts'
import { cleanups } from '../support/server/process.ts'
import { type Responder, startIssuer, type TestIssuer } from '../support/tokens/issuer.ts'

const TYPE = 'iam.chainguard.dev/IdentityProvider'
const ROLE_TYPE = 'iam.chainguard.dev/Role'
const viewer = managedRole('viewer')
const oidc = { issuer: 'https://login.example', clientId: 'berth', clientSecret: 'correct horse' }
const provider = { name: 'company login', defaultRole: viewer, oidc }
const SUB = 'CORRELATION_RULE_SUB_EQUALS_EXTERNAL_ID'
const OID = 'CORRELATION_RULE_OID_EQUALS_EXTERNAL_ID'
const UNSPECIFIED = 'CORRELATION_RULE_UNSPECIFIED'
const notIssued = {
  enabled: false,
  endpointUrl: '',
  credentialState: 'CREDENTIAL_STATE_NOT_ISSUED',
  etag: '',
}

const onlyOidc = (changed: object) => ({ oidc: { ...oidc, ...changed } })
const withOidc = (changed: object) => ({ ...provider, ...onlyOidc(changed) })

/** The secret of a provider as it is stored, opened. */
async function storedSecret({ berth }: ApiFixture, uid: string): Promise<string | undefined> {
  const { db, secretsKey } = berth.berth.installation.store
  const { client_secret: sealed } = await db.kysely
    .selectFrom('identity_providers')
    .select('client_secret')
    .where('uid', '=', uid)
    .executeTakeFirstOrThrow()
  if (sealed.length === 0) return undefined
  return unseal(secretsKey, sealed, `client secret of ${uid}`) ?? assert.fail('the secret cannot be opened')
}

/** A member of an organization who may do all there is to do with providers, and beyond that only what is named. */
async function keeper({ owner, uid: root, member }: Organization, ...more: string[]) {
  const role = await owner.api.create(`iam/roles/${root}`, {
    name: newName('keeper'),
    capabilities: [
      'CAP_IAM_IDENTITY_PROVIDERS_CREATE',
      'CAP_IAM_IDENTITY_PROVIDERS_UPDATE',
      'CAP_IAM_IDENTITY_PROVIDERS_LIST',
      'CAP_IAM_IDENTITY_PROVIDERS_DELETE',
      'CAP_IAM_ROLE_BINDINGS_CREATE',
      ...more,
    ],
  })
  return member(role.uid)
}

const uidsOf = ({ body }: RestReply): string[] =>
  body.identityProviders.map(({ uid }: { uid: string }) => uid)

onEveryDatabase('identity providers', (cast) => {
  const owned = async (body: object = provider) => {
    const organization = await cast().organization()
    const made = await organization.owner.api.create(`iam/identityProviders/${organization.uid}`, body)
    return { organization, api: organization.owner.api, root: organization.uid, made, uid: String(made.uid) }
  }

  test('create, get, list, update and delete return the exact JSON', async () => {
    const { api, root, made, uid } = await owned({
      ...provider,
      description: 'Everyone at work',
      oidc: { ...oidc, additionalScopes: ['profile', 'openid', 'email'], groupsClaim: 'groups' },
    })
    assert.equal(uid.slice(0, -17), root)
    assert.deepEqual(made, {
      uid,
      name: 'company login',
      description: 'Everyone at work',
      createTime: made.createTime,
      updateTime: made.createTime,
      defaultRole: viewer,
      oidc: {
        issuer: 'https://login.example',
        clientId: 'berth',
        clientSecret: '',
        additionalScopes: ['profile', 'openid', 'email'],
        groupsClaim: 'groups',
        correlationRule: UNSPECIFIED,
        pkceEnabled: false,
      },
      scim: notIssued,
      callback: 'CALLBACK_OWN',
      redirectUri: `${cast().berth.url}/oauth/callback/${uid}`,
      signInProblem: '',
    })
    assert.deepEqual((await api.get(`iam/identityProviders/${uid}`)).body, made)
    const listed = await api.get('iam/identityProviders', { 'uidp.children_of': root })
    assert.deepEqual(listed.body, {
      // What can be said of provisioning tokens is on Get only.
      identityProviders: [
        { ...made, scim: { ...notIssued, credentialState: 'CREDENTIAL_STATE_UNSPECIFIED' } },
      ],
      nextPageToken: '',
      totalCount: '1',
      skipped: 0,
    })
    cast().berth.advance(5)
    const updated = await api.patch(`iam/identityProviders/${uid}`, { oidc: { clientId: 'other' } })
    assert.ok(updated.body.updateTime > made.updateTime)
    assert.deepEqual(updated.body, {
      ...made,
      oidc: { ...made.oidc, clientId: 'other' },
      updateTime: updated.body.updateTime,
    })
    const deleted = await api.delete(`iam/identityProviders/${uid}`)
    assert.deepEqual([deleted.status, deleted.text], [200, ''])
    assertError(await api.get(`iam/identityProviders/${uid}`), notFoundError(TYPE, uid))
    assertError(await api.patch(`iam/identityProviders/${uid}`, {}), notFoundError(TYPE, uid))
    assertError(await api.delete(`iam/identityProviders/${uid}`), notFoundError(TYPE, uid))
  })

  test('the same over gRPC', async () => {
    const { owner, uid: root } = await cast().organization()
    const { grpc } = cast()
    const { token } = owner.api
    const {
      createIdentityProvider,
      getIdentityProvider,
      listIdentityProviders,
      updateIdentityProvider,
      deleteIdentityProvider,
      generateScimToken,
    } = IdentityProvidersService.method
    const created = await grpc.call(
      createIdentityProvider,
      {
        parent: root,
        identityProvider: {
          name: 'login',
          defaultRole: viewer,
          configuration: { case: 'oidc', value: { ...oidc, additionalScopes: ['email'] } },
        },
      },
      { token },
    )
    const { uid } = created
    assert.equal(created.configuration.value?.clientSecret, '')
    assert.equal(created.scim?.credentialState, CredentialState.NOT_ISSUED)
    assert.deepEqual(await grpc.call(getIdentityProvider, { uid }, { token }), created)
    const listed = await grpc.call(listIdentityProviders, { uidp: { childrenOf: root } }, { token })
    assert.deepEqual([listed.identityProviders.map((one) => one.uid), listed.totalCount], [[uid], 1n])
    // Without a mask, what is populated changes; an empty secret is not.
    const change = { uid, configuration: { case: 'oidc' as const, value: { clientId: 'other' } } }
    const updated = await grpc.call(updateIdentityProvider, { identityProvider: change }, { token })
    assert.deepEqual(
      [updated.name, updated.configuration.value?.clientId, updated.configuration.value?.additionalScopes],
      ['login', 'other', ['email']],
    )
    assert.equal(await storedSecret(cast(), uid), oidc.clientSecret)
    await assert.rejects(grpc.call(generateScimToken, { identityProviderUid: uid }, { token }), { code: 12 })
    await grpc.call(deleteIdentityProvider, { uid }, { token })
    await assert.rejects(grpc.call(getIdentityProvider, { uid }, { token }), { code: 5 })
  })

  const long = (charsMax: number) => 'a'.repeat(charsMax + 1)
  const cases: readonly [changed: object, ...fields: string[]][] = [
    [{ name: '' }, 'name'],
    [{ name: 'Login' }, 'name'],
    [{ description: '\u0007' }, 'description'],
    [{ defaultRole: '' }, 'defaultRole'],
    [{ defaultRole: 'viewer' }, 'defaultRole'],
    [
      { name: '', defaultRole: '', oidc: { clientId: 'c' } },
      'name',
      'defaultRole',
      'oidc.issuer',
      'oidc.clientSecret',
    ],
    [{ oidc: undefined }, 'oidc'],
    [{ oidc: null }, 'oidc'],
    [{ oidc: {} }, 'oidc.issuer', 'oidc.clientId', 'oidc.clientSecret'],
    [onlyOidc({ issuer: 'login.example' }), 'oidc.issuer'],
    [onlyOidc({ issuer: 'https://login.example/?x' }), 'oidc.issuer'],
    [onlyOidc({ issuer: `https://login.example/${long(limits.issuerCharsMax)}` }), 'oidc.issuer'],
    [onlyOidc({ clientId: '' }), 'oidc.clientId'],
    [onlyOidc({ clientId: '  ' }), 'oidc.clientId'],
    [onlyOidc({ clientId: 'bêrth' }), 'oidc.clientId'],
    [onlyOidc({ clientId: long(limits.oidcClientIdCharsMax) }), 'oidc.clientId'],
    [onlyOidc({ clientSecret: 'from a file\n' }), 'oidc.clientSecret'],
    [onlyOidc({ clientSecret: long(limits.oidcClientSecretCharsMax) }), 'oidc.clientSecret'],
    [onlyOidc({ additionalScopes: ['email', ''] }), 'oidc.additionalScopes[1]'],
    [
      onlyOidc({ additionalScopes: ['a b', 'a"b', 'a\\b', 'ä'] }),
      ...[0, 1, 2, 3].map((at) => `oidc.additionalScopes[${at}]`),
    ],
    [onlyOidc({ additionalScopes: ['email', 'profile', 'email'] }), 'oidc.additionalScopes[2]'],
    [onlyOidc({ additionalScopes: [long(limits.oidcScopeCharsMax)] }), 'oidc.additionalScopes[0]'],
    [
      onlyOidc({ additionalScopes: Array.from({ length: limits.oidcScopesMax + 1 }, (_, at) => `s${at}`) }),
      'oidc.additionalScopes',
    ],
    [onlyOidc({ groupsClaim: 'gro\tups' }), 'oidc.groupsClaim'],
    [onlyOidc({ groupsClaim: long(limits.claimNameCharsMax) }), 'oidc.groupsClaim'],
    [onlyOidc({ correlationRule: 7 }), 'oidc.correlationRule'],
    [onlyOidc({ correlationRule: 'EMAIL' }), 'oidc.correlationRule'],
    [onlyOidc({ scope: 'x' }), 'oidc.scope'],
    [{ saml: {} }, 'saml'],
  ]

  test('an invalid provider is rejected, field by field, and nothing is written', async () => {
    // One without a secret, so that taking away its proof keys leaves it with nothing.
    const { api, root, uid } = await owned(withOidc({ clientSecret: '', pkceEnabled: true }))
    await cast().writesNothing(async () => {
      for (const [changed, ...fields] of cases) {
        const body = { ...provider, ...changed }
        assertError(await api.post(`iam/identityProviders/${root}`, body), invalidFieldError(...fields))
        // The reader refuses a member that it does not know before any mask is looked at.
        assertError(await api.patch(`iam/identityProviders/${uid}`, body, '*'), invalidFieldError(...fields))
      }
      assertError(
        await api.post(`iam/identityProviders/${root}`, {}),
        invalidFieldError('name', 'defaultRole', 'oidc'),
      )
      assertError(
        await api.patch(`iam/identityProviders/${uid}`, {}, '*'),
        invalidFieldError('name', 'defaultRole', 'oidc'),
      )
      assertError(await api.patch(`iam/identityProviders/${uid}`, {}, 'oidc'), invalidFieldError('oidc'))
      assertError(
        await api.patch(`iam/identityProviders/${uid}`, {}, 'oidc.secret'),
        invalidFieldError('updateMask'),
      )
      for (const bad of ['x', `${root}/`])
        assertError(await api.get(`iam/identityProviders/${bad}`), invalidFieldError('uid'))
    })
  })

  test('values just within the limits are accepted', async () => {
    const { made, uid } = await owned(
      withOidc({
        issuer: `https://login.example/${'a'.repeat(limits.issuerCharsMax - 22)}`,
        clientId: 'c'.repeat(limits.oidcClientIdCharsMax),
        clientSecret: 's'.repeat(limits.oidcClientSecretCharsMax),
        additionalScopes: Array.from({ length: limits.oidcScopesMax }, (_, at) =>
          String(at).padStart(limits.oidcScopeCharsMax, 's'),
        ),
        groupsClaim: 'g'.repeat(limits.claimNameCharsMax),
      }),
    )
    assert.equal(made.oidc.additionalScopes.length, limits.oidcScopesMax)
    assert.equal((await storedSecret(cast(), uid))?.length, limits.oidcClientSecretCharsMax)
  })

  test('providers exist in organizations only', async () => {
    const { owner, uid: root } = await cast().organization()
    const { uid: team } = await owner.api.create(`iam/groups/${root}`, { name: 'team' })
    const gone = 'f'.repeat(40)
    await cast().writesNothing(async () => {
      assertError(
        await owner.api.post(`iam/identityProviders/${team}`, provider),
        invalidFieldError('parent'),
      )
      const elsewhere = await cast().admin.post(`iam/identityProviders/${gone}`, provider)
      assertError(elsewhere, notFoundError('iam.chainguard.dev/Group', gone))
    })
  })

  test('the secret is stored encrypted, bound to its provider, and never returned', async () => {
    const secret = newName('secret')
    const { api, made, uid } = await owned(withOidc({ clientSecret: secret }))
    const other = newName('secret')
    const answers = [
      made,
      (await api.patch(`iam/identityProviders/${uid}`, { oidc: { clientSecret: other } })).body,
      (await api.get(`iam/identityProviders/${uid}`)).body,
      (await api.get('iam/identityProviders', { 'uidp.ids': uid })).body,
    ]
    const { db, secretsKey } = cast().berth.berth.installation.store
    const rows = await db.kysely.selectFrom('identity_providers').selectAll().where('uid', '=', uid).execute()
    const events = await db.kysely.selectFrom('audit_events').selectAll().where('parent', '=', uid).execute()
    for (const word of [secret, other]) {
      assert.ok(!JSON.stringify([answers, events]).includes(word))
      for (const value of Object.values(rows[0] ?? assert.fail()))
        assert.ok(typeof value === 'number' || !Buffer.from(value as Uint8Array).includes(word))
    }
    assert.equal(await storedSecret(cast(), uid), other)
    const sealed = rows[0]?.client_secret ?? assert.fail()
    assert.equal(unseal(secretsKey, sealed, 'client secret of another'), undefined)
  })

  test('an update without a secret keeps the stored one, unless its mask names it', async () => {
    const { clientSecret: _, ...rest } = oidc
    const whole = { ...provider, oidc: { ...rest, pkceEnabled: true } }
    const empty = { ...provider, oidc: { ...whole.oidc, clientSecret: '' } }
    const kept: readonly [body: object, mask?: string][] = [
      [whole],
      [whole, '*'],
      [whole, 'oidc'],
      [empty, '*'],
      [empty, 'oidc'],
      [empty, 'oidc.issuer,oidc.pkce_enabled'],
      [{ name: 'new' }],
    ]
    const cleared: readonly [body: object, mask?: string][] = [
      [{ oidc: { clientSecret: '' } }],
      [{ oidc: { client_secret: null } }],
      [{}, 'oidc.client_secret'],
      [whole, 'oidc.clientSecret'],
      [empty, 'oidc,oidc.client_secret'],
    ]
    const { api, uid } = await owned(withOidc({ pkceEnabled: true }))
    for (const [body, mask] of kept) {
      const reply = await api.patch(`iam/identityProviders/${uid}`, body, mask)
      assert.equal(reply.status, 200, reply.text)
      assert.equal(await storedSecret(cast(), uid), oidc.clientSecret, JSON.stringify([body, mask]))
    }
    for (const [body, mask] of cleared) {
      await api.patch(`iam/identityProviders/${uid}`, { oidc: { clientSecret: 'again' } })
      assert.equal(await storedSecret(cast(), uid), 'again')
      cast().berth.advance(5)
      const earlier = (await api.get(`iam/identityProviders/${uid}`)).body
      const reply = await api.patch(`iam/identityProviders/${uid}`, body, mask)
      assert.equal(reply.status, 200, reply.text)
      assert.equal(await storedSecret(cast(), uid), undefined, JSON.stringify([body, mask]))
      // It is a change, although none of it shows.
      assert.ok(reply.body.updateTime > earlier.updateTime)
      await cast().writesNothing(() => api.patch(`iam/identityProviders/${uid}`, body, mask))
    }
  })

  test('a provider keeps a secret or proof keys', async () => {
    const { api, uid } = await owned()
    const noSecret = invalidFieldError('oidc.clientSecret')
    await cast().writesNothing(async () => {
      assertError(await api.patch(`iam/identityProviders/${uid}`, { oidc: { clientSecret: '' } }), noSecret)
      assertError(await api.patch(`iam/identityProviders/${uid}`, {}, 'oidc.client_secret'), noSecret)
    })
    const swapped = { oidc: { clientSecret: '', pkceEnabled: true } }
    assert.equal((await api.patch(`iam/identityProviders/${uid}`, swapped)).status, 200)
    await cast().writesNothing(async () => {
      assertError(await api.patch(`iam/identityProviders/${uid}`, { oidc: { pkceEnabled: false } }), noSecret)
      // As Terraform does, which knows nothing of proof keys.
      const { issuer, clientId } = oidc
      assertError(
        await api.patch(`iam/identityProviders/${uid}`, { ...provider, oidc: { issuer, clientId } }, '*'),
        noSecret,
      )
    })
    const back = await api.patch(`iam/identityProviders/${uid}`, { ...provider }, '*')
    assert.deepEqual([back.status, back.body.oidc.pkceEnabled], [200, false], back.text)
    assert.equal(await storedSecret(cast(), uid), oidc.clientSecret)
  })

  test('the correlation rule is fixed when a provider is created', async () => {
    const restated: Readonly<Record<string, readonly string[]>> = {
      [UNSPECIFIED]: [UNSPECIFIED, SUB],
      [SUB]: [UNSPECIFIED, SUB],
      [OID]: [OID],
    }
    for (const [rule, same] of Object.entries(restated)) {
      const { api, made, uid } = await owned(withOidc({ correlationRule: rule }))
      // What was stored, nothing filled in.
      assert.equal(made.oidc.correlationRule, rule)
      for (const next of [UNSPECIFIED, SUB, OID]) {
        const change = { oidc: { correlationRule: next } }
        await cast().writesNothing(async () => {
          for (const mask of [undefined, 'oidc.correlation_rule']) {
            const reply = await api.patch(`iam/identityProviders/${uid}`, change, mask)
            if (same.includes(next)) assert.equal(reply.body.oidc?.correlationRule, rule, reply.text)
            else assertError(reply, invalidFieldError('oidc.correlationRule'))
          }
        })
        // Of a provider that is replaced, an unset rule is one that was left out.
        const fits = same.includes(next) || next === UNSPECIFIED
        for (const mask of ['*', 'oidc']) {
          const reply = await api.patch(
            `iam/identityProviders/${uid}`,
            withOidc({ correlationRule: next }),
            mask,
          )
          if (fits) assert.equal(reply.body.oidc.correlationRule, rule, reply.text)
          else assertError(reply, invalidFieldError('oidc.correlationRule'))
        }
      }
      assert.equal(
        (await api.patch(`iam/identityProviders/${uid}`, provider, '*')).body.oidc.correlationRule,
        rule,
      )
    }
  })

  test('an update changes the named fields only', async () => {
    const full = {
      ...provider,
      description: 'd',
      oidc: { ...oidc, additionalScopes: ['email', 'openid'], groupsClaim: 'groups', pkceEnabled: true },
    }
    const shown = { ...full.oidc, clientSecret: '', correlationRule: UNSPECIFIED }
    const bare = { ...shown, additionalScopes: [], groupsClaim: '', pkceEnabled: false }
    const editor = managedRole('editor')
    const cases: readonly [body: object, mask: string | undefined, wanted: object][] = [
      [{ description: '' }, undefined, { description: '' }],
      [{ name: 'other', description: 'e' }, 'name', { name: 'other' }],
      [{ defaultRole: editor }, undefined, { defaultRole: editor }],
      [{ defaultRole: editor, name: 'x' }, 'default_role', { defaultRole: editor }],
      [{ oidc: { groupsClaim: '' } }, undefined, { oidc: { ...shown, groupsClaim: '' } }],
      [
        { oidc: { additionalScopes: ['b', 'a'], groupsClaim: 'x' } },
        'oidc.additionalScopes',
        { oidc: { ...shown, additionalScopes: ['b', 'a'] } },
      ],
      [{ oidc }, 'oidc', { oidc: bare }],
      [provider, '*', { description: '', oidc: bare }],
      [{ ...full, scim: { enabled: true, endpointUrl: 'https://scim.example' } }, '*', {}],
      [{ uid: 'x', createTime: '2001-01-01T00:00:00Z', scim: { enabled: true } }, 'uid,create_time,scim', {}],
      [{ scim: { enabled: true } }, undefined, {}],
    ]
    for (const [body, mask, wanted] of cases) {
      const { api, made, uid } = await owned(full)
      const { status, body: updated, text } = await api.patch(`iam/identityProviders/${uid}`, body, mask)
      assert.equal(status, 200, text)
      assert.deepEqual(updated, { ...made, ...wanted, updateTime: updated.updateTime }, JSON.stringify(body))
      assert.deepEqual((await api.get(`iam/identityProviders/${uid}`)).body, updated)
    }
  })

  test('R18: output-only fields cannot be set', async () => {
    const own = {
      uid: 'f'.repeat(40),
      createTime: '2001-01-01T00:00:00Z',
      updateTime: '2001-01-01T00:00:00Z',
      scim: { enabled: true, etag: 'x', credentialState: 'CREDENTIAL_STATE_LIVE' },
    }
    const { made } = await owned({ ...provider, ...own })
    for (const member of ['uid', 'createTime', 'updateTime'] as const)
      assert.notEqual(made[member], own[member])
    assert.deepEqual(made.scim, notIssued)
  })

  test('all settings are returned as they were sent, except the secret', async () => {
    const organization = await cast().organization()
    const token = fc.stringMatching(/^[!#-[\]-~]{1,20}$/)
    const settings = fc.record({
      clientId: fc.stringMatching(/^[!-~][ -~]{0,20}$/),
      clientSecret: fc.stringMatching(/^[ -~]{1,40}$/),
      additionalScopes: fc.uniqueArray(token, { maxLength: 5 }),
      groupsClaim: fc.string({ unit: 'grapheme', maxLength: 20 }).filter((text) => !/\p{Cc}/u.test(text)),
      correlationRule: fc.constantFrom(UNSPECIFIED, SUB, OID),
    })
    const path = `iam/identityProviders/${organization.uid}`
    await fc.assert(
      fc.asyncProperty(settings, async (given) => {
        const made = await organization.owner.api.create(path, withOidc(given))
        assert.deepEqual(made.oidc, {
          issuer: oidc.issuer,
          pkceEnabled: false,
          ...given,
          clientSecret: '',
        })
        assert.equal(await storedSecret(cast(), made.uid), given.clientSecret)
      }),
      { numRuns: 25 },
    )
  })

  test('owners manage providers, viewers read them, others learn nothing', async () => {
    const { organization, root, uid } = await owned()
    const reader = await organization.member('viewer')
    assert.equal((await reader.api.get(`iam/identityProviders/${uid}`)).status, 200)
    assert.deepEqual(uidsOf(await reader.api.get('iam/identityProviders')), [uid])
    const outsider = (await cast().organization()).owner
    const { uid: team } = await organization.owner.api.create(`iam/groups/${root}`, { name: 'team' })
    const below = await organization.member('owner', team)
    await cast().writesNothing(async () => {
      for (const { api } of [reader, outsider, below]) {
        assertError(await api.post(`iam/identityProviders/${root}`, provider), permissionDeniedError)
        for (const target of [uid, `${root}/0123456789abcdef`]) {
          assertError(
            await api.patch(`iam/identityProviders/${target}`, { name: 'mine' }),
            permissionDeniedError,
          )
          assertError(await api.delete(`iam/identityProviders/${target}`), permissionDeniedError)
        }
      }
      for (const { api } of [outsider, below]) {
        assertError(await api.get(`iam/identityProviders/${uid}`), permissionDeniedError)
        assert.deepEqual(uidsOf(await api.get('iam/identityProviders', { 'uidp.ids': uid })), [])
      }
    })
  })

  test('R17: the default role is one of the organization or a managed one, and others look missing', async () => {
    const { organization, api, root, uid } = await owned()
    const capabilities = ['CAP_IAM_GROUPS_LIST']
    const { uid: team } = await api.create(`iam/groups/${root}`, { name: 'team' })
    const below = await api.create(`iam/roles/${team}`, { name: 'below', capabilities })
    const theirs = await cast().organization()
    const other = await theirs.owner.api.create(`iam/roles/${theirs.uid}`, { name: 'other', capabilities })
    const gone = [
      below.uid,
      other.uid,
      `${root}/0123456789abcdef`,
      organization.owner.uid,
      root,
      'e'.repeat(40),
    ]
    await cast().writesNothing(async () => {
      for (const defaultRole of gone) {
        const refused = notFoundError(ROLE_TYPE, defaultRole)
        assertError(await api.post(`iam/identityProviders/${root}`, { ...provider, defaultRole }), refused)
        assertError(await api.patch(`iam/identityProviders/${uid}`, { defaultRole }), refused)
      }
    })
    const own = await api.create(`iam/roles/${root}`, { name: 'own', capabilities })
    const updated = await api.patch(`iam/identityProviders/${uid}`, { defaultRole: own.uid })
    assert.equal(updated.body.defaultRole, own.uid, updated.text)
  })

  test('R19: a provider cannot grant what its administrator does not hold', async () => {
    const { organization, api, root, uid } = await owned()
    const { api: mine } = await keeper(organization, 'CAP_IAM_GROUPS_LIST')
    const small = await api.create(`iam/roles/${root}`, {
      name: 'small',
      capabilities: ['CAP_IAM_GROUPS_LIST'],
    })
    await cast().writesNothing(async () => {
      for (const defaultRole of [viewer, managedRole('owner')]) {
        assertError(
          await mine.post(`iam/identityProviders/${root}`, { ...provider, defaultRole }),
          permissionDeniedError,
        )
      }
      for (const mask of [undefined, 'default_role']) {
        const change = { defaultRole: managedRole('owner') }
        assertError(await mine.patch(`iam/identityProviders/${uid}`, change, mask), permissionDeniedError)
      }
      // Deciding who signs in is deciding who gets the default role.
      for (const change of [
        { issuer: 'https://mine.example' },
        { clientId: 'mine' },
        { groupsClaim: 'roles' },
      ]) {
        assertError(await mine.patch(`iam/identityProviders/${uid}`, { oidc: change }), permissionDeniedError)
        assertError(
          await mine.patch(`iam/identityProviders/${uid}`, withOidc(change), '*'),
          permissionDeniedError,
        )
      }
    })
    const renamed = await mine.patch(`iam/identityProviders/${uid}`, { name: 'renamed', description: 'd' })
    assert.equal(renamed.status, 200, renamed.text)
    const lowered = await mine.patch(`iam/identityProviders/${uid}`, { defaultRole: small.uid })
    assert.equal(lowered.status, 200, lowered.text)
    assert.equal(
      (await mine.patch(`iam/identityProviders/${uid}`, { oidc: { clientId: 'mine' } })).status,
      200,
    )
    await mine.create(`iam/identityProviders/${root}`, { ...provider, defaultRole: small.uid })
    // The roles of mapped groups are given by it too.
    const mapping = { externalGroupId: 'admins', roleUid: viewer, scope: root }
    await api.create(`iam/externalGroupRoleMappings/${uid}`, mapping)
    await cast().writesNothing(async () => {
      const change = { oidc: { issuer: 'https://mine.example' } }
      assertError(await mine.patch(`iam/identityProviders/${uid}`, change), permissionDeniedError)
    })
  })

  test('the default role of a provider cannot be deleted', async () => {
    const { owner, uid: root } = await cast().organization()
    const { api } = owner
    const capabilities = ['CAP_IAM_GROUPS_LIST']
    const role = await api.create(`iam/roles/${root}`, { name: 'newcomer', capabilities })
    const made = await api.create(`iam/identityProviders/${root}`, { ...provider, defaultRole: role.uid })
    const refused = await cast().writesNothing(() => api.delete(`iam/roles/${role.uid}`))
    assertError(refused, failedPreconditionError('RESOURCE_IN_USE'))
    assert.match(refused.body.message, /is used by identity providers$/)
    await api.patch(`iam/identityProviders/${made.uid}`, { defaultRole: viewer })
    assert.equal((await api.delete(`iam/roles/${role.uid}`)).status, 200)
  })

  test('mappings block the deletion of their provider, providers that of their organization', async () => {
    const { owner, uid: root } = await cast().organization()
    const { admin } = cast()
    const { uid } = await admin.create(`iam/identityProviders/${root}`, provider)
    const mapping = await admin.create(`iam/externalGroupRoleMappings/${uid}`, {
      externalGroupId: 'admins',
      roleUid: viewer,
      scope: root,
    })
    await cast().writesNothing(async () => {
      assertError(
        await owner.api.delete(`iam/identityProviders/${uid}`),
        failedPreconditionError('RESOURCE_NOT_EMPTY'),
      )
      const group = await admin.delete(`iam/groups/${root}`)
      assertError(group, failedPreconditionError('RESOURCE_NOT_EMPTY'))
      assert.match(group.body.message, /identity providers/)
    })
    await owner.api.delete(`iam/externalGroupRoleMappings/${mapping.uid}`)
    assert.equal((await owner.api.delete(`iam/identityProviders/${uid}`)).status, 200)
  })

  test('List filters by name and sorts by uid, name and times', async () => {
    const { owner, uid: root } = await cast().organization()
    const made: { uid: string }[] = []
    for (const name of ['b', 'a', 'c', 'a']) {
      made.push(await owner.api.create(`iam/identityProviders/${root}`, { ...provider, name }))
      cast().berth.advance(5)
    }
    await owner.api.patch(`iam/identityProviders/${made[0]?.uid}`, { description: 'later' })
    const order = async (order_by: string) =>
      uidsOf(await owner.api.get('iam/identityProviders', { order_by })).map((uid) =>
        made.findIndex((one) => one.uid === uid),
      )
    const byUid = made.map(({ uid }, at) => ({ uid, at })).sort((a, b) => (a.uid < b.uid ? -1 : 1))
    assert.deepEqual(
      await order(''),
      byUid.map(({ at }) => at),
    )
    assert.deepEqual(await order('uid desc'), byUid.map(({ at }) => at).reverse())
    assert.deepEqual(await order('name, created_at'), [1, 3, 0, 2])
    assert.deepEqual(await order('name desc, created_at'), [2, 0, 1, 3])
    for (const field of ['created_at', 'create_time', 'createTime'])
      assert.deepEqual(await order(field), [0, 1, 2, 3])
    for (const field of ['updated_at', 'update_time', 'updateTime'])
      assert.deepEqual(await order(`${field} desc`), [0, 3, 2, 1])
    const { api } = owner
    assertError(
      await api.get('iam/identityProviders', { order_by: 'default_role' }),
      invalidFieldError('order_by'),
    )
    const named = await api.get('iam/identityProviders', {
      name: 'a',
      order_by: 'created_at',
      page_size: '1',
    })
    assert.deepEqual([uidsOf(named), named.body.totalCount], [[made[1]?.uid], '2'])
    const next = await api.get('iam/identityProviders', {
      name: 'a',
      order_by: 'created_at',
      page_token: named.body.nextPageToken,
    })
    assert.deepEqual([uidsOf(next), next.body.nextPageToken], [[made[3]?.uid], ''])
  })

  test('an update or deletion of another version than was read is rejected', async () => {
    const { api, uid } = await owned()
    const url = `${cast().berth.url}/iam/v2beta1/identityProviders/${uid}`
    const { token } = api
    const ifMatch = { 'if-match': (await call('GET', url, { token })).headers.get('etag') ?? assert.fail() }
    const body = { oidc: { clientSecret: 'next' } }
    assert.equal((await call('PATCH', url, { token, body, headers: ifMatch })).status, 200)
    await cast().writesNothing(async () => {
      for (const method of ['PATCH', 'DELETE']) {
        const reply = await call(method, url, { token, body: { name: 'x' }, headers: ifMatch })
        assertError(reply, { status: 412, code: 9, violation: 'ETAG_MISMATCH' })
      }
    })
  })

  test('each change writes one audit record, a failed or empty one none', async () => {
    const { api, uid } = await owned()
    await api.patch(`iam/identityProviders/${uid}`, { description: 'd' })
    await cast().writesNothing(() => api.patch(`iam/identityProviders/${uid}`, { description: 'd' }))
    await api.patch(`iam/identityProviders/${uid}`, { name: '' })
    await api.delete(`iam/identityProviders/${uid}`)
    assert.deepEqual(
      (await cast().auditEventsOf(uid)).map(({ method }) => method.split('/')[1]),
      ['CreateIdentityProvider', 'UpdateIdentityProvider', 'DeleteIdentityProvider'],
    )
  })

  test('accounts are not provisioned, and callers without the permission are denied first', async () => {
    const { organization, api, uid } = await owned()
    const reader = await organization.member('viewer')
    await cast().writesNothing(async () => {
      for (const verb of ['generateScimToken', 'regenerateScimToken', 'revokeScimToken', 'setScimEnabled']) {
        const reply = await api.post(`iam/identityProviders/${uid}:${verb}`, {})
        assert.deepEqual([reply.status, reply.body.code], [501, 12], reply.text)
        assertError(await reader.api.post(`iam/identityProviders/${uid}:${verb}`, {}), permissionDeniedError)
      }
    })
  })
})

onEveryDatabase('redirect URIs of identity providers', (cast) => {
  let issuer: TestIssuer
  const clean = cleanups()
  before(async () => {
    issuer = await startIssuer(clean)
  })
  after(() => clean.run())

  const own = { callback: 'CALLBACK_OWN', signInProblem: '' }
  /** A provider as the upgrade leaves it that existed before. */
  const oldProvider = async () => {
    const { owner, uid: root } = await cast().organization()
    const made = await owner.api.create(`iam/identityProviders/${root}`, withOidc({ issuer: issuer.name }))
    await cast()
      .berth.berth.installation.store.db.kysely.updateTable('identity_providers')
      .set({ shared_callback: 1 })
      .where('uid', '=', made.uid)
      .execute()
    return { api: owner.api, path: `iam/identityProviders/${made.uid}`, uid: String(made.uid) }
  }

  test('R40: a new provider has its own redirect URI, and the shared one cannot be chosen', async () => {
    const { owner, uid: root } = await cast().organization()
    const path = `iam/identityProviders/${root}`
    const shared = { ...provider, callback: 'CALLBACK_SHARED' }
    await cast().writesNothing(async () =>
      assertError(await owner.api.post(path, shared), invalidFieldError('callback')),
    )
    for (const callback of [undefined, 'CALLBACK_UNSPECIFIED', 'CALLBACK_OWN']) {
      const made = await owner.api.create(path, {
        ...provider,
        callback,
        redirectUri: 'https://evil.example',
      })
      const redirectUri = `${cast().berth.url}/oauth/callback/${made.uid}`
      assert.deepEqual({ ...made, ...own, redirectUri }, made)
      const change = await owner.api.patch(`iam/identityProviders/${made.uid}`, {
        callback: 'CALLBACK_SHARED',
      })
      assertError(change, invalidFieldError('callback'))
    }
  })

  test('R40: an old provider keeps the shared redirect URI until an update changes it or the issuer', async () => {
    const { api, path } = await oldProvider()
    for (const [mask, body] of [
      ['name', { name: 'renamed' }],
      ['*', { ...provider, ...withOidc({ issuer: issuer.name }) }],
      ['callback', {}],
      ['callback', { callback: 'CALLBACK_SHARED' }],
    ] as const) {
      const { body: changed } = await api.patch(`${path}?updateMask=${mask}`, body)
      assert.equal(changed.callback, 'CALLBACK_SHARED', mask)
    }
    const moved = await api.patch(path, { callback: 'CALLBACK_OWN' })
    assert.deepEqual({ ...moved.body, ...own }, moved.body)
    assertError(await api.patch(path, { callback: 'CALLBACK_SHARED' }), invalidFieldError('callback'))

    const other = await oldProvider()
    const turned = await other.api.patch(other.path, { oidc: { issuer: 'https://login.example' } })
    assert.deepEqual({ ...turned.body, ...own }, turned.body)
  })

  test('R40: Get says what to change if the issuer does not support iss or cannot be read; lists contact no issuer', async () => {
    const { api, path, uid } = await oldProvider()
    const problem = async () => String((await api.get(path)).body.signInProblem)
    const requests: string[] = []
    const says = (metadata: object | undefined): Responder => {
      return (request, response) => {
        requests.push(request.url ?? '')
        if (metadata === undefined) response.writeHead(500).end()
        else response.end(JSON.stringify({ issuer: issuer.name, ...metadata }))
      }
    }
    issuer.answer = says({ authorization_response_iss_parameter_supported: true })
    assert.equal(await problem(), '')
    for (const [metadata, why] of [
      [{}, /does not set authorization_response_iss_parameter_supported to true/],
      [{ authorization_response_iss_parameter_supported: 'true' }, /does not set/],
      [{ issuer: 'https://other.example', authorization_response_iss_parameter_supported: true }, /be read/],
      [undefined, /cannot be read/],
    ] as const) {
      issuer.answer = says(metadata)
      const text = await problem()
      assert.match(text, why)
      assert.ok(text.includes(`Register the redirect URI ${cast().berth.url}/oauth/callback/${uid} at`), text)
    }
    const before = requests.length
    const listed = await api.get('iam/identityProviders', { 'uidp.children_of': uid.slice(0, 40) })
    assert.equal(listed.body.identityProviders[0].signInProblem, '')
    assert.equal(requests.length, before)
  })
})

onEveryDatabase('proof keys of identity providers', (cast) => {
  let issuer: TestIssuer
  const works: (() => void)[] = []
  before(async () => {
    issuer = await startIssuer({ after: (cleanup) => works.push(cleanup as () => void) })
  })
  after(() => {
    for (const work of works) work()
  })

  const says = (more: object | undefined): Responder => {
    return (request, response) => {
      if (more === undefined) response.writeHead(500).end()
      else if (request.url !== '/.well-known/openid-configuration') response.writeHead(404).end()
      else response.end(JSON.stringify({ issuer: issuer.name, ...more }))
    }
  }
  const refused = invalidFieldError('oidc.pkceEnabled')
  const lacking: readonly object[] = [
    { code_challenge_methods_supported: [] },
    { code_challenge_methods_supported: ['plain'] },
  ]
  const fine: readonly (object | undefined)[] = [
    { code_challenge_methods_supported: ['plain', 'S256'] },
    // Says nothing about them, as large providers do that take them.
    {},
    { code_challenge_methods_supported: 'none' },
    // What is said about another issuer says nothing about this one.
    { issuer: 'https://another.example', code_challenge_methods_supported: [] },
    undefined,
  ]
  const withKeys = () => withOidc({ issuer: issuer.name, pkceEnabled: true })

  test('they are rejected if the issuer does not support them', async () => {
    const { owner, uid: root } = await cast().organization()
    const path = `iam/identityProviders/${root}`
    for (const more of lacking) {
      issuer.answer = says(more)
      await cast().writesNothing(async () => assertError(await owner.api.post(path, withKeys()), refused))
    }
    for (const more of fine) {
      issuer.answer = says(more)
      await owner.api.create(path, withKeys())
    }
  })

  test('a provider can be set up while its issuer cannot be reached', async () => {
    const { owner, uid: root } = await cast().organization()
    // Nothing listens on port 1; and documentation addresses are not to be fetched from at all.
    for (const unreachable of ['http://127.0.0.1:1', 'https://10.1.2.3'])
      await owner.api.create(
        `iam/identityProviders/${root}`,
        withOidc({ issuer: unreachable, pkceEnabled: true }),
      )
  })

  test('an update contacts the issuer only if it enables them or changes the issuer', async () => {
    const { owner, uid: root } = await cast().organization()
    const { api } = owner
    const path = `iam/identityProviders/${root}`
    const off = await api.create(path, withOidc({ issuer: issuer.name }))
    const elsewhere = await api.create(path, withOidc({ issuer: 'http://127.0.0.1:1', pkceEnabled: true }))
    issuer.answer = says({ code_challenge_methods_supported: [] })
    const switchOn = () => api.patch(`iam/identityProviders/${off.uid}`, { oidc: { pkceEnabled: true } })
    await cast().writesNothing(async () => {
      assertError(await switchOn(), refused)
      const moved = { oidc: { issuer: issuer.name } }
      assertError(await api.patch(`iam/identityProviders/${elsewhere.uid}`, moved), refused)
    })
    issuer.answer = says({ code_challenge_methods_supported: ['S256'] })
    assert.equal((await switchOn()).status, 200)
    // What is on stays on, whatever the issuer says later.
    issuer.answer = says({ code_challenge_methods_supported: [] })
    const asked = issuer.requests.length
    for (const change of [{ name: 'other' }, { oidc: { pkceEnabled: true } }, { oidc: { clientId: 'c' } }])
      assert.equal((await api.patch(`iam/identityProviders/${off.uid}`, change)).status, 200)
    await api.create(path, withOidc({ issuer: issuer.name }))
    assert.equal(issuer.requests.length, asked)
  })

  test('the server contacts no issuer for callers who may not set up a provider', async () => {
    const organization = await cast().organization()
    const { owner, uid: root } = organization
    const { uid } = await owner.api.create(`iam/identityProviders/${root}`, provider)
    const reader = await organization.member('viewer')
    const asked = issuer.requests.length
    assertError(await reader.api.post(`iam/identityProviders/${root}`, withKeys()), permissionDeniedError)
    assertError(await reader.api.patch(`iam/identityProviders/${uid}`, withKeys()), permissionDeniedError)
    const { uid: team } = await owner.api.create(`iam/groups/${root}`, { name: 'team' })
    assertError(
      await owner.api.post(`iam/identityProviders/${team}`, withKeys()),
      invalidFieldError('parent'),
    )
    assert.equal(issuer.requests.length, asked)
  })
})

onEveryDatabase(
  'identity providers without private networks',
  (cast) => {
    test('issuers are https addresses', async () => {
      const { owner, uid: root } = await cast().organization()
      const { api } = owner
      const { uid } = await api.create(`iam/identityProviders/${root}`, provider)
      const plain = { issuer: 'http://127.0.0.1:1', pkceEnabled: true }
      await cast().writesNothing(async () => {
        assertError(
          await api.post(`iam/identityProviders/${root}`, withOidc(plain)),
          invalidFieldError('oidc.issuer'),
        )
        assertError(
          await api.patch(`iam/identityProviders/${uid}`, { oidc: plain }),
          invalidFieldError('oidc.issuer'),
        )
      })
    })
  },
  { env: { BERTH_ISSUER_PRIVATE_NETWORKS: '' }, only: 'sqlite' },
)
