import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { create, type DescMethod, getOption } from '@bufbuild/protobuf'
import { http } from '#gen/google/api/annotations_pb.js'
import { accessRule } from '../../src/auth/authorize.ts'
import type { Ask } from '../../src/core/call.ts'
import { codeName } from '../../src/core/errors.ts'
import { versionOneFiles } from '../../src/gateway/contract.ts'
import { versionOne } from '../../src/v1/services.ts'
import { onEveryDatabase } from '../support/cast.ts'
import type { GrpcFailure } from '../support/grpc.ts'
import { requestAt } from '../support/methods.ts'

/** Version 1 as it is public: every method, and whether it works here or why not. */

const internal = 'internal to the public service'
const noScim = 'does not offer'

/** By service and method: path of the first binding, and what refuses it. */
const table: readonly (readonly [service: string, method: string, binding: string, refusal?: string])[] = [
  ['Groups', 'Create', 'post /iam/v1/groups/{parent=**}'],
  ['Groups', 'Update', 'put /iam/v1/groups/{id=**}'],
  ['Groups', 'List', 'get /iam/v1/groups'],
  ['Groups', 'Delete', 'delete /iam/v1/groups/{id=**}'],
  ['Groups', 'LookupGroup', 'get /iam/v1/groups:lookupGroup'],
  ['Groups', 'RequestGroupAccess', 'post /iam/v1/groups/{group_id=**}:requestGroupAccess'],
  ['Groups', 'CheckEligibility', 'get /iam/v1/groups:checkEligibility'],
  ['Identities', 'Create', 'post /iam/v1/identities/{parent_id=**}'],
  ['Identities', 'Update', 'put /iam/v1/identities/{id=**}'],
  ['Identities', 'List', 'get /iam/v1/identities'],
  ['Identities', 'Lookup', 'get /iam/v1/identities/lookup'],
  ['Identities', 'Delete', 'delete /iam/v1/identities/{id=**}'],
  ['Roles', 'Create', 'post /iam/v1/roles/{parent_id=**}'],
  ['Roles', 'Update', 'put /iam/v1/roles/{id=**}'],
  ['Roles', 'List', 'get /iam/v1/roles'],
  ['Roles', 'Delete', 'delete /iam/v1/roles/{id=**}'],
  ['RoleBindings', 'Create', 'post /iam/v1/rolebindings/{parent=**}'],
  ['RoleBindings', 'CreateBatch', 'post /iam/v1/rolebindings/batch/{parent=**}'],
  ['RoleBindings', 'Update', 'put /iam/v1/rolebindings/{id=**}'],
  ['RoleBindings', 'List', 'get /iam/v1/rolebindings'],
  ['RoleBindings', 'Delete', 'delete /iam/v1/rolebindings/{id=**}'],
  ['IdentityProviders', 'Create', 'post /iam/v1/identityProviders/{parent_id=**}'],
  ['IdentityProviders', 'Update', 'put /iam/v1/identityProviders/{id=**}'],
  ['IdentityProviders', 'List', 'get /iam/v1/identityProviders'],
  ['IdentityProviders', 'Delete', 'delete /iam/v1/identityProviders/{id=**}'],
  [
    'IdentityProviders',
    'GenerateScimToken',
    'post /iam/v1/identityProviders/{identity_provider_id=**}:generateScimToken',
    noScim,
  ],
  [
    'IdentityProviders',
    'RegenerateScimToken',
    'post /iam/v1/identityProviders/{identity_provider_id=**}:regenerateScimToken',
    noScim,
  ],
  [
    'IdentityProviders',
    'RevokeScimToken',
    'post /iam/v1/identityProviders/{identity_provider_id=**}:revokeScimToken',
    noScim,
  ],
  [
    'IdentityProviders',
    'SetScimEnabled',
    'post /iam/v1/identityProviders/{identity_provider_id=**}:setScimEnabled',
    noScim,
  ],
  ['GroupAccountAssociations', 'Create', 'post /iam/v1/account_associations/{group=**}'],
  ['GroupAccountAssociations', 'Update', 'put /iam/v1/account_associations/{group=**}'],
  ['GroupAccountAssociations', 'List', 'get /iam/v1/account_associations'],
  ['GroupAccountAssociations', 'Delete', 'delete /iam/v1/account_associations/{group=**}'],
  ['GroupAccountAssociations', 'Check', 'post /iam/v1/account_associations/{group=**}:check'],
  ['GroupInvites', 'Create', 'post /iam/v1/group_invites/{group=**}'],
  ['GroupInvites', 'CreateWithGroup', '', internal],
  ['GroupInvites', 'List', 'get /iam/v1/group_invites'],
  ['GroupInvites', 'Delete', 'delete /iam/v1/group_invites/{id=**}'],
]

const inIam = versionOneFiles.filter(({ proto }) => proto.package === 'chainguard.platform.iam')
const methods = inIam.flatMap((file) => file.services).flatMap((service) => service.methods)

test('the methods and their paths are the public ones', () => {
  const served = methods.map((method) => {
    const { pattern } = getOption(method, http)
    const binding = pattern.case === undefined ? '' : `${pattern.case} ${String(pattern.value)}`
    return `${method.parent.typeName}.${method.name} ${binding}`
  })
  const known = table.map(
    ([service, method, binding]) => `chainguard.platform.iam.${service}.${method} ${binding}`,
  )
  assert.deepEqual(served.sort(), known.sort())
})

onEveryDatabase('a method of version 1', (cast) => {
  for (const [service, name, , refusal] of table) {
    test(`${service}.${name} ${refusal === undefined ? 'is answered' : `is refused: ${refusal}`}`, async () => {
      const method = methods.find((one) => one.parent.name === service && one.name === name)!
      const { owner, uid } = await cast().organization()
      const { token } = owner.api
      const failure = await cast()
        .grpc.call(method as never, requestAt(method, uid) as never, { token })
        .then(
          () => undefined,
          (error: GrpcFailure) => error,
        )
      if (refusal === undefined) assert.notEqual(codeName[(failure?.code ?? 0) as 0], 'UNIMPLEMENTED')
      else {
        assert.equal(failure?.code, 12)
        assert.match(failure?.details ?? '', new RegExp(refusal))
      }
    })
  }
})

describe('a method of version 1 says in its options what the method that it asks demands', () => {
  class Asked extends Error {
    readonly method: DescMethod
    constructor(method: DescMethod) {
      super(method.name)
      this.method = method
    }
  }
  const ask: Ask = (method) => Promise.reject(new Asked(method))
  const access = { grants: { holdings: new Map(), at: () => 0n, holding: () => [] } as never }

  for (const { service, translators } of versionOne) {
    for (const method of service.methods) {
      const translate = translators[method.localName]
      if (translate === undefined || method.name === 'CreateWithGroup') continue
      test(`${service.name}.${method.name}`, async () => {
        const request = create(method.input)
        const failure: unknown = await translate(request, ask, access).catch((error: unknown) => error)
        assert.ok(failure instanceof Asked, String(failure))
        const [old, newer] = [accessRule(method), accessRule(failure.method)]
        assert.equal(old.kind, newer.kind)
        if (old.kind !== 'open' && newer.kind !== 'open') assert.equal(old.capabilities, newer.capabilities)
      })
    }
  }
})
