import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import { systemPolicies } from '@berth/server/policies/rules/system-policies.ts'
import { syncSystemPolicies } from '@berth/server/policies/system-policy-rows.ts'
import {
  assertError,
  failedPreconditionError,
  invalidFieldError,
  onEveryDatabase,
  permissionDeniedError,
} from '../support/api/api-fixture.ts'
import { policiesOf, systemPolicyUid } from '../support/api/policies.ts'
import { createRegistryFixture, pushImage } from '../support/registry/registry.ts'

const digest = `sha256:${'ab'.repeat(32)}`
const policy = { name: 'pinned', description: 'Only releases', expression: 'image.tag != "latest"' }

onEveryDatabase('policies, bindings and overrides', (cast) => {
  const prepared = async () => {
    const { uid: root, owner, member } = await cast().organization()
    return { root, api: owner.api, owner, member, policies: policiesOf(cast().berth, owner.api.token) }
  }

  test('system policies are listed for every caller, beside the custom ones that the caller can read', async () => {
    const { root, policies, member } = await prepared()
    const own = await policies.createPolicy(root, policy)
    assert.deepEqual(
      [own.policyType, own.supportedResourceTypes, own.supportedResourceType, own.description],
      ['POLICY_TYPE_CUSTOM', ['image'], 'image', 'Only releases'],
    )
    const names = async (client: typeof policies, query = {}) =>
      (await client.list('policies', { page_size: '200', ...query })).items
        .filter(
          ({ id, policyType }: Record<string, string>) =>
            policyType === 'POLICY_TYPE_SYSTEM' || id?.startsWith(root),
        )
        .map(({ name }: { name: string }) => name)
    const system = systemPolicies.map(({ name }) => name)
    assert.deepEqual((await names(policies)).sort(), [...system, 'pinned'].sort())
    const viewer = policiesOf(cast().berth, (await member('viewer')).api.token)
    assert.deepEqual((await names(viewer)).sort(), [...system, 'pinned'].sort())
    const puller = policiesOf(cast().berth, (await member('registry.pull')).api.token)
    assert.deepEqual((await names(puller)).sort(), [...system].sort())
    const named = await policies.list('policies', { name: 'signed-by' })
    assert.deepEqual([named.items[0].id, named.totalCount], [systemPolicyUid('signed-by'), '1'])
    assert.equal(named.items[0].parameterSchemas[0].required, true)
    const page = await policies.list('policies', { page_size: '2', order_by: 'name desc' })
    assert.equal(page.items.length, 2)
    const next = await policies.list('policies', {
      page_size: '2',
      order_by: 'name desc',
      page_token: page.nextPageToken,
    })
    assert.ok(next.items[0].name <= page.items[1].name)
    assert.deepEqual(await names(policies, { 'uidp.descendants_of': root }), ['pinned'])
  })

  test('nodes that start at the same time store the system policies once, and change what another version stored', async () => {
    const { store } = cast().berth.berth.installation
    const uids = systemPolicies.map(({ uid }) => uid)
    const stored = () =>
      store.db.kysely
        .selectFrom('policies')
        .select(['name', 'description'])
        .where('root', 'in', uids)
        .orderBy('name')
        .execute()
    const startNodes = () => Promise.all(Array.from({ length: 4 }, () => syncSystemPolicies(store)))
    const current = await stored()
    assert.equal(current.length, systemPolicies.length)
    for (let attempt = 0; attempt < 10; attempt++) {
      await store.db.kysely.deleteFrom('policies').where('root', 'in', uids).execute()
      await startNodes()
      assert.deepEqual(await stored(), current)
    }
    await store.db.kysely
      .updateTable('policies')
      .set({ description: 'x' })
      .where('root', 'in', uids)
      .execute()
    await startNodes()
    assert.deepEqual(await stored(), current)
  })

  test('a policy is created, replaced and deleted; the audit log has each change', async () => {
    const { root, policies } = await prepared()
    const made = await policies.createPolicy(root, policy)
    const changed = await policies.request('PUT', `policies/${made.id}`, {
      name: 'newer',
      expression: 'true',
    })
    assert.equal(changed.status, 200, changed.text)
    assert.deepEqual(
      [changed.body.name, changed.body.description, changed.body.expression, changed.body.createdAt],
      ['newer', '', 'true', made.createdAt],
    )
    assert.ok(changed.body.updatedAt > made.updatedAt)
    assert.equal((await policies.request('DELETE', `policies/${made.id}`)).status, 200)
    assert.equal((await policies.request('DELETE', `policies/${made.id}`)).status, 404)
    assert.equal((await policies.request('PUT', `policies/${made.id}`, policy)).status, 404)
    assert.deepEqual(
      (await cast().auditEventsOf(made.id)).map(({ method }) => method.split('/')[1]),
      ['CreatePolicy', 'UpdatePolicy', 'DeletePolicy'],
    )
  })

  test('names are unique in a group; system policies cannot be changed', async () => {
    const { root, policies } = await prepared()
    await policies.createPolicy(root, policy)
    assert.equal((await policies.request('POST', `policies/${root}`, policy)).status, 409)
    const system = systemPolicyUid('signed-by')
    for (const method of ['PUT', 'DELETE'])
      assertError(
        await policies.request(method, `policies/${system}`, method === 'PUT' ? policy : undefined),
        permissionDeniedError,
      )
  })

  test('a policy that is used cannot be deleted, nor changed so that its bindings are not valid', async () => {
    const { root, policies } = await prepared()
    const own = await policies.createPolicy(root, {
      name: 'own',
      expression: '// param tag: string\nimage.tag == params.tag',
    })
    const binding = await policies.bind(root, own.id, { tag: 'v1' })
    const inUse = failedPreconditionError('RESOURCE_IN_USE')
    assertError(await policies.request('DELETE', `policies/${own.id}`), inUse)
    const other = { name: 'own', expression: '// param tags: string_list\nimage.tag in params.tags' }
    assertError(await policies.request('PUT', `policies/${own.id}`, other), inUse)
    const wider = { name: 'own', expression: '// param tag: string\nimage.tag != params.tag' }
    assert.equal((await policies.request('PUT', `policies/${own.id}`, wider)).status, 200)
    await policies.request('DELETE', `bindings/${binding.id}`)
    const { id } = await policies.override(root, own.id, digest)
    assertError(await policies.request('DELETE', `policies/${own.id}`), inUse)
    await policies.request('DELETE', `overrides/${id}`)
    assert.equal((await policies.request('DELETE', `policies/${own.id}`)).status, 200)
  })

  test('they are deleted with their group; those of a repo with the repo', async () => {
    const registry = await createRegistryFixture(cast())
    const { root, owner, name, organization } = registry
    const { api } = organization.owner
    await pushImage(owner, name)
    const [{ uid: repo }] = (await api.get('registry/repos', { 'uidp.descendants_of': root })).body.repos
    const policies = policiesOf(cast().berth, api.token)
    const { uid: folder } = await api.create(`iam/groups/${root}`, { name: 'team' })
    const own = await policies.createPolicy(folder, policy)
    await policies.bind(folder, own.id)
    await policies.bind(repo, 'contents-known', {}, 'POLICY_MODE_DRY_RUN')
    await policies.override(folder, own.id, digest)
    await policies.override(repo, 'contents-known', digest)
    assert.equal((await api.delete(`iam/groups/${folder}`)).status, 200)
    const deleted = await api.delete(`registry/repos/${repo}`)
    assert.equal(deleted.status, 200, deleted.text)
    for (const list of ['bindings', 'overrides'])
      assert.deepEqual((await policies.list(list, { 'uidp.descendants_of': root })).items, [], list)
    assert.equal((await policies.list('policies', { 'uidp.descendants_of': root })).totalCount, '0')
  })

  test('custom policies can be bound in their group and below, and nowhere else', async () => {
    const { root, api, policies } = await prepared()
    const { uid: team } = await api.create(`iam/groups/${root}`, { name: 'team' })
    const { uid: other } = await api.create(`iam/groups/${root}`, { name: 'other' })
    const own = await policies.createPolicy(team, policy)
    await policies.bind(team, own.id)
    const stranger = await prepared()
    const elsewhere = await stranger.policies.createPolicy(stranger.root, policy)
    const texts: string[] = []
    for (const [parent, id] of [
      [root, own.id],
      [other, own.id],
      [root, elsewhere.id],
      [root, `${root}/${'0'.repeat(16)}`],
      [root, `${'0'.repeat(40)}/${'0'.repeat(16)}`],
      [root, 'no such policy'],
      [root, '0'.repeat(40)],
    ] as const) {
      const reply = await policies.request('POST', `bindings/${parent}`, {
        policy: id,
        mode: 'POLICY_MODE_ENFORCED',
      })
      assertError(reply, invalidFieldError('policy'))
      texts.push(reply.body.message)
      assertError(
        await policies.request('POST', `overrides/${parent}`, { policyId: id, digest, reason: 'x' }),
        invalidFieldError('policyId'),
      )
    }
    // The same for policies of others and for those that do not exist.
    assert.equal(new Set(texts).size, 1)
  })

  test('ValidatePolicy returns problems with their positions, and refuses Rego', async () => {
    const { policies, member } = await prepared()
    const validate = async (body: object) => (await policies.request('POST', 'policies/validate', body)).body
    const cel = { type: 'EXPRESSION_TYPE_CEL' }
    assert.deepEqual(await validate({ ...cel, expression: 'image.tag == "v1"' }), { valid: true, errors: [] })
    assert.deepEqual(await validate({ ...cel, expression: 'true &&\n  image.foo == 1' }), {
      valid: false,
      errors: [
        {
          line: 2,
          column: 8,
          message: (await validate({ ...cel, expression: 'image.foo == 1' })).errors[0].message,
        },
      ],
    })
    const declared = [{ name: 'days', type: 'PARAMETER_TYPE_INTEGER' }]
    const expression = 'params.days > 1'
    assert.equal((await validate({ ...cel, expression })).valid, false)
    assert.equal((await validate({ ...cel, expression, parameterSchemas: declared })).valid, true)
    for (const [type, message] of [
      ['EXPRESSION_TYPE_REGO', /does not evaluate Rego/],
      ['EXPRESSION_TYPE_UNSPECIFIED', /must be EXPRESSION_TYPE_CEL/],
    ] as const) {
      const { valid, errors } = await validate({ type, expression: 'true' })
      assert.equal(valid, false)
      assert.match(errors[0].message, message)
    }
    const viewer = policiesOf(cast().berth, (await member('viewer')).api.token)
    assertError(
      await viewer.request('POST', 'policies/validate', { ...cel, expression: 'true' }),
      permissionDeniedError,
    )
  })

  test('rights: viewers read, and owners change', async () => {
    const { root, policies, member } = await prepared()
    const { id } = await policies.bind(root, 'contents-known')
    for (const [role, reads] of [
      ['viewer', true],
      ['registry.push', false],
    ] as const) {
      const caller = policiesOf(cast().berth, (await member(role)).api.token)
      assert.equal((await caller.list('bindings', { 'uidp.ids': id })).items.length, reads ? 1 : 0, role)
      for (const [method, path, body] of [
        ['POST', `policies/${root}`, policy],
        ['POST', `bindings/${root}`, { policy: 'contents-known', mode: 'POLICY_MODE_ENFORCED' }],
        ['PUT', `bindings/${id}`, { mode: 'POLICY_MODE_DRY_RUN' }],
        ['DELETE', `bindings/${id}`, undefined],
        ['POST', `overrides/${root}`, { policyId: 'contents-known', digest, reason: 'x' }],
      ] as const)
        assertError(await caller.request(method, path, body), permissionDeniedError)
    }
  })

  test('limits of an organization: policyBindingsMax', async () => {
    const { root, policies } = await prepared()
    const { db } = cast().berth.berth.installation.store
    const rows = Array.from({ length: limits.policyBindingsMax }, (_, at) => ({
      root,
      uid: `${root}/${String(at).padStart(16, '0')}`,
      parent: root,
      policy: systemPolicyUid('contents-known'),
      mode: 2,
      parameters: '{}',
      created_ms: 0,
      updated_ms: 0,
    }))
    for (const row of rows) await db.kysely.insertInto('policy_bindings').values(row).execute()
    const reply = await policies.request('POST', `bindings/${root}`, {
      policy: 'contents-known',
      mode: 'POLICY_MODE_ENFORCED',
    })
    assert.deepEqual([reply.status, reply.body.code], [429, 8], reply.text)
    assert.match(reply.body.message, /at most 200 bindings/)
  })

  test('bad policies', async () => {
    const { root, policies } = await prepared()
    const cases: readonly (readonly [field: string, body: object])[] = [
      ['name', { ...policy, name: '' }],
      ['name', { ...policy, name: 'Upper' }],
      ['name', { ...policy, name: 'a/b' }],
      ['name', { ...policy, name: 'x'.repeat(limits.nameCharsMax + 1) }],
      ['name', { ...policy, name: 'signed-by' }],
      ['description', { ...policy, description: 'x'.repeat(513) }],
      ['description', { ...policy, description: '\u0001' }],
      ['supportedResourceTypes', { ...policy, supportedResourceTypes: ['chart'] }],
      ['supportedResourceTypes', { ...policy, supportedResourceTypes: ['image', 'image'] }],
      ['supportedResourceType', { ...policy, supportedResourceType: 'chart' }],
      ['expression', { ...policy, expression: '' }],
      ['expression', { ...policy, expression: 'package rego' }],
      ['expression', { ...policy, expression: '1' }],
      ['expression', { ...policy, expression: 'image.nothing' }],
      ['expression', { ...policy, expression: 'x'.repeat(limits.policyExpressionCharsMax + 1) }],
      ['expression', { ...policy, expression: '('.repeat(2000) }],
    ]
    const own = await policies.createPolicy(root, { ...policy, name: 'own' })
    for (const [field, body] of cases) {
      assertError(await policies.request('POST', `policies/${root}`, body), invalidFieldError(field))
      assertError(await policies.request('PUT', `policies/${own.id}`, body), invalidFieldError(field))
    }
    assert.equal((await policies.request('POST', `policies/${root}/${'0'.repeat(16)}`, policy)).status, 404)
    assert.equal((await policies.request('POST', 'policies/none', policy)).status, 400)
    for (const body of ['[]', '"x"', '{"expression":1}', '{"name":null,"expression":{}}', '{'])
      assert.equal((await policies.request('POST', `policies/${root}`, body)).status, 400, body)
  })

  test('bad bindings', async () => {
    const { root, policies } = await prepared()
    const mode = 'POLICY_MODE_ENFORCED'
    const age = { policy: 'maximum-age', mode }
    const tag = { policy: 'tag-pattern', mode }
    const severity = { policy: 'highest-severity', mode }
    const cases: readonly (readonly [field: string, body: object])[] = [
      ['policy', { mode }],
      ['mode', { ...age, mode: 'POLICY_MODE_UNSPECIFIED', parameters: { days: 1 } }],
      ['mode', { ...age, mode: 7, parameters: { days: 1 } }],
      ['resourceTypes', { ...age, parameters: { days: 1 }, resourceTypes: ['chart'] }],
      ['parameters.days', age],
      ['parameters.days', { ...age, parameters: { days: '1' } }],
      ['parameters.days', { ...age, parameters: { days: 1.5 } }],
      ['parameters.days', { ...age, parameters: { days: 0 } }],
      ['parameters.days', { ...age, parameters: { days: -1 } }],
      ['parameters.days', { ...age, parameters: { days: 1e300 } }],
      ['parameters.days', { ...age, parameters: { days: 36_501 } }],
      ['parameters.days', { ...age, parameters: { days: null } }],
      ['parameters.days', { ...age, parameters: { days: true } }],
      ['parameters.days', { ...age, parameters: { days: [1] } }],
      ['parameters.days', { ...age, parameters: { days: { a: 1 } } }],
      ['parameters.since', { ...age, parameters: { days: 1, since: 'never' } }],
      ['parameters.since', { ...age, parameters: { days: 1, since: 1 } }],
      ['parameters.extra', { ...age, parameters: { days: 1, extra: 1 } }],
      [
        'parameters.__proto__',
        `{"policy":"maximum-age","mode":"${mode}","parameters":{"days":1,"__proto__":1}}` as never,
      ],
      ['parameters.allow_unknown', { ...age, parameters: { days: 1, allow_unknown: 'yes' } }],
      [
        'parameters',
        { ...age, parameters: Object.fromEntries(Array.from({ length: 33 }, (_, at) => [`p${at}`, 1])) },
      ],
      ['parameters.patterns', tag],
      ['parameters.patterns', { ...tag, parameters: { patterns: [] } }],
      ['parameters.patterns', { ...tag, parameters: { patterns: 'v*' } }],
      ['parameters.patterns', { ...tag, parameters: { patterns: ['v*', 1] } }],
      ['parameters.patterns', { ...tag, parameters: { patterns: [['v*']] } }],
      ['parameters.patterns', { ...tag, parameters: { patterns: Array(101).fill('v*') } }],
      ['parameters.patterns', { ...tag, parameters: { patterns: ['x'.repeat(513)] } }],
      ['parameters.patterns[0]', { ...tag, parameters: { patterns: ['a b'] } }],
      ['parameters.patterns[0]', { ...tag, parameters: { patterns: ['*'.repeat(50)] } }],
      ['parameters.patterns', { ...tag, parameters: { patterns: ['a\u0007'] } }],
      ['parameters.severity', { ...severity, parameters: { severity: 'huge' } }],
      ['parameters.severity', { ...severity, parameters: { severity: '' } }],
      ['parameters.grace_days', { ...severity, parameters: { grace_days: -1 } }],
      ['parameters.waive_unfixed_after_days', { ...severity, parameters: { waive_unfixed_after_days: -2 } }],
      ['parameters', { policy: 'licenses', mode }],
      ['parameters.denied[0]', { policy: 'licenses', mode, parameters: { denied: [''] } }],
      ['parameters.identities', { policy: 'signed-by', mode, parameters: { identities: [] } }],
      [
        'parameters.identities[0]',
        { policy: 'signed-by', mode, parameters: { identities: ['*'.repeat(99)] } },
      ],
      ['parameters.allowed[0]', { policy: 'base-image', mode, parameters: { allowed: [''] } }],
    ]
    for (const [field, body] of cases)
      assertError(await policies.request('POST', `bindings/${root}`, body), invalidFieldError(field))
    const { id, policy: uid } = await policies.bind(root, 'maximum-age', { days: 1 })
    for (const [field, body] of cases.slice(4, 20))
      assertError(await policies.request('PUT', `bindings/${id}`, body), invalidFieldError(field))
    const other = { policy: 'contents-known', mode }
    assertError(await policies.request('PUT', `bindings/${id}`, other), invalidFieldError('policy'))
    const same = await policies.request('PUT', `bindings/${id}`, {
      policy: uid,
      mode,
      parameters: { days: 1 },
    })
    assert.equal(same.status, 200, same.text)
    for (const path of [`bindings/${id}0`, 'bindings/none'])
      assert.equal((await policies.request('DELETE', path)).status, 400, path)
    assert.equal((await policies.request('DELETE', `bindings/${root}/${'0'.repeat(16)}`)).status, 404)
    assert.equal((await policies.request('POST', `bindings/${root}/${'0'.repeat(16)}`, age)).status, 404)
  })

  test('bad overrides and filters of decisions', async () => {
    const { root, policies } = await prepared()
    const override = { policyId: 'contents-known', digest, reason: 'x' }
    const cases: readonly (readonly [field: string, body: object])[] = [
      ['policyId', { ...override, policyId: '' }],
      ['digest', { ...override, digest: '' }],
      ['digest', { ...override, digest: 'latest' }],
      ['digest', { ...override, digest: 'sha256:AB' }],
      ['digest', { ...override, digest: `md5:${'a'.repeat(32)}` }],
      ['reason', { ...override, reason: '' }],
      ['reason', { ...override, reason: ' \n' }],
      ['reason', { ...override, reason: 'x'.repeat(513) }],
      ['reason', { ...override, reason: 'a\u0007' }],
    ]
    for (const [field, body] of cases)
      assertError(await policies.request('POST', `overrides/${root}`, body), invalidFieldError(field))
    await policies.override(root, 'contents-known', digest)
    assert.equal((await policies.request('POST', `overrides/${root}`, override)).status, 409)
    const filters: readonly (readonly [string, string])[] = [
      ['page_size', 'page_size=-1'],
      ['skip', 'skip=-1'],
      ['order_by', 'order_by=reason'],
      ['page_token', 'page_token=x'],
      ['mode', 'mode=NONE'],
      ['result', 'result=9'],
      ['since', 'since.year=2026'],
      ['since', 'since.year=2026&since.month=2&since.day=30'],
      ['since', 'since.year=-1&since.month=1&since.day=1'],
      ['until', 'until.year=99999&until.month=1&until.day=1'],
      ['until', 'until.year=2026&until.month=13&until.day=1'],
      ['uidp.ids', 'uidp.ids=x'],
    ]
    for (const [field, query] of filters)
      assertError(await policies.request('GET', `decisions?${query}`), invalidFieldError(field))
  })
})
