import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { CreateIdentityRequestSchema } from '../gen/chainguard/platform/iam/v2beta1/identities_pb.js'
import { BatchCreateRoleBindingsRequestSchema } from '../gen/chainguard/platform/iam/v2beta1/role_bindings_pb.js'
import { CreateRepoRequestSchema } from '../gen/chainguard/platform/registry/v2beta1/repos_pb.js'
import { findNul } from './find-nul.ts'

const claims = (claims: Record<string, string>) =>
  create(CreateIdentityRequestSchema, {
    identity: { relationship: { case: 'claimMatch', value: { claims } } },
  })

test('U+0000 is found in messages, oneofs, lists, and keys and values of maps', () => {
  assert.equal(
    findNul(CreateIdentityRequestSchema, claims({ a: 'b', c: '\0' })),
    'identity.claim_match.claims[c]',
  )
  assert.equal(findNul(CreateIdentityRequestSchema, claims({ 'a\0': 'b' })), 'identity.claim_match.claims')
  const batch = { requests: [{}, { roleBinding: { roleUid: 'a\0' } }] }
  assert.equal(
    findNul(BatchCreateRoleBindingsRequestSchema, create(BatchCreateRoleBindingsRequestSchema, batch)),
    'requests[1].role_binding.role_uid',
  )
  const repo = create(CreateRepoRequestSchema, { repo: { aliases: ['a', '\0'] } })
  assert.equal(findNul(CreateRepoRequestSchema, repo), 'repo.aliases[1]')
})

test('a message without one has none', () => {
  assert.equal(findNul(CreateIdentityRequestSchema, claims({ a: '\u0001' })), undefined)
  assert.equal(findNul(CreateRepoRequestSchema, create(CreateRepoRequestSchema)), undefined)
})
