import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  IdentitySchema,
  ServicePrincipal,
} from '@berth/contract/gen/chainguard/platform/iam/identities_pb.js'
import { RoleSchema } from '@berth/contract/gen/chainguard/platform/iam/roles_pb.js'
import { IdentitySchema as NewIdentitySchema } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/identities_pb.js'
import { RoleSchema as NewRoleSchema } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/roles_pb.js'
import { create, isFieldSet, type MessageInitShape } from '@bufbuild/protobuf'
import { timestampOf } from '../../api/messages.ts'
import { capabilityNames } from './capability-names.ts'
import { createMapping, nestedMessage } from './message-mapping.ts'

const [, oldKeys] = IdentitySchema.nestedMessages
const [, newKeys] = NewIdentitySchema.nestedMessages
const keys = createMapping(oldKeys!, newKeys!, [
  'issuer',
  'subject',
  'issuerKeys',
  ['expiration', 'expirationTime'],
  'audiences',
])
const identity = createMapping(IdentitySchema, NewIdentitySchema, [
  ['id', 'uid'],
  'name',
  'description',
  ['createdAt', 'createTime'],
  ['updatedAt', 'updateTime'],
  ['lastSeen', 'lastSeenTime'],
  'claimMatch',
  ['static', 'staticKeys', nestedMessage(keys)],
  'servicePrincipal',
  'awsIdentity',
])
const roleWords = [
  ['id', 'uid'],
  'name',
  'description',
  ['capabilities', 'capabilities', capabilityNames],
] as const

test('every member of a oneof is mapped both ways, under its own name', () => {
  const relationships: MessageInitShape<typeof IdentitySchema>['relationship'][] = [
    { case: undefined },
    {
      case: 'claimMatch',
      value: {
        iss: { case: 'issuerPattern', value: 'a.*' },
        sub: { case: 'subject', value: '' },
        claims: { a: 'b' },
      },
    },
    {
      case: 'static',
      value: { issuer: 'i', issuerKeys: '{}', expiration: timestampOf(1500), audiences: ['x'] },
    },
    { case: 'servicePrincipal', value: ServicePrincipal.SKILLS },
    { case: 'awsIdentity', value: { awsAccount: '1', awsArn: { case: 'arn', value: 'x' } } },
  ]
  const names = [undefined, 'claimMatch', 'staticKeys', 'servicePrincipal', 'awsIdentity']
  for (const [at, relationship] of relationships.entries()) {
    const old = create(IdentitySchema, { id: 'a', name: 'b', relationship: relationship! })
    const next = create(NewIdentitySchema, identity.toV2(old))
    assert.deepEqual([next.uid, next.name, next.relationship.case], ['a', 'b', names[at]])
    assert.deepEqual(identity.toV1(next), old)
  }
})

test('unset fields stay unset', () => {
  const old = identity.toV1(create(NewIdentitySchema, { uid: 'a' }))
  assert.equal(isFieldSet(old, IdentitySchema.field.createdAt), false)
  assert.deepEqual(old, create(IdentitySchema, { id: 'a' }))
})

test('paths of violations are mapped to names of version 1', () => {
  for (const [next, old] of [
    ['uid', 'id'],
    ['name', 'name'],
    ['staticKeys', 'static'],
    ['static_keys', 'static'],
    ['staticKeys.expirationTime', 'static.expiration'],
    ['staticKeys.audiences[1]', 'static.audiences[1]'],
    ['claimMatch.issuerPattern', 'claimMatch.issuerPattern'],
    ['last_seen_time', 'last_seen'],
    ['somethingElse.uid', 'somethingElse.uid'],
    ['', ''],
  ] as const)
    assert.equal(identity.toV1Path(next), old)
})

test('capabilities have short names; an unknown one is rejected with its index', () => {
  const role = createMapping(RoleSchema, NewRoleSchema, roleWords, {
    jsonOnly: { createdAt: 'createTime', updatedAt: 'updateTime' },
  })
  const old = create(RoleSchema, { capabilities: ['groups.list', 'tag.list'] })
  assert.deepEqual(role.toV1(create(NewRoleSchema, role.toV2(old))).capabilities, old.capabilities)
  const wrong = create(RoleSchema, { capabilities: ['groups.list', 'CAP_IAM_GROUPS_LIST'] })
  assert.throws(() => role.toV2(wrong), /capabilities\[1\]: must be the name of a capability/)
})

test('a table that omits a field, or pairs different types, is rejected when it is created', () => {
  assert.throws(
    () => createMapping(RoleSchema, NewRoleSchema, [['id', 'uid'], 'name']),
    /no mapping for .*description/,
  )
  assert.throws(
    () => createMapping(RoleSchema, NewRoleSchema, [['id', 'uid'], 'name', 'description', 'capabilities']),
    /need a conversion/,
  )
  assert.throws(() => createMapping(RoleSchema, NewRoleSchema, ['id']), /has no field id/)
  assert.throws(
    () => createMapping(RoleSchema, NewRoleSchema, roleWords, { jsonOnly: { madeAt: 'createTime' } }),
    /has no madeAt/,
  )
})
