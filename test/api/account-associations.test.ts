import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import {
  AccountAssociationsService,
  AccountProviderType,
  CheckStatus,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/account_associations_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import { decodeJwt, decodeProtectedHeader, SignJWT } from 'jose'
import {
  type Api,
  alreadyExistsError,
  apiOf,
  assertError,
  claimMatch,
  failedPreconditionError,
  invalidFieldError,
  newName,
  notFoundError,
  onEveryDatabase,
  permissionDeniedError,
} from '../support/api/api-fixture.ts'
import { call } from '../support/api/rest.ts'
import { CREDENTIALS, cloudAccounts, startClouds } from '../support/tokens/clouds.ts'

const TYPE = 'iam.chainguard.dev/AccountAssociation'
const IDENTITY = 'iam.chainguard.dev/Identity'
const { amazon, google, azure } = cloudAccounts
const github = { appInstallations: { 77: { installations: [{ installationId: '123', name: 'acme' }] } } }

const clouds = await startClouds()
after(() => clouds.stop())

const at = (uid: string) => `iam/accountAssociations/${uid}`
const newGroup = async (api: Api, parent: string): Promise<string> =>
  (await api.create(`iam/groups/${parent}`, { name: newName('group') })).uid
const newService = async (api: Api, group: string, servicePrincipal = 'SERVICE_PRINCIPAL_INGESTER') =>
  (await api.create(`iam/identities/${group}`, { name: newName('service'), servicePrincipal })).uid as string

const env = {
  BERTH_AWS_STS_ENDPOINT: clouds.url,
  BERTH_GOOGLE_STS_ENDPOINT: clouds.url,
  BERTH_AZURE_LOGIN_ENDPOINT: clouds.url,
}

onEveryDatabase(
  'account associations',
  (cast) => {
    /** Trusts the association of a group, as its accounts would after docs/account-associations.md. */
    const trust = (group: string) => {
      clouds.answer = undefined
      clouds.requests.length = 0
      clouds.trusts = { issuer: cast().berth.url, subject: `account-association:${group}` }
    }
    const check = async (api: Api, group: string, provider: string) => {
      const reply = await api.post(`${at(group)}:checkAccountAssociation`, {
        providerType: `ACCOUNT_PROVIDER_TYPE_${provider}`,
      })
      assert.equal(reply.status, 200, reply.text)
      assert.doesNotMatch(reply.text, new RegExp(`mark|127\\.|${CREDENTIALS}`))
      return reply.body
    }

    test('create, get, list, update and delete return the exact JSON', async () => {
      const { owner, uid: root } = await cast().organization()
      const { api } = owner
      const group = await newGroup(api, root)
      const ingester = await newService(api, group)
      const chainguard = { serviceBindings: { INGESTER: ingester } }
      const links = { amazon, google, chainguard, azure, github }
      const created = await api.post(at(group), { name: 'accounts', description: 'All', ...links })
      assert.equal(created.status, 200, created.text)
      const { createTime, updateTime } = created.body
      assert.deepEqual(created.body, {
        uid: group,
        name: 'accounts',
        description: 'All',
        ...links,
        createTime,
        updateTime,
      })
      assert.deepEqual((await api.get(at(group))).body, created.body)
      const listed = await api.get('iam/accountAssociations', { 'uidp.descendants_of': root })
      assert.deepEqual(listed.body, {
        accountAssociations: [created.body],
        nextPageToken: '',
        totalCount: '1',
        skipped: 0,
      })
      cast().berth.advance(5)
      const updated = await api.patch(at(group), { description: '' })
      assert.ok(updated.body.updateTime > updateTime)
      assert.deepEqual(updated.body, {
        ...created.body,
        description: '',
        updateTime: updated.body.updateTime,
      })
      const deleted = await api.delete(at(group))
      assert.deepEqual([deleted.status, deleted.text], [200, ''])
      assertError(await api.get(at(group)), notFoundError(TYPE, group))
      assertError(await api.patch(at(group), {}), notFoundError(TYPE, group))
      assertError(await api.delete(at(group)), notFoundError(TYPE, group))
      assertError(
        await api.post(`${at(group)}:checkAccountAssociation`, { providerType: 2 }),
        notFoundError(TYPE, group),
      )
    })

    test('the same over gRPC', async () => {
      const { owner, uid: root } = await cast().organization()
      const { grpc } = cast()
      const { token } = owner.api
      const { method } = AccountAssociationsService
      const accountAssociation = {
        name: 'accounts',
        amazon,
        github: { appInstallations: { 77: { installations: [{ installationId: 123n }] } } },
      }
      const created = await grpc.call(
        method.createAccountAssociation,
        { parent: root, accountAssociation },
        { token },
      )
      assert.equal(created.uid, root)
      assert.equal(created.github?.appInstallations['77']?.installations[0]?.installationId, 123n)
      assert.deepEqual(await grpc.call(method.getAccountAssociation, { uid: root }, { token }), created)
      const listed = await grpc.call(method.listAccountAssociations, { uidp: { ids: [root] } }, { token })
      assert.deepEqual([listed.accountAssociations, listed.totalCount], [[created], 1n])
      const updated = await grpc.call(
        method.updateAccountAssociation,
        { accountAssociation: { uid: root, description: 'd' } },
        { token },
      )
      assert.deepEqual([updated.description, updated.amazon], ['d', created.amazon])
      trust(root)
      const checked = await grpc.call(
        method.checkAccountAssociation,
        { uid: root, providerType: AccountProviderType.AMAZON },
        { token },
      )
      assert.deepEqual([checked.status, checked.reason, checked.message], [CheckStatus.READY, '', ''])
      await grpc.call(method.deleteAccountAssociation, { uid: root }, { token })
      await assert.rejects(grpc.call(method.getAccountAssociation, { uid: root }, { token }), { code: 5 })
    })

    test('a group has at most one, which blocks its deletion and can be created again', async () => {
      const { owner, uid: root } = await cast().organization()
      const { api } = owner
      const group = await newGroup(api, root)
      const body = { name: 'accounts', amazon }
      const attempts = await Promise.all(Array.from({ length: 5 }, () => api.post(at(group), body)))
      assert.deepEqual(attempts.map(({ status }) => status).sort(), [200, 409, 409, 409, 409])
      await cast().writesNothing(async () => {
        assertError(await api.post(at(group), { ...body, name: 'other' }), alreadyExistsError(TYPE, group))
        assertError(await api.delete(`iam/groups/${group}`), failedPreconditionError('RESOURCE_NOT_EMPTY'))
      })
      // The groups above and below have none of their own by that.
      const below = await newGroup(api, group)
      assertError(await api.get(at(root)), notFoundError(TYPE, root))
      assertError(await api.get(at(below)), notFoundError(TYPE, below))
      await api.delete(`iam/groups/${below}`)
      for (const _ of [1, 2]) {
        assert.equal((await api.delete(at(group))).status, 200)
        await api.create(at(group), body)
      }
      await api.delete(at(group))
      assert.equal((await api.delete(`iam/groups/${group}`)).status, 200)
    })

    test('an invalid association is rejected, field by field, and nothing is written', async () => {
      const { owner, uid: root } = await cast().organization()
      const { api } = owner
      const [group, fresh] = [await newGroup(api, root), await newGroup(api, root)]
      await api.create(at(group), { name: 'accounts', amazon })
      const many = (entry: (n: number) => unknown) =>
        Object.fromEntries(
          Array.from({ length: limits.associationEntriesMax + 1 }, (_, n) => [String(n + 1), entry(n + 1)]),
        )
      const long = 'a'.repeat(limits.associationTextCharsMax + 1)
      const app = (...installations: object[]) => ({ appInstallations: { 7: { installations } } })
      const inApp = 'github.appInstallations[7].installations'
      const cases: readonly [links: object, ...fields: string[]][] = [
        [{}, 'amazon'],
        [{ amazon: null }, 'amazon'],
        [{ amazon: {} }, 'amazon.account'],
        [{ amazon: { account: '12345678901' } }, 'amazon.account'],
        [{ amazon: { account: '12345678901a' } }, 'amazon.account'],
        [{ amazon: { account: '123456789012\n' } }, 'amazon.account'],
        [{ google: {} }, 'google.projectId', 'google.projectNumber'],
        [{ google: { projectId: 'a' } }, 'google.projectNumber'],
        [{ google: { projectId: long, projectNumber: 'a\tb' } }, 'google.projectId', 'google.projectNumber'],
        [{ azure: {} }, 'azure.tenantId', 'azure.clientIds'],
        [{ azure: { tenantId: 't', clientIds: { a: '' } } }, 'azure.clientIds[a]'],
        [{ azure: { tenantId: 't', clientIds: { '': 'a' } } }, 'azure.clientIds'],
        [{ azure: { tenantId: long, clientIds: { [long]: 'a' } } }, 'azure.tenantId', 'azure.clientIds'],
        [
          { azure: { tenantId: '\u202e', clientIds: { a: 'a\u0001' } } },
          'azure.tenantId',
          'azure.clientIds[a]',
        ],
        [{ azure: { tenantId: 't', clientIds: many(() => 'a') } }, 'azure.clientIds'],
        [{ chainguard: {} }, 'chainguard.serviceBindings'],
        [{ chainguard: { serviceBindings: { INGESTER: '' } } }, 'chainguard.serviceBindings[INGESTER]'],
        [{ chainguard: { serviceBindings: { INGESTER: 'x' } } }, 'chainguard.serviceBindings[INGESTER]'],
        ...['UNSPECIFIED', 'ingester', 'SERVICE_PRINCIPAL_INGESTER', '2', '', 'NOBODY', 'constructor'].map(
          (name): [object, string] => [
            { chainguard: { serviceBindings: { [name]: `${root}/0123456789abcdef` } } },
            `chainguard.serviceBindings[${name}]`,
          ],
        ),
        [{ chainguard: { serviceBindings: many(() => root) } }, 'chainguard.serviceBindings'],
        [{ github: { appInstallations: { 7: {} } } }, inApp],
        [
          { github: { appInstallations: { 0: { installations: [{ installationId: 1 }] } } } },
          'github.appInstallations[0]',
        ],
        [
          { github: { appInstallations: { '-7': { installations: [{ installationId: 1 }] } } } },
          'github.appInstallations[-7]',
        ],
        [
          { github: { appInstallations: many(() => ({ installations: [{ installationId: 1 }] })) } },
          'github.appInstallations',
        ],
        [{ github: app({ name: 'a' }) }, `${inApp}[0].installationId`],
        [{ github: app({ installationId: -1 }) }, `${inApp}[0].installationId`],
        [
          { github: app({ installationId: 1 }, { installationId: 2 }, { installationId: 1 }) },
          `${inApp}[2].installationId`,
        ],
        [{ github: app({ installationId: 1, name: long }) }, `${inApp}[0].name`],
        [{ github: app(...(Object.values(many((n) => ({ installationId: n }))) as object[])) }, inApp],
        [{ amazon: { account: 'x' }, google: { projectNumber: '1' } }, 'amazon.account', 'google.projectId'],
      ]
      await cast().writesNothing(async () => {
        for (const [links, ...fields] of cases) {
          for (const caller of [api, cast().admin]) {
            assertError(
              await caller.post(at(fresh), { name: 'accounts', ...links }),
              invalidFieldError(...fields),
            )
            assertError(
              await caller.patch(at(group), { name: 'accounts', ...links }, '*'),
              invalidFieldError(...fields),
            )
          }
        }
        for (const name of ['', 'Accounts', 'a'.repeat(limits.nameCharsMax + 1)]) {
          assertError(await api.post(at(fresh), { name, amazon }), invalidFieldError('name'))
          assertError(await api.patch(at(group), { name }, 'name'), invalidFieldError('name'))
        }
        assertError(
          await api.post(at(fresh), { name: 'a', amazon, description: 'a\u0007b' }),
          invalidFieldError('description'),
        )
        assertError(await api.post(at(fresh), { name: 'a', amazon, oracle: {} }), invalidFieldError('oracle'))
        assertError(await api.patch(at(group), {}, 'oracle'), invalidFieldError('updateMask'))
        assertError(await api.patch(at(group), {}, 'azure.client_ids.a'), invalidFieldError('updateMask'))
        for (const bad of ['x', `${root}/`]) assertError(await api.get(at(bad)), invalidFieldError('uid'))
        const gone = `${root}/0123456789abcdef`
        assertError(
          await api.post(at(gone), { name: 'a', amazon }),
          notFoundError('iam.chainguard.dev/Group', gone),
        )
      })
    })

    test('values within the limits are stored unchanged', async () => {
      const { owner, uid: root } = await cast().organization()
      const of = <T>(entry: (n: number) => T) =>
        Array.from({ length: limits.associationEntriesMax }, (_, n) => entry(n + 1))
      const text = 'ä'.repeat(limits.associationTextCharsMax)
      const links = {
        google: { projectId: text, projectNumber: 'not a number' },
        azure: { tenantId: text, clientIds: Object.fromEntries(of((n) => [`part ${n}`, text])) },
        github: {
          appInstallations: Object.fromEntries(
            of((n) => [
              String(n),
              {
                installations:
                  n === 1
                    ? of((id) => ({ installationId: String(id), name: '' }))
                    : [{ installationId: '9223372036854775807', name: text }],
              },
            ]),
          ),
        },
      }
      await owner.api.create(at(root), { name: 'accounts', ...links })
      const { body } = await owner.api.get(at(root))
      assert.deepEqual({ google: body.google, azure: body.azure, github: body.github }, links)
      // An empty list of apps is a link to GitHub too.
      const empty = await owner.api.patch(at(root), { name: 'a', github: {} }, '*')
      assert.deepEqual(empty.body.github, { appInstallations: {} })
    })

    test('an update changes the named fields only', async () => {
      const { owner, uid: root } = await cast().organization()
      const { api } = owner
      const before = { name: 'accounts', description: 'd', amazon, azure, github }
      const other = { account: '999999999999' }
      const absent = (...names: string[]) => Object.fromEntries(names.map((name) => [name, undefined]))
      const cases: readonly [body: object, mask: string | undefined, wanted: object][] = [
        [{ name: 'other' }, undefined, { name: 'other' }],
        [{ amazon: other }, undefined, { amazon: other }],
        [{ google }, undefined, { google }],
        [{ google }, 'google', { google }],
        [{ amazon: other }, 'name,amazon.account', 'refused'],
        [{ name: 'n', amazon: other }, 'amazon.account', { amazon: other }],
        [{ amazon: other }, 'description', { description: '' }],
        [{}, 'amazon', absent('amazon')],
        [{ azure: { tenantId: 'new' } }, 'azure.tenant_id', { azure: { ...azure, tenantId: 'new' } }],
        [
          { azure: { clientIds: { a: 'b' } } },
          'azure.clientIds',
          { azure: { ...azure, clientIds: { a: 'b' } } },
        ],
        [{ azure: { clientIds: { a: 'b' } } }, undefined, { azure: { ...azure, clientIds: { a: 'b' } } }],
        [{ google: { projectId: 'p' } }, 'google.project_id', 'refused'],
        [
          { name: 'other', google },
          '*',
          { name: 'other', description: '', google, ...absent('amazon', 'azure', 'github') },
        ],
        [{ name: 'other' }, '*', 'refused'],
        [{}, 'amazon,azure,github', 'refused'],
        [
          {
            uid: 'x',
            createTime: '2001-01-01T00:00:00Z',
            updateTime: '2001-01-01T00:00:00Z',
            description: 'e',
          },
          'uid,create_time,update_time,description',
          { description: 'e' },
        ],
        [{}, undefined, {}],
      ].map(([body, mask, wanted]) => [
        body as object,
        mask as string | undefined,
        wanted === 'refused' ? { refused: true } : (wanted as object),
      ])
      for (const [body, mask, wanted] of cases) {
        const group = await newGroup(api, root)
        const made = await api.create(at(group), before)
        const reply = await api.patch(at(group), body, mask)
        if ('refused' in wanted) {
          assert.deepEqual([reply.status, reply.body.code], [400, 3], reply.text)
          assert.deepEqual((await api.get(at(group))).body, made)
          continue
        }
        assert.equal(reply.status, 200, reply.text)
        const expected = JSON.parse(JSON.stringify({ ...made, ...wanted, updateTime: reply.body.updateTime }))
        assert.deepEqual(reply.body, expected, mask)
        assert.deepEqual((await api.get(at(group))).body, expected)
      }
    })

    test('a service can be bound only to an identity for it in the same group', async () => {
      const { owner, uid: root } = await cast().organization()
      const stranger = await cast().organization()
      const { api } = owner
      const group = await newGroup(api, root)
      const ingester = await newService(api, group)
      const bind = (serviceBindings: object) => ({ name: 'services', chainguard: { serviceBindings } })
      const field = 'chainguard.serviceBindings[INGESTER]'
      const workload = (await api.create(`iam/identities/${group}`, { name: 'a', claimMatch })).uid
      const cosigned = await newService(api, group, 'SERVICE_PRINCIPAL_COSIGNED')
      const elsewhere = [
        await newService(api, root),
        await newService(api, await newGroup(api, group)),
        await newService(api, await newGroup(api, root)),
        await newService(stranger.owner.api, stranger.uid),
        stranger.owner.uid,
        `${group}/0123456789abcdef`,
        `${stranger.uid}/0123456789abcdef`,
        group,
        root,
        stranger.uid,
      ]
      const refused = async (write: (body: object) => ReturnType<Api['post']>) => {
        await cast().writesNothing(async () => {
          for (const uid of elsewhere)
            assertError(await write(bind({ INGESTER: uid })), notFoundError(IDENTITY, uid))
          for (const uid of [workload, cosigned])
            assertError(await write(bind({ INGESTER: uid })), invalidFieldError(field))
          assertError(
            await write(bind({ INGESTER: cosigned, COSIGNED: ingester })),
            invalidFieldError(field, 'chainguard.serviceBindings[COSIGNED]'),
          )
        })
      }
      await refused((body) => api.post(at(group), body))
      const made = await api.create(at(group), bind({ INGESTER: ingester }))
      assert.deepEqual(made.chainguard, { serviceBindings: { INGESTER: ingester } })
      await refused((body) => api.patch(at(group), body))
      await refused((body) => api.patch(at(group), body, 'chainguard.service_bindings'))
      await refused((body) => api.patch(at(group), body, '*'))
      const both = { INGESTER: ingester, COSIGNED: cosigned }
      const updated = await api.patch(at(group), bind(both), 'chainguard')
      assert.deepEqual(updated.body.chainguard.serviceBindings, both)
    })

    test('an identity that a service is bound to stays that service until the binding is removed', async () => {
      const { owner, uid: root } = await cast().organization()
      const { api } = owner
      const group = await newGroup(api, root)
      const [bound, spare] = [await newService(api, group), await newService(api, group)]
      await api.create(at(group), {
        name: 'services',
        amazon,
        chainguard: { serviceBindings: { INGESTER: bound } },
      })
      await cast().writesNothing(async () =>
        assertError(await api.delete(`iam/identities/${bound}`), failedPreconditionError('RESOURCE_IN_USE')),
      )
      for (const other of [{ servicePrincipal: 'SERVICE_PRINCIPAL_COSIGNED' }, { claimMatch }])
        assertError(
          await api.patch(`iam/identities/${bound}`, other),
          failedPreconditionError('RESOURCE_IN_USE'),
        )
      assert.equal((await api.patch(`iam/identities/${bound}`, { description: 'still it' })).status, 200)
      await api.patch(at(group), { chainguard: { serviceBindings: { INGESTER: spare } } })
      assert.equal((await api.delete(`iam/identities/${bound}`)).status, 200)
      assertError(await api.delete(`iam/identities/${spare}`), failedPreconditionError('RESOURCE_IN_USE'))
      await api.patch(at(group), {}, 'chainguard')
      assert.equal((await api.delete(`iam/identities/${spare}`)).status, 200)
    })

    test('an identity is either bound or deleted, whichever comes first', async () => {
      const { owner, uid: root } = await cast().organization()
      const { api } = owner
      for (let round = 0; round < 5; round++) {
        const group = await newGroup(api, root)
        const uid = await newService(api, group)
        const body = { name: 'services', chainguard: { serviceBindings: { INGESTER: uid } } }
        const [bound, deleted] = await Promise.all([
          api.post(at(group), body),
          api.delete(`iam/identities/${uid}`),
        ])
        if (bound.status === 200) assertError(deleted, failedPreconditionError('RESOURCE_IN_USE'))
        else {
          assertError(bound, notFoundError(IDENTITY, uid))
          assert.equal(deleted.status, 200, deleted.text)
        }
      }
    })

    test('only permitted callers read, write and check', async () => {
      const organization = await cast().organization()
      const { uid: root } = organization
      const group = await newGroup(organization.owner.api, root)
      await organization.owner.api.create(at(root), { name: 'accounts', amazon })
      const unprivileged = await organization.owner.api.create(`iam/identities/${root}`, {
        name: 'nobody',
        claimMatch,
      })
      const stranger = await cast().organization()
      const callers: readonly [Api, reads: boolean][] = [
        [(await organization.member('viewer')).api, true],
        [apiOf(cast().berth, await cast().berth.tokenOf(unprivileged.uid)), false],
        [stranger.owner.api, false],
      ]
      trust(root)
      await cast().writesNothing(async () => {
        for (const [api, reads] of callers) {
          assertError(await api.post(at(group), { name: 'a', amazon }), permissionDeniedError)
          assertError(await api.patch(at(root), { name: 'a' }), permissionDeniedError)
          assertError(await api.delete(at(root)), permissionDeniedError)
          const read = await api.get(at(root))
          const listed = await api.get('iam/accountAssociations', { 'uidp.ids': root })
          if (reads) {
            assert.equal(read.status, 200)
            assert.equal(listed.body.totalCount, '1')
            assert.equal((await check(api, root, 'AMAZON')).status, 'CHECK_STATUS_READY')
            continue
          }
          assertError(read, permissionDeniedError)
          assert.equal(listed.body.totalCount, '0')
          const tried = await api.post(`${at(root)}:checkAccountAssociation`, { providerType: 2 })
          assertError(tried, permissionDeniedError)
        }
      })
      assert.equal(clouds.requests.length, 1)
      // Where none is, those who may not read hear the same.
      for (const uid of [group, `${root}/0123456789abcdef`])
        assertError(await stranger.owner.api.get(at(uid)), permissionDeniedError)
    })

    test('List supports every filter and order', async () => {
      const { owner, uid: root } = await cast().organization()
      const { api } = owner
      const groups = [root, await newGroup(api, root), await newGroup(api, root)]
      groups.push(await newGroup(api, groups[1] as string))
      const names = ['c', 'a', 'b', 'a']
      for (const [n, group] of groups.entries()) {
        await api.create(at(group), { name: names[n], amazon })
        cast().berth.advance(5)
      }
      await api.patch(at(root), { description: 'last' })
      const [, first, second, below] = groups as [string, string, string, string]
      const inUidOrder = [...groups].sort()
      const uids = async (query: Record<string, string>) => {
        const reply = await api.get('iam/accountAssociations', query)
        assert.equal(reply.status, 200, reply.text)
        return reply.body.accountAssociations.map(({ uid }: { uid: string }) => uid)
      }
      const cases: readonly [Record<string, string>, string[]][] = [
        [{}, inUidOrder],
        [{ order_by: 'group' }, inUidOrder],
        [{ order_by: 'group desc' }, [...inUidOrder].reverse()],
        [{ order_by: 'uid desc' }, [...inUidOrder].reverse()],
        [{ order_by: 'name, group' }, [...[first, below].sort(), second, root]],
        [{ order_by: 'created_at desc' }, [...groups].reverse()],
        [{ order_by: 'updated_at desc' }, [root, below, second, first]],
        [{ name: 'a' }, [first, below].sort()],
        [{ name: 'z' }, []],
        [{ 'uidp.children_of': root }, [first, second].sort()],
        [{ 'uidp.descendants_of': root }, [first, second, below].sort()],
        [{ 'uidp.descendants_of': root, name: 'a' }, [first, below].sort()],
        [{ 'uidp.ancestors_of': below }, [root, first, below].sort()],
        [{ 'uidp.in_root': 'true' }, [root]],
        [{ 'uidp.ids': below }, [below]],
      ]
      for (const [query, wanted] of cases) assert.deepEqual(await uids(query), wanted, JSON.stringify(query))
      assertError(
        await api.get('iam/accountAssociations', { order_by: 'amazon' }),
        invalidFieldError('order_by'),
      )
      const page = await api.get('iam/accountAssociations', { page_size: '3' })
      const rest = await api.get('iam/accountAssociations', { page_token: page.body.nextPageToken })
      assert.deepEqual(
        [...page.body.accountAssociations, ...rest.body.accountAssociations].map(({ uid }) => uid),
        inUidOrder,
      )
    })

    test('If-Match: a change applies only to the version that was read; an idempotency key creates one association', async () => {
      const { owner, uid: root } = await cast().organization()
      const { token } = owner.api
      const url = `${cast().berth.url}/iam/v2beta1/accountAssociations/${root}`
      const create = () =>
        call('POST', url, {
          token,
          body: { name: 'accounts', amazon },
          headers: { 'idempotency-key': 'once' },
        })
      const first = await create()
      assert.equal(first.status, 200, first.text)
      assert.equal((await create()).text, first.text)
      const etag = first.headers.get('etag') ?? ''
      const write = (method: string, body?: object) =>
        call(method, url, { token, body, headers: { 'if-match': etag } })
      assert.equal((await write('PATCH', { description: 'd' })).status, 200)
      await cast().writesNothing(async () => {
        for (const reply of [await write('PATCH', { description: 'e' }), await write('DELETE')]) {
          assert.deepEqual([reply.status, reply.body.code], [412, 9], reply.text)
        }
      })
    })

    test('each change writes one audit record, a failed or empty one and a check none', async () => {
      const { owner, uid: root } = await cast().organization()
      const { api } = owner
      const group = await newGroup(api, root)
      await api.create(at(group), { name: 'accounts', amazon })
      trust(group)
      await cast().writesNothing(() => check(api, group, 'AMAZON'))
      await cast().writesNothing(() => api.patch(at(group), { name: 'accounts', amazon }, 'name,amazon'))
      await api.patch(at(group), { description: 'd' })
      await api.patch(at(group), { name: '' }, 'name')
      await api.delete(at(group))
      assert.deepEqual(
        (await cast().auditEventsOf(group))
          .map(({ method }) => method.split('/')[1])
          .filter((method) => method?.includes('Association')),
        ['CreateAccountAssociation', 'UpdateAccountAssociation', 'DeleteAccountAssociation'],
      )
    })

    test('a check succeeds with the accounts that trust this association', async () => {
      const { owner, uid: root } = await cast().organization()
      const group = await newGroup(owner.api, root)
      await owner.api.create(at(group), { name: 'accounts', amazon, google, azure })
      const audiences = {
        AMAZON: 'sts.amazonaws.com',
        GOOGLE:
          'https://iam.googleapis.com/projects/4711/locations/global/workloadIdentityPools/berth/providers/berth',
        AZURE: 'api://AzureADTokenExchange',
      }
      for (const [provider, audience] of Object.entries(audiences)) {
        trust(group)
        assert.deepEqual(await check(owner.api, group, provider), {
          status: 'CHECK_STATUS_READY',
          reason: '',
          message: '',
        })
        const { form } = clouds.requests[0] ?? assert.fail('nothing was asked')
        const token = form['WebIdentityToken'] ?? form['subject_token'] ?? form['client_assertion'] ?? ''
        const { iat = 0, exp = 0, jti, ...claims } = decodeJwt(token)
        assert.deepEqual(claims, {
          iss: cast().berth.url,
          sub: `account-association:${group}`,
          aud: audience,
        })
        assert.equal((exp - iat) * 1000, limits.accountTokenLifetimeMs)
        assert.equal(decodeProtectedHeader(token).typ, undefined)
        // What a provider gets to see opens nothing here.
        const reply = await call('GET', `${cast().berth.url}/iam/v2beta1/groups`, { token })
        assertError(reply, { status: 401, code: 16 })
      }
      // Nothing of it stays.
      assert.deepEqual(Object.keys((await owner.api.get(at(group))).body).sort(), [
        'amazon',
        'azure',
        'createTime',
        'description',
        'google',
        'name',
        'uid',
        'updateTime',
      ])
    })

    test('the API accepts only access tokens, even if everything else is valid', async () => {
      const { berth } = cast()
      const { kid, key } = await berth.berth.installation.keys.current()
      const sign = (typ: string | undefined) =>
        new SignJWT({ iss: berth.url, sub: berth.owner, aud: berth.url })
          .setProtectedHeader({ alg: 'ES256', kid, ...(typ === undefined ? {} : { typ }) })
          .setExpirationTime('5m')
          .sign(key)
      const ask = async (typ: string | undefined) =>
        call('GET', `${berth.url}/iam/v2beta1/groups`, { token: await sign(typ) })
      assert.equal((await ask('at+jwt')).status, 200)
      for (const typ of [undefined, 'JWT', 'account+jwt'])
        assertError(await ask(typ), { status: 401, code: 16 })
    })

    test('a check reports what is missing, without an error', async () => {
      const { owner, uid: root } = await cast().organization()
      const { api } = owner
      const [group, neighbour] = [await newGroup(api, root), await newGroup(api, root)]
      await api.create(at(group), {
        name: 'accounts',
        chainguard: { serviceBindings: { INGESTER: await newService(api, group) } },
      })
      await api.create(at(neighbour), { name: 'accounts', amazon })
      const notReady = async (provider: string, reason: string, message: RegExp) => {
        const result = await check(api, group, provider)
        assert.deepEqual([result.status, result.reason], ['CHECK_STATUS_NOT_READY', reason], result.message)
        assert.match(result.message, message)
      }
      trust(group)
      for (const provider of ['AMAZON', 'GOOGLE', 'AZURE'])
        await notReady(provider, 'not configured', /the association names no/)
      assert.deepEqual(clouds.requests, [])

      // The accounts trust another group's association only.
      await api.patch(at(group), { amazon, google, azure })
      trust(neighbour)
      await notReady('AMAZON', 'refused by the provider', /trust policy/)
      await notReady('GOOGLE', 'refused by the provider', /attribute condition/)
      await notReady('AZURE', 'refused by the provider', /^builder: .*federated credential.*; scanner: /)
      // Without a token.
      clouds.trusts = undefined
      await notReady('AMAZON', 'refused by the provider', /identity provider/)
      await notReady('GOOGLE', 'refused by the provider', /issuer/)

      trust(group)
      await api.patch(at(group), { amazon: { account: '000000000000' }, google: { projectNumber: '1' } })
      await notReady('AMAZON', 'refused by the provider', /role berth/)
      await notReady('GOOGLE', 'refused by the provider', /no workload identity provider/)
      await api.patch(at(group), { google: { projectNumber: 'acme' } })
      await notReady('GOOGLE', 'not configured', /digits/)
      await api.patch(at(group), { azure: { clientIds: { ...azure.clientIds, other: 'client-3' } } })
      await notReady('AZURE', 'refused by the provider', /^other: [^;]*no application[^;]*$/)
      await api.patch(at(group), { azure: { tenantId: 'nobody.example' } })
      await notReady('AZURE', 'refused by the provider', /no such tenant/)
      clouds.answer = (_request, response) => response.writeHead(200).end('mark')
      await notReady('AMAZON', 'unexpected answer', /neither/)
      clouds.answer = (request) => request.socket.destroy()
      await notReady('AMAZON', 'unreachable', /connect/)
    })

    test('a provider that cannot be checked is an invalid field', async () => {
      const { owner, uid: root } = await cast().organization()
      await owner.api.create(at(root), { name: 'accounts', amazon })
      for (const body of [{}, { providerType: 0 }, { providerType: 4 }, { providerType: -1 }])
        assertError(
          await owner.api.post(`${at(root)}:checkAccountAssociation`, body),
          invalidFieldError('providerType'),
        )
    })
  },
  { env },
)

onEveryDatabase(
  'account associations without private networks',
  (cast) => {
    test('R2: a provider at an address that is not public gets no request', async () => {
      const { owner, uid: root } = await cast().organization()
      await owner.api.create(at(root), { name: 'accounts', amazon, google, azure })
      clouds.requests.length = 0
      for (const providerType of [1, 2, 3]) {
        const { body } = await owner.api.post(`${at(root)}:checkAccountAssociation`, { providerType })
        assert.deepEqual([body.status, body.reason], ['CHECK_STATUS_NOT_READY', 'unreachable'])
        assert.match(body.message, /is not allowed to connect/)
      }
      assert.deepEqual(clouds.requests, [])
    })
  },
  { env: { ...env, BERTH_ISSUER_PRIVATE_NETWORKS: '' }, only: 'sqlite' },
)
